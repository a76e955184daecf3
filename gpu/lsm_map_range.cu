/*
 * Count and range queries.
 *
 *      bounds    a thread a query: where its range begins and ends in each level
 *      places    for ranges: as many as the elements within, scanned
 *      select    a warp a query: the elements within, merged, newest first; the valid ones counted
 *                or written
 *
 * The paper copies all elements to memory, sorts them by segments there and compacts them (IV-C,
 * IV-D). But a query's share of a level is sorted already. Up to 32 elements a warp holds in
 * registers and tells each its rank. More are merged level by level in the warp's part of shared
 * memory, as many at a time as there is room; so nothing goes through memory but the elements that
 * are read and the pairs that are written.
 */
#include "gpu/lsm_map_parts.cuh"
#include "gpu/warp.cuh"

#include <cub/device/device_scan.cuh>

enum {
        NTHREADS = 256,
        NWARPS = NTHREADS / 32,
        SLICE = 1 << 20, /* queries whose bounds are in memory at a time */
};

/* ---- bounds */

/* bounds [nlevels][SLICE]; sizes [n], where they are wanted: of all levels. */
template <class Word>
static __global__ void __launch_bounds__(KC_LSM_FIND_NTHREADS, KC_LSM_FIND_NBLOCKS)
        bounds_kernel(const __grid_constant__ kc_lsm_view<Word> view, const Word *from, const Word *to, uint32_t n,
                      kc_lsm_bounds *bounds, uint64_t *sizes)
{
        extern __shared__ uint4 shared[];
        Word *tops = (Word *)shared;
        kc_lsm_load_tops(&view, tops);
        for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
             i += gridDim.x * blockDim.x) {
                uint64_t size = 0;
                for (uint32_t l = 0; l < view.nlevels; l++) {
                        kc_lsm_bounds b = kc_lsm_bound(&view.levels[l], tops, from[i], to[i]);
                        bounds[(size_t)l * SLICE + i] = b;
                        size += b.n;
                }
                if (sizes != NULL)
                        sizes[i] = size;
        }
}

/* ---- what the lanes of a warp tell each other */

static __device__ uint32_t shuffle(uint32_t x, uint32_t lane)
{
        return __shfl_sync(UINT32_MAX, x, (int)lane);
}

static __device__ kc_key64 shuffle(kc_key64 x, uint32_t lane)
{
        return __shfl_sync(UINT32_MAX, x, (int)lane);
}

static __device__ kc_key128 shuffle(kc_key128 x, uint32_t lane)
{
        uint64_t high = shuffle((uint64_t)(x >> 64), lane);
        return (kc_key128)high << 64 | shuffle((uint64_t)x, lane);
}

template <class T> static __device__ T warp_min(T x)
{
        for (uint32_t d = 16; d > 0; d /= 2) {
                T other = shuffle(x, kc_warp_lane() ^ d);
                x = other < x ? other : x;
        }
        return x;
}

static __device__ uint64_t warp_sum(uint64_t x)
{
        for (uint32_t d = 16; d > 0; d /= 2)
                x += shuffle(x, kc_warp_lane() ^ d);
        return x;
}

/* ---- select */

/* Where pairs of a query go. */
template <class Word> struct output {
        Word *keys;
        uint32_t *values;
        uint64_t at, cap; /* the query's next place; what is at cap or behind is not written */
        uint64_t n;       /* pairs found so far */
};

/* Lane by lane in order: those with `valid` have a pair. */
template <class Word, bool WRITES>
static __device__ void give(output<Word> *out, bool valid, Word word, uint32_t value)
{
        uint32_t ballot = __ballot_sync(UINT32_MAX, valid);
        uint64_t at = out->at + out->n + kc_warp_rank(ballot);
        if (WRITES && valid && at < out->cap) {
                out->keys[at] = kc_lsm_kind<Word>::key(word);
                out->values[at] = value;
        }
        out->n += (uint32_t)__popc(ballot);
}

/* Lane l has what is left of level l for the query. */
template <class Word> struct selection {
        const kc_lsm_view<Word> *view;
        kc_lsm_bounds left;
};

template <class Word> static KC_HD bool needs_values(bool writes)
{
        return writes || kc_lsm_kind<Word>::SUMS;
}

/* ---- up to 32 elements: in registers */

/* The lane's element: of those of level 0, level 1, ... the one numbered as the lane. */
template <class Word>
static __device__ void take_element(const selection<Word> &s, uint32_t end, bool with_value,
                                    Word *word, uint32_t *value)
{
        const Word *words = NULL;
        const uint32_t *values = NULL;
        for (uint32_t l = 0; l < s.view->nlevels; l++) {
                uint32_t n = shuffle(s.left.n, l), begin = shuffle(end, l) - n;
                uint32_t at = shuffle(s.left.first, l) + kc_warp_lane() - begin;
                if (kc_warp_lane() - begin < n) {
                        words = s.view->levels[l].words + at;
                        values = s.view->levels[l].values + at;
                }
        }
        *word = words != NULL ? *words : 0;
        *value = words != NULL && with_value ? *values : 0;
}

/* What the lane's element is to the others; those of one key come newest first. */
struct standing {
        uint32_t rank;  /* elements with lower keys */
        bool is_newest; /* of its key */
        uint32_t sum;   /* of its key's values, from it on to a tombstone */
};

template <class Word>
static __device__ struct standing compare(Word word, uint32_t value, uint32_t n)
{
        struct standing s = { 0, true, 0 };
        const Word key = kc_lsm_kind<Word>::key(word);
        bool ended = false;
        for (uint32_t i = 0; i < n; i++) {
                Word other = kc_lsm_kind<Word>::key(shuffle(word, i));
                bool same = other == key, newer = i < kc_warp_lane();
                s.rank += other < key;
                s.is_newest &= !(same && newer);
                if (!kc_lsm_kind<Word>::SUMS)
                        continue;
                uint32_t count = shuffle(value, i);
                ended |= same && !newer && count == 0;
                s.sum = same && !newer && !ended ? kc_count_add(s.sum, count) : s.sum;
        }
        return s;
}

/* n: of all levels. The pairs' places are told by their ranks. */
template <class Word, bool WRITES>
static __device__ void select_few(const selection<Word> &s, uint32_t end, uint32_t n,
                                  output<Word> *out)
{
        Word word;
        uint32_t value;
        take_element(s, end, needs_values<Word>(WRITES), &word, &value);
        struct standing standing = compare(word, value, n);
        if (kc_lsm_kind<Word>::SUMS)
                value = standing.sum;
        bool valid = kc_warp_lane() < n && standing.is_newest &&
                     !kc_lsm_kind<Word>::is_tombstone(word, value);
        uint32_t own = valid ? 1u << standing.rank : 0;
        uint32_t ranks = __reduce_or_sync(UINT32_MAX, own);
        uint64_t at = out->at + (uint32_t)__popc(ranks & (own - 1));
        if (WRITES && valid && at < out->cap) {
                out->keys[at] = kc_lsm_kind<Word>::key(word);
                out->values[at] = value;
        }
        out->n = (uint32_t)__popc(ranks);
}

/* ---- more: in shared memory */

template <class Word> struct chunk_shape {
        enum {
                LENGTH = 2048 / sizeof(Word), /* a warp's elements at a time */
                MAX_EACH = LENGTH / 32 + 1,   /* a lane's, odd: see kc_merge_shape */
        };
};

template <class Word> struct chunk {
        Word words[chunk_shape<Word>::LENGTH + 1]; /* see kc_lsm_sides */
        uint32_t values[chunk_shape<Word>::LENGTH];
};

/* How much of the lane's level goes to the chunk: all if there is room for all levels, or else a
 * share, one at least where there is any. */
template <class Word> static __device__ uint32_t quota(const selection<Word> &s)
{
        enum { LENGTH = chunk_shape<Word>::LENGTH };
        uint64_t all = warp_sum(s.left.n);
        if (all <= LENGTH || s.left.n == 0)
                return s.left.n;
        uint32_t share = (uint32_t)(s.left.n * (uint64_t)(LENGTH - KC_LSM_MAX_LEVELS) / all);
        return share > 0 ? share : 1;
}

/* Level l's part is n(l) elements from begin(l) on, of lane l. */
struct part {
        uint32_t begin, n;
};

template <class Word>
static __device__ void load_parts(const selection<Word> &s, struct part part, bool with_values,
                                  chunk<Word> *chunk)
{
        for (uint32_t l = 0; l < s.view->nlevels; l++) {
                uint32_t begin = shuffle(part.begin, l), n = shuffle(part.n, l);
                uint32_t first = shuffle(s.left.first, l);
                const Word *words = s.view->levels[l].words + first;
                const uint32_t *values = s.view->levels[l].values + first;
                for (uint32_t i = kc_warp_lane(); i < n; i += 32) {
                        __pipeline_memcpy_async(&chunk->words[begin + i], &words[i], sizeof *words);
                        if (with_values)
                                __pipeline_memcpy_async(&chunk->values[begin + i], &values[i],
                                                        sizeof *values);
                }
        }
        __pipeline_commit();
        __pipeline_wait_prior(0);
        __syncwarp();
}

/*
 * Of levels that are not in the chunk to their end, more may follow: the keys below all their last
 * words are complete. Each part is cut there; *pivot is the key that they are below.
 */
template <class Word>
static __device__ struct part cut_part(const selection<Word> &s, struct part part,
                                       const chunk<Word> *chunk, Word *pivot)
{
        const Word max = (Word) ~(Word)0;
        bool more = part.n < s.left.n;
        Word last = more ? kc_lsm_kind<Word>::key(chunk->words[part.begin + part.n - 1]) : max;
        if (!__any_sync(UINT32_MAX, more))
                return part;
        *pivot = warp_min(last);
        part.n = kc_count_below(chunk->words + part.begin, part.n,
                                kc_lsm_kind<Word>::least(*pivot));
        return part;
}

/* Elements 0 to na of the chunk with the nb from b on: to the front, merged. The first are newer.
 * Each lane merges a few, and all write when all have read. */
template <class Word>
static __device__ void merge_parts(chunk<Word> *chunk, uint32_t na, uint32_t b, uint32_t nb,
                                   bool with_values)
{
        enum : uint32_t { MAX_EACH = chunk_shape<Word>::MAX_EACH };
        uint32_t n = na + nb, each = (n + 31) / 32 | 1;
        uint32_t begin = kc_warp_lane() * each < n ? kc_warp_lane() * each : n;
        uint32_t nmine = n - begin < each ? n - begin : each;
        Word words[MAX_EACH];
        uint32_t values[MAX_EACH];
        kc_lsm_merge_items({ chunk->words, chunk->values, na, b, b + nb }, begin, nmine,
                           with_values, words, values);
        __syncwarp();
        kc_merge_put(chunk->words + begin, words, nmine);
        if (with_values)
                kc_merge_put(chunk->values + begin, values, nmine);
        __syncwarp();
}

/* All parts, to the front; their elements in all. A part never lies before the end of those that
 * are merged already. */
template <class Word>
static __device__ uint32_t merge_all(const selection<Word> &s, struct part part, bool with_values,
                                     chunk<Word> *chunk)
{
        uint32_t n = 0;
        for (uint32_t l = 0; l < s.view->nlevels; l++) {
                uint32_t begin = shuffle(part.begin, l), nmore = shuffle(part.n, l);
                if (nmore > 0 && begin > 0)
                        merge_parts(chunk, n, begin, nmore, with_values);
                n += nmore;
        }
        return n;
}

template <class Word, bool WRITES>
static __device__ void give_chunk(const chunk<Word> *chunk, uint32_t n, output<Word> *out)
{
        for (uint32_t base = 0; base < n; base += 32) {
                uint32_t i = base + kc_warp_lane(), value = 0;
                bool valid = i < n && kc_lsm_is_valid(chunk->words, chunk->values, i, n, &value);
                give<Word, WRITES>(out, valid, i < n ? chunk->words[i] : 0, value);
        }
        __syncwarp();
}

/* ---- a key with more elements than a chunk holds of a level */

/* Of n values the sum of those before a tombstone; *ended: there was one. */
static __device__ uint32_t sum_values(const uint32_t *values, uint32_t n, uint32_t sum, bool *ended)
{
        for (uint32_t base = 0; base < n && !*ended; base += 32) {
                uint32_t i = base + kc_warp_lane();
                uint32_t value = i < n ? values[i] : 0;
                uint32_t tombstones = __ballot_sync(UINT32_MAX, i < n && value == 0);
                *ended = tombstones != 0;
                uint32_t end = *ended ? (uint32_t)__ffs((int)tombstones) - 1 : 32;
                uint64_t all = sum + warp_sum(kc_warp_lane() < end ? value : 0);
                sum = all < UINT32_MAX ? (uint32_t)all : UINT32_MAX;
        }
        return sum;
}

/* `key` is the lowest that is left. Its elements are passed over in all levels; lane l has how many
 * there are in level l. */
template <class Word> static __device__ uint32_t pass_over(selection<Word> *s, Word key)
{
        uint32_t n = 0;
        if (s->left.n > 0) {
                const Word *words = s->view->levels[kc_warp_lane()].words + s->left.first;
                n = key == kc_lsm_max_key<Word>()
                            ? s->left.n
                            : kc_count_below(words, s->left.n,
                                             kc_lsm_kind<Word>::least((Word)(key + 1)));
        }
        s->left.first += n;
        s->left.n -= n;
        return n;
}

template <class Word, bool WRITES>
static __device__ void give_key(selection<Word> *s, Word key, output<Word> *out)
{
        uint32_t first = s->left.first, n = pass_over(s, key), value = 0;
        Word word = kc_lsm_kind<Word>::least(key);
        bool ended = false;
        for (uint32_t l = 0; l < s->view->nlevels && !ended; l++) {
                uint32_t at = shuffle(first, l), nhere = shuffle(n, l);
                const uint32_t *values = s->view->levels[l].values + at;
                if (nhere == 0)
                        continue;
                if (kc_lsm_kind<Word>::SUMS) {
                        value = sum_values(values, nhere, value, &ended);
                        continue;
                }
                word = s->view->levels[l].words[at];
                value = *values;
                ended = true;
        }
        bool valid = !kc_lsm_kind<Word>::is_tombstone(word, value);
        give<Word, WRITES>(out, valid && kc_warp_lane() == 0, word, value);
}

template <class Word, bool WRITES>
static __device__ void select_many(selection<Word> s, chunk<Word> *chunk, output<Word> *out)
{
        const bool with_values = needs_values<Word>(WRITES);
        while (__any_sync(UINT32_MAX, s.left.n > 0)) {
                struct part part = { 0, quota(s) };
                part.begin = kc_warp_scan(part.n) - part.n;
                load_parts(s, part, with_values, chunk);
                Word pivot = 0;
                struct part complete = cut_part(s, part, chunk, &pivot);
                if (!__any_sync(UINT32_MAX, complete.n > 0)) {
                        give_key<Word, WRITES>(&s, pivot, out);
                        continue;
                }
                uint32_t n = merge_all(s, complete, with_values, chunk);
                give_chunk<Word, WRITES>(chunk, n, out);
                s.left.first += complete.n;
                s.left.n -= complete.n;
        }
}

/* starts: of the queries; counts: how many pairs each has. */
template <class Word, bool WRITES>
static __global__ void __launch_bounds__(NTHREADS)
        select_kernel(const __grid_constant__ kc_lsm_view<Word> view, const kc_lsm_bounds *bounds, uint32_t n,
                      kc_lsm_ranges<Word> ranges)
{
        __shared__ struct chunk<Word> chunks[NWARPS];
        uint32_t warp = threadIdx.x / 32, i = blockIdx.x * NWARPS + warp;
        if (i >= n)
                return;
        selection<Word> s = { &view, { 0, 0 } };
        if (kc_warp_lane() < view.nlevels)
                s.left = bounds[(size_t)kc_warp_lane() * SLICE + i];
        output<Word> out = { ranges.keys, ranges.values, WRITES ? ranges.starts[i] : 0, ranges.cap,
                             0 };
        bool few = __reduce_max_sync(UINT32_MAX, s.left.n) <= 32;
        uint32_t end = few ? kc_warp_scan(s.left.n) : 0, all = shuffle(end, 31);
        if (few && all <= 32)
                select_few<Word, WRITES>(s, end, all, &out);
        else
                select_many<Word, WRITES>(s, &chunks[warp], &out);
        if (kc_warp_lane() == 0)
                ranges.counts[i] = out.n;
}

/* ---- the calls */

/* Bounds of a slice of queries, n <= SLICE; sizes as in bounds_kernel. */
template <class Word>
static enum kc_status find_bounds(const struct kc_lsm_map<Word> *map, const Word *from,
                                  const Word *to, size_t n, kc_lsm_view<Word> *view,
                                  kc_lsm_bounds *bounds, uint64_t *sizes, struct kc_error *err)
{
        enum kc_status status;
        size_t shared_nbytes;
        kc_lsm_look(map, n, view, &shared_nbytes);
        KC_TRY(KC_CUDA(cudaFuncSetAttribute(
                bounds_kernel<Word>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                KC_LSM_TOPS_NBYTES)));
        bounds_kernel<Word><<<kc_lsm_nblocks(map->gpu, n), KC_LSM_FIND_NTHREADS, shared_nbytes,
                              map->gpu->stream>>>(*view, from, to, (uint32_t)n, bounds, sizes);
        KC_TRY(KC_LAUNCHED());
out:
        return status;
}

/* starts[0] is known, starts[i + 1] the size of query i: sums of them. */
static cudaError_t sum_sizes(uint64_t *starts, size_t n, void *temporary, size_t *nbytes,
                             cudaStream_t stream)
{
        return cub::DeviceScan::InclusiveSum(temporary, *nbytes, starts, starts, n + 1, stream);
}

/* What queries need while they are worked on. */
struct range_memory {
        kc_lsm_bounds *bounds; /* [nbounds] */
        void *temporary;       /* of sum_sizes */
        size_t nbounds, temporary_nbytes;
};

template <class Word>
static enum kc_status take_memory(const struct kc_lsm_map<Word> *map, struct range_memory *memory,
                                  struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu *gpu = map->gpu;
        for (const kc_lsm_level<Word> &level : map->levels)
                memory->nbounds += level.run.n > 0 ? (size_t)SLICE : 0;
        KC_TRY(kc_gpu_new(gpu, &memory->bounds, memory->nbounds, err));
        KC_TRY(KC_CUDA(sum_sizes(NULL, SLICE, NULL, &memory->temporary_nbytes, gpu->stream)));
        KC_TRY(kc_gpu_alloc(gpu, &memory->temporary, memory->temporary_nbytes, err));
out:
        return status;
}

static void free_memory(struct kc_gpu *gpu, struct range_memory *memory)
{
        kc_gpu_delete(gpu, memory->bounds, memory->nbounds);
        kc_gpu_release(gpu, memory->temporary, memory->temporary_nbytes);
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
        select_kernel<Word, false><<<kc_ceil_div(n, NWARPS), NTHREADS, 0, map->gpu->stream>>>(
                view, memory->bounds, (uint32_t)n, ranges);
        KC_TRY(KC_LAUNCHED());
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
                                 map->gpu->stream)));
        select_kernel<Word, true><<<kc_ceil_div(n, NWARPS), NTHREADS, 0, map->gpu->stream>>>(
                view, memory->bounds, (uint32_t)n, *ranges);
        KC_TRY(KC_LAUNCHED());
out:
        return status;
}

template <class Word>
enum kc_status kc_lsm_map_count(struct kc_lsm_map<Word> *map, const Word *from, const Word *to,
                                size_t n, uint64_t *counts, struct kc_error *err)
{
        enum kc_status status;
        struct range_memory memory = {};
        KC_TRY(take_memory(map, &memory, err));
        for (size_t at = 0; at < n; at += SLICE) {
                size_t m = n - at < SLICE ? n - at : (size_t)SLICE;
                KC_TRY(count_slice(map, from + at, to + at, m, counts + at, &memory, err));
        }
out:
        free_memory(map->gpu, &memory);
        return status;
}

template <class Word>
enum kc_status kc_lsm_map_range(struct kc_lsm_map<Word> *map, const Word *from, const Word *to,
                                size_t n, struct kc_lsm_ranges<Word> *out, struct kc_error *err)
{
        enum kc_status status;
        cudaStream_t stream = map->gpu->stream;
        struct range_memory memory = {};
        KC_TRY(take_memory(map, &memory, err));
        KC_TRY(KC_CUDA(cudaMemsetAsync(out->starts, 0, sizeof *out->starts, stream)));
        for (size_t at = 0; at < n; at += SLICE) {
                size_t m = n - at < SLICE ? n - at : (size_t)SLICE;
                kc_lsm_ranges<Word> slice = *out;
                slice.starts += at;
                slice.counts += at;
                KC_TRY(range_slice(map, from + at, to + at, m, &slice, &memory, err));
        }
        KC_TRY(KC_CUDA(cudaMemcpyAsync(&out->needed, out->starts + n, sizeof out->needed,
                                       cudaMemcpyDeviceToHost, stream)));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(stream)));
        if (out->needed > out->cap)
                status = kc_fail(err, KC_ENOMEM, "ranges have up to %llu pairs, and there is room "
                                 "for %zu", (unsigned long long)out->needed, out->cap);
out:
        free_memory(map->gpu, &memory);
        return status;
}

#define INSTANTIATE(Word) \
        template enum kc_status kc_lsm_map_count(struct kc_lsm_map<Word> *, const Word *, \
                                                 const Word *, size_t, uint64_t *, \
                                                 struct kc_error *); \
        template enum kc_status kc_lsm_map_range(struct kc_lsm_map<Word> *, const Word *, \
                                                 const Word *, size_t, \
                                                 struct kc_lsm_ranges<Word> *, struct kc_error *);
KC_LSM_WORDS(INSTANTIATE)
