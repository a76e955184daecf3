/*
 * How a warp answers a count or range query, once its bounds in the levels are known.
 *
 * The paper copies all elements in the range to memory, sorts them there by segments and compacts
 * them (IV-C, IV-D). But a query's share of a level is already sorted. A warp holds up to 32
 * elements in registers, and counts for each how many are lower. More are merged level by level in
 * the warp's part of shared memory, as many at a time as fit: a share of each level, cut at the
 * lowest key at which a share ends, so that all keys below are complete. So only the elements read
 * and the pairs written pass through device memory.
 *
 * There is a kernel for each case, since the first needs many warps per multiprocessor and the
 * second much memory per warp. The first marks the queries that it leaves in the counts.
 */
#ifndef KC_GPU_MAPS_LSM_SELECT_CUH
#define KC_GPU_MAPS_LSM_SELECT_CUH

#include "gpu/device/warp.cuh"
#include "gpu/maps/lsm/map_internal.cuh"

enum {
        KC_LSM_FEW_NTHREADS = 256,
        KC_LSM_FEW_NWARPS = KC_LSM_FEW_NTHREADS / 32,
        KC_LSM_MANY_NTHREADS = 128,
        KC_LSM_MANY_NWARPS = KC_LSM_MANY_NTHREADS / 32,
        KC_LSM_MANY_NBLOCKS = 5,    /* per multiprocessor, as many as fit */
        KC_LSM_CHUNK_NBYTES = 4480, /* of words in shared memory, per warp */
        KC_LSM_GROUP = 8,           /* queries that a warp looks through at a time */
};

/* As a query's count: it has more elements than fit in registers. */
static const uint64_t KC_LSM_UNSETTLED = UINT64_MAX;

/* ---- exchange between the lanes of a warp */

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

/* Where the pairs of a query go. */
template <class Word> struct output {
        Word *keys;
        uint32_t *values;
        uint64_t at, cap; /* the query's first place; pairs at or beyond cap are not written */
        uint64_t n;       /* pairs found so far */
};

/* Output the pairs of the lanes with `valid`, in lane order. */
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

/* Lane l holds what is left of level l for the query. */
template <class Word> struct selection {
        const kc_lsm_view<Word> *view;
        kc_lsm_bounds left;
};

template <class Word> static KC_HD bool needs_values(bool writes)
{
        return writes || kc_lsm_kind<Word>::SUMS;
}

/* ---- up to 32 elements: in registers */

/* Load the lane's element: lane i takes element i of those of level 0, level 1, ... in sequence. */
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

/* How the lane's element compares with the others; those of one key come newest first. */
struct standing {
        uint32_t rank;  /* elements with lower keys */
        bool is_newest; /* of its key */
        uint32_t sum;   /* of its key's values, from this element to a tombstone */
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

/* n: elements of all levels. Ranks determine the places of the pairs. */
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
                LENGTH = KC_LSM_CHUNK_NBYTES / sizeof(Word), /* elements per warp at a time */
                MAX_EACH = (LENGTH + 31) / 32 | 1,           /* per lane, odd: see kc_merge_shape */
        };
};

/* With padding on both sides, which merging reads but does not use. */
template <class Word> struct chunk {
        enum { BESIDE = (chunk_shape<Word>::MAX_EACH + 4) / 4 * 4 };
        alignas(16) Word all_words[BESIDE + chunk_shape<Word>::LENGTH + BESIDE];
        alignas(16) uint32_t all_values[BESIDE + chunk_shape<Word>::LENGTH + BESIDE];
};

template <class Word> static __device__ Word *words_in(chunk<Word> *chunk)
{
        return chunk->all_words + chunk->BESIDE;
}

template <class Word> static __device__ uint32_t *values_in(chunk<Word> *chunk)
{
        return chunk->all_values + chunk->BESIDE;
}

/* Elements are loaded in aligned groups of four, with their neighbours; this is safe as levels have
 * room for whole nodes. */
enum : uint32_t { GROUP = 4, MAX_BESIDE = 2 * (GROUP - 1) };

/* The number of groups that n elements starting at `first` touch. */
static __device__ uint32_t count_groups(uint32_t first, uint32_t n)
{
        return n > 0 ? (first % GROUP + n + GROUP - 1) / GROUP : 0;
}

/* How many elements of the lane's level go to the chunk: all if all levels fit, otherwise a share,
 * at least one if any are left. */
template <class Word> static __device__ uint32_t quota(const selection<Word> &s)
{
        enum { LENGTH = chunk_shape<Word>::LENGTH };
        uint64_t all = warp_sum((uint64_t)s.left.n + (s.left.n > 0 ? MAX_BESIDE : 0));
        if (all <= LENGTH || s.left.n == 0)
                return s.left.n;
        uint32_t room = LENGTH - s.view->nlevels * (MAX_BESIDE + 1);
        uint32_t share = (uint32_t)(s.left.n * (uint64_t)room / all);
        return share > 0 ? share : 1;
}

/* Lane l's values: level l's part is n elements starting at begin, with their groups' other
 * elements in between. */
struct part {
        uint32_t begin, n;
};

template <class Word> static __device__ struct part lay_out(const selection<Word> &s, uint32_t n)
{
        uint32_t ngroups = count_groups(s.left.first, n);
        return { (kc_warp_scan(ngroups) - ngroups) * GROUP + s.left.first % GROUP, n };
}

/* Copy n groups; called by all lanes. */
template <class T> static __device__ void load_groups(T *to, const T *from, uint32_t n)
{
        n *= GROUP * sizeof(T) / sizeof(uint4);
        for (uint32_t i = kc_warp_lane(); i < n; i += 32)
                __pipeline_memcpy_async((uint4 *)to + i, (const uint4 *)from + i, sizeof(uint4));
}

template <class Word>
static __device__ void load_parts(const selection<Word> &s, struct part part, bool with_values,
                                  chunk<Word> *chunk)
{
        for (uint32_t l = 0; l < s.view->nlevels; l++) {
                uint32_t begin = shuffle(part.begin, l), n = shuffle(part.n, l);
                uint32_t first = shuffle(s.left.first, l);
                uint32_t ngroups = count_groups(first, n);
                begin -= first % GROUP;
                first -= first % GROUP;
                load_groups(words_in(chunk) + begin, s.view->levels[l].words + first, ngroups);
                if (with_values)
                        load_groups(values_in(chunk) + begin, s.view->levels[l].values + first,
                                    ngroups);
        }
        __pipeline_commit();
        __pipeline_wait_prior(0);
        __syncwarp();
}

/*
 * Levels that are only partly in the chunk may have more elements of the same keys. Keys below the
 * last key of each such part are complete: cut all parts there. *pivot is the key at the cut.
 */
template <class Word>
static __device__ struct part cut_part(const selection<Word> &s, struct part part,
                                       const Word *words, Word *pivot)
{
        const Word max = (Word) ~(Word)0;
        bool more = part.n < s.left.n;
        Word last = more ? kc_lsm_kind<Word>::key(words[part.begin + part.n - 1]) : max;
        if (!__any_sync(UINT32_MAX, more))
                return part;
        *pivot = warp_min(last);
        part.n = kc_count_below(words + part.begin, part.n, kc_lsm_kind<Word>::least(*pivot));
        return part;
}

/*
 * What a lane takes of two parts being merged: n elements, starting at number begin. They are taken
 * from both ends at once, half forwards and half backwards, because each step depends on the one
 * before it.
 */
template <class Word, int HALF> struct lane_part {
        uint32_t begin, n;
        Word front[HALF], back[HALF];
        uint32_t front_values[HALF], back_values[HALF];
};

static __device__ uint32_t each_of(uint32_t n)
{
        return (n + 31) / 32 | 1;
}

/* Merge elements a to a_end and b to b_end into registers; no && and ||, so that the lanes do not
 * diverge. */
template <class Word, int HALF>
static __device__ void take_part(const Word *words, const uint32_t *values, uint32_t a,
                                 uint32_t a_end, uint32_t b, uint32_t b_end, bool with_values,
                                 lane_part<Word, HALF> *mine)
{
        typedef typename kc_lsm_kind<Word>::ordered ordered;
        const uint32_t a_begin = a, b_begin = b, both = a + b, both_ends = a_end + b_end;
        Word first_a = words[a], first_b = words[b];
        Word last_a = words[(int)a_end - 1], last_b = words[(int)b_end - 1];
        uint32_t a_last = a_end, b_last = b_end;
#pragma unroll
        for (int i = 0; i < HALF; i++) {
                bool is_a =
                        (b == b_end) | ((a < a_end) & (ordered{ first_a } <= ordered{ first_b }));
                bool is_b = (a_last == a_begin) |
                            ((b_last > b_begin) & (ordered{ last_a } <= ordered{ last_b }));
                uint32_t at = is_a ? a : b;
                int at_back = (int)(is_b ? b_last : a_last) - 1;
                mine->front[i] = is_a ? first_a : first_b;
                mine->back[i] = is_b ? last_b : last_a;
                if (with_values) {
                        mine->front_values[i] = values[at];
                        mine->back_values[i] = values[at_back];
                }
                Word next = words[at + 1], next_back = words[at_back - 1];
                first_a = is_a ? next : first_a;
                first_b = is_a ? first_b : next;
                last_a = is_b ? last_a : next_back;
                last_b = is_b ? next_back : last_b;
                a += is_a;
                b = both + (uint32_t)i + 1 - a;
                b_last -= is_b;
                a_last = both_ends - (uint32_t)i - 1 - b_last;
        }
}

template <class T, int HALF>
static __device__ void put_part(T *to, uint32_t n, const T (&front)[HALF], const T (&back)[HALF])
{
        T *last = to + n - 1;
#pragma unroll
        for (uint32_t i = 0; i < HALF; i++) {
                if (2 * i < n)
                        to[i] = front[i];
                if (2 * i + 1 < n)
                        *(last - i) = back[i];
        }
}

/* Merge elements 0 to na of the chunk, which are newer, with part b, to the front. */
template <class Word, int HALF>
static __device__ void merge_parts(chunk<Word> *chunk, uint32_t na, struct part b, bool with_values)
{
        lane_part<Word, HALF> mine;
        Word *words = words_in(chunk);
        uint32_t *values = values_in(chunk);
        uint32_t n = na + b.n, each = each_of(n), begin = kc_warp_lane() * each;
        mine.begin = begin < n ? begin : n;
        mine.n = n - mine.begin < each ? n - mine.begin : each;
        uint32_t a = kc_merge_search(kc_lsm_ordered_words(words), na,
                                     kc_lsm_ordered_words(words + b.begin), b.n, mine.begin);
        uint32_t a_end = shuffle(a, kc_warp_lane() + 1);
        a_end = kc_warp_lane() == 31 ? na : a_end;
        take_part(words, values, a, a_end, b.begin + mine.begin - a,
                  b.begin + mine.begin + mine.n - a_end, with_values, &mine);
        __syncwarp();
        put_part(words + mine.begin, mine.n, mine.front, mine.back);
        if (with_values)
                put_part(values + mine.begin, mine.n, mine.front_values, mine.back_values);
        __syncwarp();
}

/* The same, with less work for small numbers. */
template <class Word>
static __device__ void merge_to_front(chunk<Word> *chunk, uint32_t na, struct part b,
                                      bool with_values)
{
        enum : uint32_t { FEW = 3, SOME = 5, MANY = 9, MAX = chunk_shape<Word>::MAX_EACH / 2 + 1 };
        uint32_t half = each_of(na + b.n) / 2 + 1;
        if (half <= FEW)
                merge_parts<Word, FEW>(chunk, na, b, with_values);
        else if (half <= SOME)
                merge_parts<Word, SOME>(chunk, na, b, with_values);
        else if (half <= MANY)
                merge_parts<Word, MANY>(chunk, na, b, with_values);
        else
                merge_parts<Word, MAX>(chunk, na, b, with_values);
}

/* Merge all parts to the front; returns how many elements there are. No part begins before the end
 * of those merged already. */
template <class Word>
static __device__ uint32_t merge_all(const selection<Word> &s, struct part part, bool with_values,
                                     chunk<Word> *chunk)
{
        uint32_t n = 0;
        for (uint32_t l = 0; l < s.view->nlevels; l++) {
                struct part more = { shuffle(part.begin, l), shuffle(part.n, l) };
                if (more.n > 0 && more.begin > 0)
                        merge_to_front(chunk, n, more, with_values);
                n += more.n;
        }
        return n;
}

/* Whether word i of a run is the newest of its key and not a tombstone, if values are replaced.
 * Lanes do not diverge. */
template <class Word> static __device__ bool is_valid_word(const Word *words, uint32_t i)
{
        bool is_newest = (i == 0) | !kc_lsm_same_key(words[(int)i - 1], words[i]);
        return is_newest & !kc_lsm_kind<Word>::is_tombstone(words[i], 0);
}

template <class Word, bool WRITES>
static __device__ void give_chunk(chunk<Word> *chunk, uint32_t n, output<Word> *out)
{
        const Word *words = words_in(chunk);
        const uint32_t *values = values_in(chunk);
        for (uint32_t base = 0; base < n; base += 32) {
                uint32_t i = base + kc_warp_lane(), at = i < n ? i : n - 1, value = 0;
                bool valid;
                if (kc_lsm_kind<Word>::SUMS) {
                        valid = i < n && kc_lsm_is_valid(words, values, at, n, &value);
                } else {
                        valid = (i < n) & is_valid_word(words, at);
                        value = WRITES ? values[at] : 0;
                }
                give<Word, WRITES>(out, valid, words[at], value);
        }
        __syncwarp();
}

/* ---- a key with more elements of a level than fit in a chunk */

/* Add those of n values that come before a tombstone to sum; *ended: there was one. */
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

/* `key` is the lowest one left. Skip its elements in all levels; lane l returns how many there are
 * in level l. */
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
                struct part part = lay_out(s, quota(s));
                load_parts(s, part, with_values, chunk);
                Word pivot = 0;
                struct part complete = cut_part(s, part, words_in(chunk), &pivot);
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

/* Set up query i: each lane's share of it, and where its pairs go. */
template <class Word>
static __device__ void begin_query(const kc_lsm_view<Word> *view, const kc_lsm_bounds *bounds,
                                   uint32_t n, uint32_t i, const kc_lsm_ranges<Word> &ranges,
                                   bool writes, selection<Word> *s, output<Word> *out)
{
        *s = { view, { 0, 0 } };
        if (kc_warp_lane() < view->nlevels)
                s->left = bounds[(size_t)kc_warp_lane() * n + i];
        *out = { ranges.keys, ranges.values, writes ? ranges.starts[i] : 0, ranges.cap, 0 };
}

/* One warp per query. starts: where each query writes; counts: how many pairs it has, or
 * KC_LSM_UNSETTLED. */
template <class Word, bool WRITES>
static __global__ void __launch_bounds__(KC_LSM_FEW_NTHREADS)
        lsm_few_kernel(const __grid_constant__ kc_lsm_view<Word> view, const kc_lsm_bounds *bounds,
                       uint32_t n, kc_lsm_ranges<Word> ranges)
{
        uint32_t i = blockIdx.x * KC_LSM_FEW_NWARPS + threadIdx.x / 32;
        if (i >= n)
                return;
        selection<Word> s;
        output<Word> out;
        begin_query(&view, bounds, n, i, ranges, WRITES, &s, &out);
        bool few = __reduce_max_sync(UINT32_MAX, s.left.n) <= 32;
        uint32_t end = few ? kc_warp_scan(s.left.n) : 0, all = shuffle(end, 31);
        few = few && all <= 32;
        if (few)
                select_few<Word, WRITES>(s, end, all, &out);
        if (kc_warp_lane() == 0)
                ranges.counts[i] = few ? out.n : KC_LSM_UNSETTLED;
}

/* The queries left unsettled, group by group. */
template <class Word, bool WRITES>
static __global__ void __launch_bounds__(KC_LSM_MANY_NTHREADS, KC_LSM_MANY_NBLOCKS)
        lsm_many_kernel(const __grid_constant__ kc_lsm_view<Word> view, const kc_lsm_bounds *bounds,
                        uint32_t n, kc_lsm_ranges<Word> ranges)
{
        __shared__ struct chunk<Word> chunks[KC_LSM_MANY_NWARPS];
        uint32_t warp = threadIdx.x / 32, ngroups = (n + KC_LSM_GROUP - 1) / KC_LSM_GROUP;
        for (uint32_t group = blockIdx.x * KC_LSM_MANY_NWARPS + warp; group < ngroups;
             group += gridDim.x * KC_LSM_MANY_NWARPS) {
                uint32_t first = group * KC_LSM_GROUP, mine = first + kc_warp_lane();
                bool open = kc_warp_lane() < KC_LSM_GROUP && mine < n &&
                            ranges.counts[mine] == KC_LSM_UNSETTLED;
                for (uint32_t left = __ballot_sync(UINT32_MAX, open); left != 0; left &= left - 1) {
                        uint32_t i = first + kc_lsm_lowest_bit(left);
                        selection<Word> s;
                        output<Word> out;
                        begin_query(&view, bounds, n, i, ranges, WRITES, &s, &out);
                        select_many<Word, WRITES>(s, &chunks[warp], &out);
                        if (kc_warp_lane() == 0)
                                ranges.counts[i] = out.n;
                }
        }
}

#endif
