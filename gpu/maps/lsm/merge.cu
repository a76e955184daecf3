/*
 * Sorts batches, merges runs, and makes fences.
 */
#include "gpu/device/warp.cuh"
#include "gpu/maps/lsm/map_internal.cuh"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>

enum { NTHREADS = 256 };

/* ---- sorting */

namespace
{

/* Combines the counts of a key in one batch. */
struct add_counts {
        __host__ __device__ uint32_t operator()(uint32_t a, uint32_t b) const
        {
                return a == 0 || b == 0 ? 0 : kc_count_add(a, b);
        }
};

} // namespace

/* The two steps, called as CUB functions are: with temporary == NULL they report the bytes needed.
 * Words are sorted by their lowest bit too, so that tombstones come first. */
template <class Word>
static cudaError_t sort(const struct kc_lsm_map<Word> *map, const Word *words,
                        const uint32_t *values, size_t n, kc_lsm_map_run<Word> *out,
                        void *temporary, size_t *nbytes)
{
        int end_bit = map->key_nbits + (kc_lsm_kind<Word>::SUMS ? 0 : 1);
        return cub::DeviceRadixSort::SortPairs(temporary, *nbytes, words, out->words, values,
                                               out->values, n, 0, end_bit, map->on.stream);
}

template <class Word>
static cudaError_t fold(const struct kc_lsm_map<Word> *map, const kc_lsm_map_run<Word> *in,
                        kc_lsm_map_run<Word> *out, unsigned long long *nout, void *temporary,
                        size_t *nbytes)
{
        return cub::DeviceReduce::ReduceByKey(temporary, *nbytes, in->words, out->words, in->values,
                                              out->values, nout, add_counts(), (int64_t)in->n,
                                              map->on.stream);
}

template <class Word>
static enum kc_status sort_run(struct kc_lsm_map<Word> *map, const Word *words,
                               const uint32_t *values, size_t n, kc_lsm_map_run<Word> *out,
                               Word *fences, struct kc_error *err)
{
        enum kc_status status;
        struct kc_lsm_scratch *scratch = &map->scratch;
        size_t nbytes = 0;
        bool done;
        KC_TRY(kc_lsm_sort_small(map, words, values, n, out, fences, &done, err));
        if (done)
                return KC_OK;
        KC_TRY(KC_CUDA(sort(map, words, values, n, out, NULL, &nbytes)));
        KC_TRY(kc_lsm_scratch_reserve(map->on, scratch, nbytes, err));
        KC_TRY(KC_CUDA(sort(map, words, values, n, out, scratch->memory, &nbytes)));
        out->n = n;
        if (fences != NULL)
                KC_TRY(kc_lsm_fence(map->on, out, fences, err));
out:
        return status;
}

template <class Word>
static enum kc_status fold_run(struct kc_lsm_map<Word> *map, const kc_lsm_map_run<Word> *in,
                               kc_lsm_map_run<Word> *out, Word *fences, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_stream on = map->on;
        struct kc_lsm_scratch *scratch = &map->scratch;
        unsigned long long *nout = NULL, n;
        size_t nbytes = 0;
        KC_TRY(kc_gpu_new(on, &nout, 1, err));
        KC_TRY(KC_CUDA(fold(map, in, out, nout, NULL, &nbytes)));
        KC_TRY(kc_lsm_scratch_reserve(on, scratch, nbytes, err));
        KC_TRY(KC_CUDA(fold(map, in, out, nout, scratch->memory, &nbytes)));
        KC_TRY(kc_gpu_read(on, &n, nout, 1, err));
        out->n = (size_t)n;
        if (fences != NULL)
                KC_TRY(kc_lsm_fence(on, out, fences, err));
out:
        kc_gpu_delete(on, nout, 1);
        return status;
}

template <class Word>
enum kc_status kc_lsm_sort(struct kc_lsm_map<Word> *map, const Word *words, const uint32_t *values,
                           size_t n, const kc_lsm_level<Word> *more, kc_lsm_map_run<Word> *out,
                           Word *fences, struct kc_error *err)
{
        enum kc_status status;
        if (kc_lsm_kind<Word>::SUMS) {
                kc_lsm_map_run<Word> sorted = more->run;
                KC_TRY(sort_run(map, words, values, n, &sorted, (Word *)NULL, err));
                KC_TRY(fold_run(map, &sorted, out, fences, err));
        } else {
                KC_TRY(sort_run(map, words, values, n, out, fences, err));
        }
out:
        return status;
}

/* ---- merging, as in gpu/runs/merge.cu, but all elements stay */

/* Like kc_merge_search, but by a warp: a step narrows the search to 1/32 in the time of one step of
 * a single thread. */
template <class Word>
static __device__ size_t search_cut(const kc_lsm_map_run<Word> &a, const kc_lsm_map_run<Word> &b,
                                    size_t diagonal)
{
        const auto *a_words = kc_lsm_ordered_words(a.words);
        const auto *b_words = kc_lsm_ordered_words(b.words);
        size_t low = diagonal > b.n ? diagonal - b.n : 0, high = diagonal < a.n ? diagonal : a.n;
        while (low < high) {
                size_t n = high - low, place = low + n * kc_warp_lane() / 32;
                uint32_t before =
                        __ballot_sync(UINT32_MAX, a_words[place] <= b_words[diagonal - 1 - place]);
                uint32_t nbefore = (uint32_t)__popc(before); /* lanes whose place is before the
                                                                cut */
                high = nbefore < 32 ? low + n * nbefore / 32 : high;
                low = nbefore > 0 ? low + n * (nbefore - 1) / 32 + 1 : low;
        }
        return low;
}

/* cuts[0], cuts[1]: elements of a before the tile, and before the next; found by two warps. */
template <class Word>
static __device__ void cut_tile(const kc_lsm_map_run<Word> &a, const kc_lsm_map_run<Word> &b,
                                size_t start, unsigned n, size_t *cuts)
{
        unsigned warp = threadIdx.x / 32;
        if (warp < 2) {
                size_t cut = search_cut(a, b, warp == 0 ? start : start + n);
                if (kc_warp_lane() == 0)
                        cuts[warp] = cut;
        }
        __syncthreads();
}

/*
 * Merge the first na elements, which are newer, with those from na to n: put NITEMS elements of the
 * merged order, starting at number begin, into registers. The NITEMS + 1 elements after the
 * last one hold nothing meaningful, but must be readable.
 */
template <class Word, int NITEMS>
static __device__ void merge_items(const Word *words, const uint32_t *values, unsigned na,
                                   unsigned n, unsigned begin, Word (&my_words)[NITEMS],
                                   uint32_t (&my_values)[NITEMS])
{
        typedef typename kc_lsm_kind<Word>::ordered ordered;
        unsigned a = kc_merge_search(kc_lsm_ordered_words(words), na,
                                     kc_lsm_ordered_words(words + na), n - na, begin);
        unsigned both = na + begin, b = both - a;
        Word next_a = words[a], next_b = words[b];
#pragma unroll
        for (int i = 0; i < NITEMS; i++) {
                /* no && and ||: the lanes must not diverge */
                bool from_a = (b == n) | ((a < na) & (ordered{ next_a } <= ordered{ next_b }));
                unsigned at = from_a ? a : b;
                my_words[i] = from_a ? next_a : next_b;
                my_values[i] = values[at];
                Word next = words[at + 1];
                next_a = from_a ? next : next_a;
                next_b = from_a ? next_b : next;
                a += from_a;
                b = both + (unsigned)i + 1 - a;
        }
}

template <class Word>
static __global__ void __launch_bounds__(kc_merge_shape<Word>::NTHREADS, 4)
        lsm_merge_kernel(const __grid_constant__ kc_lsm_map_run<Word> a,
                         const __grid_constant__ kc_lsm_map_run<Word> b,
                         const __grid_constant__ kc_lsm_map_run<Word> out,
                         const __grid_constant__ kc_lsm_tiers tiers, Word *fences)
{
        using shape = kc_merge_shape<Word>;
        __shared__ Word words[shape::LENGTH + shape::NITEMS + 1]; /* see merge_items */
        __shared__ uint32_t values[shape::LENGTH + shape::NITEMS];
        __shared__ size_t cuts[2];
        size_t start = blockIdx.x * (size_t)shape::LENGTH, left = out.n - start;
        unsigned n = left < shape::LENGTH ? (unsigned)left : (unsigned)shape::LENGTH;
        cut_tile(a, b, start, n, cuts);
        size_t a_start = cuts[0], b_start = start - a_start;
        unsigned na = (unsigned)(cuts[1] - a_start), nb = n - na;
        kc_merge_load<Word, shape::NTHREADS>(words, a.words + a_start, na, b.words + b_start, nb);
        kc_merge_load<uint32_t, shape::NTHREADS>(values, a.values + a_start, na, b.values + b_start,
                                                 nb);
        kc_merge_wait_for_loads();
        Word my_words[shape::NITEMS];
        uint32_t my_values[shape::NITEMS];
        unsigned begin = threadIdx.x * shape::NITEMS;
        begin = begin < n ? begin : n;
        unsigned nitems = n - begin < shape::NITEMS ? n - begin : (unsigned)shape::NITEMS;
        merge_items(words, values, na, n, begin, my_words, my_values);
        __syncthreads();
        kc_merge_put(words + begin, my_words, nitems);
        kc_merge_put(values + begin, my_values, nitems);
        __syncthreads();
        for (unsigned i = threadIdx.x; i < n; i += shape::NTHREADS) {
                out.words[start + i] = words[i];
                out.values[start + i] = values[i];
                if (fences != NULL)
                        kc_lsm_put_fences(&tiers, fences, (uint32_t)(start + i), words[i]);
        }
}

template <class Word>
enum kc_status kc_lsm_merge(struct kc_lsm_map<Word> *map, const kc_lsm_map_run<Word> *newer,
                            const kc_lsm_map_run<Word> *older, kc_lsm_map_run<Word> *out,
                            Word *fences, struct kc_error *err)
{
        out->n = newer->n + older->n;
        size_t ntiles = kc_merge_count_tiles<Word>(out->n);
        if (ntiles == 0)
                return KC_OK;
        lsm_merge_kernel<<<(unsigned)ntiles, kc_merge_shape<Word>::NTHREADS, 0, map->on.stream>>>(
                *newer, *older, *out, kc_lsm_tiers_of<Word>((uint32_t)out->n), fences);
        return KC_LAUNCHED();
}

/* ---- fences */

/* One thread per fence. Words after the last one of a tier are not set: they do not affect
 * searches. */
template <class Word>
static __global__ void lsm_fence_kernel(const Word *words, kc_lsm_tiers tiers, Word *fences)
{
        uint32_t i = blockIdx.x * NTHREADS + threadIdx.x, tier = tiers.ntiers;
        if (i >= tiers.nfences)
                return;
        while (i < tiers.begin[tier])
                tier--;
        uint32_t in_tier = i - tiers.begin[tier];
        if (in_tier < tiers.n[tier])
                fences[i] = words[kc_lsm_fence_rank<Word>(&tiers, tier, in_tier)];
}

template <class Word>
enum kc_status kc_lsm_fence(struct kc_gpu_stream on, const kc_lsm_map_run<Word> *run, Word *fences,
                            struct kc_error *err)
{
        kc_lsm_tiers tiers = kc_lsm_tiers_of<Word>((uint32_t)run->n);
        if (tiers.nfences == 0)
                return KC_OK;
        lsm_fence_kernel<<<kc_ceil_div(tiers.nfences, NTHREADS), NTHREADS, 0, on.stream>>>(
                run->words, tiers, fences);
        return KC_LAUNCHED();
}

#define INSTANTIATE(Word) \
        template enum kc_status kc_lsm_sort(struct kc_lsm_map<Word> *, const Word *, \
                                            const uint32_t *, size_t, const kc_lsm_level<Word> *, \
                                            kc_lsm_map_run<Word> *, Word *, struct kc_error *); \
        template enum kc_status kc_lsm_merge( \
                struct kc_lsm_map<Word> *, const kc_lsm_map_run<Word> *, \
                const kc_lsm_map_run<Word> *, kc_lsm_map_run<Word> *, Word *, struct kc_error *); \
        template enum kc_status kc_lsm_fence(struct kc_gpu_stream, const kc_lsm_map_run<Word> *, \
                                             Word *, struct kc_error *);
KC_LSM_WORDS(INSTANTIATE)
