/*
 * Private to gpu/feed: which device gets a batch. This only computes, so it also runs on a machine
 * without devices.
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
 * Choose, of the free devices, the one that has received least for its share. A device on the
 * batch's own node comes first, though, if it is ahead of that one by at most its lead.
 *   node  of the batch's memory; -1: unknown
 * Returns the device's index, or -1 if none is free.
 */
int kc_feed_choose(const struct kc_feed_candidate *devices, int n, int node);

#endif
