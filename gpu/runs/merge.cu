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

#define INSTANTIATE(Key) \
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
