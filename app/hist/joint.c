#include "app/hist/joint.h"

#include "app/hist/matrix.h"

#include <inttypes.h>
#include <stdlib.h>

struct joint_totals joint_add_up(const struct joint_histogram *h)
{
        struct joint_totals t = { 0 };
        for (size_t c = 0; c < h->ncells; c++) {
                const struct kc_joint_cell *cell = &h->cells[c];
                size_t nfiles = 0, last = 0;
                for (size_t i = 0; i < h->nfiles; i++)
                        if (cell->counts[i] > 0) {
                                t.in[i] += cell->ndistinct;
                                nfiles++;
                                last = i;
                        }
                t.in_any += cell->ndistinct;
                t.in_all += nfiles == h->nfiles ? cell->ndistinct : 0;
                t.only_in[last] += nfiles == 1 ? cell->ndistinct : 0;
        }
        return t;
}

void joint_put_table(struct text_out *out, const struct joint_histogram *h)
{
        for (size_t i = 0; i < h->nfiles; i++)
                text_out_printf(out, "count_%c\t", 'a' + (int)i);
        text_out_puts(out, "distinct");
        for (size_t i = 0; i < h->nfiles; i++)
                text_out_printf(out, "\tsum_%c", 'a' + (int)i);
        text_out_puts(out, "\n");
        for (size_t c = 0; c < h->ncells && text_out_status(out, NULL) == KC_OK; c++) {
                const struct kc_joint_cell *cell = &h->cells[c];
                for (size_t i = 0; i < h->nfiles; i++)
                        text_out_printf(out, "%" PRIu32 "\t", cell->counts[i]);
                text_out_printf(out, "%" PRIu64, cell->ndistinct);
                for (size_t i = 0; i < h->nfiles; i++)
                        text_out_printf(out, "\t%" PRIu64, cell->sums[i]);
                text_out_puts(out, "\n");
        }
}

enum kc_status joint_put_matrix(struct text_out *out, const struct joint_histogram *h,
                                struct kc_error *err)
{
        struct matrix_cell *cells = malloc((h->ncells + 1) * sizeof *cells);
        if (cells == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for a matrix");
        for (size_t i = 0; i < h->ncells; i++)
                cells[i] = (struct matrix_cell){ .row = h->cells[i].counts[0],
                                                 .column = h->cells[i].counts[1],
                                                 .value = h->cells[i].ndistinct };
        const struct matrix matrix = { .k = h->k,
                                       .inputs = { h->files[0], h->files[1] },
                                       .nrows = h->most[0] + 1,
                                       .ncolumns = h->most[1] + 1,
                                       .cells = cells,
                                       .ncells = h->ncells };
        const enum kc_status status = matrix_put(out, &matrix, err);
        free(cells);
        return status;
}

static void put_columns(struct json *json, const struct joint_histogram *h)
{
        static const char *const counts[] = { "count_a", "count_b", "count_c" };
        static const char *const sums[] = { "sum_a", "sum_b", "sum_c" };
        json_begin(json, "columns", '[');
        for (size_t i = 0; i < h->nfiles; i++)
                json_string(json, NULL, counts[i]);
        json_string(json, NULL, "distinct");
        for (size_t i = 0; i < h->nfiles; i++)
                json_string(json, NULL, sums[i]);
        json_end(json, ']');
}

static void put_row(struct json *json, const struct kc_joint_cell *cell, size_t nfiles)
{
        uint64_t row[2 * KC_JOINT_MAX_FILES + 1];
        for (size_t i = 0; i < nfiles; i++) {
                row[i] = cell->counts[i];
                row[nfiles + 1 + i] = cell->sums[i];
        }
        row[nfiles] = cell->ndistinct;
        json_numbers(json, NULL, row, 2 * nfiles + 1);
}

void joint_put_json(struct json *json, const struct joint_histogram *h)
{
        put_columns(json, h);
        json_begin(json, "rows", '[');
        for (size_t c = 0; c < h->ncells && text_out_status(json->out, NULL) == KC_OK; c++)
                put_row(json, &h->cells[c], h->nfiles);
        json_end(json, ']');
}
