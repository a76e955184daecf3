/*
 * A matrix as KAT writes it to its .mx files, which KAT's plotting programs read.
 */
#ifndef APP_HIST_MATRIX_H
#define APP_HIST_MATRIX_H

#include "app/cli/text_out.h"

enum {
        MATRIX_LAST = 1000,  /* the greatest count that KAT tells apart by default */
        MATRIX_MOST = 65534, /* the greatest that it takes */
};

struct matrix_cell {
        uint32_t row, column; /* beyond the last one: taken for it */
        uint64_t value;       /* added to that of other cells at the same place */
};

struct matrix {
        int k;
        const char
                *inputs[2]; /* rows are counts in the first, columns counts in the second; without
                                  a second one, rows are GC contents, and columns counts */
        uint32_t nrows, ncolumns;
        const struct matrix_cell *cells; /* [ncells] by ascending row */
        size_t ncells;
};

/* KC_ENOMEM. */
enum kc_status matrix_put(struct text_out *out, const struct matrix *matrix, struct kc_error *err);

#endif
