/*
 * Small batches are sorted in one launch, since a launch takes longer than a pass over them.
 *
 * A radix sort by digits of 8 bits, from the lowest. All blocks are on the device at once, each has
 * a tile of the elements, and for each digit
 *
 *      rank      a warp goes through its elements 32 at a time; how many with the same digit came
 *                before it is told by ballots and a count for each digit
 *      tell      how many elements with each digit a block has is written where the others read it,
 *                marked with a serial number, so that nothing need be set to 0 in between
 *      place     from the counts of all blocks follows where its elements with a digit go; they are
 *                brought together in shared memory first, and written in pieces
 *      wait      for all blocks, as the next digit's tiles come from everywhere
 *
 * The order of places (Merrill, Grimshaw, 2011) is the usual one; as many counts as there are
 * blocks times digits are read by every block, which is why this is for small batches.
 */
#include "gpu/lsm_map_parts.cuh"
#include "gpu/warp.cuh"

enum : uint32_t {
        NTHREADS = 1024,
        NWARPS = NTHREADS / 32,
        DIGIT_NBITS = 8,
        NDIGITS = 1 << DIGIT_NBITS,
        COUNT_NBITS = 14, /* of what a block tells; a tile has fewer elements */
        MAX_SERIAL = UINT32_MAX >> COUNT_NBITS,
        NQUADS = NDIGITS / 4,         /* a thread reads the counts of four digits */
        NREADERS = NTHREADS / NQUADS, /* blocks whose counts are read at a time */
};

/* A sort, as the kernel sees it. */
template <class Word> struct sorting {
        const Word *words;
        const uint32_t *values;
        uint32_t n;
        int nbits;
        kc_lsm_run<Word> runs[2]; /* those of the last digit go to runs[0], before that to runs[1], .. */
        uint32_t *told;           /* [blocks][NDIGITS] */
        uint32_t *narrived;       /* blocks that waited, ever */
        uint32_t serial, arrived; /* what was told last; *narrived at the beginning */
        Word *fences;             /* of the result; NULL: not wanted */
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
        uint32_t starts[NDIGITS]; /* in the tile */
        uint32_t places[NDIGITS]; /* of the tile's element 0 if it had the digit */
        uint32_t of_warps[NWARPS];
};

static KC_HD int count_digits(int nbits)
{
        return (nbits + (int)DIGIT_NBITS - 1) / (int)DIGIT_NBITS;
}

template <class Word> static __device__ uint32_t digit_of(Word word, int digit, int nbits)
{
        int shift = digit * (int)DIGIT_NBITS, left = nbits - shift;
        uint32_t mask = left < (int)DIGIT_NBITS ? (1u << left) - 1 : NDIGITS - 1;
        return (uint32_t)(word >> shift) & mask;
}

/* ---- what blocks tell each other */

/* Four counts, when they have the serial number; what a thread reads before it may be older. */
static __device__ uint4 hear(const uint32_t *told, uint32_t serial)
{
        uint4 counts;
        for (;;) {
#ifdef __CUDA_ARCH__
                asm volatile("ld.relaxed.gpu.v4.u32 {%0, %1, %2, %3}, [%4];"
                             : "=r"(counts.x), "=r"(counts.y), "=r"(counts.z), "=r"(counts.w)
                             : "l"(told)
                             : "memory");
#else
                counts = *(const uint4 *)told;
#endif
                counts.x -= serial << COUNT_NBITS;
                counts.y -= serial << COUNT_NBITS;
                counts.z -= serial << COUNT_NBITS;
                counts.w -= serial << COUNT_NBITS;
                if ((counts.x | counts.y | counts.z | counts.w) >> COUNT_NBITS == 0)
                        return counts;
        }
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

/* The lanes whose digits are the same, of those in `there`. */
static __device__ uint32_t match(uint32_t digit, uint32_t there)
{
        uint32_t same = there;
#pragma unroll
        for (uint32_t bit = 0; bit < DIGIT_NBITS; bit++) {
                bool set = digit >> bit & 1;
                uint32_t ballot = __ballot_sync(UINT32_MAX, set);
                same &= set ? ballot : ~ballot;
        }
        return same;
}

/* How many elements of the warp with the same digit come before the lane's, `there` is whether it
 * has one; heads: those that came so far. */
static __device__ uint32_t rank_in_warp(uint32_t digit, bool there, uint32_t *heads)
{
        uint32_t same = match(digit, __ballot_sync(UINT32_MAX, there));
        uint32_t before = heads[digit], rank = kc_warp_rank(same);
        __syncwarp();
        if (there && rank == 0)
                heads[digit] = before + (uint32_t)__popc(same);
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

/* Of the thread's digit: heads become those before each warp; the tile's are told. */
template <class Word, int NITEMS>
static __device__ void sum_warps(tile<Word, NITEMS> *t, uint32_t *told, uint32_t serial)
{
        uint32_t digit = threadIdx.x, sum = 0;
        if (digit < NDIGITS) {
#pragma unroll 8
                for (uint32_t warp = 0; warp < NWARPS; warp++) {
                        uint32_t n = t->heads[warp][digit];
                        t->heads[warp][digit] = sum;
                        sum += n;
                }
                tell(&told[blockIdx.x * NDIGITS + digit], serial, sum);
        }
        uint32_t start = scan_digits(sum, t->of_warps);
        if (digit < NDIGITS)
                t->starts[digit] = start;
        __syncthreads();
}

/* ---- places */

/* What all blocks told, summed by NREADERS groups of threads. */
template <class Word, int NITEMS>
static __device__ void hear_all(tile<Word, NITEMS> *t, const uint32_t *told, uint32_t serial)
{
        uint32_t quad = threadIdx.x % NQUADS, reader = threadIdx.x / NQUADS;
        uint4 all = make_uint4(0, 0, 0, 0), before = all;
#pragma unroll 4
        for (uint32_t block = reader; block < gridDim.x; block += NREADERS) {
                uint4 n = hear(&told[block * NDIGITS + quad * 4], serial);
                bool is_before = block < blockIdx.x;
                all = make_uint4(all.x + n.x, all.y + n.y, all.z + n.z, all.w + n.w);
                before = make_uint4(before.x + (is_before ? n.x : 0),
                                    before.y + (is_before ? n.y : 0),
                                    before.z + (is_before ? n.z : 0),
                                    before.w + (is_before ? n.w : 0));
        }
        ((uint4 *)t->sums[0][reader])[quad] = all;
        ((uint4 *)t->sums[1][reader])[quad] = before;
        __syncthreads();
}

/* Where elements of the thread's digit go. */
template <class Word, int NITEMS> static __device__ void find_places(tile<Word, NITEMS> *t)
{
        uint32_t digit = threadIdx.x, all = 0, before = 0;
        if (digit < NDIGITS)
                for (uint32_t i = 0; i < NREADERS; i++) {
                        all += t->sums[0][i][digit];
                        before += t->sums[1][i][digit];
                }
        uint32_t start = scan_digits(all, t->of_warps);
        if (digit < NDIGITS)
                t->places[digit] = start + before - t->starts[digit];
        __syncthreads();
}

/* ---- a digit */

/* The thread's element i of the tile: warps have NITEMS times 32 each, side by side. */
template <int NITEMS> static __device__ uint32_t item_at(int i)
{
        return threadIdx.x / 32 * 32 * NITEMS + (uint32_t)i * 32 + kc_warp_lane();
}

/* The tile in order of its digit; n: its length. */
template <class Word, int NITEMS>
static __device__ void order_tile(tile<Word, NITEMS> *t, const sorting<Word> &s, const Word *words,
                                  const uint32_t *values, uint32_t n, int digit)
{
        uint32_t *heads = t->heads[threadIdx.x / 32], ranks[NITEMS], my_values[NITEMS];
        Word my_words[NITEMS];
#pragma unroll
        for (int i = 0; i < NITEMS; i++) {
                bool there = item_at<NITEMS>(i) < n;
                my_words[i] = there ? words[item_at<NITEMS>(i)] : 0;
                my_values[i] = there ? values[item_at<NITEMS>(i)] : 0;
        }
        for (uint32_t i = kc_warp_lane(); i < NDIGITS; i += 32)
                heads[i] = 0;
        __syncwarp();
#pragma unroll
        for (int i = 0; i < NITEMS; i++)
                ranks[i] = rank_in_warp(digit_of(my_words[i], digit, s.nbits),
                                        item_at<NITEMS>(i) < n, heads);
        __syncthreads();
        sum_warps(t, s.told, s.serial + (uint32_t)digit + 1);
#pragma unroll
        for (int i = 0; i < NITEMS; i++) {
                if (item_at<NITEMS>(i) >= n)
                        break;
                uint32_t d = digit_of(my_words[i], digit, s.nbits);
                uint32_t to = t->starts[d] + heads[d] + ranks[i];
                t->words[to] = my_words[i];
                t->values[to] = my_values[i];
        }
        __syncthreads();
}

template <class Word, int NITEMS>
static __device__ void write_tile(const tile<Word, NITEMS> *t, const sorting<Word> &s,
                                  const kc_lsm_run<Word> &out, uint32_t n, int digit, bool fenced)
{
        for (uint32_t i = threadIdx.x; i < n; i += NTHREADS) {
                Word word = t->words[i];
                uint32_t to = t->places[digit_of(word, digit, s.nbits)] + i;
                out.words[to] = word;
                out.values[to] = t->values[i];
                if (fenced)
                        kc_lsm_put_fences(&s.tiers, s.fences, to, word);
        }
}

template <class Word, int NITEMS>
static __global__ void __launch_bounds__(NTHREADS, 1)
        sort_kernel(const __grid_constant__ sorting<Word> s)
{
        extern __shared__ uint4 shared[];
        tile<Word, NITEMS> *t = (tile<Word, NITEMS> *)shared;
        const int ndigits = count_digits(s.nbits);
        const uint32_t first = blockIdx.x * t->LENGTH, left = s.n - first;
        const uint32_t n = left < t->LENGTH ? left : (uint32_t)t->LENGTH;
        const Word *words = s.words;
        const uint32_t *values = s.values;
        for (int digit = 0; digit < ndigits; digit++) {
                const kc_lsm_run<Word> &out = s.runs[(ndigits - 1 - digit) % 2];
                const bool is_last = digit == ndigits - 1;
                order_tile(t, s, words + first, values + first, n, digit);
                hear_all(t, s.told, s.serial + (uint32_t)digit + 1);
                find_places(t);
                write_tile(t, s, out, n, digit, is_last && s.fences != NULL);
                words = out.words;
                values = out.values;
                if (!is_last)
                        wait_for_all(s.narrived, s.arrived + (uint32_t)(digit + 1) * gridDim.x);
        }
}

/* ---- the call */

/* As few items a thread as leave no more blocks than this: the fewer blocks, the fewer counts. */
enum { FEW_NBLOCKS = 64 };

/* Kernels of so many items a thread. */
template <class Word, int NITEMS> struct shape {
        enum : size_t { SHARED_NBYTES = sizeof(tile<Word, NITEMS>), LENGTH = NTHREADS * NITEMS };
};

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
        KC_TRY(KC_CUDA(cudaDeviceGetAttribute(&cooperates, cudaDevAttrCooperativeLaunch,
                                              gpu->device)));
        sorter->most_blocks = cooperates ? (unsigned)gpu->nmultiprocessors : 1;
        sorter->nwords = (size_t)sorter->most_blocks * NDIGITS + 4;
        KC_TRY(kc_gpu_new(gpu, &sorter->told, sorter->nwords, err));
        sorter->serial = MAX_SERIAL;
out:
        return status;
}

/* The numbers of this sort. */
template <class Word>
static enum kc_status take_serials(struct kc_lsm_map<Word> *map, uint32_t ndigits, unsigned nblocks,
                                   struct sorting<Word> *s, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_lsm_sorter *sorter = &map->sorter;
        if (sorter->serial + ndigits > MAX_SERIAL) {
                KC_TRY(KC_CUDA(cudaMemsetAsync(sorter->told, 0,
                                               sorter->nwords * sizeof *sorter->told,
                                               map->gpu->stream)));
                sorter->serial = sorter->arrived = 0;
        }
        s->narrived = sorter->told;
        s->told = sorter->told + 4;
        s->serial = sorter->serial;
        s->arrived = sorter->arrived;
        sorter->serial += ndigits;
        sorter->arrived += (ndigits - 1) * nblocks;
out:
        return status;
}

template <class Word, int NITEMS>
static enum kc_status launch(struct kc_lsm_map<Word> *map, struct sorting<Word> *s,
                             struct kc_error *err)
{
        enum kc_status status;
        typedef shape<Word, NITEMS> shape;
        unsigned nblocks = kc_ceil_div(s->n, shape::LENGTH);
        void *arguments[] = { s };
        cudaStream_t stream = map->gpu->stream;
        KC_TRY(take_serials(map, (uint32_t)count_digits(s->nbits), nblocks, s, err));
        KC_TRY(KC_CUDA(cudaFuncSetAttribute(sort_kernel<Word, NITEMS>,
                                            cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            (int)shape::SHARED_NBYTES)));
        if (nblocks > 1) {
                KC_TRY(KC_CUDA(cudaLaunchCooperativeKernel(sort_kernel<Word, NITEMS>, nblocks,
                                                           NTHREADS, arguments,
                                                           shape::SHARED_NBYTES, stream)));
        } else {
                sort_kernel<Word, NITEMS><<<1, NTHREADS, shape::SHARED_NBYTES, stream>>>(*s);
        }
        KC_TRY(KC_LAUNCHED());
out:
        if (status != KC_OK)
                map->sorter.serial = MAX_SERIAL; /* nobody knows what was told */
        return status;
}

/* Whether so many elements are sorted by kernels of NITEMS. */
template <class Word, int NITEMS>
static bool takes(const struct kc_lsm_map<Word> *map, size_t n, unsigned most_blocks)
{
        typedef shape<Word, NITEMS> shape;
        return n <= most_blocks * shape::LENGTH && shape::SHARED_NBYTES <= map->gpu->shared_nbytes;
}

/* Items a thread; 0: the elements are too many. */
template <class Word> static int choose_nitems(const struct kc_lsm_map<Word> *map, size_t n)
{
        unsigned most = map->sorter.most_blocks;
        unsigned few = most < FEW_NBLOCKS ? most : (unsigned)FEW_NBLOCKS;
        if (takes<Word, 2>(map, n, few))
                return 2;
        if (takes<Word, 4>(map, n, few))
                return 4;
        if (takes<Word, 8>(map, n, most))
                return 8;
        return takes<Word, 4>(map, n, most) ? 4 : 0;
}

template <class Word>
enum kc_status kc_lsm_sort_small(struct kc_lsm_map<Word> *map, const Word *words,
                                 const uint32_t *values, size_t n, kc_lsm_run<Word> *out,
                                 Word *fences, bool *done, struct kc_error *err)
{
        enum kc_status status;
        struct sorting<Word> s = {};
        int nitems;
        KC_TRY(reserve_sorter(map, err));
        nitems = choose_nitems(map, n);
        *done = nitems > 0;
        if (nitems == 0)
                return KC_OK;
        KC_TRY(kc_lsm_scratch_reserve(map->gpu, &map->scratch,
                                      n * (sizeof *words + sizeof *values), err));
        s.words = words;
        s.values = values;
        s.n = (uint32_t)n;
        s.nbits = map->key_nbits + (kc_lsm_kind<Word>::SUMS ? 0 : 1);
        s.runs[0] = *out;
        s.runs[1].words = (Word *)map->scratch.memory;
        s.runs[1].values = (uint32_t *)(s.runs[1].words + n);
        s.fences = fences;
        s.tiers = kc_lsm_tiers_of<Word>(s.n);
        out->n = n;
        status = nitems == 2   ? launch<Word, 2>(map, &s, err)
                 : nitems == 4 ? launch<Word, 4>(map, &s, err)
                               : launch<Word, 8>(map, &s, err);
out:
        return status;
}

#define INSTANTIATE(Word) \
        template enum kc_status kc_lsm_sort_small(struct kc_lsm_map<Word> *, const Word *, \
                                                  const uint32_t *, size_t, kc_lsm_run<Word> *, \
                                                  Word *, bool *, struct kc_error *);
KC_LSM_WORDS(INSTANTIATE)
