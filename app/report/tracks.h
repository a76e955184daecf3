/*
 * Where an assembly differs from the reads: lines of BED and wiggle. Threads look for stretches in
 * pieces of sequences; then one thread joins and writes them, in the order of the sequences.
 *
 * A BED line has the name of the sequence, begin and end; positions begin at 0, and end is the
 * first one that is not part of it. What counts is the window's count in the reads, x, the
 * assembly's copies of its k-mer, c, and the depth d: the count of k-mers that the genome has once
 * in each haplotype. A window is
 *
 *      absent      if x = 0
 *      duplicated  if c is at least 2, and 0 < x <= 1.5 d: the reads have enough for one copy
 *      collapsed   if x > (c + 0.5) d: the reads have enough for more copies; not if c is
 *                  KC_PAIR_MOST_SECOND, which stands for all greater numbers, too
 *
 * A stretch goes from the first base of one such window to the last base of another. One wrong base
 * makes k absent windows, so each stretch of absent windows that leaves no base out is a line.
 * Counts vary by chance, and differences between haplotypes lower them, so a stretch that is
 * duplicated or collapsed may leave out up to k bases between two windows of its kind; but it must
 * have at least k of these, and they must be at least half of its windows. A collapsed one must
 * also be longer than stretches that only look collapsed by chance.
 */
#ifndef APP_REPORT_TRACKS_H
#define APP_REPORT_TRACKS_H

#include "app/cli/text_out.h"
#include "io/joint.h"
#include "kmer/kmer.h"

#include <stdbool.h>
#include <stdint.h>

enum tracks_kind { TRACKS_ABSENT, TRACKS_DUPLICATED, TRACKS_COLLAPSED, TRACKS_NKINDS };

/* Lists of stretches: one for each kind, and that of absent windows that follow each other. */
enum { TRACKS_RUNS = TRACKS_NKINDS, TRACKS_NLISTS };

struct tracks_setup {
        int k;
        uint64_t depth;           /* 0: unknown; nothing is duplicated or collapsed then */
        uint64_t least_collapsed; /* windows of a collapsed stretch, at least; see chance.h */
        struct text_out *stretches[TRACKS_NKINDS]; /* NULL: not wanted */
        struct text_out *absent_windows;           /* Merqury's: each is a line of BED; or NULL */
        struct text_out *absent_depth; /* Merqury's: wiggle, of how many absent windows have a base;
                                          or NULL */
};

/* Whether a window with these counts is of the kind. */
static inline bool tracks_is(enum tracks_kind kind, uint64_t depth, uint32_t count, uint32_t copies)
{
        switch (kind) {
        case TRACKS_ABSENT:
                return count == 0;
        case TRACKS_DUPLICATED:
                return copies >= 2 && count > 0 && 2 * (uint64_t)count <= 3 * depth;
        default:
                return depth > 0 && copies < KC_PAIR_MOST_SECOND &&
                       2 * (uint64_t)count > (2 * (uint64_t)copies + 1) * depth;
        }
}

/* Windows of a kind that are near each other. */
struct tracks_stretch {
        uint64_t begin, last; /* windows; nhits is 0: there is none */
        uint64_t nhits;       /* windows of the kind */
};

/* ---- what is in sequences, or in pieces of them, one after the other ---- */

/* Zero-initialise it, and free it with tracks_found_free. */
struct tracks_found {
        struct tracks_list {
                struct tracks_stretch *all; /* [n] of capacity */
                size_t n, capacity;
                size_t begin; /* of the current sequence or piece */
        } lists[TRACKS_NLISTS];
};

void tracks_found_clear(struct tracks_found *found);
void tracks_found_free(struct tracks_found *found);

/* Begin a sequence or a piece: its stretches are in [begin, n) of each list. */
void tracks_found_begin(struct tracks_found *found);

/* Add n windows that follow each other. Positions ascend. KC_ENOMEM.
 *   pairs  [n] of counts (io/joint.h): in the reads, in the assembly */
enum kc_status tracks_find(struct tracks_found *found, const struct tracks_setup *setup,
                           uint64_t position, const uint32_t *pairs, size_t n,
                           struct kc_error *err);

/* ---- the sequence that is written ---- */

struct tracks {
        const struct tracks_setup *setup;
        const char *name; /* [name_nbytes] the caller's */
        size_t name_nbytes;
        struct tracks_stretch stretches[TRACKS_NKINDS]; /* that may go on */
        uint64_t absent[KC_MAX_K +
                        1]; /* ring: the absent windows with the next base of the wiggle */
        size_t first, nabsent;
        uint64_t next_base;
};

void tracks_begin(struct tracks *tracks, const struct tracks_setup *setup, const char *name,
                  size_t name_nbytes);
/* Add stretches of a list, which follow all that were added before. */
void tracks_put(struct tracks *tracks, size_t list, const struct tracks_stretch *stretches,
                size_t n);
void tracks_end(struct tracks *tracks);

#endif
