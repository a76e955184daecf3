/*
 * Writes every word of every block at the place that its plan gives.
 */
#ifndef KC_GPU_BLOCKS_ENCODE_BLOCK_CUH
#define KC_GPU_BLOCKS_ENCODE_BLOCK_CUH

#include "gpu/blocks/encode_common.cuh"

enum { HIGH_HALVES = 2 * KC_BLOCK_HIGH_WORDS };

/* Sections whose words combine bits from any lanes. Half words have 32 bits. */
struct encode_scratch {
        uint32_t high[HIGH_HALVES];
        uint32_t counts[KC_BLOCK_NKMERS];
};

/* The state of a warp that writes a block. */
template <class Key> struct writer {
        struct kc_block_plan plan;
        struct encode_scratch *scratch;
        Key first;
        uint64_t *words;
        uint32_t *fields, nfield_halves;           /* the low fields */
        struct kc_block_window windows[2];         /* the lane's half words of a row */
        uint32_t ncount_halves, rank, nexceptions; /* size of the section; so far: counts above 1,
                                                      exceptions */
        uint32_t bitmap;                           /* lane r: that of row r */
};

template <class Key> static __device__ void begin_block(struct writer<Key> *w, uint64_t *words)
{
        const struct kc_block_plan *plan = &w->plan;
        const uint32_t r = plan->low_nbits % 64, lane = kc_warp_lane();
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

/* The low fields of a row are r half words: lane i computes half words i and i + 32. */
template <class Key>
static __device__ void put_fields(struct writer<Key> *w, uint32_t row, uint64_t low)
{
        const uint32_t r = w->plan.low_nbits % 64;
        const auto get = [low](uint32_t i) { return __shfl_sync(UINT32_MAX, low, (int)i); };
        for (uint32_t j = 0; 32 * j < r; j++) {
                uint32_t half = 32 * j + kc_warp_lane(), at = row * r + half;
                uint32_t word = kc_block_half_word(w->windows[j], r, get);
                if (half < r && at < w->nfield_halves)
                        w->fields[at] = word;
        }
}

/* Write the full words of the low bits of k-mer i. */
template <class Key>
static __device__ void put_planes(const struct writer<Key> *w, uint32_t i, const Key &value)
{
        for (uint32_t j = 0; j + 1 < sizeof(Key) / 8; j++)
                if (w->plan.low_nbits >= 64 * (j + 1))
                        w->words[kc_block_plane_at(&w->plan, j) + i] = kc_key_word(value, (int)j);
}

template <class Key> static __device__ void put_kmers(struct writer<Key> *w, uint32_t row, Key kmer)
{
        const uint32_t i = 32 * row + kc_warp_lane(), l = w->plan.low_nbits;
        const Key value = i < w->plan.n ? kmer - w->first : 0;
        if (i < w->plan.n) {
                uint32_t at = (uint32_t)(value >> l) + i;
                atomicOr(&w->scratch->high[at / 32], 1u << at % 32);
                put_planes(w, i, value);
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
                exceptions[w->nexceptions + kc_warp_rank(all)] =
                        kc_block_exception(32 * row + kc_warp_lane(), count);
        w->nexceptions += (uint32_t)__popc(all);
}

/* count 0: no pair. */
template <class Key>
static __device__ void put_counts(struct writer<Key> *w, uint32_t row, uint32_t count)
{
        uint32_t big = ballot_of(count > 1);
        if (kc_warp_lane() == row)
                w->bitmap = big;
        if (count > 1 && w->plan.width > 0) {
                struct kc_block_scatter s =
                        kc_block_count_field(w->rank + kc_warp_rank(big), w->plan.width, count);
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
        for (uint32_t i = kc_warp_lane(); i < n; i += 32)
                ((uint32_t *)words)[i] = halves[i];
}

/* Write the gathered sections, the head, and zeros for padding and for the checksum's place. */
template <class Key> static __device__ void end_block(struct writer<Key> *w)
{
        const struct kc_block_plan *plan = &w->plan;
        const uint32_t lane = kc_warp_lane();
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
        __syncwarp(); /* before the scratch is reused for another block */
}

template <class Key>
static __device__ void encode_block(const struct encode_source<Key> *src,
                                    const struct encode_plans<Key> *plans, size_t block,
                                    struct encode_scratch *scratch, uint64_t *words)
{
        const uint64_t begin = block * KC_BLOCK_NKMERS;
        const uint32_t lane = kc_warp_lane();
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
        encode_blocks_kernel(struct encode_source<Key> src, struct encode_plans<Key> plans,
                             uint64_t *words)
{
        __shared__ struct encode_scratch scratch[WARPS];
        for (size_t block = get_warp(); block < plans.nblocks; block += get_nwarps())
                encode_block(&src, &plans, block, &scratch[threadIdx.x / 32], words);
}

#endif
