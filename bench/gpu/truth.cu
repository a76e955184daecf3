#include "bench/gpu/workload.cuh"

#include <cub/device/device_merge_sort.cuh>
#include <cub/device/device_radix_sort.cuh>

enum { THREADS = 256 };

/* Does not read past the word that has the last of the k bases. */
template <class Key> KC_HD Key packed_at(const uint64_t *words, uint64_t base, int k)
{
        enum { NWORDS = sizeof(Key) / 8 };
        const uint64_t *w = words + base / 32;
        const int shift = 2 * (int)(base % 32), end = shift + 2 * k;
        uint64_t packed[NWORDS];
        for (int i = 0; i < NWORDS; i++) {
                uint64_t low = 64 * i < end ? w[i] : 0, high = 64 * (i + 1) < end ? w[i + 1] : 0;
                packed[i] = low >> shift | high << 1 << (63 - shift);
        }
        Key key;
        kc_key_set(&key, packed);
        return key;
}

/* One thread per k-mer, directly from the reads: the truth does not depend on spans. */
template <class Key>
__global__ static void kmers_kernel(const uint64_t *words, uint32_t words_per_read,
                                    uint32_t nkmers_per_read, int k, uint64_t n, Key *kmers)
{
        uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
        if (i >= n)
                return;
        const uint64_t *read = words + i / nkmers_per_read * words_per_read;
        kmers[i] = kc_key_from_packed<Key>(packed_at<Key>(read, i % nkmers_per_read, k), k, false);
}

template <class Key>
enum kc_status workload_kmers(struct kc_gpu *gpu, const struct workload *w,
                              const struct kc_gpu_reads *reads, int k, uint64_t n, Key *kmers,
                              struct kc_error *err)
{
        kmers_kernel<<<kc_ceil_div(n, THREADS), THREADS, 0, gpu->stream>>>(
                reads->words, (uint32_t)workload_words_per_read(w), w->length - (uint32_t)k + 1, k,
                n, kmers);
        return KC_LAUNCHED();
}

/* totals: [0] sum of hash times count, [1] keys unlike their predecessor, [2] sum of counts,
 * [3] keys below their predecessor. counts may be NULL: 1 each. */
template <class Key>
__global__ static void totals_kernel(const Key *kmers, const uint32_t *counts, uint64_t n,
                                     unsigned long long *totals)
{
        unsigned long long sums[WORKLOAD_NTOTALS] = {};
        uint64_t step = (uint64_t)gridDim.x * THREADS;
        for (uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x; i < n; i += step) {
                uint64_t count = counts ? counts[i] : 1;
                sums[0] += kc_key_hash(kmers[i]) * count;
                sums[1] += i == 0 || kmers[i] != kmers[i - 1];
                sums[2] += count;
                sums[3] += i > 0 && kmers[i] < kmers[i - 1];
        }
        for (int t = 0; t < WORKLOAD_NTOTALS; t++)
                if (sums[t] != 0)
                        atomicAdd(&totals[t], sums[t]);
}

template <class Key>
enum kc_status workload_add_totals(struct kc_gpu *gpu, const Key *kmers, const uint32_t *counts,
                                   uint64_t n, struct workload_totals *totals, struct kc_error *err)
{
        enum kc_status status;
        unsigned long long *sums = NULL, found[WORKLOAD_NTOTALS];
        KC_TRY(kc_gpu_new(gpu, &sums, WORKLOAD_NTOTALS, err));
        KC_TRY(KC_CUDA(cudaMemsetAsync(sums, 0, sizeof found, gpu->stream)));
        totals_kernel<<<8 * gpu->nmultiprocessors, THREADS, 0, gpu->stream>>>(kmers, counts, n,
                                                                              sums);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(KC_CUDA(
                cudaMemcpyAsync(found, sums, sizeof found, cudaMemcpyDeviceToHost, gpu->stream)));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(gpu->stream)));
        totals->hash_sum += found[0];
        totals->ndistinct += found[1];
        totals->nkmers += found[2];
        totals->ndisordered += found[3];
out:
        kc_gpu_delete(gpu, sums, WORKLOAD_NTOTALS);
        return status;
}

namespace
{

struct less {
        template <class Key> __device__ bool operator()(const Key &a, const Key &b) const
        {
                return a < b;
        }
};

} // namespace

/* In CUB's style: with scratch = NULL, only report how much memory is needed. */
template <class Key>
static cudaError_t sort_by_cub(void *scratch, size_t *nbytes, cub::DoubleBuffer<Key> *keys,
                               uint64_t n, int k, cudaStream_t stream)
{
        if constexpr (sizeof(Key) <= 16)
                return cub::DeviceRadixSort::SortKeys(scratch, *nbytes, *keys, n, 0, 2 * k, stream);
        else
                return cub::DeviceMergeSort::SortKeys(scratch, *nbytes, keys->Current(), n, less(),
                                                      stream);
}

template <class Key>
static enum kc_status sort_keys(struct kc_gpu *gpu, cub::DoubleBuffer<Key> *keys, uint64_t n, int k,
                                struct kc_error *err)
{
        enum kc_status status;
        size_t nbytes = 0;
        void *scratch = NULL;
        KC_TRY(KC_CUDA(sort_by_cub(NULL, &nbytes, keys, n, k, gpu->stream)));
        KC_TRY(kc_gpu_alloc(gpu, &scratch, nbytes, err));
        KC_TRY(KC_CUDA(sort_by_cub(scratch, &nbytes, keys, n, k, gpu->stream)));
out:
        kc_gpu_release(gpu, scratch, nbytes);
        return status;
}

template <class Key>
enum kc_status workload_truth(struct kc_gpu *gpu, const struct workload *w,
                              const struct kc_gpu_reads *reads, int k,
                              struct workload_totals *totals, struct kc_error *err)
{
        enum kc_status status;
        uint64_t n = reads->nkmers;
        Key *kmers = NULL, *other = NULL;
        *totals = {};
        KC_TRY(kc_gpu_new(gpu, &kmers, n, err));
        KC_TRY(kc_gpu_new(gpu, &other, n, err));
        KC_TRY(workload_kmers(gpu, w, reads, k, n, kmers, err));
        {
                cub::DoubleBuffer<Key> keys(kmers, other);
                KC_TRY(sort_keys(gpu, &keys, n, k, err));
                KC_TRY(workload_add_totals<Key>(gpu, keys.Current(), NULL, n, totals, err));
        }
out:
        kc_gpu_delete(gpu, other, n);
        kc_gpu_delete(gpu, kmers, n);
        return status;
}

#define INSTANTIATE(Key) \
        template enum kc_status workload_kmers(struct kc_gpu *, const struct workload *, \
                                               const struct kc_gpu_reads *, int, uint64_t, Key *, \
                                               struct kc_error *); \
        template enum kc_status workload_add_totals(struct kc_gpu *, const Key *, \
                                                    const uint32_t *, uint64_t, \
                                                    struct workload_totals *, struct kc_error *); \
        template enum kc_status workload_truth<Key>(struct kc_gpu *, const struct workload *, \
                                                    const struct kc_gpu_reads *, int, \
                                                    struct workload_totals *, struct kc_error *);
KC_GPU_KEYS(INSTANTIATE)
