#include "gpu/maps/warpdrive/cascade.cuh"

#include <algorithm>

static const uint64_t BATCH_NKEYS = (uint64_t)1 << 24;
enum { IN_FLIGHT = 2 };

namespace
{

/* A member's memory for its share of a batch. */
template <class Key> struct berth {
        Key *keys;
        uint32_t *values;     /* to put, or the answers */
        cudaEvent_t up, down; /* the share has arrived; the answers are on the host */
};

template <class Layout> struct cascade {
        typedef typename Layout::key Key;
        kc_wd_several<Layout> *several;
        const Key *keys;        /* all of them, on the host */
        const uint32_t *values; /* NULL: none */
        uint32_t *answers;      /* NULL: keys are put */
        uint64_t n, batch_nkeys, nbatches;
        int in_flight;
        uint64_t cap; /* keys of a member in a batch */
        enum kc_wd_mode mode;
        uint32_t missing;
        uint64_t nfound;
        berth<Key> berths[KC_WD_MAX_IN_FLIGHT][KC_LINKS_MAX];
};

/* A member's share of a batch: n keys from number `first` on. */
struct stretch {
        uint64_t first, n;
};

} // namespace

template <class Layout> static int nmembers(const cascade<Layout> *c)
{
        return c->several->links->n;
}

template <class Layout> static struct kc_gpu *gpu_of(const cascade<Layout> *c, int member)
{
        return &c->several->links->gpus[member];
}

template <class Layout>
static struct stretch stretch_of(const cascade<Layout> *c, uint64_t batch, int member)
{
        const uint64_t begin = batch * c->batch_nkeys, all = std::min(c->batch_nkeys, c->n - begin),
                       m = (uint64_t)nmembers(c), i = (uint64_t)member;
        return { begin + all * i / m, all * (i + 1) / m - all * i / m };
}

template <class Layout>
static berth<typename Layout::key> *berth_of(cascade<Layout> *c, uint64_t batch, int member)
{
        return &c->berths[batch % (uint64_t)c->in_flight][member];
}

/* ---- memory ---- */

template <class Layout>
static enum kc_status berth_new(cascade<Layout> *c, int member, berth<typename Layout::key> *berth,
                                struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu *gpu = gpu_of(c, member);
        KC_TRY(kc_links_use(c->several->links, member, err));
        KC_TRY(kc_gpu_new(gpu, &berth->keys, c->cap, err));
        if (c->values != NULL || c->answers != NULL)
                KC_TRY(kc_gpu_new(gpu, &berth->values, c->cap, err));
        KC_TRY(kc_gpu_event_new(&berth->up, err));
        KC_TRY(kc_gpu_event_new(&berth->down, err));
out:
        return status;
}

/* Other streams use the memory: wait until it is there. */
template <class Layout> static enum kc_status berths_new(cascade<Layout> *c, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (int i = 0; i < c->in_flight; i++)
                for (int j = 0; j < nmembers(c); j++)
                        KC_TRY(berth_new(c, j, &c->berths[i][j], err));
        KC_TRY(kc_links_settle(c->several->links, err));
out:
        return status;
}

template <class Layout> static void berths_free(cascade<Layout> *c)
{
        struct kc_error ignored = {}; /* an earlier failure is reported, or the work is done */
        (void)kc_links_settle(c->several->links, &ignored);
        for (int i = 0; i < c->in_flight; i++)
                for (int j = 0; j < nmembers(c); j++) {
                        berth<typename Layout::key> *berth = &c->berths[i][j];
                        kc_gpu_delete(gpu_of(c, j), berth->keys, c->cap);
                        kc_gpu_delete(gpu_of(c, j), berth->values, c->cap);
                        kc_gpu_event_free(berth->up);
                        kc_gpu_event_free(berth->down);
                }
}

/* ---- the steps of a batch ---- */

/* Enqueue the copies to the devices. The batch that had the memory before has been worked on, but its
 * answers may still be on their way. */
template <class Layout>
static enum kc_status upload(cascade<Layout> *c, uint64_t batch, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (int i = 0; i < nmembers(c); i++) {
                const struct stretch own = stretch_of(c, batch, i);
                const berth<typename Layout::key> *berth = berth_of(c, batch, i);
                cudaStream_t stream = gpu_of(c, i)->upload;
                KC_TRY(kc_links_use(c->several->links, i, err));
                KC_TRY(KC_CUDA(cudaStreamWaitEvent(stream, berth->down, 0)));
                KC_TRY(KC_CUDA(cudaMemcpyAsync(berth->keys, c->keys + own.first,
                                               own.n * sizeof *c->keys, cudaMemcpyHostToDevice,
                                               stream)));
                if (c->values != NULL)
                        KC_TRY(KC_CUDA(cudaMemcpyAsync(berth->values, c->values + own.first,
                                                       own.n * sizeof *c->values,
                                                       cudaMemcpyHostToDevice, stream)));
                KC_TRY(KC_CUDA(cudaEventRecord(berth->up, stream)));
        }
        KC_TRY(kc_links_use(c->several->links, 0, err));
out:
        return status;
}

/* Enqueue the copies of the answers, which are there, to the host. */
template <class Layout>
static enum kc_status download(cascade<Layout> *c, uint64_t batch, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (int i = 0; i < nmembers(c); i++) {
                const struct stretch own = stretch_of(c, batch, i);
                const berth<typename Layout::key> *berth = berth_of(c, batch, i);
                struct kc_gpu *gpu = gpu_of(c, i);
                KC_TRY(kc_links_use(c->several->links, i, err));
                KC_TRY(KC_CUDA(cudaMemcpyAsync(c->answers + own.first, berth->values,
                                               own.n * sizeof *c->answers, cudaMemcpyDeviceToHost,
                                               gpu->download)));
                KC_TRY(KC_CUDA(cudaEventRecord(berth->down, gpu->download)));
        }
        KC_TRY(kc_links_use(c->several->links, 0, err));
out:
        return status;
}

/* Put or look up a batch that is on its way to the devices. */
template <class Layout>
static enum kc_status work_on(cascade<Layout> *c, uint64_t batch, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        kc_wd_share<typename Layout::key> shares[KC_LINKS_MAX];
        uint32_t *answers[KC_LINKS_MAX];
        uint64_t nfound = 0;
        for (int i = 0; i < nmembers(c); i++) {
                const berth<typename Layout::key> *berth = berth_of(c, batch, i);
                shares[i] = { berth->keys, c->values == NULL ? NULL : berth->values,
                              stretch_of(c, batch, i).n };
                answers[i] = berth->values;
                KC_TRY(KC_CUDA(cudaStreamWaitEvent(gpu_of(c, i)->stream, berth->up, 0)));
        }
        if (c->answers == NULL) {
                KC_TRY(kc_wd_several_put(c->several, shares, c->mode, NULL, err));
        } else {
                KC_TRY(kc_wd_several_retrieve(c->several, shares, answers, c->missing, &nfound,
                                              err));
                KC_TRY(download(c, batch, err));
        }
        c->nfound += nfound;
out:
        return status;
}

/* A full map does not stop the batches that follow, whose keys may have room. */
template <class Layout> static enum kc_status all_batches(cascade<Layout> *c, struct kc_error *err)
{
        enum kc_status status;
        struct kc_error full = {};
        uint64_t nup = 0;
        KC_TRY(berths_new(c, err));
        for (uint64_t i = 0; i < c->nbatches; i++) {
                struct kc_error failure = {};
                for (; nup < std::min(i + (uint64_t)c->in_flight, c->nbatches); nup++)
                        KC_TRY(upload(c, nup, err));
                status = work_on(c, i, &failure);
                if (status == KC_ENOMEM && c->answers == NULL)
                        full = failure;
                else if (status != KC_OK)
                        KC_TRY(kc_fail_as(err, &failure));
        }
        KC_TRY(kc_links_settle(c->several->links, err));
        status = full.status == KC_OK ? KC_OK : kc_fail_as(err, &full);
out:
        berths_free(c);
        return status;
}

template <class Layout>
static enum kc_status run(cascade<Layout> *c, const struct kc_wd_cascades *cascades,
                          struct kc_error *err)
{
        const struct kc_wd_cascades defaults = {}, *given = cascades != NULL ? cascades : &defaults;
        if (given->in_flight < 0 || given->in_flight > KC_WD_MAX_IN_FLIGHT)
                return kc_fail(err, KC_EUSAGE, "WarpDrive map: %d batches in flight; at most %d",
                               given->in_flight, (int)KC_WD_MAX_IN_FLIGHT);
        if (c->n == 0)
                return KC_OK;
        c->batch_nkeys = std::min(given->batch_nkeys != 0 ? given->batch_nkeys : BATCH_NKEYS, c->n);
        c->nbatches = (c->n + c->batch_nkeys - 1) / c->batch_nkeys;
        c->in_flight = given->in_flight != 0 ? given->in_flight : (int)IN_FLIGHT;
        c->cap = (c->batch_nkeys + (uint64_t)nmembers(c) - 1) / (uint64_t)nmembers(c);
        return all_batches(c, err);
}

template <class Layout>
enum kc_status kc_wd_several_put_host(kc_wd_several<Layout> *several,
                                      const typename Layout::key *keys, const uint32_t *values,
                                      uint64_t n, enum kc_wd_mode mode,
                                      const struct kc_wd_cascades *cascades, struct kc_error *err)
{
        cascade<Layout> c = {};
        c.several = several;
        c.keys = keys;
        c.values = values;
        c.n = n;
        c.mode = mode;
        return run(&c, cascades, err);
}

template <class Layout>
enum kc_status kc_wd_several_retrieve_host(kc_wd_several<Layout> *several,
                                           const typename Layout::key *keys, uint32_t *values,
                                           uint64_t n, uint32_t missing, uint64_t *nfound,
                                           const struct kc_wd_cascades *cascades,
                                           struct kc_error *err)
{
        cascade<Layout> c = {};
        c.several = several;
        c.keys = keys;
        c.answers = values;
        c.n = n;
        c.missing = missing;
        enum kc_status status = run(&c, cascades, err);
        if (nfound != NULL)
                *nfound = c.nfound;
        return status;
}

#define INSTANTIATE(Layout) \
        template enum kc_status kc_wd_several_put_host( \
                kc_wd_several<Layout> *, const typename Layout::key *, const uint32_t *, uint64_t, \
                enum kc_wd_mode, const struct kc_wd_cascades *, struct kc_error *); \
        template enum kc_status kc_wd_several_retrieve_host( \
                kc_wd_several<Layout> *, const typename Layout::key *, uint32_t *, uint64_t, \
                uint32_t, uint64_t *, const struct kc_wd_cascades *, struct kc_error *);
KC_WD_LAYOUTS(INSTANTIATE)
