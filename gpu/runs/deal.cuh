/*
 * How several devices divide the merge of all their runs: the key space is cut into ranges with
 * about equal numbers of pairs, summed over all devices, and the devices take the ranges in turn.
 * The cuts are found from fences (gpu/runs/cuts.cuh), before anything is merged.
 *
 *      k-mers   ────────┬────────┬────────┬────────┬────
 *      range        0   │   1    │   2    │   3    │  4
 *      member       0   │   1    │   2    │   0    │  1      of 3
 */
#ifndef KC_GPU_RUNS_DEAL_CUH
#define KC_GPU_RUNS_DEAL_CUH

#include "gpu/runs/cuts.cuh"

#include "base/status.h"

/* The runs of a member, of which nothing has been consumed yet. */
template <class Key> struct kc_deal_member {
        const struct kc_fences<Key> **runs; /* [nruns] */
        size_t nruns;
};

template <class Key> struct kc_deal {
        size_t nmembers, nranges;
        Key *cuts;      /* [nranges - 1] range i ends before cuts[i] */
        size_t *places; /* [nranges * (nmembers + 1)] kc_deal_place */
};

/*
 * Cut the members' runs.
 *   max_pairs  most pairs of a range, at least kc_deal_least_pairs of all runs
 * Free the deal even after a failure. KC_ENOMEM.
 */
template <class Key>
enum kc_status kc_deal_new(struct kc_deal<Key> *deal, const struct kc_deal_member<Key> *members,
                           size_t nmembers, size_t max_pairs, struct kc_error *err);
template <class Key> void kc_deal_free(struct kc_deal<Key> *deal);

/* With fewer pairs in a range, the fences of nruns runs might offer no place to cut. */
static inline size_t kc_deal_least_pairs(size_t nruns)
{
        return 2 * (nruns + 1) * KC_FENCE_NPAIRS;
}

/* Which member takes a range. */
template <class Key>
static inline size_t kc_deal_taker(const struct kc_deal<Key> *deal, size_t range)
{
        return range % deal->nmembers;
}

/* Where the pairs of a member begin in a range. They have room up to the place of the next
 * member; the last member's room ends at place nmembers. */
template <class Key>
static inline size_t kc_deal_place(const struct kc_deal<Key> *deal, size_t range, size_t member)
{
        return deal->places[range * (deal->nmembers + 1) + member];
}

/*
 * How many pairs a range should have: few enough that each member takes some ranges, and enough
 * that merging a range is worth its fixed cost. 0: there are too few pairs to divide.
 *   npairs  of all runs
 *   most    0, or the most that the caller wants
 */
size_t kc_deal_usual_pairs(uint64_t npairs, size_t nmembers, size_t most);

#endif
