/*
 * Where the key space is cut, so that what lies between two cuts of all runs fits the memory there
 * is: from fences, which are every KC_FENCE_NPAIRS-th k-mer of a run.
 */
#ifndef KC_GPU_RUNS_CUTS_CUH
#define KC_GPU_RUNS_CUTS_CUH

#include "gpu/device/key.cuh"

enum { KC_FENCE_NPAIRS = 512 };

/* A run of n pairs as the cutting sees it. */
template <class Key> struct kc_fences {
        Key *kmers; /* k-mer 0, KC_FENCE_NPAIRS, 2 KC_FENCE_NPAIRS, ... */
        size_t nfences;
        size_t n;
        size_t at; /* the pairs before it are done with */
};

/* Fences of a run of n pairs. */
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

/* Most pairs of those left that can be below the split: the ones up to the first fence that is not
 * below it. Ranges are short beside a run, so the search begins where the last range ended, in
 * steps that double: it stays within memory that is in the cache. */
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

/* Pairs that are left. */
template <class Key>
static inline size_t kc_fences_left(const struct kc_fences<Key> *const *runs, size_t nruns)
{
        size_t sum = 0;
        for (size_t i = 0; i < nruns; i++)
                sum += runs[i]->n - runs[i]->at;
        return sum;
}

/*
 * The greatest split below which no more than max_pairs of the pairs left can be. While more than
 * that are left, there is a pair below it if max_pairs >= nruns * KC_FENCE_NPAIRS.
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
