/*
 * Private to gpu/feed: which device gets a batch. Only computes, also on a machine without devices.
 */
#ifndef KC_GPU_FEED_CHOICE_CUH
#define KC_GPU_FEED_CHOICE_CUH

#include <cstdint>

struct kc_feed_candidate {
        bool is_free;           /* has a buffer to fill */
        int node;               /* of the host, nearest to the device; -1: unknown */
        uint64_t nwords, share; /* received so far; what it should receive, relative to others */
        uint64_t lead;          /* words that it may receive too early because of its node */
};

/*
 * Of the free devices, the one that has received least for its share; but one on the batch's own node
 * comes first, as long as it is ahead of that one by at most its lead.
 *   node  of the batch's memory; -1: unknown
 * Returns the device's index, or -1 if none is free.
 */
int kc_feed_choose(const struct kc_feed_candidate *devices, int n, int node);

#endif
