/*
 * Count and range queries.
 *
 *      bounds    one thread per query: where its range begins and ends in each level
 *      places    for ranges: a scan over the number of elements in each query's range
 *      select    one warp per query: count or write the valid elements in its range, see select.cuh
 */
#include "gpu/maps/lsm/select.cuh"

#include <cub/device/device_scan.cuh>

enum { SLICE = 1 << 20 }; /* queries whose bounds are in memory at once */

/* ---- bounds */

/* bounds [nlevels][n]; sizes [n], or NULL: totals over all levels. */
template <class Word>
static __global__ void __launch_bounds__(KC_LSM_FIND_NTHREADS, KC_LSM_FIND_NBLOCKS)
        lsm_bounds_kernel(const __grid_constant__ kc_lsm_view<Word> view, const Word *from,
                          const Word *to, uint32_t n, kc_lsm_bounds *bounds, uint64_t *sizes)
{
        extern __shared__ uint4 shared[];
        Word *tops = (Word *)shared;
        kc_lsm_load_tops(&view, tops);
        for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
             i += gridDim.x * blockDim.x) {
                const Word low = from[i], high = to[i];
                uint64_t size = 0;
                for (uint32_t l = 0; l < view.nlevels; l++) {
                        kc_lsm_bounds b = kc_lsm_bound(&view.levels[l], tops, low, high);
                        bounds[(size_t)l * n + i] = b;
                        size += b.n;
                }
                if (sizes != NULL)
                        sizes[i] = size;
        }
}

/* ---- the calls */

/* Bounds of a slice of queries, n <= SLICE; sizes as in lsm_bounds_kernel. */
template <class Word>
static enum kc_status find_bounds(const struct kc_lsm_map<Word> *map, const Word *from,
                                  const Word *to, size_t n, kc_lsm_view<Word> *view,
                                  kc_lsm_bounds *bounds, uint64_t *sizes, struct kc_error *err)
{
        enum kc_status status;
        size_t shared_nbytes;
        unsigned nblocks = kc_lsm_nblocks(map->on, n);
        kc_lsm_look(map, n, view, &shared_nbytes);
        KC_TRY(KC_CUDA(cudaFuncSetAttribute(lsm_bounds_kernel<Word>,
                                            cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            KC_LSM_TOPS_NBYTES)));
        lsm_bounds_kernel<Word><<<nblocks, KC_LSM_FIND_NTHREADS, shared_nbytes, map->on.stream>>>(
                *view, from, to, (uint32_t)n, bounds, sizes);
        KC_TRY(KC_LAUNCHED());
out:
        return status;
}

template <class Word, bool WRITES>
static enum kc_status select(struct kc_gpu_stream on, const kc_lsm_view<Word> *view,
                             const kc_lsm_bounds *bounds, size_t n,
                             const kc_lsm_ranges<Word> *ranges, struct kc_error *err)
{
        enum kc_status status;
        unsigned nfew = kc_ceil_div(n, KC_LSM_FEW_NWARPS);
        unsigned nmany = kc_ceil_div(n, KC_LSM_GROUP * KC_LSM_MANY_NWARPS);
        unsigned most = (unsigned)on.gpu->nmultiprocessors * KC_LSM_MANY_NBLOCKS;
        lsm_few_kernel<Word, WRITES>
                <<<nfew, KC_LSM_FEW_NTHREADS, 0, on.stream>>>(*view, bounds, (uint32_t)n, *ranges);
        KC_TRY(KC_LAUNCHED());
        nmany = nmany < most ? nmany : most;
        lsm_many_kernel<Word, WRITES><<<nmany, KC_LSM_MANY_NTHREADS, 0, on.stream>>>(
                *view, bounds, (uint32_t)n, *ranges);
        KC_TRY(KC_LAUNCHED());
out:
        return status;
}

/* On entry starts[0] is known and starts[i + 1] is the size of query i; replaces them by prefix
 * sums. */
static cudaError_t sum_sizes(uint64_t *starts, size_t n, void *temporary, size_t *nbytes,
                             cudaStream_t stream)
{
        return cub::DeviceScan::InclusiveSum(temporary, *nbytes, starts, starts, n + 1, stream);
}

namespace
{

/* Memory that queries need while they run. */
struct range_memory {
        kc_lsm_bounds *bounds; /* [nbounds] */
        void *temporary;       /* of sum_sizes */
        size_t nbounds, temporary_nbytes;
};

} // namespace

/* Allocate memory for slices of at most n queries. */
template <class Word>
static enum kc_status take_memory(const struct kc_lsm_map<Word> *map, size_t n,
                                  struct range_memory *memory, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_stream on = map->on;
        for (const kc_lsm_level<Word> &level : map->levels)
                memory->nbounds += level.run.n > 0 ? n : 0;
        KC_TRY(kc_gpu_new(on, &memory->bounds, memory->nbounds, err));
        KC_TRY(KC_CUDA(sum_sizes(NULL, n, NULL, &memory->temporary_nbytes, on.stream)));
        KC_TRY(kc_gpu_alloc(on, &memory->temporary, memory->temporary_nbytes, err));
out:
        return status;
}

static void free_memory(struct kc_gpu_stream on, struct range_memory *memory)
{
        kc_gpu_delete(on, memory->bounds, memory->nbounds);
        kc_gpu_release(on, memory->temporary, memory->temporary_nbytes);
}

template <class Word>
static enum kc_status count_slice(const struct kc_lsm_map<Word> *map, const Word *from,
                                  const Word *to, size_t n, uint64_t *counts,
                                  struct range_memory *memory, struct kc_error *err)
{
        enum kc_status status;
        kc_lsm_view<Word> view;
        kc_lsm_ranges<Word> ranges = {};
        ranges.counts = counts;
        KC_TRY(find_bounds(map, from, to, n, &view, memory->bounds, (uint64_t *)NULL, err));
        status = select<Word, false>(map->on, &view, memory->bounds, n, &ranges, err);
out:
        return status;
}

template <class Word>
static enum kc_status range_slice(const struct kc_lsm_map<Word> *map, const Word *from,
                                  const Word *to, size_t n, const kc_lsm_ranges<Word> *ranges,
                                  struct range_memory *memory, struct kc_error *err)
{
        enum kc_status status;
        kc_lsm_view<Word> view;
        KC_TRY(find_bounds(map, from, to, n, &view, memory->bounds, ranges->starts + 1, err));
        KC_TRY(KC_CUDA(sum_sizes(ranges->starts, n, memory->temporary, &memory->temporary_nbytes,
                                 map->on.stream)));
        status = select<Word, true>(map->on, &view, memory->bounds, n, ranges, err);
out:
        return status;
}

template <class Word>
enum kc_status kc_lsm_count(const struct kc_lsm_map<Word> *map, const Word *from, const Word *to,
                            uint64_t *counts, size_t n, struct kc_error *err)
{
        enum kc_status status;
        struct range_memory memory = {};
        KC_TRY(take_memory(map, n < SLICE ? n : (size_t)SLICE, &memory, err));
        for (size_t at = 0; at < n; at += SLICE) {
                size_t m = n - at < SLICE ? n - at : (size_t)SLICE;
                KC_TRY(count_slice(map, from + at, to + at, m, counts + at, &memory, err));
        }
out:
        free_memory(map->on, &memory);
        return status;
}

template <class Word>
enum kc_status kc_lsm_range(const struct kc_lsm_map<Word> *map, const Word *from, const Word *to,
                            size_t n, struct kc_lsm_ranges<Word> *out, struct kc_error *err)
{
        enum kc_status status;
        cudaStream_t stream = map->on.stream;
        struct range_memory memory = {};
        KC_TRY(take_memory(map, n < SLICE ? n : (size_t)SLICE, &memory, err));
        KC_TRY(KC_CUDA(cudaMemsetAsync(out->starts, 0, sizeof *out->starts, stream)));
        for (size_t at = 0; at < n; at += SLICE) {
                size_t m = n - at < SLICE ? n - at : (size_t)SLICE;
                kc_lsm_ranges<Word> slice = *out;
                slice.starts += at;
                slice.counts += at;
                KC_TRY(range_slice(map, from + at, to + at, m, &slice, &memory, err));
        }
        KC_TRY(kc_gpu_read(map->on, &out->needed, out->starts + n, 1, err));
        if (out->needed > out->cap)
                status = kc_fail(err, KC_ENOMEM,
                                 "LSM map: the ranges have up to %llu pairs, and there is room "
                                 "for %zu",
                                 (unsigned long long)out->needed, out->cap);
out:
        free_memory(map->on, &memory);
        return status;
}

#define INSTANTIATE(Word) \
        template enum kc_status kc_lsm_count(const struct kc_lsm_map<Word> *, const Word *, \
                                             const Word *, uint64_t *, size_t, struct kc_error *); \
        template enum kc_status kc_lsm_range(const struct kc_lsm_map<Word> *, const Word *, \
                                             const Word *, size_t, struct kc_lsm_ranges<Word> *, \
                                             struct kc_error *);
KC_LSM_WORDS(INSTANTIATE)
