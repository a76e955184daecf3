/*
 * A sequence in at most STRIP_NBINS bins of equal width, to be drawn as a strip. The width is
 * STRIP_FIRST_STEP, doubled until the last window is in a bin.
 *
 * Pieces of a long sequence have strips of their own, so that several threads can make them; then
 * they are joined in their order. The widths of early pieces are smaller: bins are joined, too.
 */
#ifndef APP_REPORT_STRIP_H
#define APP_REPORT_STRIP_H

#include "app/library/window_tally.h"

enum { STRIP_NBINS = 128, STRIP_FIRST_STEP = 100 };

/* The windows that begin in a bin. */
struct strip_bin {
        uint64_t nwindows, nabsent, nextra;
        size_t end; /* of its counts, in those of the strip; they begin where the bin before ends */
};

/* Zero-initialise it, and free it with strip_free. */
struct strip {
        uint64_t step;                      /* the width of a bin, in bases */
        size_t nbins;                       /* up to the last one with a window */
        struct strip_bin bins[STRIP_NBINS]; /* [nbins] */
        struct strip_counts {
                struct kc_window_tally_entry
                        *all; /* [n] of capacity; in each bin, ascending, without 0 */
                size_t n, capacity;
        } counts, spare;
        struct kc_window_tally last; /* counts in the last bin, until strip_end */
};

/* A bin, as it is kept, for all sequences of an assembly. */
struct strip_result {
        uint32_t nwindows, nabsent, nextra; /* at most UINT32_MAX */
        uint32_t quarters; /* four times the median of the counts above 0; 0: there is none */
};

struct strip_total {
        uint64_t nwindows, nabsent, nextra;
        uint64_t quarters; /* four times the median of the counts that are not 0; or 0 */
};

/* Begin a sequence, or a piece of one, that has no window beyond position `last`. */
void strip_begin(struct strip *strip, uint64_t last);

/* Add n windows that follow each other. Positions ascend. KC_ENOMEM.
 *   pairs  [n] of counts (io/joint.h): in the reads, in the assembly
 *   depth  of windows that are extra: those that are duplicated, as in app/report/tracks.h */
enum kc_status strip_put(struct strip *strip, uint64_t position, const uint32_t *pairs, size_t n,
                         uint64_t depth, struct kc_error *err);

/* There are no more windows. KC_ENOMEM. */
enum kc_status strip_end(struct strip *strip, struct kc_error *err);

/* Add the next piece, which has ended. The strip must have begun with last = 0. KC_ENOMEM. */
enum kc_status strip_join(struct strip *strip, const struct strip *next, struct kc_error *err);

/* The bins. results: [strip->nbins] */
void strip_results(const struct strip *strip, struct strip_result *results);

/* All bins together. Then the strip is of no use until it begins again. KC_ENOMEM. */
enum kc_status strip_total(struct strip *strip, struct strip_total *total, struct kc_error *err);

void strip_free(struct strip *strip);

/* How many bins n sequences have at most, which have nbases bases. */
static inline uint64_t strip_most_bins(uint64_t n, uint64_t nbases)
{
        const uint64_t finest = nbases / STRIP_FIRST_STEP + n;
        return finest < n * STRIP_NBINS ? finest : n * STRIP_NBINS;
}

#endif
