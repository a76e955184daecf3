/*
 * Histograms of counts as text: two columns, the count and the number of distinct k-mers that have
 * it, as kcount hist, jellyfish histo and kmc_tools print them.
 */
#ifndef APP_MODEL_TABLE_H
#define APP_MODEL_TABLE_H

#include "io/histogram.h"

/*
 * Spaces, tabs or a comma separate the columns. Empty lines, lines that start with # and a row for
 * count 0 are left out. KC_EINPUT, naming the line if there is one, if a line is anything else, the
 * counts do not ascend, a count is over
 * 2^53, which is the last that fits use exactly, or there are no rows; KC_ENOMEM.
 *   name  of the file, for messages
 *   rows  out, [*nrows], freed by the caller; rows without k-mers are kept
 */
enum kc_status table_parse(const char *text, size_t nbytes, const char *name,
                           struct kc_histogram_row **rows, size_t *nrows, struct kc_error *err);

/* Read a file; "-" is standard input. KC_EINPUT also if it cannot be read. */
enum kc_status table_read(const char *path, struct kc_histogram_row **rows, size_t *nrows,
                          struct kc_error *err);

#endif
