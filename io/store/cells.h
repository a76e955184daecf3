/*
 * A joint histogram being built: how many k-mers have each combination of up to three values. One
 * per thread, added up at the end.
 */
#ifndef KC_IO_STORE_CELLS_H
#define KC_IO_STORE_CELLS_H

#include "io/joint.h"

enum { KC_CELLS_NSMALL = 1 << 16 };

struct kc_cells {
        size_t naxes;
        uint32_t most[KC_JOINT_MAX_FILES];   /* greater values are taken for most + 1 */
        uint32_t limits[KC_JOINT_MAX_FILES]; /* k-mers with all values below these are in small */
        uint64_t *small;                     /* [KC_CELLS_NSMALL] */
        struct kc_joint_cell *big;           /* all others: open addressing; ndistinct 0 is free */
        size_t nbig, big_cap;                /* big_cap is 0 or a power of two */
};

/* Free with kc_cells_free, even on failure. KC_ENOMEM.
 *   most  [naxes] the greatest value with cells of its own; 0: all values have them */
enum kc_status kc_cells_init(struct kc_cells *cells, size_t naxes, const uint32_t *most,
                             struct kc_error *err);
void kc_cells_free(struct kc_cells *cells);

/* Add n k-mers. values: [naxes][n]. KC_ENOMEM. */
enum kc_status kc_cells_add(struct kc_cells *cells, const uint32_t *const *values, size_t n,
                            struct kc_error *err);

/* Add the k-mers of n cells whose counts are as in the list. KC_ENOMEM. */
enum kc_status kc_cells_add_cells(struct kc_cells *cells, const struct kc_joint_cell *more,
                                  size_t n, struct kc_error *err);

/* Add the k-mers of `from`, which has the same axes, and empty it. KC_ENOMEM. */
enum kc_status kc_cells_move(struct kc_cells *into, struct kc_cells *from, struct kc_error *err);

/* Move only the cells in `big`, which take the memory that grows. */
enum kc_status kc_cells_move_big(struct kc_cells *into, struct kc_cells *from,
                                 struct kc_error *err);

/* The cells with k-mers, ascending by the values in order; freed by the caller. KC_ENOMEM. */
enum kc_status kc_cells_list(const struct kc_cells *cells, struct kc_joint_cell **list, size_t *n,
                             struct kc_error *err);

#endif
