#include "app/hist/matrix.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static uint32_t at_most(uint32_t number, uint32_t most)
{
        return number < most ? number : most;
}

/* Add the cells of a row, the first of which is *next, to the columns, and go to the next row. */
static void add_row(const struct matrix *m, uint32_t row, size_t *next, uint64_t *columns)
{
        memset(columns, 0, m->ncolumns * sizeof *columns);
        for (; *next < m->ncells && at_most(m->cells[*next].row, m->nrows - 1) == row; ++*next)
                columns[at_most(m->cells[*next].column, m->ncolumns - 1)] += m->cells[*next].value;
}

static uint64_t find_greatest(const struct matrix *m, uint64_t *columns)
{
        uint64_t greatest = 0;
        size_t next = 0;
        for (uint32_t row = 0; row < m->nrows; row++) {
                add_row(m, row, &next, columns);
                for (uint32_t c = 0; c < m->ncolumns; c++)
                        greatest = columns[c] > greatest ? columns[c] : greatest;
        }
        return greatest;
}

static const char *base_of(const char *path)
{
        const char *slash = strrchr(path, '/');
        return slash != NULL ? slash + 1 : path;
}

/* The lines with which KAT's comp or gcp begins its matrix. */
static void put_header(struct text_out *out, const struct matrix *m, uint64_t greatest)
{
        const char *const *in = m->inputs;
        if (in[1] != NULL)
                text_out_printf(out,
                                "# Title:K-mer comparison plot\n"
                                "# XLabel:%d-mer frequency for: %s\n"
                                "# YLabel:%d-mer frequency for: %s\n",
                                m->k, base_of(in[0]), m->k, base_of(in[1]));
        else
                text_out_printf(out,
                                "# Title:K-mer coverage vs GC count plot for: %s\n"
                                "# XLabel:%d-mer frequency\n"
                                "# YLabel:GC count\n",
                                base_of(in[0]), m->k);
        text_out_printf(out,
                        "# ZLabel:# distinct %d-mers\n# Columns:%" PRIu32 "\n# Rows:%" PRIu32
                        "\n# MaxVal:%" PRIu64 "\n# Transpose:%d\n# Kmer value:%d\n# Input 1:%s\n",
                        m->k, m->ncolumns, m->nrows, greatest, in[1] != NULL, m->k, in[0]);
        if (in[1] != NULL)
                text_out_printf(out, "# Input 2:%s\n", in[1]);
        text_out_puts(out, "###\n");
}

static void put_row(struct text_out *out, const uint64_t *columns, uint32_t ncolumns)
{
        for (uint32_t c = 0; c < ncolumns; c++) {
                const char *space = c > 0 ? " " : "";
                if (columns[c] == 0) /* nearly all of them */
                        text_out_puts(out, c > 0 ? " 0" : "0");
                else
                        text_out_printf(out, "%s%" PRIu64, space, columns[c]);
        }
        text_out_puts(out, "\n");
}

enum kc_status matrix_put(struct text_out *out, const struct matrix *m, struct kc_error *err)
{
        uint64_t *columns = malloc(m->ncolumns * sizeof *columns);
        size_t next = 0;
        if (columns == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for a matrix");
        put_header(out, m, find_greatest(m, columns));
        for (uint32_t row = 0; row < m->nrows && text_out_status(out, NULL) == KC_OK; row++) {
                add_row(m, row, &next, columns);
                put_row(out, columns, m->ncolumns);
        }
        free(columns);
        return KC_OK;
}
