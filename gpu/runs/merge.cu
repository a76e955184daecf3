#include "gpu/runs/merge_rule.cuh"

namespace
{

/* Counts summed. */
struct sum_rule {
        typedef uint32_t in, out;
        enum { CHOOSES = false };
        struct tally {
                uint64_t nsaturated;
        };
        uint64_t *nsaturated; /* device */

        __device__ bool operator()(uint32_t a, uint32_t b, uint32_t *sum, tally *tally) const
        {
                *sum = kc_count_add(a, b);
                tally->nsaturated += (uint64_t)a + b - *sum;
                return true;
        }

        __device__ void add(const tally &tally) const
        {
                if (tally.nsaturated)
                        atomicAdd((unsigned long long *)nsaturated,
                                  (unsigned long long)tally.nsaturated);
        }
};

} // namespace

template <class Key> size_t kc_gpu_merge_nbytes(size_t n)
{
        size_t ntiles = kc_merge_count_tiles<Key>(n);
        return (ntiles + 1) * (sizeof(struct kc_merge_cut<size_t>) + sizeof(size_t)) +
               ntiles * sizeof(uint32_t);
}

template <class Key>
enum kc_status kc_gpu_merge_plan(struct kc_gpu *gpu, struct kc_gpu_merge<Key> *merge,
                                 const struct kc_gpu_run<Key> *a, const struct kc_gpu_run<Key> *b,
                                 struct kc_error *err)
{
        return plan_by(gpu, merge, a, b, sum_rule{ NULL }, err);
}

template <class Key>
enum kc_status kc_gpu_merge_make(struct kc_gpu *gpu, const struct kc_gpu_merge<Key> *merge,
                                 uint64_t *nsaturated, struct kc_gpu_run<Key> *result,
                                 struct kc_error *err)
{
        return make_by(gpu, merge, sum_rule{ nsaturated }, result, err);
}

template <class Key> void kc_gpu_merge_free(struct kc_gpu *gpu, struct kc_gpu_merge<Key> *merge)
{
        free_plan(gpu, merge);
}

template <class Key>
enum kc_status kc_gpu_merge_runs(struct kc_gpu *gpu, const struct kc_gpu_run<Key> *a,
                                 const struct kc_gpu_run<Key> *b, uint64_t *nsaturated,
                                 struct kc_gpu_run<Key> *result, struct kc_error *err)
{
        return merge_by(gpu, a, b, sum_rule{ nsaturated }, result, err);
}

/* The smallest non-empty part other than *except; NULL if there is none. */
template <class Key>
static struct kc_gpu_run<Key> *smallest(struct kc_gpu_run<Key> *parts, size_t n,
                                        const struct kc_gpu_run<Key> *except) {
        struct kc_gpu_run<Key> *found = NULL;
        for (size_t i = 0; i < n; i++)
                if (parts[i].n > 0 && &parts[i] != except &&
                    (found == NULL || parts[i].n < found->n))
                        found = &parts[i];
        return found;
}

template <class Key>
static void drop(struct kc_gpu *gpu, struct kc_gpu_run<Key> *part)
{
        if (part->cap > 0)
                kc_gpu_run_free(gpu, part);
        *part = {};
}

template <class Key>
enum kc_status kc_gpu_merge_all(struct kc_gpu *gpu, struct kc_gpu_run<Key> *parts, size_t n,
                                uint64_t *nsaturated, struct kc_gpu_run<Key> *result,
                                struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_gpu_run<Key> *a, *b, merged;
        *result = {};
        for (;;) {
                a = smallest<Key>(parts, n, NULL);
                b = smallest<Key>(parts, n, a);
                if (b == NULL)
                        break;
                KC_TRY(kc_gpu_merge_runs(gpu, a, b, nsaturated, &merged, err));
                drop(gpu, a);
                drop(gpu, b);
                *a = merged;
        }
        if (a != NULL) {
                *result = *a;
                *a = {};
        }
        for (size_t i = 0; i < n; i++)
                drop(gpu, &parts[i]);
out:
        return status;
}

#define INSTANTIATE(Key) \
        template enum kc_status kc_gpu_merge_all(struct kc_gpu *, struct kc_gpu_run<Key> *, \
                                                 size_t, uint64_t *, struct kc_gpu_run<Key> *, \
                                                 struct kc_error *); \
        template size_t kc_gpu_merge_nbytes<Key>(size_t); \
        template enum kc_status kc_gpu_merge_plan( \
                struct kc_gpu *, struct kc_gpu_merge<Key> *, const struct kc_gpu_run<Key> *, \
                const struct kc_gpu_run<Key> *, struct kc_error *); \
        template enum kc_status kc_gpu_merge_make(struct kc_gpu *, \
                                                  const struct kc_gpu_merge<Key> *, uint64_t *, \
                                                  struct kc_gpu_run<Key> *, struct kc_error *); \
        template void kc_gpu_merge_free(struct kc_gpu *, struct kc_gpu_merge<Key> *); \
        template enum kc_status kc_gpu_merge_runs(struct kc_gpu *, const struct kc_gpu_run<Key> *, \
                                                  const struct kc_gpu_run<Key> *, uint64_t *, \
                                                  struct kc_gpu_run<Key> *, struct kc_error *);
KC_GPU_KEYS(INSTANTIATE)
