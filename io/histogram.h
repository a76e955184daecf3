/*
 * The histogram of counts, and a sink that makes it from a run that is not stored.
 */
#ifndef KC_HISTOGRAM_H
#define KC_HISTOGRAM_H

#include "base/status.h"
#include "kmer/engine.h"
#include "kmer/run.h"

#include <stddef.h>
#include <stdint.h>

/* How many distinct k-mers have this count. */
struct kc_histogram_row {
        uint64_t count, ndistinct;
};

struct kc_histogram;

/* An empty histogram. KC_ENOMEM. kc_histogram_free: NULL is fine. */
enum kc_status kc_histogram_new(struct kc_histogram **histogram, struct kc_error *err);
void kc_histogram_free(struct kc_histogram *histogram);

/*
 * A sink for one run, whose k-mers it does not keep. An engine that can give counts alone need not
 * order the run; pairs may come in any order, too. Calls do not wait for one another.
 * They fail with KC_ENOMEM or KC_ECANCELED.
 */
struct kc_run_sink kc_histogram_sink(struct kc_histogram *histogram);

/* Add the rows of another histogram. KC_ENOMEM. */
enum kc_status kc_histogram_add(struct kc_histogram *histogram, const struct kc_histogram_row *rows,
                                size_t n, struct kc_error *err);

/*
 * The rows by ascending count, none of them empty. Call it after the engine has returned.
 * KC_ECORRUPT if they do not add up to the engine's totals: number of k-mers + nother_distinct =
 * ndistinct, and sum of counts + nother_kmers + nsaturated = nkmers. KC_ENOMEM.
 *   totals  NULL: they are not checked
 *   rows  out, [*nrows], freed by the caller
 */
enum kc_status kc_histogram_rows(struct kc_histogram *histogram,
                                 const struct kc_count_totals *totals,
                                 struct kc_histogram_row **rows, size_t *nrows,
                                 struct kc_error *err);

#endif
