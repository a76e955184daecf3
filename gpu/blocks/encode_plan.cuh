/*
 * Computes the layout of each block from its counts and its two ends, and also the histogram.
 */
#ifndef KC_GPU_BLOCKS_ENCODE_PLAN_CUH
#define KC_GPU_BLOCKS_ENCODE_PLAN_CUH

#include "gpu/blocks/encode_common.cuh"

/* The histogram of a thread block, and that of the block at which each warp works. */
struct plan_scratch {
        uint32_t rows[KC_RUN_NROWS];
        uint32_t nbits[WARPS][33]; /* [b]: counts whose count - 2 has b bits */
};

static __device__ void append_big_counts(uint32_t count, uint32_t *big_counts,
                                         struct encode_totals *totals)
{
        const bool is_big = count >= KC_RUN_NROWS;
        if (!__any_sync(UINT32_MAX, is_big))
                return;
        const unsigned long long at = kc_warp_append(&totals->nbig, is_big);
        if (is_big)
                big_counts[at] = count;
}

/* Tally a row; count 0: no pair. Each lane counts its own ones, as they are most frequent. */
static __device__ void tally_row(struct plan_scratch *scratch, uint32_t *nbits, uint32_t count,
                                 uint32_t *nones, uint32_t *nbig, uint32_t *big_counts,
                                 struct encode_totals *totals)
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

/* Lane w computes the cost of width w. */
static __device__ uint32_t least_cost(const uint32_t *nbits, uint32_t nbig)
{
        uint32_t lane = kc_warp_lane(), below = kc_warp_scan(nbits[lane]);
        uint32_t cost = kc_block_width_cost(nbig, nbig - below, lane);
        for (int d = 16; d > 0; d /= 2)
                cost = min(cost, __shfl_xor_sync(UINT32_MAX, cost, d));
        return min(cost, kc_block_width_cost(nbig, 0, 32));
}

template <class Key>
static __device__ void plan_block(const struct encode_source<Key> *src,
                                  const struct encode_plans<Key> *plans, size_t block,
                                  struct plan_scratch *scratch, uint32_t *nones)
{
        const uint64_t begin = block * KC_BLOCK_NKMERS, left = src->npairs - begin;
        const uint32_t n = left < KC_BLOCK_NKMERS ? (uint32_t)left : (uint32_t)KC_BLOCK_NKMERS;
        uint32_t *nbits = scratch->nbits[threadIdx.x / 32], lane = kc_warp_lane(), nbig = 0;
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
                plans->lasts[block] = last;
                plans->heads[block] = kc_block_head(&plan);
                plans->block_nwords[block] = plan.nwords;
                plans->sizes[block] = plan.nwords + 1;
        }
        __syncwarp(); /* before nbits is reused for another block */
}

template <class Key>
static __global__ void __launch_bounds__(THREADS)
        encode_plan_kernel(struct encode_source<Key> src, struct encode_plans<Key> plans)
{
        __shared__ struct plan_scratch scratch;
        uint32_t nones = 0;
        for (uint32_t i = threadIdx.x; i < KC_RUN_NROWS; i += THREADS)
                scratch.rows[i] = 0;
        __syncthreads();
        for (size_t block = get_warp(); block < plans.nblocks; block += get_nwarps())
                plan_block(&src, &plans, block, &scratch, &nones);
        atomicAdd(&scratch.rows[1], nones);
        __syncthreads();
        for (uint32_t i = threadIdx.x; i < KC_RUN_NROWS; i += THREADS)
                if (scratch.rows[i] != 0)
                        atomicAdd(&src.totals->rows[i], (unsigned long long)scratch.rows[i]);
}

#endif
