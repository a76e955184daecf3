/*
 * How often each count occurs among the windows of a sequence: an exact histogram, however long
 * the sequence is. It holds a counter for each small count, and an entry for each larger one that
 * occurs.
 */
#ifndef APP_LIBRARY_WINDOW_TALLY_H
#define APP_LIBRARY_WINDOW_TALLY_H

#include "base/status.h"
#include "kmer/ask.h"

#include <stddef.h>
#include <stdint.h>

enum { KC_WINDOW_TALLY_NSMALL = 4096 };

/* Zero-initialise it, and free it with kc_window_tally_free. */
struct kc_window_tally {
        uint64_t n;      /* counts in all */
        uint32_t nsmall; /* small[] is zero from here on */
        uint64_t small[KC_WINDOW_TALLY_NSMALL];
        struct kc_window_tally_entry {
                uint32_t count;
                uint64_t n;
        } * large; /* [nlarge] of capacity, in any order; a count may have several */
        size_t nlarge, capacity;
};

/* Add the given counts; n times the same count; or the counts of another tally. KC_ENOMEM; the
 * tally may then only be freed. */
enum kc_status kc_window_tally_add(struct kc_window_tally *tally, const uint32_t *counts, size_t n,
                                   struct kc_error *err);
enum kc_status kc_window_tally_add_equal(struct kc_window_tally *tally, uint32_t count, uint64_t n,
                                         struct kc_error *err);
enum kc_status kc_window_tally_join(struct kc_window_tally *tally,
                                    const struct kc_window_tally *other, struct kc_error *err);

/*
 * Four times the first quartile, the median and the third quartile. There must be a count. As in R
 * and NumPy by default, quartile q of the sorted counts x[0..n) is at place h = (n - 1) q / 4; if
 * that lies between two of them, it divides their difference in the same proportion.
 */
enum { KC_WINDOW_TALLY_NQUARTILES = 3 };
void kc_window_tally_quartiles(struct kc_window_tally *tally,
                               uint64_t quarters[KC_WINDOW_TALLY_NQUARTILES]);

/* List the counts of at least `least`, ascending, each once. Returns how many there are.
 *   entries  out: room for nsmall + nlarge */
size_t kc_window_tally_list(struct kc_window_tally *tally, uint32_t least,
                            struct kc_window_tally_entry *entries);

/* The summary of the counts. It has no places, so nwindows and nlead are 0. */
struct kc_ask_summary kc_window_tally_summary(const struct kc_window_tally *tally,
                                              uint32_t min_count, uint32_t max_count);

/* Empty it, but keep its memory. */
void kc_window_tally_clear(struct kc_window_tally *tally);

void kc_window_tally_free(struct kc_window_tally *tally);

#endif
