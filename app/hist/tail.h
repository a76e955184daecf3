/*
 * The last row of a histogram, which stands for all counts from its own up.
 */
#ifndef APP_HIST_TAIL_H
#define APP_HIST_TAIL_H

#include "io/histogram.h"

#include <stdbool.h>

enum { TAIL_USUAL_COUNT = 10000 };

/*
 * Fold the rows with a count of `last` or more into row `last`: their number of k-mers or, if
 * by_sum, the sum of their counts divided by `last` and rounded down, which keeps the sum of the
 * histogram. Without k-mers, there is no such row. Returns the number of rows, at most nrows.
 */
size_t tail_fold(struct kc_histogram_row *rows, size_t nrows, uint64_t last, bool by_sum);

#endif
