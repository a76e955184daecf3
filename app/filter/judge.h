/*
 * The rules by which filter keeps reads, in whole numbers, from the summaries of their windows.
 */
#ifndef APP_FILTER_JUDGE_H
#define APP_FILTER_JUDGE_H

#include "app/ask/asking.h"

#include <stdbool.h>
#include <stdint.h>

/* A number of windows, or a share of a read's windows. */
struct judge_bound {
        bool is_share;
        uint64_t value; /* of a share: in units of 1 / JUDGE_WHOLE */
};

#define JUDGE_WHOLE UINT64_C(1000000) /* 100 % */

enum judge_denominator {
        JUDGE_VALID, /* shares are of the valid windows */
        JUDGE_ALL,   /* of all windows, rounded down to whole windows */
};

enum judge_pairs {
        JUDGE_ANY,    /* a pair passes if one of its mates does */
        JUDGE_BOTH,   /* if both do */
        JUDGE_POOLED, /* if the windows of both together do */
};

struct judge {
        struct judge_bound at_least, at_most;
        enum judge_denominator denominator;
        enum judge_pairs pairs;
        bool drops; /* what passes is dropped, and all else kept */
};

/* "12", or "12.5%" with up to four decimals. False if text is neither, or above 100 %. */
bool judge_parse(const char *text, struct judge_bound *bound);

/* Whether no read can pass. */
bool judge_is_empty(const struct judge *judge);

/* Whether the read, or the pair of reads, is kept. */
bool judge_keeps(const struct judge *judge, const struct kc_ask_summary *read);
bool judge_keeps_pair(const struct judge *judge, const struct kc_ask_summary *first,
                      const struct kc_ask_summary *second);

/* ---- judging a read by a part of its windows ---- */

/* How many windows, of a read that has so many, are asked first: as many as the rules need if all
 * of them are in range, and some more. */
uint64_t judge_nfirst(const struct judge *judge, uint64_t nwindows);

/* Settle the read, or the mates of a pair, if the verdict is the same whatever is found of the
 * windows that are left. Then the parts are judged as the whole reads would be.
 *   second  the mate; may be NULL */
void judge_settle(const struct judge *judge, struct kc_asked_part *first,
                  struct kc_asked_part *second);

/* Reads that are kept or dropped together, in any order: those of a pair, or of a name. Begin with
 * JUDGE_NO_READS. */
struct judge_group {
        bool has_passed, has_failed;  /* whether some read did */
        struct kc_ask_summary pooled; /* with JUDGE_POOLED: of all reads */
};

#define JUDGE_NO_READS ((struct judge_group){ .pooled = KC_ASK_NOTHING })

void judge_add(const struct judge *judge, struct judge_group *group,
               const struct kc_ask_summary *read);

/* A group without reads does not pass. */
bool judge_keeps_group(const struct judge *judge, const struct judge_group *group);

/*
 * What remains of a read of nbases bases up to the last base before the first window that is not in
 * range. Returns the number of these bases, 0 if the first window is not in range. *read becomes
 * the summary of what remains, except for its counts, which are not needed any more.
 */
uint64_t judge_trim(struct kc_ask_summary *read, int k, uint64_t nbases);

#endif
