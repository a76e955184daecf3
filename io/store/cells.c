#include "io/store/cells.h"

#include <stdlib.h>
#include <string.h>

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* Bits of each value in the index of a small cell, 16 in all. With two axes, either may have the
 * counts of reads, and the first may be the GC content, which is at most 255. With three, the first
 * usually has the counts of reads, and the others those of haplotypes. */
static const unsigned nbits[KC_JOINT_MAX_FILES + 1][KC_JOINT_MAX_FILES] = {
        [1] = { 16 }, [2] = { 8, 8 }, [3] = { 8, 4, 4 }
};

static enum kc_status no_memory(struct kc_error *err)
{
        return kc_fail(err, KC_ENOMEM, "out of memory for the joint histogram");
}

enum kc_status kc_cells_init(struct kc_cells *cells, size_t naxes, const uint32_t *most,
                             struct kc_error *err)
{
        *cells = (struct kc_cells){ .naxes = naxes };
        for (size_t i = 0; i < naxes; i++) {
                const uint32_t nsmall = UINT32_C(1) << nbits[naxes][i];
                const bool is_bounded = most[i] > 0 && most[i] < UINT32_MAX;
                cells->most[i] = is_bounded ? most[i] : UINT32_MAX;
                cells->limits[i] = is_bounded && most[i] < nsmall ? most[i] + 1 : nsmall;
        }
        cells->small = calloc(KC_CELLS_NSMALL, sizeof *cells->small);
        return cells->small != NULL ? KC_OK : no_memory(err);
}

void kc_cells_free(struct kc_cells *cells)
{
        free(cells->small);
        free(cells->big);
        *cells = (struct kc_cells){ 0 };
}

/* ---- k-mers with a large value ---- */

static bool is_same(const struct kc_joint_cell *a, const struct kc_joint_cell *b)
{
        return memcmp(a->counts, b->counts, sizeof a->counts) == 0;
}

static struct kc_joint_cell *find_slot(const struct kc_cells *cells,
                                       const struct kc_joint_cell *cell)
{
        uint64_t hash = 0;
        for (int i = 0; i < KC_JOINT_MAX_FILES; i++)
                hash = (hash ^ cell->counts[i]) * UINT64_C(0x9e3779b97f4a7c15) ^ hash >> 32;
        size_t at = (hash >> 32) & (cells->big_cap - 1);
        while (cells->big[at].ndistinct != 0 && !is_same(&cells->big[at], cell))
                at = (at + 1) & (cells->big_cap - 1);
        return &cells->big[at];
}

static bool grow(struct kc_cells *cells)
{
        struct kc_cells larger = *cells;
        larger.big_cap = cells->big_cap > 0 ? 2 * cells->big_cap : 1024;
        larger.big = calloc(larger.big_cap, sizeof *larger.big);
        if (larger.big == NULL)
                return false;
        for (size_t i = 0; i < cells->big_cap; i++)
                if (cells->big[i].ndistinct != 0)
                        *find_slot(&larger, &cells->big[i]) = cells->big[i];
        free(cells->big);
        *cells = larger;
        return true;
}

static enum kc_status add_big(struct kc_cells *cells, const struct kc_joint_cell *cell,
                              struct kc_error *err)
{
        if (2 * cells->nbig >= cells->big_cap && !grow(cells))
                return no_memory(err);
        struct kc_joint_cell *slot = find_slot(cells, cell);
        cells->nbig += slot->ndistinct == 0;
        memcpy(slot->counts, cell->counts, sizeof slot->counts);
        slot->ndistinct += cell->ndistinct;
        for (int i = 0; i < KC_JOINT_MAX_FILES; i++)
                slot->sums[i] += cell->sums[i];
        return KC_OK;
}

static enum kc_status add_large(struct kc_cells *cells, const uint32_t *const *values, size_t at,
                                struct kc_error *err)
{
        struct kc_joint_cell cell = { .ndistinct = 1 };
        for (size_t i = 0; i < cells->naxes; i++) {
                const uint32_t value = values[i][at];
                cell.counts[i] = value <= cells->most[i] ? value : cells->most[i] + 1;
                cell.sums[i] = value;
        }
        return add_big(cells, &cell, err);
}

/* ---- adding ---- */

ALWAYS_INLINE enum kc_status add_all(struct kc_cells *cells, const uint32_t *const *values,
                                     size_t n, size_t naxes, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        uint64_t *const small = cells->small;
        uint32_t limits[KC_JOINT_MAX_FILES];
        memcpy(limits, cells->limits, sizeof limits);
        for (size_t k = 0; k < n && status == KC_OK; k++) {
                bool is_small = true;
                size_t at = 0;
                for (size_t i = 0; i < naxes; i++) {
                        is_small &= values[i][k] < limits[i];
                        at = at << nbits[naxes][i] | values[i][k];
                }
                if (is_small)
                        small[at]++;
                else
                        status = add_large(cells, values, k, err);
        }
        return status;
}

enum kc_status kc_cells_add(struct kc_cells *cells, const uint32_t *const *values, size_t n,
                            struct kc_error *err)
{
        if (cells->naxes == 1)
                return add_all(cells, values, n, 1, err);
        return cells->naxes == 2 ? add_all(cells, values, n, 2, err)
                                 : add_all(cells, values, n, 3, err);
}

/* Where the cell is in small; KC_CELLS_NSMALL: it is not there. */
static size_t small_place(const struct kc_cells *cells, const struct kc_joint_cell *cell)
{
        size_t at = 0;
        for (size_t i = 0; i < cells->naxes; i++) {
                if (cell->counts[i] >= cells->limits[i])
                        return KC_CELLS_NSMALL;
                at = at << nbits[cells->naxes][i] | cell->counts[i];
        }
        return at;
}

enum kc_status kc_cells_add_cells(struct kc_cells *cells, const struct kc_joint_cell *more,
                                  size_t n, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (size_t i = 0; i < n && status == KC_OK; i++) {
                const size_t at = small_place(cells, &more[i]);
                if (at < KC_CELLS_NSMALL)
                        cells->small[at] += more[i].ndistinct;
                else
                        status = add_big(cells, &more[i], err);
        }
        return status;
}

enum kc_status kc_cells_move_big(struct kc_cells *into, struct kc_cells *from, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (size_t i = 0; i < from->big_cap && status == KC_OK; i++)
                if (from->big[i].ndistinct != 0)
                        status = add_big(into, &from->big[i], err);
        free(from->big);
        from->big = NULL;
        from->nbig = from->big_cap = 0;
        return status;
}

enum kc_status kc_cells_move(struct kc_cells *into, struct kc_cells *from, struct kc_error *err)
{
        for (size_t i = 0; i < KC_CELLS_NSMALL; i++)
                into->small[i] += from->small[i];
        memset(from->small, 0, KC_CELLS_NSMALL * sizeof *from->small);
        return kc_cells_move_big(into, from, err);
}

/* ---- the list ---- */

static int compare_cells(const void *a, const void *b)
{
        const struct kc_joint_cell *x = a, *y = b;
        for (int i = 0; i < KC_JOINT_MAX_FILES; i++)
                if (x->counts[i] != y->counts[i])
                        return x->counts[i] > y->counts[i] ? 1 : -1;
        return 0;
}

static struct kc_joint_cell make_small(const struct kc_cells *cells, size_t at)
{
        struct kc_joint_cell cell = { .ndistinct = cells->small[at] };
        for (size_t i = cells->naxes; i-- > 0;) {
                const unsigned n = nbits[cells->naxes][i];
                cell.counts[i] = (uint32_t)(at & ((UINT32_C(1) << n) - 1));
                cell.sums[i] = cell.counts[i] * cell.ndistinct;
                at >>= n;
        }
        return cell;
}

enum kc_status kc_cells_list(const struct kc_cells *cells, struct kc_joint_cell **list, size_t *n,
                             struct kc_error *err)
{
        size_t nlisted = 0;
        for (size_t i = 0; i < KC_CELLS_NSMALL; i++)
                nlisted += cells->small[i] != 0;
        struct kc_joint_cell *out = malloc((nlisted + cells->nbig + 1) * sizeof *out);
        if (out == NULL)
                return no_memory(err);
        nlisted = 0;
        for (size_t i = 0; i < KC_CELLS_NSMALL; i++)
                if (cells->small[i] != 0)
                        out[nlisted++] = make_small(cells, i);
        for (size_t i = 0; i < cells->big_cap; i++)
                if (cells->big[i].ndistinct != 0)
                        out[nlisted++] = cells->big[i];
        qsort(out, nlisted, sizeof *out, compare_cells);
        *list = out;
        *n = nlisted;
        return KC_OK;
}
