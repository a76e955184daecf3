/*
 * The histogram by GC content and count, as hist prints it.
 */
#ifndef APP_HIST_GC_H
#define APP_HIST_GC_H

#include "app/cli/json.h"
#include "include/kcount.h"

struct gc_histogram {
        const char *file; /* the name to print: of the .kc file, or of the first file of reads */
        int k;
        struct kcount_gc_cell
                *cells; /* [ncells] by GC content and count; freed by the owner with kcount_free */
        size_t ncells;
};

/* Leave out counts outside [min, max], and add those over `last` to the rows of `last`. */
void gc_select(struct gc_histogram *histogram, uint64_t min, uint64_t max, uint64_t last);

/* A header line, and a line for each cell. */
void gc_put_table(struct text_out *out, const struct gc_histogram *histogram);

/* KAT's matrix for counts from 0 to last, with a row more than KAT's, for k-mers of G and C only.
 * KC_ENOMEM. */
enum kc_status gc_put_matrix(struct text_out *out, const struct gc_histogram *histogram,
                             uint32_t last, struct kc_error *err);

/* The names of the columns, and the rows, as members of an object. */
void gc_put_json(struct json *json, const struct gc_histogram *histogram);

#endif
