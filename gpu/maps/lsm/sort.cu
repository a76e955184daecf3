/*
 * Sorts small batches in one launch, since a launch takes longer than a pass over them.
 *
 * A radix sort by digits of 8 bits. All blocks are resident at once, and each has a tile of the
 * elements. One pass per digit:
 *
 *      rank      each warp goes through its elements 32 at a time; masks of lanes and a count for
 *                each digit give the number of preceding elements with the same digit
 *      publish   each block publishes how many elements it has of each digit, marked with a serial
 *                number, so that nothing needs to be zeroed in between
 *      place     the counts of all blocks determine where a block's elements with each digit go;
 *                they are grouped in shared memory first, then written in contiguous pieces
 *      wait      for all blocks, as a block's next input comes from all of them
 *
 * The highest digit comes first. If its values are so distributed that each block can take all
 * elements of some values, each block then sorts those in shared memory, by all digits from the
 * lowest, without further waiting. If one value has too many elements, all blocks go through all
 * digits together, which works for any keys.
 *
 * Places are found in the usual way (Merrill, Grimshaw, 2011), except that each block reads the
 * counts of all others, which only suits small batches.
 */
#include "gpu/device/warp.cuh"
#include "gpu/maps/lsm/map_internal.cuh"

enum : uint32_t {
        NTHREADS = 512,
        NWARPS = NTHREADS / 32,
        DIGIT_NBITS = 8,
        NDIGITS = 1 << DIGIT_NBITS,
        COUNT_NBITS = 14, /* of a published count; a tile has fewer elements */
        MAX_SERIAL = UINT32_MAX >> COUNT_NBITS,
        NQUADS = NDIGITS / 4,         /* a thread reads the counts of four digits */
        NREADERS = NTHREADS / NQUADS, /* blocks whose counts are read at a time */
        NAHEAD = 4,                   /* words before the counts, for the counter by which blocks
                                         wait */
        MAX_LENGTH = 1 << 21,         /* of a batch, on any device */
        AT_ONCE = 4,                  /* counts that a thread reads before it waits for any */
        NPARTS = NTHREADS / NDIGITS,
        NWARPS_EACH = NWARPS / NPARTS,
};

namespace
{

/* A sort, as the kernel sees it. */
template <class Word> struct lsm_sorting {
        const Word *words;
        const uint32_t *values;
        uint32_t n, each; /* elements; how many each block starts with */
        int nbits;
        bool is_roomy;                /* a tile has room for twice that */
        kc_lsm_map_run<Word> runs[2]; /* the result goes to runs[0]; runs[1] is room for as many */
        uint32_t *published;          /* [blocks][NDIGITS] */
        uint32_t *narrived;           /* total arrivals of blocks at waits */
        uint32_t serial, arrived;     /* last serial number published; *narrived at the start */
        Word *fences;                 /* of the result; NULL: not wanted */
        kc_lsm_tiers tiers;
};

/* A block's shared memory. */
template <class Word, int NITEMS> struct tile {
        enum : uint32_t { LENGTH = NTHREADS * NITEMS };
        Word words[LENGTH];
        uint32_t values[LENGTH];
        union {
                uint32_t heads[NWARPS][NDIGITS];     /* elements of a warp, then of the warps before
                                                    it */
                uint32_t sums[2][NREADERS][NDIGITS]; /* over all blocks, and over those before this
                                                        one */
        };
        uint32_t of_parts[NPARTS][NDIGITS];
        uint32_t masks[NWARPS][NDIGITS];
        uint32_t starts[NDIGITS]; /* in the tile */
        uint32_t places[NDIGITS]; /* where the tile's element 0 would go if it had the digit */
        uint32_t of_warps[NWARPS];
        uint32_t mine[2]; /* elements that the block sorts alone: begin, end */
};

/* The bits of a word that one pass sorts by. */
struct digit {
        int shift;
        uint32_t mask;
};

} // namespace

static KC_HD int count_digits(int nbits)
{
        return (nbits + (int)DIGIT_NBITS - 1) / (int)DIGIT_NBITS;
}

/* Digit i, counted from the lowest, of words of nbits. */
static __device__ struct digit digit_number(int i, int nbits)
{
        int shift = i * (int)DIGIT_NBITS, left = nbits - shift;
        return { shift, left < (int)DIGIT_NBITS ? (1u << left) - 1 : NDIGITS - 1 };
}

template <class Word> static __device__ uint32_t digit_of(Word word, struct digit digit)
{
        return (uint32_t)(word >> digit.shift) & digit.mask;
}

/* ---- exchange between blocks */

/* Read the published counts of four digits; they may be outdated. */
static __device__ uint4 read_four(const uint32_t *published)
{
        uint4 counts;
#ifdef __CUDA_ARCH__
        asm volatile("ld.relaxed.gpu.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(counts.x), "=r"(counts.y), "=r"(counts.z), "=r"(counts.w)
                     : "l"(published)
                     : "memory");
#else
        counts = *(const uint4 *)published;
#endif
        return counts;
}

/* Remove the serial number from four counts; false if any has another one. */
static __device__ bool understand(uint4 *counts, uint32_t serial)
{
        const uint32_t mark = serial << COUNT_NBITS;
        *counts =
                make_uint4(counts->x - mark, counts->y - mark, counts->z - mark, counts->w - mark);
        return (counts->x | counts->y | counts->z | counts->w) >> COUNT_NBITS == 0;
}

/* Maximum number of times that blocks wait for each other, or publish counts. */
static KC_HD uint32_t count_waits(int nbits)
{
        return (uint32_t)count_digits(nbits) + 1;
}

static __device__ void publish(uint32_t *published, uint32_t serial, uint32_t count)
{
        *(volatile uint32_t *)published = serial << COUNT_NBITS | count;
}

/* Wait until all blocks are here, that is, until *narrived is `goal`. */
static __device__ void wait_for_all(uint32_t *narrived, uint32_t goal)
{
        __syncthreads();
        if (threadIdx.x == 0 && gridDim.x > 1) {
                __threadfence();
                (void)atomicAdd(narrived, 1u);
                while ((int32_t)(*(volatile uint32_t *)narrived - goal) < 0)
                        ;
                __threadfence();
        }
        __syncthreads();
}

/* ---- ranks */

/* How many elements of the warp with the same digit precede the lane's; there: the lane has one.
 * heads: elements so far, by digit; masks: lanes with each digit, 0 before and after. */
static __device__ uint32_t rank_in_warp(uint32_t digit, bool there, uint32_t *heads,
                                        uint32_t *masks)
{
        if (there)
                (void)atomicOr(&masks[digit], 1u << kc_warp_lane());
        __syncwarp();
        uint32_t same = masks[digit], before = heads[digit], rank = kc_warp_rank(same);
        __syncwarp();
        if (there && rank == 0) {
                heads[digit] = before + (uint32_t)__popc(same);
                masks[digit] = 0;
        }
        __syncwarp();
        return before + rank;
}

/* The sum of x over the preceding threads, for the first NDIGITS threads; called by all. */
static __device__ uint32_t scan_digits(uint32_t x, uint32_t *of_warps)
{
        uint32_t sum = kc_warp_scan(x), warp = threadIdx.x / 32;
        if (kc_warp_lane() == 31)
                of_warps[warp] = sum;
        __syncthreads();
        for (uint32_t i = 0; i < NDIGITS / 32; i++)
                sum += i < warp ? of_warps[i] : 0;
        return sum - x;
}

/* Turn heads into the number of elements in preceding warps, and publish the tile's counts unless
 * `published` is NULL. Each thread sums NWARPS_EACH warps of a digit. */
template <class Word, int NITEMS>
static __device__ void sum_warps(tile<Word, NITEMS> *t, uint32_t *published, uint32_t serial)
{
        uint32_t digit = threadIdx.x % NDIGITS, part = threadIdx.x / NDIGITS, n[NWARPS_EACH];
        uint32_t mine = 0, sum = 0, before = 0;
#pragma unroll
        for (uint32_t i = 0; i < NWARPS_EACH; i++) {
                n[i] = t->heads[part * NWARPS_EACH + i][digit];
                mine += n[i];
        }
        t->of_parts[part][digit] = mine;
        __syncthreads();
#pragma unroll
        for (uint32_t i = 0; i < NPARTS; i++) {
                uint32_t of_part = t->of_parts[i][digit];
                before += i < part ? of_part : 0;
                sum += of_part;
        }
        if (part == 0 && published != NULL)
                publish(&published[blockIdx.x * NDIGITS + digit], serial, sum);
#pragma unroll
        for (uint32_t i = 0; i < NWARPS_EACH; i++) {
                t->heads[part * NWARPS_EACH + i][digit] = before;
                before += n[i];
        }
        uint32_t start = scan_digits(part == 0 ? sum : 0, t->of_warps);
        if (part == 0)
                t->starts[digit] = start;
        __syncthreads();
}

/* ---- places */

static __device__ void add_counts(uint4 *sum, uint4 n, bool wanted)
{
        if (wanted)
                *sum = make_uint4(sum->x + n.x, sum->y + n.y, sum->z + n.z, sum->w + n.w);
}

/* Sum the counts of all blocks, by NREADERS groups of threads. */
template <class Word, int NITEMS>
static __device__ void read_all(tile<Word, NITEMS> *t, const uint32_t *published, uint32_t serial)
{
        uint32_t quad = threadIdx.x % NQUADS, reader = threadIdx.x / NQUADS;
        const uint32_t *mine = published + quad * 4;
        uint4 all = make_uint4(0, 0, 0, 0), before = all;
        for (uint32_t first = reader; first < gridDim.x; first += NREADERS * AT_ONCE) {
                uint4 n[AT_ONCE];
#pragma unroll
                for (uint32_t i = 0; i < AT_ONCE; i++) {
                        uint32_t block = first + i * NREADERS;
                        n[i] = read_four(&mine[(block < gridDim.x ? block : first) * NDIGITS]);
                }
#pragma unroll
                for (uint32_t i = 0; i < AT_ONCE; i++) {
                        uint32_t block = first + i * NREADERS;
                        if (block >= gridDim.x)
                                break;
                        while (!understand(&n[i], serial))
                                n[i] = read_four(&mine[block * NDIGITS]);
                        add_counts(&all, n[i], true);
                        add_counts(&before, n[i], block < blockIdx.x);
                }
        }
        ((uint4 *)t->sums[0][reader])[quad] = all;
        ((uint4 *)t->sums[1][reader])[quad] = before;
        __syncthreads();
}

/* Find where elements of the thread's digit go, and which elements the block gets if it takes whole
 * digits: those that start within its `each` elements. Returns whether a digit has more than
 * `most`. */
template <class Word, int NITEMS>
static __device__ bool find_places(tile<Word, NITEMS> *t, uint32_t n, uint32_t each, uint32_t most)
{
        uint32_t digit = threadIdx.x, all = 0, before = 0;
        if (digit < NDIGITS) {
#pragma unroll
                for (uint32_t i = 0; i < NREADERS; i++) {
                        all += t->sums[0][i][digit];
                        before += t->sums[1][i][digit];
                }
        }
        if (threadIdx.x == 0)
                t->mine[0] = blockIdx.x == 0 ? 0 : n;
        if (threadIdx.x == 0)
                t->mine[1] = n;
        uint32_t start = scan_digits(all, t->of_warps), end = start + all;
        if (digit < NDIGITS) {
                t->places[digit] = start + before - t->starts[digit];
                for (uint32_t i = 0; i < 2; i++) {
                        uint32_t limit = (blockIdx.x + i) * each;
                        if (start < limit && limit <= end)
                                t->mine[i] = end;
                }
        }
        return __syncthreads_or(all > most);
}

/* ---- a digit */

/* Index in the tile of the thread's element i: each warp has NITEMS * 32 adjacent elements. */
template <int NITEMS> static __device__ uint32_t item_at(int i)
{
        return threadIdx.x / 32 * 32 * NITEMS + (uint32_t)i * 32 + kc_warp_lane();
}

/* Sort n elements by the digit into the tile. They may already be in the tile. */
template <class Word, int NITEMS>
static __device__ void order_tile(tile<Word, NITEMS> *t, const Word *words, const uint32_t *values,
                                  uint32_t n, struct digit digit, uint32_t *published,
                                  uint32_t serial)
{
        const uint32_t warp = threadIdx.x / 32;
        uint32_t *heads = t->heads[warp], *masks = t->masks[warp], ranks[NITEMS], my_values[NITEMS];
        Word my_words[NITEMS];
#pragma unroll
        for (int i = 0; i < NITEMS; i++) {
                bool there = item_at<NITEMS>(i) < n;
                my_words[i] = there ? words[item_at<NITEMS>(i)] : 0;
                my_values[i] = there ? values[item_at<NITEMS>(i)] : 0;
        }
#pragma unroll
        for (uint32_t i = 0; i < NDIGITS; i += 32)
                heads[i + kc_warp_lane()] = masks[i + kc_warp_lane()] = 0;
        __syncwarp();
#pragma unroll
        for (int i = 0; i < NITEMS; i++)
                ranks[i] = rank_in_warp(digit_of(my_words[i], digit), item_at<NITEMS>(i) < n, heads,
                                        masks);
        __syncthreads();
        sum_warps(t, published, serial);
#pragma unroll
        for (int i = 0; i < NITEMS; i++) {
                if (item_at<NITEMS>(i) >= n)
                        break;
                uint32_t d = digit_of(my_words[i], digit);
                uint32_t to = t->starts[d] + heads[d] + ranks[i];
                t->words[to] = my_words[i];
                t->values[to] = my_values[i];
        }
        __syncthreads();
}

/* Write the tile's n elements to their places in the output. */
template <class Word, int NITEMS>
static __device__ void write_tile(const tile<Word, NITEMS> *t, const lsm_sorting<Word> &s,
                                  const kc_lsm_map_run<Word> &out, uint32_t n, struct digit digit,
                                  bool fenced)
{
        for (uint32_t i = threadIdx.x; i < n; i += NTHREADS) {
                Word word = t->words[i];
                uint32_t to = t->places[digit_of(word, digit)] + i;
                out.words[to] = word;
                out.values[to] = t->values[i];
                if (fenced)
                        kc_lsm_put_fences(&s.tiers, s.fences, to, word);
        }
}

/* ---- a block alone */

/* Sort elements begin to end of `words` to the same places of the result. */
template <class Word, int NITEMS>
static __device__ void sort_alone(tile<Word, NITEMS> *t, const lsm_sorting<Word> &s,
                                  const Word *words, const uint32_t *values, uint32_t begin,
                                  uint32_t end)
{
        const uint32_t n = end - begin;
        words += begin;
        values += begin;
        for (int i = 0; i < count_digits(s.nbits); i++) {
                order_tile(t, words, values, n, digit_number(i, s.nbits), (uint32_t *)NULL, 0);
                words = t->words;
                values = t->values;
        }
        for (uint32_t i = threadIdx.x; i < n; i += NTHREADS) {
                s.runs[0].words[begin + i] = words[i];
                s.runs[0].values[begin + i] = values[i];
                if (s.fences != NULL)
                        kc_lsm_put_fences(&s.tiers, s.fences, begin + i, words[i]);
        }
}

/* ---- all blocks together */

/* Blocks have waited `nwaits` times, and will not wait again: make up the difference in
 * *narrived. */
template <class Word> static __device__ void leave(const lsm_sorting<Word> &s, uint32_t nwaits)
{
        if (threadIdx.x == 0)
                (void)atomicAdd(s.narrived, count_waits(s.nbits) - nwaits);
}

/* Sort by the highest digit, then each block its own share; false if that is impossible: nothing
 * was written. */
template <class Word, int NITEMS>
static __device__ bool sort_apart(tile<Word, NITEMS> *t, const lsm_sorting<Word> &s, uint32_t first,
                                  uint32_t n)
{
        const struct digit digit = { s.nbits - (int)DIGIT_NBITS, NDIGITS - 1 };
        order_tile(t, s.words + first, s.values + first, n, digit, s.published, s.serial + 1);
        read_all(t, s.published, s.serial + 1);
        bool is_skewed = find_places(t, s.n, s.each, t->LENGTH - s.each);
        if (!is_skewed)
                write_tile(t, s, s.runs[1], n, digit, false);
        wait_for_all(s.narrived, s.arrived + gridDim.x);
        if (is_skewed)
                return false;
        sort_alone(t, s, s.runs[1].words, s.runs[1].values, t->mine[0], t->mine[1]);
        leave(s, 1);
        return true;
}

/* Sort by all digits, from the lowest. Blocks have waited and published `nwaits` times before. */
template <class Word, int NITEMS>
static __device__ void sort_together(tile<Word, NITEMS> *t, const lsm_sorting<Word> &s,
                                     uint32_t first, uint32_t n, uint32_t nwaits)
{
        const int ndigits = count_digits(s.nbits);
        const Word *words = s.words;
        const uint32_t *values = s.values;
        for (int i = 0; i < ndigits; i++) {
                const kc_lsm_map_run<Word> &out = s.runs[(ndigits - 1 - i) % 2];
                const struct digit digit = digit_number(i, s.nbits);
                const bool is_last = i == ndigits - 1;
                const uint32_t serial = s.serial + nwaits + 1;
                order_tile(t, words + first, values + first, n, digit, s.published, serial);
                read_all(t, s.published, serial);
                (void)find_places(t, s.n, s.each, s.n);
                write_tile(t, s, out, n, digit, is_last && s.fences != NULL);
                words = out.words;
                values = out.values;
                if (!is_last)
                        wait_for_all(s.narrived, s.arrived + ++nwaits * gridDim.x);
        }
        leave(s, nwaits);
}

template <class Word, int NITEMS>
static __global__ void __launch_bounds__(NTHREADS, 1)
        lsm_sort_kernel(const __grid_constant__ lsm_sorting<Word> s)
{
        extern __shared__ uint4 shared[];
        tile<Word, NITEMS> *t = (tile<Word, NITEMS> *)shared;
        const uint32_t first = blockIdx.x * s.each, left = s.n - first;
        const uint32_t n = left < s.each ? left : s.each;
        if (gridDim.x == 1) {
                sort_alone(t, s, s.words, s.values, 0, n);
                return;
        }
        bool is_roomy = s.is_roomy && s.nbits > (int)DIGIT_NBITS;
        if (!is_roomy || !sort_apart(t, s, first, n))
                sort_together(t, s, first, n, is_roomy ? 1 : 0);
}

/* ---- the call */

namespace
{

/* Kernels with NITEMS items per thread. */
template <class Word, int NITEMS> struct shape {
        enum : size_t { SHARED_NBYTES = sizeof(tile<Word, NITEMS>), LENGTH = NTHREADS * NITEMS };
};

} // namespace

/* Allocate the memory by which blocks communicate, and determine how many blocks there may be. */
template <class Word>
static enum kc_status reserve_sorter(struct kc_lsm_map<Word> *map, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_stream on = map->on;
        struct kc_lsm_sorter *sorter = &map->sorter;
        int cooperates;
        if (sorter->messages != NULL)
                return KC_OK;
        KC_TRY(KC_CUDA(
                cudaDeviceGetAttribute(&cooperates, cudaDevAttrCooperativeLaunch, on.gpu->device)));
        sorter->most_blocks = cooperates ? (unsigned)on.gpu->nmultiprocessors : 1;
        sorter->nwords = (size_t)sorter->most_blocks * NDIGITS + NAHEAD;
        KC_TRY(kc_gpu_new(on, &sorter->messages, sorter->nwords, err));
        sorter->serial = MAX_SERIAL;
out:
        return status;
}

/* Reserve the serial numbers of this sort. */
template <class Word>
static enum kc_status take_serials(struct kc_lsm_map<Word> *map, unsigned nblocks,
                                   struct lsm_sorting<Word> *s, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_lsm_sorter *sorter = &map->sorter;
        uint32_t nwaits = count_waits(s->nbits);
        if (sorter->serial + nwaits > MAX_SERIAL) {
                KC_TRY(KC_CUDA(cudaMemsetAsync(sorter->messages, 0,
                                               sorter->nwords * sizeof *sorter->messages,
                                               map->on.stream)));
                sorter->serial = sorter->arrived = 0;
        }
        s->narrived = sorter->messages;
        s->published = sorter->messages + NAHEAD;
        s->serial = sorter->serial;
        s->arrived = sorter->arrived;
        if (nblocks > 1) {
                sorter->serial += nwaits;
                sorter->arrived += nwaits * nblocks;
        }
out:
        return status;
}

template <class Word, int NITEMS>
static enum kc_status launch(struct kc_lsm_map<Word> *map, struct lsm_sorting<Word> *s,
                             struct kc_error *err)
{
        enum kc_status status;
        typedef shape<Word, NITEMS> shape;
        unsigned nblocks = kc_ceil_div(s->n, s->each);
        void *arguments[] = { s };
        cudaStream_t stream = map->on.stream;
        KC_TRY(kc_lsm_scratch_reserve(map->on, &map->scratch,
                                      s->n * (sizeof(Word) + sizeof(uint32_t)), err));
        s->runs[1].words = (Word *)map->scratch.memory;
        s->runs[1].values = (uint32_t *)(s->runs[1].words + s->n);
        KC_TRY(take_serials(map, nblocks, s, err));
        KC_TRY(KC_CUDA(cudaFuncSetAttribute(lsm_sort_kernel<Word, NITEMS>,
                                            cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            (int)shape::SHARED_NBYTES)));
        if (nblocks > 1) {
                KC_TRY(KC_CUDA(cudaLaunchCooperativeKernel(lsm_sort_kernel<Word, NITEMS>, nblocks,
                                                           NTHREADS, arguments,
                                                           shape::SHARED_NBYTES, stream)));
        } else {
                lsm_sort_kernel<Word, NITEMS><<<1, NTHREADS, shape::SHARED_NBYTES, stream>>>(*s);
        }
        KC_TRY(KC_LAUNCHED());
out:
        if (status != KC_OK)
                map->sorter.serial = MAX_SERIAL; /* what was published is unknown */
        return status;
}

/* Whether NITEMS per thread suffice if each block starts with 1/part of what it can hold. */
template <class Word, int NITEMS>
static bool takes(const struct kc_lsm_map<Word> *map, uint32_t part, struct lsm_sorting<Word> *s)
{
        typedef shape<Word, NITEMS> shape;
        s->each = s->n <= shape::LENGTH ? s->n : (uint32_t)shape::LENGTH / part;
        s->is_roomy = part > 1;
        return s->n <= (size_t)map->sorter.most_blocks * s->each &&
               shape::SHARED_NBYTES <= map->on.gpu->shared_nbytes;
}

/* Launch with the fewest items per thread that suffice; *done = false if none do. */
template <class Word>
static enum kc_status launch_fitting(struct kc_lsm_map<Word> *map, struct lsm_sorting<Word> *s,
                                     bool *done, struct kc_error *err)
{
        *done = true;
        for (uint32_t part = 2; part > 0; part--) {
                if (takes<Word, 4>(map, part, s))
                        return launch<Word, 4>(map, s, err);
                if (takes<Word, 8>(map, part, s))
                        return launch<Word, 8>(map, s, err);
                if (takes<Word, 16>(map, part, s))
                        return launch<Word, 16>(map, s, err);
        }
        *done = false;
        return KC_OK;
}

template <class Word>
enum kc_status kc_lsm_sort_small(struct kc_lsm_map<Word> *map, const Word *words,
                                 const uint32_t *values, size_t n, kc_lsm_map_run<Word> *out,
                                 Word *fences, bool *done, struct kc_error *err)
{
        enum kc_status status;
        lsm_sorting<Word> s = {};
        *done = false;
        if (n > MAX_LENGTH)
                return KC_OK;
        KC_TRY(reserve_sorter(map, err));
        s.words = words;
        s.values = values;
        s.n = (uint32_t)n;
        s.nbits = map->key_nbits + (kc_lsm_kind<Word>::SUMS ? 0 : 1);
        s.runs[0] = *out;
        s.fences = fences;
        s.tiers = kc_lsm_tiers_of<Word>(s.n);
        out->n = n;
        status = launch_fitting(map, &s, done, err);
out:
        return status;
}

#define INSTANTIATE(Word) \
        template enum kc_status kc_lsm_sort_small( \
                struct kc_lsm_map<Word> *, const Word *, const uint32_t *, size_t, \
                kc_lsm_map_run<Word> *, Word *, bool *, struct kc_error *);
KC_LSM_WORDS(INSTANTIATE)
