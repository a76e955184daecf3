#include "gpu/feed/choice.cuh"

static double claim(const struct kc_feed_candidate *device)
{
        return (double)device->nwords / (double)device->share;
}

/* Of the free devices that may_take accepts, the one that has received least for its share; -1:
 * there is none. */
template <class Test>
static int least_claim(const struct kc_feed_candidate *devices, int n, Test may_take)
{
        int best = -1;
        for (int i = 0; i < n; i++)
                if (devices[i].is_free && may_take(&devices[i]) &&
                    (best < 0 || claim(&devices[i]) < claim(&devices[best])))
                        best = i;
        return best;
}

int kc_feed_choose(const struct kc_feed_candidate *devices, int n, int node)
{
        const int best = least_claim(devices, n, [](const kc_feed_candidate *) { return true; });
        if (best < 0 || node < 0)
                return best;
        const double least = claim(&devices[best]);
        const int near = least_claim(devices, n, [=](const kc_feed_candidate *device) {
                return device->node == node &&
                       (double)device->nwords <=
                               least * (double)device->share + (double)device->lead;
        });
        return near >= 0 ? near : best;
}
