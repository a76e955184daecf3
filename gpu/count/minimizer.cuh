/*
 * Minimizers on the device: the smallest hash of the canonical m-mers in a k-mer, equal on both
 * strands, so that all copies of a k-mer are put in one bin.
 *
 * They are longer than in the host engine: 2^18 bins need more than the 2^21 canonical 11-mers. Of
 * those, only the fraction with low hashes is ever chosen, so a few bins would hold a large part of
 * the k-mers.
 */
#ifndef KC_GPU_COUNT_MINIMIZER_CUH
#define KC_GPU_COUNT_MINIMIZER_CUH

#include "gpu/device/key.cuh"

enum { KC_GPU_MAX_MINIMIZER = 13 };

static KC_HD int kc_gpu_minimizer_length(int k)
{
        int m = k / 2 + 1;
        return m < KC_GPU_MAX_MINIMIZER ? m : KC_GPU_MAX_MINIMIZER;
}

/* The m-mer that ends at the last base fed, and its reverse complement. */
struct kc_mmer {
        uint32_t forward, reverse;
};

static KC_HD void kc_mmer_feed(kc_mmer *mmer, uint32_t base, int m)
{
        mmer->forward = (mmer->forward << 2 | base) & ((UINT32_C(1) << 2 * m) - 1);
        mmer->reverse = mmer->reverse >> 2 | (base ^ 3) << 2 * (m - 1);
}

/* Its rank among minimizers. Alphabetical order would not do: poly-A would attract far too many
 * k-mers. */
static KC_HD uint32_t kc_mmer_hash(const kc_mmer *mmer)
{
        uint32_t canonical = mmer->forward < mmer->reverse ? mmer->forward : mmer->reverse;
        return (canonical ^ UINT32_C(0x5a3c1e97)) * UINT32_C(0x9e3779b1);
}

/* The bin, out of 2^bits, of the k-mers with this minimizer. Hashed again, because minima cluster
 * at the low end. */
static KC_HD uint32_t kc_minimizer_bin(uint32_t hash, int bits)
{
        hash ^= hash >> 15;
        hash *= UINT32_C(0x85ebca77);
        hash ^= hash >> 13;
        hash *= UINT32_C(0xc2b2ae3d);
        return bits == 0 ? 0 : hash >> (32 - bits);
}

#endif
