/*
 * Kernels for rare cases: buckets that are too large for a block to sort, and counts that are too
 * large to pack.
 */
#ifndef KC_GPU_ORDER_RARE_CUH
#define KC_GPU_ORDER_RARE_CUH

#include "gpu/order/common.cuh"

template <class Key>
static __global__ void order_unpack_oversized_kernel(struct order_work<Key> work)
{
        struct oversized big = work.tables.oversized[blockIdx.x];
        struct kc_order_bucket bucket = work.tables.buckets[big.bucket];
        uint32_t step = gridDim.y * blockDim.x;
        for (uint32_t i = blockIdx.y * blockDim.x + threadIdx.x; i < bucket.n; i += step) {
                Key packed = work.in.kmers[bucket.start + i];
                work.in.kmers_tmp[big.to + i] =
                        kc_order_kmer(packed, kc_order_prefix(bucket), work.packing);
                work.in.counts_tmp[big.to + i] = kc_order_count(packed, work.packing);
        }
}

/* Find where the pairs of each oversized bucket are among the sorted k-mers. */
template <class Key>
static __global__ void order_find_oversized_kernel(struct order_work<Key> work, const Key *kmers,
                                                   uint32_t n)
{
        uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i >= work.tables.state->noversized)
                return;
        uint32_t b = work.tables.oversized[i].bucket;
        int shift = 2 * work.in.k - KC_ORDER_CELL_BITS;
        Key first = (Key)work.tables.buckets[b].cell << shift;
        work.tables.bucket_cursors[b] = (uint32_t)kc_count_below(kmers, n, first);
}

/* ---- exceptions ---- */

template <class Key>
static __global__ void order_add_exceptions_kernel(struct order_work<Key> work, const Key *kmers,
                                                   uint32_t *counts)
{
        uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i >= work.tables.state->nexceptions)
                return;
        struct exception<Key> more = work.exceptions[i];
        counts[kc_count_below(kmers, work.in.n, more.kmer)] += more.count;
}

#endif
