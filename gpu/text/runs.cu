/*
 * From the usable plane to segments and spans. A segment is a run of at least min_k ones. Its
 * beginning and its end are found independently, by their rank: the i-th beginning belongs to the
 * i-th end, however far apart they are.
 */
#include "gpu/text/text_internal.cuh"

#include <cub/device/device_scan.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

/* Whether all n bits from position `at` on are ones. */
static __device__ bool are_ones(const uint32_t *plane, uint32_t at, uint32_t n)
{
        while (n > 0) {
                const uint32_t here = min(32 - at % 32, n), ones = text_below(here);
                if ((plane[at / 32] >> at % 32 & ones) != ones)
                        return false;
                at += here;
                n -= here;
        }
        return true;
}

namespace
{

/* Bits where runs begin, and where they have ended. */
struct run_bits {
        uint32_t begins, ends;
};

} // namespace

/* Runs of at least k ones, in a word of the plane. */
static __device__ struct run_bits find_runs(const uint32_t *plane, uint32_t word, uint32_t k)
{
        const uint32_t here = plane[word], before = word > 0 ? plane[word - 1] >> 31 : 0;
        const uint32_t shifted = here << 1 | before;
        struct run_bits runs = { here & ~shifted, shifted & ~here };
        for (uint32_t left = runs.begins; left != 0; left &= left - 1)
                if (!are_ones(plane, word * 32 + (uint32_t)__ffs((int)left) - 1, k))
                        runs.begins ^= left & (0 - left);
        for (uint32_t left = runs.ends; left != 0; left &= left - 1) {
                const uint32_t end = word * 32 + (uint32_t)__ffs((int)left) - 1;
                if (end < k || !are_ones(plane, end - k, k))
                        runs.ends ^= left & (0 - left);
        }
        return runs;
}

static __global__ void __launch_bounds__(TEXT_THREADS)
        count_runs_kernel(struct text_view t, uint32_t k)
{
        const uint32_t tile = blockIdx.x * TEXT_WARPS + threadIdx.x / 32;
        if (tile >= t.ntiles)
                return;
        const struct run_bits runs = find_runs(t.usable, text_word(tile), k);
        const uint32_t n = (uint32_t)(__popc(runs.ends) << 16 | __popc(runs.begins));
        const uint32_t all = __reduce_add_sync(UINT32_MAX, n);
        if (kc_warp_lane() == 0)
                t.tile_runs[tile] = (uint64_t)(all >> 16) << 32 | all % (1 << 16);
}

/* Write the positions of the bits; `at`: how many come before those of the warp. */
static __device__ void put_positions(uint32_t *positions, uint32_t cap, uint32_t at, uint32_t word,
                                     uint32_t bits)
{
        const uint32_t own = (uint32_t)__popc(bits);
        at += kc_warp_scan(own) - own;
        for (; bits != 0 && at < cap; bits &= bits - 1)
                positions[at++] = word * 32 + (uint32_t)__ffs((int)bits) - 1;
}

static __global__ void __launch_bounds__(TEXT_THREADS) runs_kernel(struct text_view t, uint32_t k)
{
        const uint32_t tile = blockIdx.x * TEXT_WARPS + threadIdx.x / 32, word = text_word(tile);
        if (tile >= t.ntiles)
                return;
        const struct run_bits runs = find_runs(t.usable, word, k);
        const uint64_t before = t.tile_runs[tile];
        put_positions(t.run_begins, t.runs_cap, (uint32_t)before, word, runs.begins);
        put_positions(t.run_ends, t.runs_cap, (uint32_t)(before >> 32), word, runs.ends);
}

static __device__ uint32_t count_runs(const struct text_view &t)
{
        return (uint32_t)t.tile_runs[t.ntiles];
}

/* How many of the run's bases an earlier text has, unless it has all of them. */
static __device__ uint32_t overlap_of(const struct text_view &t, uint32_t run)
{
        const uint32_t begin = t.run_begins[run];
        return begin < t.noverlap && t.noverlap < t.run_ends[run] ? t.noverlap - begin : 0;
}

/* The place of a segment's first k-mer that no earlier text has, or that is left out later. */
static __device__ uint32_t first_kmer(const struct text_view &t, uint32_t run, uint32_t k)
{
        if (t.marks && overlap_of(t, run) > 0)
                return t.run_begins[run];
        const uint32_t fresh = t.noverlap < k ? 0 : t.noverlap - k + 1;
        return max(t.run_begins[run], fresh);
}

static __device__ uint32_t count_kmers(const struct text_view &t, uint32_t run, uint32_t k)
{
        const uint32_t first = first_kmer(t, run, k), end = t.run_ends[run];
        return end < first + k ? 0 : end - first - k + 1;
}

namespace
{

struct run_counter {
        struct text_view t;
        uint32_t k;
        __device__ uint64_t operator()(uint32_t run) const
        {
                if (run >= min(count_runs(t), t.runs_cap))
                        return 0;
                const uint32_t nkmers = count_kmers(t, run, k);
                return (uint64_t)nkmers << 32 | kc_span_count(nkmers);
        }
};

} // namespace

/* The last run before which there are at most `number` spans: the one that this span belongs to. */
static __device__ uint32_t run_of_span(const struct text_view &t, uint32_t nruns, uint32_t number)
{
        uint32_t low = 0, high = nruns;
        while (high - low > 1) {
                const uint32_t middle = low + (high - low) / 2;
                if ((uint32_t)t.run_spans[middle] <= number)
                        low = middle;
                else
                        high = middle;
        }
        return low;
}

static __global__ void __launch_bounds__(TEXT_THREADS)
        spans_kernel(struct text_view t, uint32_t k, uint32_t first_word, struct kc_span *spans,
                     uint32_t spans_cap)
{
        const uint32_t nruns = count_runs(t), stride = gridDim.x * TEXT_THREADS;
        const uint32_t nspans = nruns > t.runs_cap ? 0 : (uint32_t)t.run_spans[nruns];
        uint64_t nends = 0;
        for (uint32_t i = blockIdx.x * TEXT_THREADS + threadIdx.x; i < nspans; i += stride) {
                const uint32_t run = run_of_span(t, nruns, i);
                const uint32_t number = i - (uint32_t)t.run_spans[run];
                struct kc_span span = kc_span_cut(count_kmers(t, run, k), number,
                                                  first_kmer(t, run, k), first_word);
                if (t.marks && number == 0)
                        span.nbefore = (uint8_t)overlap_of(t, run);
                nends += span.ends;
                if (i < spans_cap)
                        spans[i] = span;
        }
        text_add(&t.facts->nends, nends);
}

static __global__ void finish_spans_kernel(struct text_view t)
{
        const uint32_t nruns = count_runs(t);
        const uint64_t sums = nruns > t.runs_cap ? 0 : t.run_spans[nruns];
        t.found->nruns = nruns;
        t.found->nspans = (uint32_t)sums;
        t.found->nkmers = sums >> 32;
        t.found->nends = t.facts->nends;
}

enum kc_status kc_gpu_text_find_runs(struct kc_gpu_text *text, struct kc_error *err)
{
        enum kc_status status;
        const struct text_view *t = &text->view;
        const cudaStream_t stream = text->gpu->stream;
        const uint32_t k = (uint32_t)text->setup.min_k;
        KC_TRY(KC_CUDA(
                cudaMemsetAsync(t->usable + (size_t)t->ntiles * 32, 0, sizeof *t->usable, stream)));
        count_runs_kernel<<<text_tile_blocks(t), TEXT_THREADS, 0, stream>>>(*t, k);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(kc_gpu_text_sum(text->scratch, &text->scratch_nbytes, t->tile_runs,
                               (size_t)t->ntiles + 1, stream, err));
        runs_kernel<<<text_tile_blocks(t), TEXT_THREADS, 0, stream>>>(*t, k);
        KC_TRY(KC_LAUNCHED());
out:
        return status;
}

enum kc_status kc_gpu_text_cut_spans(struct kc_gpu_text *text, int k, uint32_t first_word,
                                     struct kc_span *spans, size_t nspans_cap, struct kc_error *err)
{
        enum kc_status status;
        const struct text_view *t = &text->view;
        const cudaStream_t stream = text->gpu->stream;
        const uint32_t cap = (uint32_t)(nspans_cap < UINT32_MAX ? nspans_cap : UINT32_MAX);
        KC_TRY(KC_CUDA(cudaMemsetAsync(&t->facts->nends, 0, sizeof t->facts->nends, stream)));
        KC_TRY(kc_gpu_text_sum_spans(text->scratch, &text->scratch_nbytes, t, k, stream, err));
        spans_kernel<<<text_loop_blocks(text->gpu, t->runs_cap), TEXT_THREADS, 0, stream>>>(
                *t, (uint32_t)k, first_word, spans, cap);
        KC_TRY(KC_LAUNCHED());
        finish_spans_kernel<<<1, 1, 0, stream>>>(*t);
        KC_TRY(KC_LAUNCHED());
out:
        return status;
}

enum kc_status kc_gpu_text_sum(void *scratch, size_t *nbytes, uint32_t *numbers, size_t n,
                               cudaStream_t stream, struct kc_error *err)
{
        return KC_CUDA(
                cub::DeviceScan::ExclusiveSum(scratch, *nbytes, numbers, numbers, (int)n, stream));
}

enum kc_status kc_gpu_text_sum(void *scratch, size_t *nbytes, uint64_t *numbers, size_t n,
                               cudaStream_t stream, struct kc_error *err)
{
        return KC_CUDA(
                cub::DeviceScan::ExclusiveSum(scratch, *nbytes, numbers, numbers, (int)n, stream));
}

/* One more element than there may be runs, so that the last sum is that of all. */
enum kc_status kc_gpu_text_sum_spans(void *scratch, size_t *nbytes, const struct text_view *t,
                                     int k, cudaStream_t stream, struct kc_error *err)
{
        thrust::counting_iterator<uint32_t> numbers(0);
        auto sizes = thrust::make_transform_iterator(numbers, run_counter{ *t, (uint32_t)k });
        return KC_CUDA(cub::DeviceScan::ExclusiveSum(scratch, *nbytes, sizes, t->run_spans,
                                                     (int)t->runs_cap + 1, stream));
}
