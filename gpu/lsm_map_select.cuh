/*
 * How a warp answers a count or range query, once its bounds in the levels are known.
 *
 * The paper copies all elements within to memory, sorts them by segments there and compacts them
 * (IV-C, IV-D). But a query's share of a level is sorted already. Up to 32 elements a warp holds in
 * registers, and counts for each how many are lower. More are merged level by level in the warp's
 * part of shared memory, as many at a time as there is room: of each level a share, cut at the
 * lowest of the keys where shares end, so that what is below is complete. So nothing goes through
 * memory but the elements that are read and the pairs that are written.
 *
 * There is a kernel for either, since the first needs many warps on a multiprocessor and the second
 * much room for each. What the first leaves it marks in the counts.
 */
#ifndef KC_GPU_LSM_MAP_SELECT_CUH
#define KC_GPU_LSM_MAP_SELECT_CUH

#include "gpu/lsm_map_parts.cuh"
#include "gpu/warp.cuh"

enum {
        KC_LSM_FEW_NTHREADS = 256,
        KC_LSM_FEW_NWARPS = KC_LSM_FEW_NTHREADS / 32,
        KC_LSM_MANY_NTHREADS = 128,
        KC_LSM_MANY_NWARPS = KC_LSM_MANY_NTHREADS / 32,
        KC_LSM_MANY_NBLOCKS = 4,    /* of a multiprocessor, all there are */
        KC_LSM_CHUNK_NBYTES = 4480, /* of words, in shared memory, for each warp */
        KC_LSM_GROUP = 8,           /* queries that a warp looks through at a time */
};

/* As a query's count: it has more elements than registers hold. */
static const uint64_t KC_LSM_UNSETTLED = UINT64_MAX;

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
                LENGTH = KC_LSM_CHUNK_NBYTES / sizeof(Word), /* a warp's elements at a time */
                MAX_EACH = (LENGTH + 31) / 32 | 1,           /* a lane's, odd: see kc_merge_shape */
        };
};

template <class Word> struct chunk {
        enum { NBEHIND = (chunk_shape<Word>::MAX_EACH + 4) / 4 * 4 }; /* see kc_lsm_merge_items */
        alignas(16) Word words[chunk_shape<Word>::LENGTH + NBEHIND];
        alignas(16) uint32_t values[chunk_shape<Word>::LENGTH + NBEHIND];
};

/* Elements are loaded by fours, with what is beside them: levels have room for whole nodes. */
enum : uint32_t { GROUP = 4, BESIDE = 2 * (GROUP - 1) };

/* Groups that n elements from `first` on are in. */
static __device__ uint32_t count_groups(uint32_t first, uint32_t n)
{
        return n > 0 ? (first % GROUP + n + GROUP - 1) / GROUP : 0;
}

/* How much of the lane's level goes to the chunk: all if there is room for all levels, or else a
 * share, one at least where there is any. */
template <class Word> static __device__ uint32_t quota(const selection<Word> &s)
{
        enum { LENGTH = chunk_shape<Word>::LENGTH };
        uint64_t all = warp_sum((uint64_t)s.left.n + (s.left.n > 0 ? BESIDE : 0));
        if (all <= LENGTH || s.left.n == 0)
                return s.left.n;
        uint32_t room = LENGTH - s.view->nlevels * (BESIDE + 1);
        uint32_t share = (uint32_t)(s.left.n * (uint64_t)room / all);
        return share > 0 ? share : 1;
}

/* Level l's part is n(l) elements from begin(l) on, of lane l; in between there is what is beside
 * them. */
struct part {
        uint32_t begin, n;
};

template <class Word> static __device__ struct part lay_out(const selection<Word> &s, uint32_t n)
{
        uint32_t ngroups = count_groups(s.left.first, n);
        return { (kc_warp_scan(ngroups) - ngroups) * GROUP + s.left.first % GROUP, n };
}

/* n groups; by all lanes. */
template <class T>
static __device__ void load_groups(T *to, const T *from, uint32_t n)
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
                load_groups(chunk->words + begin, s.view->levels[l].words + first, ngroups);
                if (with_values)
                        load_groups(chunk->values + begin, s.view->levels[l].values + first,
                                    ngroups);
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
        part.n =
                kc_count_below(chunk->words + part.begin, part.n, kc_lsm_kind<Word>::least(*pivot));
        return part;
}

/* Of n elements lanes have `each`, side by side, in registers: the first `n` of SIZE. */
template <class Word, int SIZE> struct share {
        uint32_t begin, n;
        Word words[SIZE];
        uint32_t values[SIZE];
};

static __device__ uint32_t each_of(uint32_t n)
{
        return (n + 31) / 32 | 1;
}

/* Elements 0 to na of the chunk with part b: merged, to the front; the first are newer. A lane
 * keeps its share. */
template <class Word, int SIZE>
static __device__ void merge_parts(chunk<Word> *chunk, uint32_t na, struct part b, bool with_values,
                                   share<Word, SIZE> *mine)
{
        uint32_t n = na + b.n, each = each_of(n), begin = kc_warp_lane() * each;
        mine->begin = begin < n ? begin : n;
        mine->n = n - mine->begin < each ? n - mine->begin : each;
        kc_lsm_merge_items({ chunk->words, chunk->values, na, b.begin, b.begin + b.n },
                           mine->begin, with_values, mine->words, mine->values);
        __syncwarp();
        kc_merge_put(chunk->words + mine->begin, mine->words, mine->n);
        if (with_values)
                kc_merge_put(chunk->values + mine->begin, mine->values, mine->n);
        __syncwarp();
}

/* The same; of small numbers with little effort. */
template <class Word>
static __device__ void merge_to_front(chunk<Word> *chunk, uint32_t na, struct part b,
                                      bool with_values)
{
        enum : uint32_t { FEW = 5, SOME = 17, MAX = chunk_shape<Word>::MAX_EACH };
        uint32_t each = each_of(na + b.n);
        if (each <= FEW) {
                share<Word, FEW> mine;
                merge_parts(chunk, na, b, with_values, &mine);
        } else if (each <= SOME) {
                share<Word, SOME> mine;
                merge_parts(chunk, na, b, with_values, &mine);
        } else {
                share<Word, MAX> mine;
                merge_parts(chunk, na, b, with_values, &mine);
        }
}

/* The parts of levels below `end`, to the front; their elements in all. A part never lies before
 * the end of those that are merged already. */
template <class Word>
static __device__ uint32_t merge_all(struct part part, uint32_t end, bool with_values,
                                     chunk<Word> *chunk)
{
        uint32_t n = 0;
        for (uint32_t l = 0; l < end; l++) {
                struct part more = { shuffle(part.begin, l), shuffle(part.n, l) };
                if (more.n > 0 && more.begin > 0)
                        merge_to_front(chunk, n, more, with_values);
                n += more.n;
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

/* Where values are replaced each element tells by the one before it whether it is valid. */
template <class Word>
static __device__ bool is_valid_after(Word word, bool is_first, Word before)
{
        bool is_new = is_first | !kc_lsm_same_key(before, word);
        return is_new & !kc_lsm_kind<Word>::is_tombstone(word, 0);
}

/* How many of a lane's share are valid. */
template <class Word, int SIZE>
static __device__ uint32_t count_share(const share<Word, SIZE> &mine, Word before)
{
        uint32_t n = 0;
#pragma unroll
        for (uint32_t i = 0; i < SIZE; i++) {
                bool valid = is_valid_after(mine.words[i], mine.begin + i == 0, before);
                n += valid & (i < mine.n);
                before = mine.words[i];
        }
        return n;
}

/* Those that are valid to the chunk, from `to` on. */
template <class Word, int SIZE>
static __device__ void put_valid(chunk<Word> *chunk, const share<Word, SIZE> &mine, Word before,
                                 uint32_t to)
{
#pragma unroll
        for (uint32_t i = 0; i < SIZE; i++) {
                bool valid = is_valid_after(mine.words[i], mine.begin + i == 0, before);
                if (valid & (i < mine.n)) {
                        chunk->words[to] = mine.words[i];
                        chunk->values[to++] = mine.values[i];
                }
                before = mine.words[i];
        }
        __syncwarp();
}

/* The first n of the chunk, all valid, are given side by side. */
template <class Word>
static __device__ void give_all(const chunk<Word> *chunk, uint32_t n, output<Word> *out)
{
        uint64_t at = out->at + out->n, room = at < out->cap ? out->cap - at : 0;
        Word *keys = out->keys + at;
        uint32_t *values = out->values + at;
        for (uint32_t i = kc_warp_lane(); i < n && i < room; i += 32) {
                keys[i] = kc_lsm_kind<Word>::key(chunk->words[i]);
                values[i] = chunk->values[i];
        }
        __syncwarp();
}

/* The last part is merged with the others, which are merged already; and what is valid is given. */
template <class Word, bool WRITES, int SIZE>
static __device__ void give_merged(chunk<Word> *chunk, uint32_t nothers, struct part last,
                                   output<Word> *out)
{
        share<Word, SIZE> mine;
        merge_parts(chunk, nothers, last, WRITES, &mine);
        Word before = mine.begin > 0 ? chunk->words[mine.begin - 1] : 0;
        uint32_t nvalid = count_share(mine, before), end = kc_warp_scan(nvalid);
        uint32_t n = shuffle(end, 31);
        if (WRITES && n < nothers + last.n)
                put_valid(chunk, mine, before, end - nvalid);
        if (WRITES)
                give_all(chunk, n, out);
        out->n += n;
}

/* What is complete of a chunk. */
template <class Word, bool WRITES>
static __device__ void give_parts(struct part part, chunk<Word> *chunk, output<Word> *out)
{
        uint32_t end = 32 - (uint32_t)__clz((int)__ballot_sync(UINT32_MAX, part.n > 0));
        if (kc_lsm_kind<Word>::SUMS) {
                uint32_t n = merge_all(part, end, true, chunk);
                give_chunk<Word, WRITES>(chunk, n, out);
                return;
        }
        enum : uint32_t { SOME = 17, MAX = chunk_shape<Word>::MAX_EACH };
        struct part last = { shuffle(part.begin, end - 1), shuffle(part.n, end - 1) };
        uint32_t n = merge_all(part, end - 1, WRITES, chunk);
        if (each_of(n + last.n) <= SOME)
                give_merged<Word, WRITES, SOME>(chunk, n, last, out);
        else
                give_merged<Word, WRITES, MAX>(chunk, n, last, out);
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
                struct part part = lay_out(s, quota(s));
                load_parts(s, part, with_values, chunk);
                Word pivot = 0;
                struct part complete = cut_part(s, part, chunk, &pivot);
                if (!__any_sync(UINT32_MAX, complete.n > 0)) {
                        give_key<Word, WRITES>(&s, pivot, out);
                        continue;
                }
                give_parts<Word, WRITES>(complete, chunk, out);
                s.left.first += complete.n;
                s.left.n -= complete.n;
        }
}

/* What lane l knows of query i, and where its pairs go. */
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

/* A warp a query. starts: of the queries, where they write; counts: how many pairs each has, or
 * KC_LSM_UNSETTLED. */
template <class Word, bool WRITES>
static __global__ void __launch_bounds__(KC_LSM_FEW_NTHREADS)
        few_kernel(const __grid_constant__ kc_lsm_view<Word> view, const kc_lsm_bounds *bounds,
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

/* The queries that are left, of a group after the other. */
template <class Word, bool WRITES>
static __global__ void __launch_bounds__(KC_LSM_MANY_NTHREADS, KC_LSM_MANY_NBLOCKS)
        many_kernel(const __grid_constant__ kc_lsm_view<Word> view, const kc_lsm_bounds *bounds,
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
