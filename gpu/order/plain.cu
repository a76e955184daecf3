/*
 * Order by CUB's radix sort.
 */
#include "gpu/order/order_internal.cuh"

#include <cub/device/device_radix_sort.cuh>

namespace
{

template <class Key> struct plain_sorting {
        cub::DoubleBuffer<Key> kmers;
        cub::DoubleBuffer<uint32_t> counts;
        size_t n;
        int nbits;
};

} // namespace

/* In CUB's style: with temporary = NULL it only reports how much memory it needs. */
template <class Key>
static cudaError_t sort(struct plain_sorting<Key> *s, void *temporary, size_t *nbytes,
                        cudaStream_t stream)
{
        return cub::DeviceRadixSort::SortPairs(temporary, *nbytes, s->kmers, s->counts, s->n, 0,
                                               s->nbits, stream);
}

enum { NTHREADS = 256 };

static __global__ void number_kernel(uint32_t *numbers, size_t n)
{
        size_t i = blockIdx.x * (size_t)NTHREADS + threadIdx.x;
        if (i < n)
                numbers[i] = (uint32_t)i;
}

/* Word `word` of the k-mers, in the order of the numbers. */
template <class Key>
static __global__ void gather_kernel(const Key *kmers, int word, const uint32_t *numbers, size_t n,
                                     uint64_t *words)
{
        size_t i = blockIdx.x * (size_t)NTHREADS + threadIdx.x;
        if (i < n)
                words[i] = kmers[numbers[i]].words[word];
}

/* Put the pairs in the order of the numbers, and the counts in place of the numbers. */
template <class Key>
static __global__ void permute_kernel(const Key *kmers, const uint32_t *counts, size_t n,
                                      Key *to_kmers, uint32_t *numbers)
{
        size_t i = blockIdx.x * (size_t)NTHREADS + threadIdx.x;
        if (i >= n)
                return;
        uint32_t number = numbers[i];
        to_kmers[i] = kmers[number];
        numbers[i] = counts[number];
}

/* Put the numbers in the order of the k-mers. The radix sort is stable, so it can sort by one word
 * after the other, the lowest first. */
template <int N>
static cudaError_t sort_numbers(struct plain_sorting<kc_key_wide<N>> *s,
                                cub::DoubleBuffer<uint64_t> *words,
                                cub::DoubleBuffer<uint32_t> *numbers, void *temporary,
                                size_t nbytes, cudaStream_t stream)
{
        const unsigned nblocks = kc_ceil_div(s->n, NTHREADS);
        cudaError_t code = cudaSuccess;
        number_kernel<<<nblocks, NTHREADS, 0, stream>>>(numbers->Current(), s->n);
        for (int i = 0; 64 * i < s->nbits && code == cudaSuccess; i++) {
                const int nbits = s->nbits - 64 * i < 64 ? s->nbits - 64 * i : 64;
                gather_kernel<<<nblocks, NTHREADS, 0, stream>>>(
                        s->kmers.Current(), i, numbers->Current(), s->n, words->Current());
                code = cub::DeviceRadixSort::SortPairs(temporary, nbytes, *words, *numbers, s->n, 0,
                                                       nbits, stream);
        }
        return code == cudaSuccess ? cudaGetLastError() : code;
}

/*
 * Wide keys: sort the numbers of the pairs, then move each pair once. This moves less data than a
 * radix sort of the pairs would, and uses the kernels for keys of 64 bits. The scratch arrays have
 * room for all of it: that of the k-mers for two arrays of words and one of numbers, that of the
 * counts for another of numbers.
 */
template <int N>
static cudaError_t sort(struct plain_sorting<kc_key_wide<N>> *s, void *temporary, size_t *nbytes,
                        cudaStream_t stream)
{
        static_assert(N >= 3, "the scratch array holds words twice, and numbers");
        uint64_t *scratch = (uint64_t *)s->kmers.Alternate();
        cub::DoubleBuffer<uint64_t> words(scratch, scratch + s->n);
        cub::DoubleBuffer<uint32_t> numbers(s->counts.Alternate(),
                                            (uint32_t *)(scratch + 2 * s->n));
        if (s->n > UINT32_MAX)
                return cudaErrorInvalidValue; /* numbers have 32 bits */
        if (temporary == NULL)
                return cub::DeviceRadixSort::SortPairs(NULL, *nbytes, words, numbers, s->n, 0, 64,
                                                       stream);
        cudaError_t code = sort_numbers(s, &words, &numbers, temporary, *nbytes, stream);
        if (code == cudaSuccess && numbers.Current() != s->counts.Alternate())
                code = cudaMemcpyAsync(s->counts.Alternate(), numbers.Current(),
                                       s->n * sizeof(uint32_t), cudaMemcpyDeviceToDevice, stream);
        if (code != cudaSuccess)
                return code;
        permute_kernel<<<kc_ceil_div(s->n, NTHREADS), NTHREADS, 0, stream>>>(
                s->kmers.Current(), s->counts.Current(), s->n, s->kmers.Alternate(),
                s->counts.Alternate());
        s->kmers.selector ^= 1;
        s->counts.selector ^= 1;
        return cudaGetLastError();
}

template <class Key>
enum kc_status kc_order_sort(struct kc_gpu *gpu, const struct kc_order_input<Key> *in, Key **kmers,
                             uint32_t **counts, struct kc_error *err)
{
        enum kc_status status;
        plain_sorting<Key> s = {
                { in->kmers, in->kmers_tmp }, { in->counts, in->counts_tmp }, in->n, 2 * in->k
        };
        size_t nbytes = 0;
        void *temporary = NULL;
        KC_TRY(KC_CUDA(sort(&s, NULL, &nbytes, gpu->stream)));
        KC_TRY(kc_gpu_alloc(gpu, &temporary, nbytes, err));
        KC_TRY(KC_CUDA(sort(&s, temporary, &nbytes, gpu->stream)));
        *kmers = s.kmers.Current();
        *counts = s.counts.Current();
out:
        kc_gpu_release(gpu, temporary, nbytes);
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
                                struct kc_gpu_run<Key> *run, struct kc_error *err)
{
        enum kc_status status;
        Key *kmers = NULL;
        uint32_t *counts = NULL;
        *run = {};
        if (in->n == 0)
                return KC_OK;
        KC_TRY(kc_order_sort(gpu, in, &kmers, &counts, err));
        KC_TRY(kc_order_copy_run(gpu, kmers, counts, in->n, run, err));
out:
        return status;
}

#define INSTANTIATE(Key) \
        template enum kc_status kc_order_sort(struct kc_gpu *, const struct kc_order_input<Key> *, \
                                              Key **, uint32_t **, struct kc_error *); \
        template enum kc_status kc_order_copy_run(struct kc_gpu *, const Key *, const uint32_t *, \
                                                  size_t, struct kc_gpu_run<Key> *, \
                                                  struct kc_error *); \
        template enum kc_status kc_order_plainly(struct kc_gpu *, \
                                                 const struct kc_order_input<Key> *, \
                                                 struct kc_gpu_run<Key> *, struct kc_error *);
KC_GPU_KEYS(INSTANTIATE)
