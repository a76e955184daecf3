#include "app/report/numbers.h"

#include <stdlib.h>

/* ---- spectra ---- */

/* The row for this count, which is that of the last row or a greater one. There must be room. */
static struct numbers_row *row_of(struct numbers_spectrum *spectrum, uint32_t count)
{
        if (spectrum->nrows == 0 || spectrum->rows[spectrum->nrows - 1].count != count)
                spectrum->rows[spectrum->nrows++] = (struct numbers_row){ .count = count };
        return &spectrum->rows[spectrum->nrows - 1];
}

/* How many rows the cells make at most. */
static size_t count_rows(const struct kc_joint_cell *cells, size_t ncells)
{
        size_t n = 0;
        for (size_t i = 0; i < ncells; i++)
                n += i == 0 || cells[i].counts[0] != cells[i - 1].counts[0];
        return n;
}

static enum kc_status reserve(struct numbers_spectrum *spectrum, size_t nrows, struct kc_error *err)
{
        spectrum->rows = malloc((nrows + 1) * sizeof *spectrum->rows);
        return spectrum->rows != NULL ? KC_OK
                                      : kc_fail(err, KC_ENOMEM, "out of memory for spectra");
}

/* ---- sums ---- */

/* Add a cell of k-mers that the assembly has `copies` times, in all `sum` times. */
static void add_cell(struct numbers *n, const struct kc_joint_cell *cell, uint64_t copies,
                     uint64_t sum)
{
        const size_t column = copies < NUMBERS_NCOPIES ? (size_t)copies : NUMBERS_NCOPIES - 1;
        n->quality.nkmers += sum;
        if (cell->counts[0] == 0) {
                n->quality.nabsent += sum;
                n->ndistinct_absent += copies > 0 ? cell->ndistinct : 0;
        }
        if (cell->counts[0] > 0 || copies > 0)
                row_of(&n->copies, cell->counts[0])->kmers[column] += cell->ndistinct;
}

static enum numbers_holder holder_of(const struct kc_joint_cell *cell, size_t nassemblies)
{
        const bool first = cell->counts[1] > 0, second = nassemblies > 1 && cell->counts[2] > 0;
        if (first && second)
                return NUMBERS_BOTH;
        return first ? NUMBERS_FIRST_ONLY : second ? NUMBERS_SECOND_ONLY : NUMBERS_NEITHER;
}

static void add_to_all(struct numbers_of_assemblies *numbers, const struct kc_joint_cell *cell)
{
        const size_t n = numbers->nassemblies;
        uint64_t copies = 0, sum = 0;
        for (size_t i = 0; i < n; i++) {
                add_cell(&numbers->each[i], cell, cell->counts[i + 1], cell->sums[i + 1]);
                copies += cell->counts[i + 1];
                sum += cell->sums[i + 1];
        }
        if (n > 1)
                add_cell(&numbers->both, cell, copies, sum);
        row_of(&numbers->holders, cell->counts[0])->kmers[holder_of(cell, n)] += cell->ndistinct;
}

enum kc_status numbers_add_up(struct numbers_of_assemblies *numbers,
                              const struct kc_joint_cell *cells, size_t ncells, size_t nassemblies,
                              struct kc_error *err)
{
        const size_t nrows = count_rows(cells, ncells);
        enum kc_status status = KC_OK;
        *numbers = (struct numbers_of_assemblies){ .nassemblies = nassemblies };
        for (size_t i = 0; i < nassemblies; i++)
                KC_TRY(reserve(&numbers->each[i].copies, nrows, err));
        KC_TRY(reserve(&numbers->both.copies, nrows, err));
        KC_TRY(reserve(&numbers->holders, nrows, err));
        for (size_t i = 0; i < ncells; i++)
                add_to_all(numbers, &cells[i]);
out:
        return status;
}

void numbers_free(struct numbers_of_assemblies *numbers)
{
        for (size_t i = 0; i < NUMBERS_MAX_ASSEMBLIES; i++)
                free(numbers->each[i].copies.rows);
        free(numbers->both.copies.rows);
        free(numbers->holders.rows);
}

struct numbers_completeness numbers_complete(const struct numbers *numbers, uint64_t threshold)
{
        struct numbers_completeness c = { .threshold = threshold };
        for (size_t i = 0; i < numbers->copies.nrows; i++) {
                const struct numbers_row *row = &numbers->copies.rows[i];
                uint64_t found = 0;
                if (row->count < threshold)
                        continue;
                for (size_t copies = 1; copies < NUMBERS_NCOPIES; copies++)
                        found += row->kmers[copies];
                c.nfound += found;
                c.nsolid += found + row->kmers[0];
                c.nfound_instances += row->count * found;
                c.nsolid_instances += row->count * (found + row->kmers[0]);
        }
        return c;
}

const struct numbers *numbers_whole(const struct numbers_of_assemblies *numbers)
{
        return numbers->nassemblies > 1 ? &numbers->both : &numbers->each[0];
}
