/*
 * Small batches are sorted in one launch, since a launch takes longer than a pass over them.
 *
 * A radix sort by digits of 8 bits. All blocks are on the device at once, and each has a tile of
 * the elements. A digit is sorted by like this:
 *
 *      rank      a warp goes through its elements 32 at a time; how many with the same digit came
 *                before it is told by masks of lanes and a count for each digit
 *      tell      how many elements with each digit a block has is written where the others read it,
 *                marked with a serial number, so that nothing need be set to 0 in between
 *      place     from the counts of all blocks follows where its elements with a digit go; they are
 *                brought together in shared memory first, and written in pieces
 *      wait      for all blocks, as what a block does next comes from everywhere
 *
 * The highest digit comes first. If the elements lie so that each block can take some of its values
 * with all their elements, each sorts those in shared memory, by all digits from the lowest, and
 * waits for no others any more. Where one value has too many elements all blocks go through all
 * digits together, whatever the keys are.
 *
 * The places are found as ever (Merrill, Grimshaw, 2011); that each block reads the counts of all
 * others is for small batches only.
 */
#include "gpu/device/warp.cuh"
#include "gpu/maps/lsm/map_internal.cuh"

enum : uint32_t {
        NTHREADS = 512,
        NWARPS = NTHREADS / 32,
        DIGIT_NBITS = 8,
        NDIGITS = 1 << DIGIT_NBITS,
        COUNT_NBITS = 14, /* of what a block tells; a tile has fewer elements */
        MAX_SERIAL = UINT32_MAX >> COUNT_NBITS,
        NQUADS = NDIGITS / 4,         /* a thread reads the counts of four digits */
        NREADERS = NTHREADS / NQUADS, /* blocks whose counts are read at a time */
        NAHEAD = 4,                   /* words before what is told: what the blocks wait by */
        MAX_LENGTH = 1 << 21,         /* of a batch, whatever the device is */
        AT_ONCE = 4,                  /* .. and by a thread without waiting */
        NPARTS = NTHREADS / NDIGITS,
        NWARPS_EACH = NWARPS / NPARTS,
};

namespace
{

/* A sort, as the kernel sees it. */
template <class Word> struct lsm_sorting {
        const Word *words;
        const uint32_t *values;
        uint32_t n, each; /* elements; those that a block has at first */
        int nbits;
        bool is_roomy;                /* twice as many fit a tile */
        kc_lsm_map_run<Word> runs[2]; /* the result goes to runs[0]; runs[1] is room for as many */
        uint32_t *told;               /* [blocks][NDIGITS] */
        uint32_t *narrived;           /* blocks that waited, ever */
        uint32_t serial, arrived;     /* what was told last; *narrived at the beginning */
        Word *fences;                 /* of the result; NULL: not wanted */
        kc_lsm_tiers tiers;
};

/* A block's. */
template <class Word, int NITEMS> struct tile {
        enum : uint32_t { LENGTH = NTHREADS * NITEMS };
        Word words[LENGTH];
        uint32_t values[LENGTH];
        union {
                uint32_t heads[NWARPS][NDIGITS]; /* elements of a warp, then of those before it */
                uint32_t sums[2][NREADERS][NDIGITS]; /* of all blocks, and of those before this */
        };
        uint32_t of_parts[NPARTS][NDIGITS];
        uint32_t masks[NWARPS][NDIGITS];
        uint32_t starts[NDIGITS]; /* in the tile */
        uint32_t places[NDIGITS]; /* of the tile's element 0 if it had the digit */
        uint32_t of_warps[NWARPS];
        uint32_t mine[2]; /* elements that the block takes: begin, end */
};

/* Bits of words that are sorted by. */
struct digit {
        int shift;
        uint32_t mask;
};

} // namespace

static KC_HD int count_digits(int nbits)
{
        return (nbits + (int)DIGIT_NBITS - 1) / (int)DIGIT_NBITS;
}

/* Number i, from the lowest, of nbits. */
static __device__ struct digit digit_number(int i, int nbits)
{
        int shift = i * (int)DIGIT_NBITS, left = nbits - shift;
        return { shift, left < (int)DIGIT_NBITS ? (1u << left) - 1 : NDIGITS - 1 };
}

template <class Word> static __device__ uint32_t digit_of(Word word, struct digit digit)
{
        return (uint32_t)(word >> digit.shift) & digit.mask;
}

/* ---- what blocks tell each other */

/* What was told of four digits; it may be old. */
static __device__ uint4 listen(const uint32_t *told)
{
        uint4 counts;
#ifdef __CUDA_ARCH__
        asm volatile("ld.relaxed.gpu.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(counts.x), "=r"(counts.y), "=r"(counts.z), "=r"(counts.w)
                     : "l"(told)
                     : "memory");
#else
        counts = *(const uint4 *)told;
#endif
        return counts;
}

/* Four counts without their serial number; false: it is another one. */
static __device__ bool understand(uint4 *counts, uint32_t serial)
{
        const uint32_t mark = serial << COUNT_NBITS;
        *counts =
                make_uint4(counts->x - mark, counts->y - mark, counts->z - mark, counts->w - mark);
        return (counts->x | counts->y | counts->z | counts->w) >> COUNT_NBITS == 0;
}

/* How often blocks may wait for each other, and tell. */
static KC_HD uint32_t count_waits(int nbits)
{
        return (uint32_t)count_digits(nbits) + 1;
}

static __device__ void tell(uint32_t *told, uint32_t serial, uint32_t count)
{
        *(volatile uint32_t *)told = serial << COUNT_NBITS | count;
}

/* Until all blocks have come here; `goal` have then arrived. */
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

/* How many elements of the warp with the same digit come before the lane's, `there` is whether it
 * has one. heads: those that came so far; masks: 0, by digits, and left so: lanes with the digit. */
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

/* The sum of x over the threads before this one, of the first NDIGITS; by all. */
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

/* Heads become the elements of the warps before; those of the tile are told, if told is not NULL.
 * Each thread sums NWARPS_EACH warps of a digit. */
template <class Word, int NITEMS>
static __device__ void sum_warps(tile<Word, NITEMS> *t, uint32_t *told, uint32_t serial)
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
        if (part == 0 && told != NULL)
                tell(&told[blockIdx.x * NDIGITS + digit], serial, sum);
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

/* What all blocks told, summed by NREADERS groups of threads. */
template <class Word, int NITEMS>
static __device__ void hear_all(tile<Word, NITEMS> *t, const uint32_t *told, uint32_t serial)
{
        uint32_t quad = threadIdx.x % NQUADS, reader = threadIdx.x / NQUADS;
        const uint32_t *mine = told + quad * 4;
        uint4 all = make_uint4(0, 0, 0, 0), before = all;
        for (uint32_t first = reader; first < gridDim.x; first += NREADERS * AT_ONCE) {
                uint4 n[AT_ONCE];
#pragma unroll
                for (uint32_t i = 0; i < AT_ONCE; i++) {
                        uint32_t block = first + i * NREADERS;
                        n[i] = listen(&mine[(block < gridDim.x ? block : first) * NDIGITS]);
                }
#pragma unroll
                for (uint32_t i = 0; i < AT_ONCE; i++) {
                        uint32_t block = first + i * NREADERS;
                        if (block >= gridDim.x)
                                break;
                        while (!understand(&n[i], serial))
                                n[i] = listen(&mine[block * NDIGITS]);
                        add_counts(&all, n[i], true);
                        add_counts(&before, n[i], block < blockIdx.x);
                }
        }
        ((uint4 *)t->sums[0][reader])[quad] = all;
        ((uint4 *)t->sums[1][reader])[quad] = before;
        __syncthreads();
}

/* Where elements of the thread's digit go, and which of all elements are the block's if it takes
 * whole digits: those that begin among its `each`. Whether a digit has more than `most`. */
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

/* The thread's element i of the tile: warps have NITEMS times 32 each, side by side. */
template <int NITEMS> static __device__ uint32_t item_at(int i)
{
        return threadIdx.x / 32 * 32 * NITEMS + (uint32_t)i * 32 + kc_warp_lane();
}

/* n elements to the tile, in order of the digit. They may lie in the tile. */
template <class Word, int NITEMS>
static __device__ void order_tile(tile<Word, NITEMS> *t, const Word *words, const uint32_t *values,
                                  uint32_t n, struct digit digit, uint32_t *told, uint32_t serial)
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
        sum_warps(t, told, serial);
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

/* The tile's n elements to their places among all. */
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

/* Elements begin to end of the result are these of `words`, in order. */
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

/* Blocks have waited `nwaits` times, and do so no more. */
template <class Word> static __device__ void leave(const lsm_sorting<Word> &s, uint32_t nwaits)
{
        if (threadIdx.x == 0)
                (void)atomicAdd(s.narrived, count_waits(s.nbits) - nwaits);
}

/* By the highest digit, then each block its own; false: it cannot be, and nothing was done. */
template <class Word, int NITEMS>
static __device__ bool sort_apart(tile<Word, NITEMS> *t, const lsm_sorting<Word> &s, uint32_t first,
                                  uint32_t n)
{
        const struct digit digit = { s.nbits - (int)DIGIT_NBITS, NDIGITS - 1 };
        order_tile(t, s.words + first, s.values + first, n, digit, s.told, s.serial + 1);
        hear_all(t, s.told, s.serial + 1);
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

/* All digits, from the lowest; blocks have waited `nwaits` times, and told as often. */
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
                order_tile(t, words + first, values + first, n, digit, s.told, serial);
                hear_all(t, s.told, serial);
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

/* Kernels of so many items a thread. */
template <class Word, int NITEMS> struct shape {
        enum : size_t { SHARED_NBYTES = sizeof(tile<Word, NITEMS>), LENGTH = NTHREADS * NITEMS };
};

} // namespace

/* Memory by which blocks speak, and how many there may be. */
template <class Word>
static enum kc_status reserve_sorter(struct kc_lsm_map<Word> *map, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu *gpu = map->gpu;
        struct kc_lsm_sorter *sorter = &map->sorter;
        int cooperates;
        if (sorter->told != NULL)
                return KC_OK;
        KC_TRY(KC_CUDA(
                cudaDeviceGetAttribute(&cooperates, cudaDevAttrCooperativeLaunch, gpu->device)));
        sorter->most_blocks = cooperates ? (unsigned)gpu->nmultiprocessors : 1;
        sorter->nwords = (size_t)sorter->most_blocks * NDIGITS + NAHEAD;
        KC_TRY(kc_gpu_new(gpu, &sorter->told, sorter->nwords, err));
        sorter->serial = MAX_SERIAL;
out:
        return status;
}

/* The numbers of this sort. */
template <class Word>
static enum kc_status take_serials(struct kc_lsm_map<Word> *map, unsigned nblocks,
                                   struct lsm_sorting<Word> *s, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_lsm_sorter *sorter = &map->sorter;
        uint32_t nwaits = count_waits(s->nbits);
        if (sorter->serial + nwaits > MAX_SERIAL) {
                KC_TRY(KC_CUDA(cudaMemsetAsync(
                        sorter->told, 0, sorter->nwords * sizeof *sorter->told, map->gpu->stream)));
                sorter->serial = sorter->arrived = 0;
        }
        s->narrived = sorter->told;
        s->told = sorter->told + NAHEAD;
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
        cudaStream_t stream = map->gpu->stream;
        KC_TRY(kc_lsm_scratch_reserve(map->gpu, &map->scratch,
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
                map->sorter.serial = MAX_SERIAL; /* nobody knows what was told */
        return status;
}

/* Whether NITEMS a thread are enough, where each block begins with a `part`th of what it can hold. */
template <class Word, int NITEMS>
static bool takes(const struct kc_lsm_map<Word> *map, uint32_t part, struct lsm_sorting<Word> *s)
{
        typedef shape<Word, NITEMS> shape;
        s->each = s->n <= shape::LENGTH ? s->n : (uint32_t)shape::LENGTH / part;
        s->is_roomy = part > 1;
        return s->n <= (size_t)map->sorter.most_blocks * s->each &&
               shape::SHARED_NBYTES <= map->gpu->shared_nbytes;
}

/* By as few items a thread as will do; *done = false: there are too many. */
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
        struct lsm_sorting<Word> s = {
        };
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
