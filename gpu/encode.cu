/*
 * A warp encodes a block, in rows of 32 pairs, and knows nothing of other blocks but where its own
 * words go:
 *
 *      filter   only where it can drop something: count what passes, scan, move
 *      plan     the counts and the two ends of each block: its layout; the histogram on the way
 *      scan     of the blocks' sizes
 *      encode   every word of every block
 *      carry    what fills no block, to the front of the next range
 *
 * The source of pairs is in two pieces, the carry and the range, of which only block 0 sees both.
 * Nothing here asks the host, which learns the sizes in the end and starts the download.
 */
#include "gpu/encode.cuh"

#include "gpu/block_plan.cuh"

#include <cstdlib>
#include <cub/device/device_scan.cuh>

enum {
        WARPS = 8, /* of a thread block */
        THREADS = 32 * WARPS,
        ROWS = KC_BLOCK_NKMERS / 32,
        PLAN_BATCH = 8,   /* rows that are loaded together */
        ENCODE_BATCH = 4,
        GRID_PER_PROCESSOR = 8, /* thread blocks, which go on to the next work */
        HIGH_HALVES = 2 * KC_BLOCK_HIGH_WORDS,
};

/* What the kernels find. */
struct totals {
        unsigned long long npairs; /* of the range, that pass the filter */
        unsigned long long nwords; /* of the blocks and their checksums */
        unsigned long long nbig;   /* counts from KC_RUN_NROWS up */
        unsigned long long ndropped_distinct, ndropped_kmers, nunique; /* by the filter */
        unsigned long long rows[KC_RUN_NROWS];
        alignas(16) uint64_t last_kmer[2];
};

/* Pairs to encode: the carry, then the range. */
template <class Key> struct source {
        const Key *carry_kmers, *kmers;
        const uint32_t *carry_counts, *counts;
        uint64_t ncarry;
        bool last;
        struct totals *totals;
};

/* What is known of each block. */
template <class Key> struct plans {
        Key *firsts;            /* [nblocks] */
        uint64_t *heads;        /* [nblocks] */
        uint32_t *block_nwords; /* [nblocks] */
        uint64_t *sizes;        /* [max_blocks + 1] with the checksum; 0 where there is no block */
        uint64_t *offsets;      /* [max_blocks + 1] sums of the sizes before */
        uint32_t *big_counts;   /* [totals->nbig] */
        size_t max_blocks;
};

/* ---- in the kernels ---- */

template <class Key> static __device__ uint64_t source_npairs(const struct source<Key> *src)
{
        return src->ncarry + src->totals->npairs;
}

template <class Key>
static __device__ Key source_kmer(const struct source<Key> *src, uint64_t i)
{
        return i < src->ncarry ? src->carry_kmers[i] : src->kmers[i - src->ncarry];
}

template <class Key>
static __device__ uint32_t source_count(const struct source<Key> *src, uint64_t i)
{
        return i < src->ncarry ? src->carry_counts[i] : src->counts[i - src->ncarry];
}

/* k-mers of a block; 0: there is no such block. */
template <class Key>
static __device__ uint32_t block_n(const struct source<Key> *src, size_t block)
{
        uint64_t begin = block * KC_BLOCK_NKMERS, end = source_npairs(src);
        if (begin + KC_BLOCK_NKMERS <= end)
                return KC_BLOCK_NKMERS;
        return src->last && begin < end ? (uint32_t)(end - begin) : 0;
}

static __device__ uint32_t get_lane(void)
{
        return threadIdx.x % 32;
}

static __device__ size_t get_warp(void)
{
        return (size_t)blockIdx.x * WARPS + threadIdx.x / 32;
}

static __device__ size_t get_nwarps(void)
{
        return (size_t)gridDim.x * WARPS;
}

/* Number of lanes below this one in a ballot. */
static __device__ uint32_t rank_in(uint32_t ballot)
{
        return (uint32_t)__popc(ballot & ((1u << get_lane()) - 1));
}

static __device__ uint32_t ballot_of(bool predicate)
{
        return __ballot_sync(UINT32_MAX, predicate);
}

/* Add up over the lanes, then to *sum. */
static __device__ void add_all(unsigned long long *sum, unsigned long long x)
{
        for (int d = 16; d > 0; d /= 2)
                x += __shfl_xor_sync(UINT32_MAX, x, d);
        if (get_lane() == 0 && x != 0)
                atomicAdd(sum, x);
}

/* ---- begin, filter ---- */

static __global__ void begin_kernel(struct totals *totals, uint64_t npairs)
{
        for (uint32_t i = threadIdx.x; i < sizeof *totals / 8; i += blockDim.x)
                ((uint64_t *)totals)[i] = 0;
        __syncthreads();
        if (threadIdx.x == 0)
                totals->npairs = npairs;
}

struct filter {
        uint32_t min_count, max_count;
};

static __device__ bool passes(const struct filter *filter, uint32_t count)
{
        return count >= filter->min_count && count <= filter->max_count;
}

/* sizes[tile]: pairs that pass of each KC_BLOCK_NKMERS; a last one of 0. */
static __global__ void __launch_bounds__(THREADS)
count_passing_kernel(const uint32_t *counts, uint64_t n, struct filter filter, size_t ntiles,
                     uint64_t *sizes, struct totals *totals)
{
        unsigned long long ndropped = 0, sum_dropped = 0, nunique = 0;
        for (size_t tile = get_warp(); tile <= ntiles; tile += get_nwarps()) {
                uint32_t npassing = 0;
#pragma unroll PLAN_BATCH
                for (uint32_t row = 0; row < ROWS; row++) {
                        uint64_t i = tile * KC_BLOCK_NKMERS + 32 * row + get_lane();
                        uint32_t count = i < n ? counts[i] : 0;
                        bool pass = i < n && passes(&filter, count);
                        npassing += (uint32_t)__popc(ballot_of(pass));
                        nunique += count == 1;
                        ndropped += i < n && !pass;
                        sum_dropped += pass ? 0 : count;
                }
                if (get_lane() == 0)
                        sizes[tile] = npassing;
        }
        add_all(&totals->ndropped_distinct, ndropped);
        add_all(&totals->ndropped_kmers, sum_dropped);
        add_all(&totals->nunique, nunique);
}

template <class Key>
static __global__ void __launch_bounds__(THREADS)
move_passing_kernel(const Key *kmers, const uint32_t *counts, uint64_t n, struct filter filter,
                    size_t ntiles, const uint64_t *offsets, Key *out_kmers, uint32_t *out_counts,
                    struct totals *totals)
{
        for (size_t tile = get_warp(); tile < ntiles; tile += get_nwarps()) {
                uint64_t at = offsets[tile];
#pragma unroll ENCODE_BATCH
                for (uint32_t row = 0; row < ROWS; row++) {
                        uint64_t i = tile * KC_BLOCK_NKMERS + 32 * row + get_lane();
                        uint32_t count = i < n ? counts[i] : 0;
                        bool pass = i < n && passes(&filter, count);
                        uint32_t passing = ballot_of(pass);
                        if (pass) {
                                out_kmers[at + rank_in(passing)] = kmers[i];
                                out_counts[at + rank_in(passing)] = count;
                        }
                        at += (uint32_t)__popc(passing);
                }
        }
        if (blockIdx.x == 0 && threadIdx.x == 0)
                totals->npairs = offsets[ntiles];
}

/* ---- plan ---- */

/* The histograms of a thread block, and of the block in each warp's hands. */
struct plan_scratch {
        uint32_t rows[KC_RUN_NROWS];
        uint32_t nbits[WARPS][33]; /* counts - 2 of so many binary digits */
};

static __device__ void append_big_counts(uint32_t count, uint32_t *big_counts,
                                         struct totals *totals)
{
        uint32_t big = ballot_of(count >= KC_RUN_NROWS);
        unsigned long long at = 0;
        if (big == 0)
                return;
        if (get_lane() == 0)
                at = atomicAdd(&totals->nbig, (unsigned long long)__popc(big));
        at = __shfl_sync(UINT32_MAX, at, 0);
        if (count >= KC_RUN_NROWS)
                big_counts[at + rank_in(big)] = count;
}

/* Tally a row; 0: no pair. Ones, being most, are counted by each lane. */
static __device__ void tally_row(struct plan_scratch *scratch, uint32_t *nbits, uint32_t count,
                                 uint32_t *nones, uint32_t *nbig, uint32_t *big_counts,
                                 struct totals *totals)
{
        *nones += count == 1;
        *nbig += (uint32_t)__popc(ballot_of(count > 1));
        if (count > 1) {
                atomicAdd(&nbits[kc_block_nbits((uint64_t)(count - 2))], 1);
                if (count < KC_RUN_NROWS)
                        atomicAdd(&scratch->rows[count], 1);
        }
        append_big_counts(count, big_counts, totals);
}

/* Lane w works out what width w costs. */
static __device__ uint32_t least_cost(const uint32_t *nbits, uint32_t nbig)
{
        uint32_t lane = get_lane(), below = nbits[lane];
        for (uint32_t d = 1; d < 32; d *= 2) {
                uint32_t other = __shfl_up_sync(UINT32_MAX, below, d);
                below += lane >= d ? other : 0;
        }
        uint32_t cost = kc_block_width_cost(nbig, nbig - below, lane);
        for (int d = 16; d > 0; d /= 2)
                cost = min(cost, __shfl_xor_sync(UINT32_MAX, cost, d));
        return min(cost, kc_block_width_cost(nbig, 0, 32));
}

template <class Key>
static __device__ void plan_block(const struct source<Key> *src, const struct plans<Key> *plans,
                                  size_t block, uint32_t n, struct plan_scratch *scratch,
                                  uint32_t *nones)
{
        const uint64_t begin = block * KC_BLOCK_NKMERS;
        uint32_t *nbits = scratch->nbits[threadIdx.x / 32], lane = get_lane(), nbig = 0;
        nbits[lane] = 0;
        if (lane == 0)
                nbits[32] = 0;
        __syncwarp();
        for (uint32_t row = 0; row < ROWS; row += PLAN_BATCH) {
                uint32_t counts[PLAN_BATCH];
#pragma unroll
                for (uint32_t j = 0; j < PLAN_BATCH; j++) {
                        uint32_t i = 32 * (row + j) + lane;
                        counts[j] = i < n ? source_count(src, begin + i) : 0;
                }
#pragma unroll
                for (uint32_t j = 0; j < PLAN_BATCH; j++)
                        tally_row(scratch, nbits, counts[j], nones, &nbig, plans->big_counts,
                                  src->totals);
        }
        __syncwarp();
        struct kc_block_plan plan;
        Key first = source_kmer(src, begin), last = source_kmer(src, begin + n - 1);
        kc_block_plan_kmers(&plan, (Key)(last - first), n);
        kc_block_plan_counts(&plan, nbig, least_cost(nbits, nbig));
        if (lane == 0) {
                plans->firsts[block] = first;
                plans->heads[block] = kc_block_head(&plan);
                plans->block_nwords[block] = plan.nwords;
                plans->sizes[block] = plan.nwords + 1;
                if (block_n(src, block + 1) == 0)
                        *(Key *)src->totals->last_kmer = last;
        }
        __syncwarp(); /* before nbits is another block's */
}

template <class Key>
static __global__ void __launch_bounds__(THREADS)
plan_kernel(struct source<Key> src, struct plans<Key> plans)
{
        __shared__ struct plan_scratch scratch;
        uint32_t nones = 0;
        for (uint32_t i = threadIdx.x; i < KC_RUN_NROWS; i += THREADS)
                scratch.rows[i] = 0;
        __syncthreads();
        for (size_t block = get_warp(); block <= plans.max_blocks; block += get_nwarps()) {
                uint32_t n = block < plans.max_blocks ? block_n(&src, block) : 0;
                if (n > 0)
                        plan_block(&src, &plans, block, n, &scratch, &nones);
                else if (get_lane() == 0)
                        plans.sizes[block] = 0;
        }
        atomicAdd(&scratch.rows[1], nones);
        __syncthreads();
        for (uint32_t i = threadIdx.x; i < KC_RUN_NROWS; i += THREADS)
                if (scratch.rows[i] != 0)
                        atomicAdd(&src.totals->rows[i], (unsigned long long)scratch.rows[i]);
}

/* ---- encode ---- */

/* Sections whose words are made of bits from any lane. Half words: of 32 bits. */
struct encode_scratch {
        uint32_t high[HIGH_HALVES];
        uint32_t counts[KC_BLOCK_NKMERS];
};

/* A block in a warp's hands. */
template <class Key> struct writer {
        struct kc_block_plan plan;
        struct encode_scratch *scratch;
        Key first;
        uint64_t *words;
        uint32_t *fields, nfield_halves;           /* of the low fields */
        struct kc_block_window windows[2];         /* the lane's half words of a row */
        uint32_t ncount_halves, rank, nexceptions; /* counts so far: above 1, exceptions */
        uint32_t bitmap;                           /* lane r: of row r */
};

template <class Key>
static __device__ void begin_block(struct writer<Key> *w, uint64_t *words)
{
        const struct kc_block_plan *plan = &w->plan;
        const uint32_t r = plan->low_nbits % 64, lane = get_lane();
        w->words = words;
        w->fields = (uint32_t *)(words + kc_block_fields_at(plan));
        w->nfield_halves = 2 * kc_block_words_for(plan->n * r);
        w->windows[0] = kc_block_window(lane, r > 0 ? r : 1);
        w->windows[1] = kc_block_window(lane + 32, r > 0 ? r : 1);
        w->ncount_halves = 2 * (plan->nwords - plan->nexceptions - kc_block_counts_at(plan));
        w->rank = w->nexceptions = w->bitmap = 0;
        for (uint32_t i = lane; i < 2 * plan->high_words; i += 32)
                w->scratch->high[i] = 0;
        for (uint32_t i = lane; i < w->ncount_halves; i += 32)
                w->scratch->counts[i] = 0;
        __syncwarp();
}

/* The low fields of a row are r half words: lane i makes words i and i + 32. */
template <class Key>
static __device__ void put_fields(struct writer<Key> *w, uint32_t row, uint64_t low)
{
        const uint32_t r = w->plan.low_nbits % 64;
        const auto get = [low](uint32_t i) { return __shfl_sync(UINT32_MAX, low, (int)i); };
        for (uint32_t j = 0; 32 * j < r; j++) {
                uint32_t half = 32 * j + get_lane(), at = row * r + half;
                uint32_t word = kc_block_half_word(w->windows[j], r, get);
                if (half < r && at < w->nfield_halves)
                        w->fields[at] = word;
        }
}

template <class Key>
static __device__ void put_kmers(struct writer<Key> *w, uint32_t row, Key kmer)
{
        const uint32_t i = 32 * row + get_lane(), l = w->plan.low_nbits;
        const Key value = i < w->plan.n ? kmer - w->first : 0;
        if (i < w->plan.n) {
                uint32_t at = (uint32_t)(value >> l) + i;
                atomicOr(&w->scratch->high[at / 32], 1u << at % 32);
                if (l >= 64)
                        w->words[1 + w->plan.high_words + i] = (uint64_t)value;
        }
        put_fields(w, row, kc_block_low((uint64_t)(value >> l / 64 * 64), l % 64));
}

template <class Key>
static __device__ void put_exceptions(struct writer<Key> *w, uint32_t row, uint32_t count)
{
        bool is_one = count > 1 && kc_block_is_exception(count, w->plan.width);
        uint32_t all = ballot_of(is_one);
        uint64_t *exceptions = w->words + w->plan.nwords - w->plan.nexceptions;
        if (is_one)
                exceptions[w->nexceptions + rank_in(all)] =
                        kc_block_exception(32 * row + get_lane(), count);
        w->nexceptions += (uint32_t)__popc(all);
}

/* count 0: no pair. */
template <class Key>
static __device__ void put_counts(struct writer<Key> *w, uint32_t row, uint32_t count)
{
        uint32_t big = ballot_of(count > 1);
        if (get_lane() == row)
                w->bitmap = big;
        if (count > 1 && w->plan.width > 0) {
                struct kc_block_scatter s =
                        kc_block_count_field(w->rank + rank_in(big), w->plan.width, count);
                if (s.low != 0)
                        atomicOr(&w->scratch->counts[s.half], s.low);
                if (s.high != 0)
                        atomicOr(&w->scratch->counts[s.half + 1], s.high);
        }
        w->rank += (uint32_t)__popc(big);
        if (w->plan.nexceptions > 0)
                put_exceptions(w, row, count);
}

static __device__ void copy_halves(uint64_t *words, const uint32_t *halves, uint32_t n)
{
        for (uint32_t i = get_lane(); i < n; i += 32)
                ((uint32_t *)words)[i] = halves[i];
}

/* What was gathered, the head, and 0 where there is padding, and for the checksum. */
template <class Key> static __device__ void end_block(struct writer<Key> *w)
{
        const struct kc_block_plan *plan = &w->plan;
        const uint32_t lane = get_lane();
        const uint32_t nput = (plan->n + 31) / 32 * (plan->low_nbits % 64);
        __syncwarp();
        copy_halves(w->words + 1, w->scratch->high, 2 * plan->high_words);
        copy_halves(w->words + kc_block_counts_at(plan), w->scratch->counts, w->ncount_halves);
        if (lane < 2 * kc_block_words_for(plan->n))
                ((uint32_t *)(w->words + kc_block_bitmap_at(plan)))[lane] = w->bitmap;
        if (lane == 0) {
                w->words[0] = kc_block_head(plan);
                w->words[plan->nwords] = 0;
                if (nput < w->nfield_halves)
                        w->fields[nput] = 0;
        }
        __syncwarp(); /* before the scratch is another block's */
}

template <class Key>
static __device__ void encode_block(const struct source<Key> *src, const struct plans<Key> *plans,
                                    size_t block, struct encode_scratch *scratch, uint64_t *words)
{
        const uint64_t begin = block * KC_BLOCK_NKMERS;
        const uint32_t lane = get_lane();
        struct writer<Key> w;
        w.plan = kc_block_plan_of(plans->heads[block], plans->block_nwords[block]);
        w.scratch = scratch;
        w.first = plans->firsts[block];
        begin_block(&w, words + plans->offsets[block]);
        for (uint32_t row = 0; 32 * row < w.plan.n; row += ENCODE_BATCH) {
                Key kmers[ENCODE_BATCH];
                uint32_t counts[ENCODE_BATCH];
#pragma unroll
                for (uint32_t j = 0; j < ENCODE_BATCH; j++) {
                        uint32_t i = 32 * (row + j) + lane;
                        kmers[j] = i < w.plan.n ? source_kmer(src, begin + i) : 0;
                        counts[j] = i < w.plan.n ? source_count(src, begin + i) : 0;
                }
#pragma unroll
                for (uint32_t j = 0; j < ENCODE_BATCH; j++) {
                        put_kmers(&w, row + j, kmers[j]);
                        put_counts(&w, row + j, counts[j]);
                }
        }
        end_block(&w);
}

template <class Key>
static __global__ void __launch_bounds__(THREADS)
encode_kernel(struct source<Key> src, struct plans<Key> plans, uint64_t *words)
{
        __shared__ struct encode_scratch scratch[WARPS];
        for (size_t block = get_warp(); block < plans.max_blocks; block += get_nwarps())
                if (block_n(&src, block) > 0)
                        encode_block(&src, &plans, block, &scratch[threadIdx.x / 32], words);
        if (blockIdx.x == 0 && threadIdx.x == 0)
                src.totals->nwords = plans.offsets[plans.max_blocks];
}

/* ---- carry ---- */

/* One thread a pair. Where nothing was encoded, the carry stays and the range goes behind it. */
template <class Key>
static __global__ void carry_kernel(struct source<Key> src, Key *kmers, uint32_t *counts)
{
        uint64_t total = source_npairs(&src), begin = total - total % KC_BLOCK_NKMERS;
        uint64_t from = begin + threadIdx.x;
        if (from >= total || from < src.ncarry)
                return;
        kmers[threadIdx.x] = src.kmers[from - src.ncarry];
        counts[threadIdx.x] = src.counts[from - src.ncarry];
}

/* ---- the encoder ---- */

/* Page-locked memory that grows. */
struct pinned {
        void *memory;
        size_t cap;
};

template <class Key> struct encode_slot {
        /* on the device, of worst-case size */
        uint64_t *words;
        uint32_t *block_nwords, *big_counts;
        Key *firsts;
        /* page-locked */
        struct pinned host_words, host_nwords, host_big, host_firsts;
        struct totals *found;
        cudaEvent_t done; /* the download */
        size_t n, nblocks;
};

template <class Key> struct kc_gpu_encoder {
        struct kc_gpu *gpu;
        struct filter filter;
        size_t max_pairs, max_blocks;
        int k, nslots;
        struct encode_slot<Key> *slots;
        size_t ncarry;
        /* on the device */
        struct totals *totals;
        Key *carry_kmers, *kept_kmers; /* kept: [max_pairs], where there is a filter */
        uint32_t *carry_counts, *kept_counts;
        uint64_t *heads, *sizes, *offsets;
        void *scan_scratch;
        size_t scan_nbytes;
};

static bool keeps_all(const struct filter *filter)
{
        return filter->min_count <= 1 && filter->max_count == UINT32_MAX;
}

/* Blocks that a range can come to, and tiles of the filter. */
static size_t most_blocks(size_t max_pairs)
{
        return max_pairs / KC_BLOCK_NKMERS + 2;
}

/* Most pairs that a put can encode. */
static size_t most_pairs(size_t max_pairs)
{
        return max_pairs + KC_BLOCK_NKMERS;
}

template <class Key> static size_t most_words(size_t max_pairs)
{
        return most_blocks(max_pairs) * (kc_block_max_words(sizeof(Key) / 8) + 1);
}

static size_t scan_nbytes_for(size_t n)
{
        size_t nbytes = 0;
        uint64_t *none = NULL;
        if (cub::DeviceScan::ExclusiveSum(NULL, nbytes, none, none, n) != cudaSuccess)
                (void)cudaGetLastError();
        return nbytes;
}

template <class Key> size_t kc_gpu_encoder_nbytes(size_t max_pairs, int nslots)
{
        size_t nblocks = most_blocks(max_pairs);
        size_t slot = most_words<Key>(max_pairs) * sizeof(uint64_t) +
                      nblocks * (sizeof(uint32_t) + sizeof(Key)) +
                      most_pairs(max_pairs) * sizeof(uint32_t);
        return (size_t)nslots * slot + sizeof(struct totals) +
               kc_gpu_run_nbytes<Key>(max_pairs + KC_BLOCK_NKMERS) +
               3 * (nblocks + 1) * sizeof(uint64_t) + scan_nbytes_for(nblocks + 1);
}

/* ---- its memory ---- */

static enum kc_status grow(struct pinned *pinned, size_t nbytes, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        if (nbytes <= pinned->cap)
                return KC_OK;
        KC_TRY(KC_CUDA(cudaFreeHost(pinned->memory)));
        *pinned = {};
        KC_TRY(KC_CUDA(cudaMallocHost(&pinned->memory, nbytes)));
        pinned->cap = nbytes;
out:
        return status;
}

/* Bytes of blocks to expect: of k-mers all over the space, 4 bits each for most counts. */
template <class Key> static size_t usual_nbytes(const struct kc_gpu_encoder<Key> *e)
{
        size_t nbits = 8 + 2 * (size_t)e->k;
        for (size_t n = e->max_pairs; n > 1 && nbits > 8; n /= 2)
                nbits--;
        return e->max_pairs / 8 * nbits + (1 << 16);
}

template <class Key>
static enum kc_status make_slot(struct kc_gpu_encoder<Key> *e, struct encode_slot<Key> *s,
                                struct kc_error *err)
{
        enum kc_status status = KC_OK;
        const size_t nblocks = e->max_blocks;
        const unsigned flags = cudaEventDisableTiming | cudaEventBlockingSync;
        KC_TRY(kc_gpu_new(e->gpu, &s->words, most_words<Key>(e->max_pairs), err));
        KC_TRY(kc_gpu_new(e->gpu, &s->block_nwords, nblocks, err));
        KC_TRY(kc_gpu_new(e->gpu, &s->big_counts, most_pairs(e->max_pairs), err));
        KC_TRY(kc_gpu_new(e->gpu, &s->firsts, nblocks, err));
        KC_TRY(grow(&s->host_words, usual_nbytes(e), err));
        KC_TRY(grow(&s->host_nwords, nblocks * sizeof *s->block_nwords, err));
        KC_TRY(grow(&s->host_big, 1 << 12, err));
        KC_TRY(grow(&s->host_firsts, nblocks * sizeof *s->firsts, err));
        KC_TRY(KC_CUDA(cudaMallocHost((void **)&s->found, sizeof *s->found)));
        KC_TRY(KC_CUDA(cudaEventCreateWithFlags(&s->done, flags)));
out:
        return status;
}

template <class Key>
static void free_slot(struct kc_gpu_encoder<Key> *e, struct encode_slot<Key> *s)
{
        kc_gpu_delete(e->gpu, s->words, most_words<Key>(e->max_pairs));
        kc_gpu_delete(e->gpu, s->block_nwords, e->max_blocks);
        kc_gpu_delete(e->gpu, s->big_counts, most_pairs(e->max_pairs));
        kc_gpu_delete(e->gpu, s->firsts, e->max_blocks);
        struct pinned *pinned[] = { &s->host_words, &s->host_nwords, &s->host_big,
                                    &s->host_firsts };
        for (struct pinned *p : pinned)
                (void)cudaFreeHost(p->memory);
        (void)cudaFreeHost(s->found);
        if (s->done != NULL)
                (void)cudaEventDestroy(s->done);
}

template <class Key>
static enum kc_status make_memory(struct kc_gpu_encoder<Key> *e, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_gpu *gpu = e->gpu;
        const size_t n = e->max_blocks + 1;
        const size_t nkept = keeps_all(&e->filter) ? 0 : e->max_pairs;
        KC_TRY(kc_gpu_new(gpu, &e->totals, 1, err));
        KC_TRY(kc_gpu_new(gpu, &e->carry_kmers, KC_BLOCK_NKMERS, err));
        KC_TRY(kc_gpu_new(gpu, &e->carry_counts, KC_BLOCK_NKMERS, err));
        KC_TRY(kc_gpu_new(gpu, &e->kept_kmers, nkept, err));
        KC_TRY(kc_gpu_new(gpu, &e->kept_counts, nkept, err));
        KC_TRY(kc_gpu_new(gpu, &e->heads, n, err));
        KC_TRY(kc_gpu_new(gpu, &e->sizes, n, err));
        KC_TRY(kc_gpu_new(gpu, &e->offsets, n, err));
        e->scan_nbytes = scan_nbytes_for(n);
        KC_TRY(kc_gpu_alloc(gpu, &e->scan_scratch, e->scan_nbytes, err));
        for (int i = 0; i < e->nslots; i++)
                KC_TRY(make_slot(e, &e->slots[i], err));
out:
        return status;
}

template <class Key> void kc_gpu_encoder_free(struct kc_gpu_encoder<Key> *e)
{
        if (e == NULL)
                return;
        (void)cudaStreamSynchronize(e->gpu->download);
        for (int i = 0; e->slots != NULL && i < e->nslots; i++)
                free_slot(e, &e->slots[i]);
        const size_t n = e->max_blocks + 1;
        kc_gpu_delete(e->gpu, e->totals, 1);
        kc_gpu_delete(e->gpu, e->carry_kmers, KC_BLOCK_NKMERS);
        kc_gpu_delete(e->gpu, e->carry_counts, KC_BLOCK_NKMERS);
        kc_gpu_delete(e->gpu, e->kept_kmers, e->max_pairs);
        kc_gpu_delete(e->gpu, e->kept_counts, e->max_pairs);
        kc_gpu_delete(e->gpu, e->heads, n);
        kc_gpu_delete(e->gpu, e->sizes, n);
        kc_gpu_delete(e->gpu, e->offsets, n);
        kc_gpu_release(e->gpu, e->scan_scratch, e->scan_nbytes);
        free(e->slots);
        free(e);
        (void)cudaGetLastError();
}

template <class Key>
enum kc_status kc_gpu_encoder_new(struct kc_gpu_encoder<Key> **encoder, struct kc_gpu *gpu, int k,
                                  uint32_t min_count, uint32_t max_count, size_t max_pairs,
                                  int nslots, struct kc_error *err)
{
        struct kc_gpu_encoder<Key> *e = (struct kc_gpu_encoder<Key> *)calloc(1, sizeof *e);
        *encoder = NULL;
        if (e == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for encoding blocks");
        e->gpu = gpu;
        e->k = k;
        e->filter = { min_count, max_count };
        e->max_pairs = max_pairs;
        e->max_blocks = most_blocks(max_pairs);
        e->nslots = nslots;
        e->slots = (struct encode_slot<Key> *)calloc((size_t)nslots, sizeof *e->slots);
        enum kc_status status;
        if (e->slots == NULL)
                status = kc_fail(err, KC_ENOMEM, "out of memory for encoding blocks");
        else
                status = make_memory(e, err);
        if (status == KC_OK)
                *encoder = e;
        else
                kc_gpu_encoder_free(e);
        return status;
}

/* ---- put ---- */

/* Thread blocks for so many warps' work. */
static unsigned grid_for(const struct kc_gpu *gpu, size_t nwarps)
{
        unsigned most = (unsigned)gpu->nmultiprocessors * GRID_PER_PROCESSOR;
        unsigned grid = kc_ceil_div(nwarps, WARPS);
        return grid < most ? grid : most;
}

/* offsets from sizes, of n. */
template <class Key>
static enum kc_status scan(struct kc_gpu_encoder<Key> *e, size_t n, struct kc_error *err)
{
        return KC_CUDA(cub::DeviceScan::ExclusiveSum(e->scan_scratch, e->scan_nbytes, e->sizes,
                                                     e->offsets, n, e->gpu->stream));
}

template <class Key>
static enum kc_status filter_range(struct kc_gpu_encoder<Key> *e,
                                   const struct kc_gpu_run<Key> *range, struct kc_error *err)
{
        enum kc_status status;
        const size_t ntiles = kc_ceil_div(range->n, KC_BLOCK_NKMERS);
        const unsigned grid = grid_for(e->gpu, ntiles + 1);
        count_passing_kernel<<<grid, THREADS, 0, e->gpu->stream>>>(
                range->counts, range->n, e->filter, ntiles, e->sizes, e->totals);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(scan(e, ntiles + 1, err));
        move_passing_kernel<<<grid, THREADS, 0, e->gpu->stream>>>(
                range->kmers, range->counts, range->n, e->filter, ntiles, e->offsets,
                e->kept_kmers, e->kept_counts, e->totals);
        KC_TRY(KC_LAUNCHED());
out:
        return status;
}

/* Set up the source: the carry and what the filter leaves of the range. */
template <class Key>
static enum kc_status begin(struct kc_gpu_encoder<Key> *e, const struct kc_gpu_run<Key> *range,
                            bool last, struct source<Key> *src, struct kc_error *err)
{
        enum kc_status status;
        *src = { e->carry_kmers, range->kmers, e->carry_counts, range->counts,
                 e->ncarry,      last,         e->totals };
        begin_kernel<<<1, THREADS, 0, e->gpu->stream>>>(e->totals, range->n);
        KC_TRY(KC_LAUNCHED());
        if (range->n > 0 && !keeps_all(&e->filter)) {
                KC_TRY(filter_range(e, range, err));
                src->kmers = e->kept_kmers;
                src->counts = e->kept_counts;
        }
out:
        return status;
}

/* Blocks of at most npairs pairs into the slot's device memory. */
template <class Key>
static enum kc_status encode(struct kc_gpu_encoder<Key> *e, struct encode_slot<Key> *s,
                             const struct source<Key> *src, size_t npairs, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct plans<Key> plans = {};
        plans.firsts = s->firsts;
        plans.heads = e->heads;
        plans.block_nwords = s->block_nwords;
        plans.sizes = e->sizes;
        plans.offsets = e->offsets;
        plans.big_counts = s->big_counts;
        plans.max_blocks = src->last ? kc_ceil_div(npairs, KC_BLOCK_NKMERS)
                                     : npairs / KC_BLOCK_NKMERS;
        const unsigned grid = grid_for(e->gpu, plans.max_blocks + 1);
        if (plans.max_blocks == 0)
                return KC_OK;
        plan_kernel<<<grid, THREADS, 0, e->gpu->stream>>>(*src, plans);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(scan(e, plans.max_blocks + 1, err));
        encode_kernel<<<grid, THREADS, 0, e->gpu->stream>>>(*src, plans, s->words);
        KC_TRY(KC_LAUNCHED());
out:
        return status;
}

/* Wait for the kernels, and take in what they found. */
template <class Key>
static enum kc_status learn(struct kc_gpu_encoder<Key> *e, struct encode_slot<Key> *s, bool last,
                            struct kc_error *err)
{
        enum kc_status status;
        cudaStream_t stream = e->gpu->stream;
        size_t npairs;
        KC_TRY(KC_CUDA(cudaMemcpyAsync(s->found, e->totals, sizeof *s->found,
                                       cudaMemcpyDeviceToHost, stream)));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(stream)));
        npairs = e->ncarry + s->found->npairs;
        e->ncarry = last ? 0 : npairs % KC_BLOCK_NKMERS;
        s->n = npairs - e->ncarry;
        s->nblocks = kc_ceil_div(s->n, KC_BLOCK_NKMERS);
out:
        return status;
}

template <class Key>
static enum kc_status download_array(struct kc_gpu_encoder<Key> *e, struct pinned *to,
                                     const void *from, size_t nbytes, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        if (nbytes == 0)
                return KC_OK;
        if (nbytes > to->cap)
                KC_TRY(grow(to, nbytes + nbytes / 8, err));
        KC_TRY(KC_CUDA(cudaMemcpyAsync(to->memory, from, nbytes, cudaMemcpyDeviceToHost,
                                       e->gpu->download)));
out:
        return status;
}

template <class Key>
static enum kc_status download(struct kc_gpu_encoder<Key> *e, struct encode_slot<Key> *s,
                               struct kc_error *err)
{
        enum kc_status status;
        const struct totals *found = s->found;
        KC_TRY(download_array(e, &s->host_nwords, s->block_nwords,
                              s->nblocks * sizeof *s->block_nwords, err));
        KC_TRY(download_array(e, &s->host_firsts, s->firsts, s->nblocks * sizeof *s->firsts, err));
        KC_TRY(download_array(e, &s->host_big, s->big_counts, found->nbig * sizeof *s->big_counts,
                              err));
        KC_TRY(download_array(e, &s->host_words, s->words, found->nwords * sizeof *s->words, err));
        KC_TRY(KC_CUDA(cudaEventRecord(s->done, e->gpu->download)));
out:
        return status;
}

template <class Key>
enum kc_status kc_gpu_encoder_put(struct kc_gpu_encoder<Key> *e, int slot,
                                  const struct kc_gpu_run<Key> *range, bool last,
                                  struct kc_error *err)
{
        enum kc_status status;
        struct encode_slot<Key> *s = &e->slots[slot];
        struct source<Key> src;
        if (range->n > e->max_pairs)
                return kc_fail(err, KC_EUSAGE, "%zu pairs to encode are more than %zu", range->n,
                               e->max_pairs);
        KC_TRY(begin(e, range, last, &src, err));
        KC_TRY(encode(e, s, &src, e->ncarry + range->n, err));
        if (!last && range->n > 0) {
                carry_kernel<<<1, KC_BLOCK_NKMERS, 0, e->gpu->stream>>>(src, e->carry_kmers,
                                                                       e->carry_counts);
                KC_TRY(KC_LAUNCHED());
        }
        KC_TRY(learn(e, s, last, err));
        KC_TRY(download(e, s, err));
out:
        return status;
}

template <class Key>
enum kc_status kc_gpu_encoder_wait(struct kc_gpu_encoder<Key> *e, int slot,
                                   struct kc_run_blocks *blocks, struct kc_error *err)
{
        const struct encode_slot<Key> *s = &e->slots[slot];
        const struct totals *found = s->found;
        enum kc_status status = KC_CUDA(cudaEventSynchronize(s->done));
        if (status != KC_OK)
                return status;
        *blocks = {};
        blocks->n = s->n;
        blocks->nblocks = s->nblocks;
        blocks->firsts = (const uint64_t *)s->host_firsts.memory;
        blocks->last_kmer = found->last_kmer;
        blocks->block_nwords = (const uint32_t *)s->host_nwords.memory;
        blocks->words = (uint64_t *)s->host_words.memory;
        blocks->nwords = found->nwords;
        blocks->rows = (const uint64_t *)found->rows;
        blocks->big_counts = (const uint32_t *)s->host_big.memory;
        blocks->nbig = found->nbig;
        blocks->ndropped_distinct = found->ndropped_distinct;
        blocks->ndropped_kmers = found->ndropped_kmers;
        blocks->nunique = keeps_all(&e->filter) ? found->rows[1] : found->nunique;
        return KC_OK;
}

#define INSTANTIATE(Key) \
        template enum kc_status kc_gpu_encoder_new<Key>(struct kc_gpu_encoder<Key> **, \
                                                        struct kc_gpu *, int, uint32_t, uint32_t, \
                                                        size_t, int, struct kc_error *); \
        template void kc_gpu_encoder_free<Key>(struct kc_gpu_encoder<Key> *); \
        template size_t kc_gpu_encoder_nbytes<Key>(size_t, int); \
        template enum kc_status kc_gpu_encoder_put<Key>(struct kc_gpu_encoder<Key> *, int, \
                                                        const struct kc_gpu_run<Key> *, bool, \
                                                        struct kc_error *); \
        template enum kc_status kc_gpu_encoder_wait<Key>( \
                struct kc_gpu_encoder<Key> *, int, struct kc_run_blocks *, struct kc_error *);
KC_GPU_KEYS(INSTANTIATE)
