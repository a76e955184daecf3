#include "app/count/summary.h"

#include "app/cli/shell.h"
#include "app/cli/size.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- what was read and counted ---- */

static void put_read(struct text_out *out, const struct summary *s)
{
        char number[FORMATTED_NBYTES], note[64] = "", label[64];
        writing_put_number(out, "reads", s->read.nreads);
        if (s->read.nskipped > 0)
                snprintf(note, sizeof note, "%s skipped (not A, C, G, T)",
                         format_number(s->read.nskipped, number));
        writing_put_noted(out, "bases", s->read.nbases, note);
        if (s->min_quality == 0)
                return;
        snprintf(label, sizeof label, "  under quality %d", s->min_quality);
        writing_put_share(out, label, s->read.nlow_quality, s->read.nbases);
}

/* Whether the file may lack k-mers that were counted. */
static bool is_filtered(const struct summary *s)
{
        return s->output != NULL && !s->adds &&
               (s->stored.min_count > 1 || s->stored.max_count_kept < UINT32_MAX);
}

static void put_counted(struct text_out *out, const struct summary *s)
{
        const uint64_t ndistinct = s->counted.ndistinct;
        char range[RANGE_NBYTES], label[RANGE_NBYTES + 16];
        snprintf(label, sizeof label, "%d-mers", s->stored.k);
        writing_put_number(out, label, s->counted.nkmers);
        writing_put_number(out, "  distinct", ndistinct);
        writing_put_share(out, "  seen once", s->nunique, ndistinct);
        if (is_filtered(s)) {
                format_range(s->stored.min_count, s->stored.max_count_kept, range);
                snprintf(label, sizeof label, "  kept (%s)", range);
                writing_put_share(out, label, s->stored.ndistinct, ndistinct);
        }
        if (s->counted.nsaturated > 0)
                writing_put_number(out, "  lost to saturation", s->counted.nsaturated);
}

/* ---- several k: a table ---- */

enum { MOST_COLUMNS = 6, CELL_NBYTES = 2 * FORMATTED_NBYTES };

struct table {
        char cells[1 + OPTION_NUMBERS_MAX][MOST_COLUMNS][CELL_NBYTES]; /* a row of titles first */
        int nrows, ncolumns;
};

static void add_cell(struct table *t, const char *text)
{
        snprintf(t->cells[t->nrows][t->ncolumns++], CELL_NBYTES, "%s", text);
}

static void add_number(struct table *t, uint64_t number)
{
        char text[FORMATTED_NBYTES];
        add_cell(t, format_number(number, text));
}

static void add_share(struct table *t, uint64_t part, uint64_t whole)
{
        char number[FORMATTED_NBYTES], share[FORMATTED_NBYTES], both[CELL_NBYTES];
        snprintf(both, sizeof both, "%s %5s", format_number(part, number),
                 format_share(part, whole, share));
        add_cell(t, both);
}

static void add_titles(struct table *t, const struct summary *s)
{
        add_cell(t, "k");
        add_cell(t, "k-mers");
        add_cell(t, "distinct");
        add_cell(t, "seen once");
        if (is_filtered(s))
                add_cell(t, "kept");
        add_cell(t, "size");
}

static void add_row(struct table *t, const struct summary *s)
{
        char size[FORMATTED_NBYTES];
        t->nrows++;
        t->ncolumns = 0;
        add_number(t, (uint64_t)s->stored.k);
        add_number(t, s->counted.nkmers);
        add_number(t, s->counted.ndistinct);
        add_share(t, s->nunique, s->counted.ndistinct);
        if (is_filtered(s))
                add_share(t, s->stored.ndistinct, s->counted.ndistinct);
        add_cell(t, format_size(s->stored.file_nbytes, size));
}

static int width_of(const struct table *t, int column)
{
        size_t width = 0;
        for (int i = 0; i <= t->nrows; i++) {
                const size_t n = strlen(t->cells[i][column]);
                width = n > width ? n : width;
        }
        return (int)width;
}

/* A row, and the name of its file, which comes last because it may be long. */
static void put_row(struct text_out *out, const struct table *t, int row, const char *file)
{
        for (int i = 0; i < t->ncolumns; i++)
                text_out_printf(out, "  %*s", width_of(t, i), t->cells[row][i]);
        text_out_printf(out, "  %s\n", file);
}

static void put_table(struct text_out *out, const struct summaries *all)
{
        struct table t = { 0 };
        add_titles(&t, all->items);
        for (size_t i = 0; i < all->n; i++)
                add_row(&t, &all->items[i]);
        text_out_puts(out, "\n");
        put_row(out, &t, 0, "file");
        for (size_t i = 0; i < all->n; i++)
                put_row(out, &t, (int)i + 1, all->items[i].output);
        for (size_t i = 0; i < all->n; i++) {
                const struct summary *s = &all->items[i];
                char label[64];
                snprintf(label, sizeof label, "%d-mers lost to saturation", s->stored.k);
                if (s->counted.nsaturated > 0)
                        writing_put_number(out, label, s->counted.nsaturated);
        }
}

/* ---- devices and ranks ---- */

/* Prints nothing unless the device made several passes or did not hold all reads. */
static void put_passes(struct text_out *out, const struct summary *s)
{
        const struct kc_gpu_report *gpu = &s->gpu;
        char device[FORMATTED_NBYTES], memory[FORMATTED_NBYTES], files[FORMATTED_NBYTES];
        if (gpu->npasses <= 1 && gpu->kept_host_nbytes == 0 && gpu->kept_file_nbytes == 0)
                return;
        text_out_printf(out,
                        "counted in %llu pass%s; reads kept: %s on the device, %s in memory, %s in "
                        "files\n",
                        (unsigned long long)gpu->npasses, gpu->npasses == 1 ? "" : "es",
                        format_size(gpu->kept_device_nbytes, device),
                        format_size(gpu->kept_host_nbytes, memory),
                        format_size(gpu->kept_file_nbytes, files));
}

/* Prints nothing unless several devices counted. */
static void put_parts(struct text_out *out, const struct summary *s)
{
        for (int i = 0; i < s->gpu.nparts && s->gpu.nparts > 1; i++) {
                const struct kc_gpu_part_report *part = &s->gpu.parts[i];
                char peak[FORMATTED_NBYTES], text[FORMATTED_NBYTES], reads[FORMATTED_NBYTES],
                        runs[FORMATTED_NBYTES], kmers[FORMATTED_NBYTES];
                text_out_printf(out, "cuda:%d counted %s k-mers, %s of device memory", part->device,
                                format_number(part->nkmers, kmers),
                                format_size(part->peak_nbytes, peak));
                if (part->text_nbytes > 0)
                        text_out_printf(out, ", parsed %s", format_size(part->text_nbytes, text));
                if (i > 0 || part->reads_nbytes > 0)
                        text_out_printf(out, "; it received %s of reads and sent %s of runs",
                                        format_size(part->reads_nbytes, reads),
                                        format_size(part->runs_nbytes, runs));
                text_out_puts(out, "\n");
        }
}

static void put_device(struct text_out *out, const struct summary *s, bool one_of_several)
{
        char device[DEVICE_NAME_NBYTES], peak[FORMATTED_NBYTES];
        if (!s->device.cuda)
                return;
        if (one_of_several)
                text_out_printf(out, "k = %d: ", s->stored.k);
        text_out_printf(out, "counted on %s, table %s, %s of device memory\n",
                        device_name(&s->device, device), s->device.table_name,
                        format_size(s->gpu.peak_nbytes, peak));
        put_passes(out, s);
        put_parts(out, s);
}

static void put_ranks(struct text_out *out, const struct summary *s, bool one_of_several)
{
        for (int i = 0; i < s->nranks; i++) {
                const struct rank_report *rank = &s->ranks[i];
                char bases[FORMATTED_NBYTES], kmers[FORMATTED_NBYTES], sent[FORMATTED_NBYTES];
                char taken[FORMATTED_NBYTES];
                if (one_of_several)
                        text_out_printf(out, "k = %d: ", s->stored.k);
                text_out_printf(out,
                                "rank %d on %s read %s bases, sent %s, received %s, counted %s "
                                "distinct k-mers\n",
                                i, rank->host, format_number(rank->read.nbases, bases),
                                format_size(rank->nsent, sent), format_size(rank->ntaken, taken),
                                format_number(rank->ncounted[s->number], kmers));
        }
}

/* ---- the files ---- */

static void put_output(struct text_out *out, const struct summary *s)
{
        char size[FORMATTED_NBYTES];
        format_size(s->stored.file_nbytes, size);
        if (s->adds)
                text_out_printf(out, "added to %s, now %u runs, %s\n", s->output, s->stored.nruns,
                                size);
        else
                text_out_printf(out, "wrote %s, %s\n", s->output, size);
}

static void put_exports(struct text_out *out, const struct summary *s)
{
        for (size_t i = 0; i < s->exports->n; i++)
                text_out_printf(out, "%s%s", i == 0 ? "exported to " : ", ", s->exports->paths[i]);
        if (s->exports->n > 0)
                text_out_puts(out, "\n");
}

/* ---- the last lines ---- */

/* On a device, the file of kept reads serves all k. */
static uint64_t spilled_nbytes(const struct summaries *all)
{
        const struct summary *first = all->items;
        const uint64_t shared = first->device.cuda ? first->gpu.kept_file_nbytes : 0;
        uint64_t nbytes = shared;
        for (size_t i = 0; i < all->n; i++)
                nbytes += all->items[i].counted.spilled_nbytes - shared;
        return nbytes;
}

static void put_costs(struct text_out *out, const struct summaries *all)
{
        const struct summary *s = all->items;
        struct writing_costs costs = { .peak_nbytes = s->peak_nbytes,
                                       .spilled_nbytes = s->reader_only ? 0 : spilled_nbytes(all),
                                       .nprocesses = s->nranks };
        for (int i = 0; i < s->nranks; i++)
                if (s->ranks[i].peak_nbytes > costs.peak_nbytes)
                        costs.peak_nbytes = s->ranks[i].peak_nbytes;
        writing_put_costs(out, s->writing, &costs);
}

/* Only for a person at a terminal. */
static void put_next(struct text_out *out, const struct summary *s)
{
        char name[SHELL_LINE_NBYTES];
        if (s->output == NULL || s->adds || !isatty(out->fd))
                return;
        text_out_printf(out, "next: kcount hist --plot %s%s\n",
                        strchr("-@", *s->output) ? "./" : "", shell_word(s->output, name));
}

static void put_results(struct text_out *out, const struct summaries *all)
{
        const bool several = all->n > 1;
        if (several)
                put_table(out, all);
        else
                put_counted(out, all->items);
        for (size_t i = 0; i < all->n; i++) {
                put_device(out, &all->items[i], several);
                put_ranks(out, &all->items[i], several);
        }
        if (all->items->output == NULL)
                return;
        if (!several)
                put_output(out, all->items);
        for (size_t i = 0; i < all->n; i++)
                put_exports(out, &all->items[i]);
}

void summary_put_text(const void *ctx, struct text_out *out)
{
        const struct summaries *all = ctx;
        put_read(out, all->items);
        if (!all->items->reader_only)
                put_results(out, all);
        put_costs(out, all);
        if (!all->items->reader_only)
                put_next(out, all->items);
}
