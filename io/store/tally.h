/*
 * A histogram being built: how many k-mers have each count. One per thread, merged at the end.
 */
#ifndef KC_IO_STORE_TALLY_H
#define KC_IO_STORE_TALLY_H

#include "io/histogram.h"

#include <stddef.h>
#include <stdint.h>

enum {
        KC_TALLY_NSMALL = 512, /* counts below have their own counters, others are in a hash
                                  table */
        KC_TALLY_NLANES = 4,   /* copies of each counter, so that a series of equal counts need not
                                  wait for its last store */
};

/* Zero-initialise. */
struct kc_tally {
        uint64_t small[KC_TALLY_NLANES][KC_TALLY_NSMALL];
        struct kc_histogram_row *big; /* open addressing; count 0 is free */
        size_t nbig, big_cap;         /* big_cap is 0 or a power of two */
};

enum kc_status kc_tally_add(struct kc_tally *tally, const uint32_t *counts, size_t n,
                            struct kc_error *err);

/* Add k-mers that are counted already: rows[c] with count c < KC_TALLY_NSMALL. */
void kc_tally_add_rows(struct kc_tally *tally, const uint64_t *rows);

enum kc_status kc_tally_merge(struct kc_tally *into, const struct kc_tally *from,
                              struct kc_error *err);

/* The rows, by ascending count; freed by the caller. KC_ENOMEM. */
enum kc_status kc_tally_rows(const struct kc_tally *tally, struct kc_histogram_row **rows,
                             size_t *nrows, struct kc_error *err);

/* Number of k-mers, and sum of their counts, in the rows. */
void kc_rows_totals(const struct kc_histogram_row *rows, size_t nrows, uint64_t *ndistinct,
                    uint64_t *sum);

/* KC_ECORRUPT unless the rows of a run have all of its k-mers. name: of the output, for the
 * message. */
enum kc_status kc_check_ndistinct(const char *name, uint64_t ndistinct, uint64_t ntallied,
                                  struct kc_error *err);

/* KC_ECORRUPT unless nkept + ndropped + nsaturated = nkmers. */
enum kc_status kc_check_sum(const char *name, uint64_t nkept, uint64_t ndropped,
                            uint64_t nsaturated, uint64_t nkmers, struct kc_error *err);

void kc_tally_free(struct kc_tally *tally);

#endif
