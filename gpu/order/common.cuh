/*
 * Shared by the stages of order: sizes, tables, a scan.
 */
#ifndef KC_GPU_ORDER_COMMON_CUH
#define KC_GPU_ORDER_COMMON_CUH

#include "gpu/device/warp.cuh"
#include "gpu/order/order_internal.cuh"
#include "gpu/order/plan.cuh"

enum {
        NTHREADS = 512,
        PLAN_NTHREADS = 1024,
        SWATH_NTILES = 8,  /* tiles that one block splits or counts */
        CURSOR_STRIDE = 8, /* words between the cursors of two splits: each has a memory sector of
                              its own */
        MAX_EXCEPTIONS = 1 << 20,
        SUB_LIMIT = 48, /* most pairs of a sub-bucket that are ranked by comparing all of them */
};

/* The part of a count that does not fit in a packed pair. */
template <class Key> struct exception {
        Key kmer;
        uint32_t count;
};

struct oversized {
        uint32_t bucket, to;
};

struct order_state {
        unsigned long long noversized_pairs;
        uint32_t nsplits, nbuckets, noversized, nexceptions;
        uint32_t overflowed; /* 1: a split had too little room, so some pairs are missing */
};

/* All tables, in one allocation. */
struct order_tables {
        struct order_state *state;
        uint32_t *coarse;               /* [KC_ORDER_NCOARSE] number of pairs */
        uint32_t *cells;                /* [KC_ORDER_NCELLS] number of pairs */
        struct kc_order_bucket *splits; /* [KC_ORDER_FANOUT]; n: first the room, later the pairs */
        uint32_t *cursors;              /* [KC_ORDER_FANOUT * CURSOR_STRIDE] of the splits */
        uint32_t *first_swath;          /* [KC_ORDER_FANOUT + 1] */
        uint32_t *first_pair;           /* [KC_ORDER_FANOUT] where each split begins in the run */
        uint32_t *nbuckets;             /* [KC_ORDER_FANOUT] for each split */
        uint32_t *first_bucket;         /* [KC_ORDER_FANOUT + 1] */
        uint32_t *pair_ends;            /* [KC_ORDER_FANOUT * KC_ORDER_FANOUT] of splits' buckets */
        struct kc_order_bucket *buckets; /* [max_buckets] */
        uint32_t *bucket_cursors;        /* [max_buckets]; of an oversized bucket, in the end:
                                            where it begins among the sorted pairs of all */
        struct oversized *oversized;     /* [max_buckets] */
        uint16_t *split_of;              /* [KC_ORDER_NCOARSE] */
        uint16_t *cell_ends;             /* as pair_ends */
        uint16_t *bucket_of;             /* [KC_ORDER_NCELLS] within the split */
        size_t max_buckets;
        size_t nbytes, zero_nbytes; /* of the allocation; of its front, which starts as zeros */
};

template <class Key> struct order_work {
        struct kc_order_input<Key> in;
        struct kc_order_packing packing;
        struct order_tables tables;
        struct order_state state; /* host copy, as last read */
        struct exception<Key> *exceptions;
        uint32_t max_exceptions;
};

/* The sum of the values of the threads before this one; the sum of all in *total. sums: [32]
 * shared. */
static __device__ uint32_t block_scan(uint32_t value, uint32_t *sums, uint32_t *total)
{
        int lane = threadIdx.x % 32, warp = threadIdx.x / 32, nwarps = blockDim.x / 32;
        uint32_t sum = kc_warp_scan(value);
        if (lane == 31)
                sums[warp] = sum;
        __syncthreads();
        uint32_t mine = kc_warp_scan(lane < nwarps ? sums[lane] : 0);
        *total = __shfl_sync(~0u, mine, 31);
        uint32_t before = __shfl_sync(~0u, mine, warp == 0 ? 0 : warp - 1);
        __syncthreads();
        return sum - value + (warp == 0 ? 0 : before);
}

/* The split to which swath number `swath` belongs, and the swath's pairs, for all threads of a
 * block. [begin, end) is empty if there is no such swath. */
struct swath_range {
        uint32_t split, begin, end;
};

static __device__ struct swath_range find_swath(const struct order_tables *tables, uint32_t swath,
                                                uint32_t swath_npairs, uint32_t *found)
{
        struct swath_range range = {};
        if (threadIdx.x == 0)
                *found = KC_ORDER_FANOUT;
        __syncthreads();
        uint32_t nsplits = tables->state->nsplits;
        for (uint32_t i = threadIdx.x; i < nsplits; i += blockDim.x)
                if (tables->first_swath[i] <= swath && swath < tables->first_swath[i + 1])
                        *found = i;
        __syncthreads();
        range.split = *found;
        if (range.split == KC_ORDER_FANOUT)
                return range;
        struct kc_order_bucket split = tables->splits[range.split];
        uint32_t skip = (swath - tables->first_swath[range.split]) * swath_npairs;
        range.begin = split.start + skip;
        range.end = split.start + (split.n - skip < swath_npairs ? split.n : skip + swath_npairs);
        return range;
}

#endif
