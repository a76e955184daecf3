/*
 * Minimizers on the device: the smallest hash of the canonical m-mers in a k-mer, equal on both
 * strands, so that all copies of a k-mer are put in one bin.
 *
 * They are longer than in the host engine: 2^18 bins need more than the 2^21 canonical 11-mers. Of
 * those, only the fraction with low hashes is ever chosen, so a few bins would hold a large part of
 * the k-mers.
 */
#ifndef KC_GPU_SUPERKMERS_MINIMIZER_CUH
#define KC_GPU_SUPERKMERS_MINIMIZER_CUH

#include "gpu/device/key.cuh"

/*
 * A long input has longer minimizers: the commonest ones would otherwise have more k-mers than a
 * table holds (at 80 G k-mers, the commonest 13-mers have tens of thousands each; at 1.7 G and
 * k = 55, bins of 13-mers that overflow have 8 % of the k-mers). With a short k, that costs more
 * records, because fewer k-mers of a window share their minimizer.
 */
enum { KC_GPU_USUAL_MINIMIZER = 13, KC_GPU_MAX_MINIMIZER = 15 };

/* nbases: approximate size of the input; 0: unknown. */
static KC_HD int kc_gpu_minimizer_length(int k, uint64_t nbases)
{
        const bool is_long = nbases == 0 || nbases >> 30 != 0;
        const int most = is_long ? KC_GPU_MAX_MINIMIZER : KC_GPU_USUAL_MINIMIZER;
        const int m = is_long ? 2 * k / 3 + 1 : k / 2 + 1;
        return m < most ? m : most;
}

/* An m-mer, and its reverse complement. */
struct kc_mmer {
        uint32_t forward, reverse;
};

/* 32 bases: 16 old ones, then 16 new ones. One shift for each strand extracts an m-mer. */
struct kc_mmers {
        uint64_t forward;    /* the first base highest */
        uint64_t complement; /* their complements, the first one lowest */
};

/* Feed 16 bases, the first one lowest. The new bases of *mmers become its old ones, and those fed
 * become its new ones. */
static KC_HD void kc_mmers_feed(kc_mmers *mmers, uint32_t bases)
{
        mmers->forward = mmers->forward << 32 | kc_key_reverse_bases((uint64_t)bases) >> 32;
        mmers->complement = (uint64_t)~bases << 32 | mmers->complement >> 32;
}

/* The m-mer that ends with new base n, counted from 1. shift: 2n */
static KC_HD kc_mmer kc_mmers_at(const kc_mmers *mmers, uint32_t shift, int m)
{
        const uint32_t mask = (UINT32_C(1) << 2 * m) - 1;
        return { (uint32_t)(mmers->forward << shift >> 32) & mask,
                 (uint32_t)(mmers->complement >> shift) >> (32 - 2 * m) };
}

/* Its rank among minimizers. Alphabetical order would not do: poly-A would attract far too many
 * k-mers. */
static KC_HD uint32_t kc_mmer_hash(const kc_mmer *mmer)
{
        uint32_t canonical = mmer->forward < mmer->reverse ? mmer->forward : mmer->reverse;
        return (canonical ^ UINT32_C(0x5a3c1e97)) * UINT32_C(0x9e3779b1);
}

/* The point of a minimizer in the space of 2^32 points that passes and bins divide among
 * themselves. Hashed again, because minima cluster at the low end. */
static KC_HD uint32_t kc_minimizer_point(uint32_t hash)
{
        hash ^= hash >> 15;
        hash *= UINT32_C(0x85ebca77);
        hash ^= hash >> 13;
        hash *= UINT32_C(0xc2b2ae3d);
        return hash ^ hash >> 16;
}

/* `width` points (0: all 2^32) from `first` on, divided into bins of equal width. */
struct kc_bins {
        uint32_t first, width;
        uint32_t scale; /* bins per 2^32 points */
};

static KC_HD bool kc_bins_have(const struct kc_bins *bins, uint32_t point)
{
        return bins->width == 0 || point - bins->first < bins->width;
}

/* The number of the bin that has the point; one of them must. */
static KC_HD uint32_t kc_bins_number(const struct kc_bins *bins, uint32_t point)
{
        return (uint32_t)((uint64_t)(point - bins->first) * bins->scale >> 32);
}

#endif
