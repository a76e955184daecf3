/*
 * Order by CUB's radix sort and reduction by key.
 */
#include "gpu/order/order_internal.cuh"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <thrust/iterator/transform_iterator.h>

namespace
{

/* Writes sums of counts: they saturate, and what is cut off is added to *cut. */
struct saturate {
        unsigned long long *cut;
        uint32_t *counts;

        __device__ void operator()(size_t index, uint64_t sum) const
        {
                if (sum > UINT32_MAX) {
                        atomicAdd(cut, (unsigned long long)(sum - UINT32_MAX));
                        sum = UINT32_MAX;
                }
                counts[index] = (uint32_t)sum;
        }
};

struct widen {
        __device__ uint64_t operator()(uint32_t count) const
        {
                return count;
        }
};

struct add {
        __device__ uint64_t operator()(uint64_t a, uint64_t b) const
        {
                return a + b;
        }
};

/* As much of an output iterator as CUB uses. It passes index and value to saturate. */
struct saturated_counts {
        using iterator_category = std::random_access_iterator_tag;
        using value_type = void;
        using difference_type = ptrdiff_t;
        using pointer = void;
        using reference = void;

        struct place {
                saturate to;
                size_t index;

                __device__ const place &operator=(uint64_t sum) const
                {
                        to(index, sum);
                        return *this;
                }
        };

        saturate to;

        __host__ __device__ place operator[](ptrdiff_t n) const
        {
                return { to, (size_t)n };
        }
};

struct totals {
        unsigned long long nout, cut;
};

template <class Key> struct plain_sorting {
        cub::DoubleBuffer<Key> kmers;
        cub::DoubleBuffer<uint32_t> counts;
        struct totals *totals;
        size_t n;
        int nbits;
};

} // namespace

/* The two steps, in CUB's style: with temporary = NULL they only report how much memory they
 * need. */
template <class Key>
static cudaError_t sort(struct plain_sorting<Key> *s, void *temporary, size_t *nbytes,
                        cudaStream_t stream)
{
        return cub::DeviceRadixSort::SortPairs(temporary, *nbytes, s->kmers, s->counts, s->n, 0,
                                               s->nbits, stream);
}

template <class Key>
static cudaError_t sum(struct plain_sorting<Key> *s, void *temporary, size_t *nbytes,
                       cudaStream_t stream)
{
        saturated_counts out = { { &s->totals->cut, s->counts.Alternate() } };
        auto counts = thrust::make_transform_iterator(s->counts.Current(), widen());
        return cub::DeviceReduce::ReduceByKey(temporary, *nbytes, s->kmers.Current(),
                                              s->kmers.Alternate(), counts, out, &s->totals->nout,
                                              add(), (int64_t)s->n, stream);
}

template <class Key>
enum kc_status kc_order_sort_and_sum(struct kc_gpu *gpu, const struct kc_order_input<Key> *in,
                                     size_t *nout, Key **out_kmers, uint32_t **out_counts,
                                     uint64_t *nsaturated, struct kc_error *err)
{
        enum kc_status status;
        struct plain_sorting<Key> s = {
                { in->kmers, in->kmers_tmp }, { in->counts, in->counts_tmp }, NULL, in->n, 2 * in->k
        };
        size_t sort_nbytes = 0, sum_nbytes = 0, nbytes = 0;
        void *temporary = NULL;
        struct totals totals;

        KC_TRY(kc_gpu_new(gpu, &s.totals, 1, err));
        KC_TRY(KC_CUDA(cudaMemsetAsync(s.totals, 0, sizeof *s.totals, gpu->stream)));
        KC_TRY(KC_CUDA(sort(&s, NULL, &sort_nbytes, gpu->stream)));
        KC_TRY(KC_CUDA(sum(&s, NULL, &sum_nbytes, gpu->stream)));
        nbytes = sort_nbytes > sum_nbytes ? sort_nbytes : sum_nbytes;
        KC_TRY(kc_gpu_alloc(gpu, &temporary, nbytes, err));
        KC_TRY(KC_CUDA(sort(&s, temporary, &nbytes, gpu->stream)));
        KC_TRY(KC_CUDA(sum(&s, temporary, &nbytes, gpu->stream)));
        KC_TRY(kc_gpu_read(gpu, &totals, s.totals, 1, err));
        *nout = totals.nout;
        *nsaturated += totals.cut;
        *out_kmers = s.kmers.Alternate();
        *out_counts = s.counts.Alternate();
out:
        kc_gpu_release(gpu, temporary, nbytes);
        kc_gpu_delete(gpu, s.totals, 1);
        return status;
}

template <class Key>
enum kc_status kc_order_copy_run(struct kc_gpu *gpu, const Key *kmers, const uint32_t *counts,
                                 size_t n, struct kc_gpu_run<Key> *run, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(kc_gpu_run_new(gpu, run, n, err));
        KC_TRY(KC_CUDA(cudaMemcpyAsync(run->kmers, kmers, n * sizeof *kmers,
                                       cudaMemcpyDeviceToDevice, gpu->stream)));
        KC_TRY(KC_CUDA(cudaMemcpyAsync(run->counts, counts, n * sizeof *counts,
                                       cudaMemcpyDeviceToDevice, gpu->stream)));
        run->n = n;
out:
        if (status != KC_OK)
                kc_gpu_run_free(gpu, run);
        return status;
}

template <class Key>
enum kc_status kc_order_plainly(struct kc_gpu *gpu, const struct kc_order_input<Key> *in,
                                struct kc_gpu_run<Key> *run, uint64_t *nsaturated,
                                struct kc_error *err)
{
        enum kc_status status;
        uint64_t cut = 0;
        size_t n = 0;
        Key *kmers = NULL;
        uint32_t *counts = NULL;
        *run = {};
        if (in->n == 0)
                return KC_OK;
        KC_TRY(kc_order_sort_and_sum(gpu, in, &n, &kmers, &counts, &cut, err));
        KC_TRY(kc_order_copy_run(gpu, kmers, counts, n, run, err));
        *nsaturated += cut;
out:
        return status;
}

#define INSTANTIATE(Key) \
        template enum kc_status kc_order_sort_and_sum( \
                struct kc_gpu *, const struct kc_order_input<Key> *, size_t *, Key **, \
                uint32_t **, uint64_t *, struct kc_error *); \
        template enum kc_status kc_order_copy_run(struct kc_gpu *, const Key *, const uint32_t *, \
                                                  size_t, struct kc_gpu_run<Key> *, \
                                                  struct kc_error *); \
        template enum kc_status kc_order_plainly( \
                struct kc_gpu *, const struct kc_order_input<Key> *, struct kc_gpu_run<Key> *, \
                uint64_t *, struct kc_error *);
KC_GPU_KEYS(INSTANTIATE)
