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

/* Replace each oversized bucket's [start, cursor) with its range in the sorted k-mers. */
template <class Key>
static __global__ void order_find_oversized_kernel(struct order_work<Key> work, const Key *kmers,
                                                   uint32_t n)
{
        uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i >= work.tables.state->noversized)
                return;
        uint32_t b = work.tables.oversized[i].bucket;
        struct kc_order_bucket *bucket = &work.tables.buckets[b];
        int shift = 2 * work.in.k - KC_ORDER_CELL_BITS;
        uint32_t end = bucket->cell + bucket->ncells;
        bucket->start = (uint32_t)kc_count_below(kmers, n, (Key)bucket->cell << shift);
        work.tables.bucket_cursors[b] =
                end == KC_ORDER_NCELLS ? n : (uint32_t)kc_count_below(kmers, n, (Key)end << shift);
}

/* ---- exceptions ---- */

template <class Key>
static __global__ void order_add_exceptions_kernel(struct order_work<Key> work, const Key *kmers,
                                                   uint32_t *counts)
{
        uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
        struct order_state *state = work.tables.state;
        if (i >= state->nexceptions)
                return;
        struct exception<Key> more = work.exceptions[i];
        uint32_t *count = &counts[kc_count_below(kmers, state->nout, more.kmer)];
        uint32_t old = *count, seen;
        while ((seen = atomicCAS(count, old, kc_count_add(old, more.count))) != old)
                old = seen;
        uint32_t room = UINT32_MAX - old;
        if (more.count > room)
                atomicAdd(&state->cut, (unsigned long long)(more.count - room));
}

#endif
