/*
 * Chooses where to cut the key space so that the pairs of all runs between two cuts fit in memory.
 * The cuts are found from fences: every KC_FENCE_NPAIRS-th k-mer of a run.
 */
#ifndef KC_GPU_RUNS_CUTS_CUH
#define KC_GPU_RUNS_CUTS_CUH

#include "gpu/device/key.cuh"
#include "kmer/block_codec.h"

/* So that a fence is also the first k-mer of a block of a run on the host. */
enum { KC_FENCE_NPAIRS = KC_BLOCK_NKMERS };

/* What the cutting knows of a run of n pairs. */
template <class Key> struct kc_fences {
        Key *kmers; /* k-mer 0, KC_FENCE_NPAIRS, 2 KC_FENCE_NPAIRS, ... */
        size_t nfences;
        size_t n;
        size_t at; /* the pairs before it have been consumed */
};

/* Where ranges end, if that is not left to kc_ranges_next: range i < n has the k-mers below at[i],
 * and range n the rest. */
template <class Key> struct kc_range_cuts {
        bool are_given;
        const Key *at; /* [n] ascending */
        size_t n;
};

/* The number of fences of a run of n pairs. */
static inline size_t kc_fences_count(size_t n)
{
        return (n + KC_FENCE_NPAIRS - 1) / KC_FENCE_NPAIRS;
}

/* The levels of the LSM: the newest run is merged with the one before, unless that one is more than
 * twice as long. */
static inline bool kc_lsm_should_merge(size_t older, size_t newer)
{
        return newer >= older / 2;
}

/* Upper bound on the remaining pairs below the split: those up to the first fence that is not below
 * it. Ranges are short compared to a run, so the search gallops from where the last range ended,
 * and so stays within cached memory. */
template <class Key>
static inline size_t kc_fences_bound(const struct kc_fences<Key> *run, Key split)
{
        size_t low = run->at / KC_FENCE_NPAIRS, step = 1;
        while (low + step <= run->nfences && run->kmers[low + step - 1] < split) {
                low += step;
                step *= 2;
        }
        size_t high = low + step <= run->nfences ? low + step - 1 : run->nfences;
        low += kc_count_below(run->kmers + low, high - low, split);
        size_t end = low * KC_FENCE_NPAIRS < run->n ? low * KC_FENCE_NPAIRS : run->n;
        return end > run->at ? end - run->at : 0;
}

template <class Key>
static inline size_t kc_fences_bound_all(const struct kc_fences<Key> *const *runs, size_t nruns,
                                         Key split)
{
        size_t sum = 0;
        for (size_t i = 0; i < nruns; i++)
                sum += kc_fences_bound(runs[i], split);
        return sum;
}

/* The remaining pairs. */
template <class Key>
static inline size_t kc_fences_left(const struct kc_fences<Key> *const *runs, size_t nruns)
{
        size_t sum = 0;
        for (size_t i = 0; i < nruns; i++)
                sum += runs[i]->n - runs[i]->at;
        return sum;
}

/*
 * The greatest split that is sure to have at most max_pairs of the remaining pairs below it. While
 * more remain, max_pairs >= nruns * KC_FENCE_NPAIRS ensures that at least one pair is below it.
 */
template <class Key>
static inline Key kc_fences_split(const struct kc_fences<Key> *const *runs, size_t nruns,
                                  size_t max_pairs)
{
        Key split = 0;
        for (int bit = 8 * (int)sizeof(Key) - 1; bit >= 0; bit--) {
                Key higher = split | (Key)1 << bit;
                if (kc_fences_bound_all(runs, nruns, higher) <= max_pairs)
                        split = higher;
        }
        return split;
}

#endif
