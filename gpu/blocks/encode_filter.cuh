/*
 * Selects the pairs that a put encodes, those of the range that pass the filter, and the carry:
 * those that do not fill a block and wait for the next put.
 */
#ifndef KC_GPU_BLOCKS_ENCODE_FILTER_CUH
#define KC_GPU_BLOCKS_ENCODE_FILTER_CUH

#include "gpu/blocks/encode_common.cuh"

static __global__ void encode_begin_kernel(struct encode_totals *totals, uint64_t npairs)
{
        for (uint32_t i = threadIdx.x; i < sizeof *totals / 8; i += blockDim.x)
                ((uint64_t *)totals)[i] = 0;
        __syncthreads();
        if (threadIdx.x == 0)
                totals->npairs = npairs;
}

/* Sum over the lanes, and add that to *sum. */
static __device__ void add_all(unsigned long long *sum, unsigned long long x)
{
        for (int d = 16; d > 0; d /= 2)
                x += __shfl_xor_sync(UINT32_MAX, x, d);
        if (kc_warp_lane() == 0 && x != 0)
                atomicAdd(sum, x);
}

/* sizes[tile]: how many of each KC_BLOCK_NKMERS pairs pass; one more element, 0, at the end. */
static __global__ void __launch_bounds__(THREADS)
        encode_count_passing_kernel(const uint32_t *counts, uint64_t n, struct kc_run_filter filter,
                                    size_t ntiles, uint64_t *sizes, struct encode_totals *totals)
{
        unsigned long long ndropped = 0, sum_dropped = 0, nunique = 0;
        for (size_t tile = get_warp(); tile <= ntiles; tile += get_nwarps()) {
                uint32_t npassing = 0;
#pragma unroll PLAN_BATCH
                for (uint32_t row = 0; row < ROWS; row++) {
                        uint64_t i = tile * KC_BLOCK_NKMERS + 32 * row + kc_warp_lane();
                        uint32_t count = i < n ? counts[i] : 0;
                        bool pass = i < n && kc_run_keeps(&filter, count);
                        npassing += (uint32_t)__popc(ballot_of(pass));
                        nunique += count == 1 && !pass;
                        ndropped += i < n && !pass;
                        sum_dropped += pass ? 0 : count;
                }
                if (kc_warp_lane() == 0)
                        sizes[tile] = npassing;
        }
        add_all(&totals->ndropped_distinct, ndropped);
        add_all(&totals->ndropped_kmers, sum_dropped);
        add_all(&totals->ndropped_unique, nunique);
}

template <class Key>
static __global__ void __launch_bounds__(THREADS)
        encode_move_passing_kernel(const Key *kmers, const uint32_t *counts, uint64_t n,
                                   struct kc_run_filter filter, size_t ntiles,
                                   const uint64_t *offsets, Key *out_kmers, uint32_t *out_counts,
                                   struct encode_totals *totals)
{
        for (size_t tile = get_warp(); tile < ntiles; tile += get_nwarps()) {
                uint64_t at = offsets[tile];
#pragma unroll ENCODE_BATCH
                for (uint32_t row = 0; row < ROWS; row++) {
                        uint64_t i = tile * KC_BLOCK_NKMERS + 32 * row + kc_warp_lane();
                        uint32_t count = i < n ? counts[i] : 0;
                        bool pass = i < n && kc_run_keeps(&filter, count);
                        uint32_t passing = ballot_of(pass);
                        if (pass) {
                                out_kmers[at + kc_warp_rank(passing)] = kmers[i];
                                out_counts[at + kc_warp_rank(passing)] = count;
                        }
                        at += (uint32_t)__popc(passing);
                }
        }
        if (blockIdx.x == 0 && threadIdx.x == 0)
                totals->npairs = offsets[ntiles];
}

/* One thread per pair. If nothing was encoded, the carry stays, and the range is appended to it. */
template <class Key>
static __global__ void encode_carry_kernel(struct encode_source<Key> src, Key *kmers,
                                           uint32_t *counts)
{
        uint64_t total = source_npairs(&src), begin = total - total % KC_BLOCK_NKMERS;
        uint64_t from = begin + threadIdx.x;
        if (from >= total || from < src.ncarry)
                return;
        kmers[threadIdx.x] = src.kmers[from - src.ncarry];
        counts[threadIdx.x] = src.counts[from - src.ncarry];
}

#endif
