/*
 * Distributes the valid elements of a run to levels. They are counted first, by stretches, so that
 * each stretch knows where its elements go.
 */
#include "gpu/device/warp.cuh"
#include "gpu/maps/lsm/map_internal.cuh"

#include <cub/device/device_scan.cuh>

/* A warp goes through a stretch, 32 elements at a time. */
enum { NTHREADS = 256, STRETCH = 256 };

namespace
{

/* Where the valid elements go: number i to the last level that starts at i or before. */
template <class Word> struct targets {
        int n;
        uint64_t starts[KC_LSM_MAX_LEVELS];
        kc_lsm_map_run<Word> runs[KC_LSM_MAX_LEVELS];
};

} // namespace

template <class Word>
static __device__ void put(const targets<Word> &targets, uint64_t number, Word word, uint32_t value)
{
        int i = targets.n - 1;
        while (number < targets.starts[i])
                i--;
        targets.runs[i].words[number - targets.starts[i]] = word;
        targets.runs[i].values[number - targets.starts[i]] = value;
}

/* This warp's stretch. */
static __device__ size_t stretch_of_warp(void)
{
        return (blockIdx.x * (size_t)NTHREADS + threadIdx.x) / 32;
}

template <class Word>
static __global__ void lsm_count_kernel(kc_lsm_map_run<Word> run, uint64_t *counts)
{
        size_t begin = stretch_of_warp() * STRETCH;
        uint32_t n = 0;
        if (begin >= run.n)
                return;
        for (size_t i = begin; i < begin + STRETCH && i < run.n; i += 32) {
                size_t at = i + kc_warp_lane();
                uint32_t value;
                bool valid =
                        at < run.n && kc_lsm_is_valid(run.words, run.values, at, run.n, &value);
                n += (uint32_t)__popc(__ballot_sync(UINT32_MAX, valid));
        }
        if (kc_warp_lane() == 0)
                counts[begin / STRETCH] = n;
}

/* before[s]: valid elements before stretch s. */
template <class Word>
static __global__ void lsm_distribute_kernel(kc_lsm_map_run<Word> run, const uint64_t *before,
                                             targets<Word> targets)
{
        size_t begin = stretch_of_warp() * STRETCH;
        if (begin >= run.n)
                return;
        uint64_t number = before[begin / STRETCH];
        for (size_t i = begin; i < begin + STRETCH && i < run.n; i += 32) {
                size_t at = i + kc_warp_lane();
                uint32_t value;
                bool valid =
                        at < run.n && kc_lsm_is_valid(run.words, run.values, at, run.n, &value);
                uint32_t ballot = __ballot_sync(UINT32_MAX, valid);
                if (valid)
                        put(targets, number + kc_warp_rank(ballot), run.words[at], value);
                number += (uint32_t)__popc(ballot);
        }
}

/* Fill the last `n` elements of the oldest level with placebos. */
template <class Word> static __global__ void lsm_placebo_kernel(kc_lsm_map_run<Word> run, size_t n)
{
        size_t i = blockIdx.x * (size_t)NTHREADS + threadIdx.x;
        if (i >= n)
                return;
        run.words[run.n - 1 - i] = kc_lsm_placebo<Word>();
        run.values[run.n - 1 - i] = 0;
}

/* Set counts [nstretches + 1] to the valid elements before each stretch; the last one, also
 * *nvalid, is the total. */
template <class Word>
static enum kc_status count_valid(struct kc_gpu_stream on, const kc_lsm_map_run<Word> *run,
                                  size_t nstretches, uint64_t *counts, uint64_t *nvalid,
                                  struct kc_error *err)
{
        enum kc_status status;
        void *temporary = NULL;
        size_t nbytes = 0;
        KC_TRY(KC_CUDA(cudaMemsetAsync(counts + nstretches, 0, sizeof *counts, on.stream)));
        lsm_count_kernel<<<kc_ceil_div(nstretches * 32, NTHREADS), NTHREADS, 0, on.stream>>>(
                *run, counts);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(KC_CUDA(cub::DeviceScan::ExclusiveSum(NULL, nbytes, counts, counts, nstretches + 1,
                                                     on.stream)));
        KC_TRY(kc_gpu_alloc(on, &temporary, nbytes, err));
        KC_TRY(KC_CUDA(cub::DeviceScan::ExclusiveSum(temporary, nbytes, counts, counts,
                                                     nstretches + 1, on.stream)));
        KC_TRY(kc_gpu_read(on, nvalid, counts + nstretches, 1, err));
out:
        kc_gpu_release(on, temporary, nbytes);
        return status;
}

/* Allocate the levels that `nbatches` batches occupy. A level that has memory has enough. */
template <class Word>
static enum kc_status reserve_levels(struct kc_lsm_map<Word> *map, uint64_t nbatches,
                                     struct kc_error *err)
{
        enum kc_status status = KC_OK;
        int nlevels = kc_lsm_nlevels(nbatches);
        if (nlevels > 0 && (uint64_t)map->batch << (nlevels - 1) > UINT32_MAX)
                return kc_fail(err, KC_ENOMEM,
                               "LSM map: full, as level %d would have 2^32 elements or more",
                               nlevels - 1);
        for (int i = 0; i < nlevels; i++)
                if (kc_lsm_is_occupied(nbatches, i))
                        KC_TRY(kc_lsm_reserve(map->on, &map->levels[i], map->batch << i, true,
                                              err));
out:
        return status;
}

/* Mark the levels as occupied, and full, by the elements to come. */
template <class Word>
static targets<Word> take_levels(struct kc_lsm_map<Word> *map, uint64_t nbatches)
{
        targets<Word> targets = {};
        uint64_t start = 0;
        for (int i = 0; i < KC_LSM_MAX_LEVELS; i++) {
                kc_lsm_map_run<Word> *run = &map->levels[i].run;
                run->n = kc_lsm_is_occupied(nbatches, i) ? map->batch << i : 0;
                if (run->n == 0)
                        continue;
                targets.starts[targets.n] = start;
                targets.runs[targets.n++] = *run;
                start += run->n;
        }
        map->nbatches = nbatches;
        return targets;
}

template <class Word>
static enum kc_status fill_levels(struct kc_lsm_map<Word> *map, const kc_lsm_map_run<Word> *run,
                                  size_t nstretches, const uint64_t *before, uint64_t nvalid,
                                  uint64_t nbatches, struct kc_error *err)
{
        enum kc_status status;
        cudaStream_t stream = map->on.stream;
        targets<Word> targets = take_levels(map, nbatches);
        size_t nplacebos = (size_t)(nbatches * map->batch - nvalid);
        lsm_distribute_kernel<<<kc_ceil_div(nstretches * 32, NTHREADS), NTHREADS, 0, stream>>>(
                *run, before, targets);
        KC_TRY(KC_LAUNCHED());
        if (nplacebos > 0)
                lsm_placebo_kernel<<<kc_ceil_div(nplacebos, NTHREADS), NTHREADS, 0, stream>>>(
                        targets.runs[targets.n - 1], nplacebos);
        KC_TRY(KC_LAUNCHED());
        for (kc_lsm_level<Word> &level : map->levels)
                KC_TRY(kc_lsm_fence(map->on, &level.run, level.fences, err));
out:
        return status;
}

template <class Word>
enum kc_status kc_lsm_distribute(struct kc_lsm_map<Word> *map, const kc_lsm_map_run<Word> *run,
                                 struct kc_error *err)
{
        enum kc_status status;
        size_t nstretches = kc_ceil_div(run->n, STRETCH);
        uint64_t *counts = NULL, nvalid, nbatches;
        KC_TRY(kc_gpu_new(map->on, &counts, nstretches + 1, err));
        KC_TRY(count_valid(map->on, run, nstretches, counts, &nvalid, err));
        nbatches = (nvalid + map->batch - 1) / map->batch;
        KC_TRY(reserve_levels(map, nbatches, err));
        if (nbatches > 0)
                KC_TRY(fill_levels(map, run, nstretches, counts, nvalid, nbatches, err));
        else
                (void)take_levels(map, 0);
out:
        kc_gpu_delete(map->on, counts, nstretches + 1);
        return status;
}

#define INSTANTIATE(Word) \
        template enum kc_status kc_lsm_distribute( \
                struct kc_lsm_map<Word> *, const kc_lsm_map_run<Word> *, struct kc_error *);
KC_LSM_WORDS(INSTANTIATE)
