/*
 * What one encoder hands to the next between two ranges of a run: the pairs that do not fill a
 * block, and the number of the next part. Both follow from the ranges' lengths and last pairs, so
 * an encoder need not wait until the range before is encoded.
 */
#ifndef KC_GPU_BLOCKS_CARRY_CUH
#define KC_GPU_BLOCKS_CARRY_CUH

#include "kmer/block_codec.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

template <class Key> struct kc_gpu_carry {
        size_t n;
        Key kmers[KC_BLOCK_NKMERS]; /* [n], and likewise the counts; in host memory */
        uint32_t counts[KC_BLOCK_NKMERS];
};

/* How many pairs are carried on after npairs more. */
static inline size_t kc_carry_after(size_t ncarry, size_t npairs)
{
        return (ncarry + npairs) % KC_BLOCK_NKMERS;
}

/* How many of these npairs, the last ones, are among the pairs then carried on. */
static inline size_t kc_carry_ntail(size_t ncarry, size_t npairs)
{
        const size_t after = kc_carry_after(ncarry, npairs);
        return after < npairs ? after : npairs;
}

/* Update the carry for npairs more, of which the last kc_carry_ntail are given; NULL is fine if
 * there are none. */
template <class Key>
static inline void kc_carry_advance(struct kc_gpu_carry<Key> *carry, size_t npairs,
                                    const Key *kmers, const uint32_t *counts)
{
        const size_t ntail = kc_carry_ntail(carry->n, npairs);
        const size_t after = kc_carry_after(carry->n, npairs);
        const size_t nleft = after - ntail; /* of the old ones: all or none */
        carry->n = after;
        if (ntail == 0)
                return;
        memcpy(carry->kmers + nleft, kmers, ntail * sizeof *kmers);
        memcpy(carry->counts + nleft, counts, ntail * sizeof *counts);
}

/* How many blocks a part of up to part_pairs pairs has. */
static inline size_t kc_part_nblocks(size_t part_pairs)
{
        const size_t nblocks = part_pairs / KC_BLOCK_NKMERS;
        return nblocks > 0 ? nblocks : 1;
}

/* How many parts a put with nblocks blocks makes. */
static inline size_t kc_put_nparts(size_t nblocks, size_t part_blocks)
{
        return nblocks == 0 ? 1 : (nblocks + part_blocks - 1) / part_blocks;
}

/* How many parts a range makes that is put in pieces of at most max_pairs. */
static inline uint64_t kc_range_nparts(size_t ncarry, size_t npairs, size_t max_pairs,
                                       size_t part_blocks)
{
        uint64_t nparts = 0;
        for (size_t at = 0, n; at < npairs; at += n) {
                n = npairs - at < max_pairs ? npairs - at : max_pairs;
                nparts += kc_put_nparts((ncarry + n) / KC_BLOCK_NKMERS, part_blocks);
                ncarry = kc_carry_after(ncarry, n);
        }
        return nparts;
}

#endif
