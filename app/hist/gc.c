#include "app/hist/gc.h"

#include "app/hist/matrix.h"

#include <inttypes.h>
#include <stdlib.h>

void gc_select(struct gc_histogram *h, uint64_t min, uint64_t max, uint64_t last)
{
        size_t n = 0;
        for (size_t i = 0; i < h->ncells; i++) {
                struct kcount_gc_cell cell = h->cells[i];
                if (cell.count < min || cell.count > max)
                        continue;
                if (cell.count > last)
                        cell.count = (uint32_t)last;
                struct kcount_gc_cell *previous = n > 0 ? &h->cells[n - 1] : NULL;
                if (previous != NULL && previous->gc == cell.gc && previous->count == cell.count) {
                        previous->number += cell.number;
                        previous->total += cell.total;
                } else {
                        h->cells[n++] = cell;
                }
        }
        h->ncells = n;
}

void gc_put_table(struct text_out *out, const struct gc_histogram *h)
{
        text_out_puts(out, "gc\tcount\tdistinct\tsum\n");
        for (size_t i = 0; i < h->ncells && text_out_status(out, NULL) == KC_OK; i++)
                text_out_printf(out, "%" PRIu32 "\t%" PRIu32 "\t%" PRIu64 "\t%" PRIu64 "\n",
                                h->cells[i].gc, h->cells[i].count, h->cells[i].number,
                                h->cells[i].total);
}

enum kc_status gc_put_matrix(struct text_out *out, const struct gc_histogram *h, uint32_t last,
                             struct kc_error *err)
{
        struct matrix_cell *cells = malloc((h->ncells + 1) * sizeof *cells);
        if (cells == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for a matrix");
        for (size_t i = 0; i < h->ncells; i++)
                cells[i] = (struct matrix_cell){ .row = h->cells[i].gc,
                                                 .column = h->cells[i].count,
                                                 .value = h->cells[i].number };
        const struct matrix matrix = { .k = h->k,
                                       .inputs = { h->file },
                                       .nrows = (uint32_t)h->k + 1,
                                       .ncolumns = last + 1,
                                       .cells = cells,
                                       .ncells = h->ncells };
        const enum kc_status status = matrix_put(out, &matrix, err);
        free(cells);
        return status;
}

void gc_put_json(struct json *json, const struct gc_histogram *h)
{
        static const char *const columns[] = { "gc", "count", "distinct", "sum" };
        json_strings(json, "columns", columns, 4);
        json_begin(json, "rows", '[');
        for (size_t i = 0; i < h->ncells && text_out_status(json->out, NULL) == KC_OK; i++) {
                const struct kcount_gc_cell *c = &h->cells[i];
                const uint64_t row[] = { c->gc, c->count, c->number, c->total };
                json_numbers(json, NULL, row, 4);
        }
        json_end(json, ']');
}
