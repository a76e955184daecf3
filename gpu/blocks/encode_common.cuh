/*
 * Shared by the kernels of encode.cu: where the pairs are, what is known of the blocks, which warp
 * a thread belongs to.
 */
#ifndef KC_GPU_BLOCKS_ENCODE_COMMON_CUH
#define KC_GPU_BLOCKS_ENCODE_COMMON_CUH

#include "gpu/blocks/encode_internal.cuh"
#include "gpu/blocks/layout.cuh"
#include "gpu/device/warp.cuh"

enum {
        WARPS = 8, /* per thread block */
        THREADS = 32 * WARPS,
        ROWS = KC_BLOCK_NKMERS / 32,
        PLAN_BATCH = 8, /* rows that are loaded together */
        ENCODE_BATCH = 4,
};

/* Pairs to encode: the carry, then the range. */
template <class Key> struct encode_source {
        const Key *carry_kmers, *kmers;
        const uint32_t *carry_counts, *counts;
        uint64_t ncarry, npairs; /* of the carry; of both */
        struct encode_totals *totals;
};

/* What is known of each block. */
template <class Key> struct encode_plans {
        Key *firsts, *lasts;    /* [nblocks] */
        uint64_t *heads;        /* [nblocks] */
        uint32_t *block_nwords; /* [nblocks] */
        uint64_t *sizes;        /* [nblocks] with the checksum */
        uint64_t *offsets;      /* [nblocks] sums of the preceding sizes */
        uint32_t *big_counts;   /* [totals->nbig] */
        size_t nblocks;
};

template <class Key>
static __device__ Key source_kmer(const struct encode_source<Key> *src, uint64_t i)
{
        return i < src->ncarry ? src->carry_kmers[i] : src->kmers[i - src->ncarry];
}

template <class Key>
static __device__ uint32_t source_count(const struct encode_source<Key> *src, uint64_t i)
{
        return i < src->ncarry ? src->carry_counts[i] : src->counts[i - src->ncarry];
}

static __device__ size_t get_warp(void)
{
        return (size_t)blockIdx.x * WARPS + threadIdx.x / 32;
}

static __device__ size_t get_nwarps(void)
{
        return (size_t)gridDim.x * WARPS;
}

static __device__ uint32_t ballot_of(bool predicate)
{
        return __ballot_sync(UINT32_MAX, predicate);
}

#endif
