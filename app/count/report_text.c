#include "app/count/count_internal.h"

#include "app/cli/shell.h"
#include "app/cli/size.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- what was read and counted ---- */

static void put_read(struct text_out *out, const struct count *c)
{
        const struct kc_reader_totals *read = &c->counter.read;
        const int min_quality = (int)c->settings->min_quality;
        char number[FORMATTED_NBYTES], note[64] = "", label[64];
        writing_put_number(out, "reads", read->nreads);
        if (read->nskipped > 0)
                snprintf(note, sizeof note, "%s skipped (not A, C, G, T)",
                         format_number(read->nskipped, number));
        writing_put_noted(out, "bases", read->nbases, note);
        if (read->nleft_out > 0)
                writing_put_number(out, "  left out", read->nleft_out);
        if (min_quality == 0)
                return;
        snprintf(label, sizeof label, "  under quality %d", min_quality);
        writing_put_share(out, label, read->nlow_quality, read->nbases);
}

/* Whether a file is left that the user can name. */
static bool leaves_file(const struct count *c)
{
        return c->outputs[0].path != NULL && c->counter.target != KC_COUNTER_NAMELESS;
}

/* Whether the file may lack k-mers that were counted. */
static bool is_filtered(const struct count *c)
{
        const struct kc_store_info *stored = &c->outputs[0].counted->written.info;
        return leaves_file(c) && !count_adds(c) &&
               (stored->min_count > 1 || stored->max_count_kept < UINT32_MAX ||
                stored->only_checksum != 0);
}

static void put_counted(struct text_out *out, const struct count *c)
{
        const struct count_output *o = &c->outputs[0];
        const struct kc_store_info *stored = &o->counted->written.info;
        const uint64_t ndistinct = o->totals->ndistinct;
        char range[RANGE_NBYTES], label[RANGE_NBYTES + 32];
        snprintf(label, sizeof label, "%d-mers", o->k);
        writing_put_number(out, label, o->totals->nkmers);
        writing_put_number(out, "  distinct", ndistinct);
        writing_put_share(out, "  seen once", o->counted->written.nunique, ndistinct);
        if (is_filtered(c)) {
                format_range(stored->min_count, stored->max_count_kept, range);
                snprintf(label, sizeof label, "  kept (%s%s)", range,
                         stored->only_checksum != 0 ? ", --only" : "");
                writing_put_share(out, label, stored->ndistinct, ndistinct);
        }
        if (o->totals->nsaturated > 0)
                writing_put_number(out, "  lost to saturation", o->totals->nsaturated);
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

static void add_titles(struct table *t, bool filtered)
{
        add_cell(t, "k");
        add_cell(t, "k-mers");
        add_cell(t, "distinct");
        add_cell(t, "seen once");
        if (filtered)
                add_cell(t, "kept");
        add_cell(t, "size");
}

static void add_row(struct table *t, const struct count_output *o, bool filtered)
{
        char size[FORMATTED_NBYTES];
        t->nrows++;
        t->ncolumns = 0;
        add_number(t, (uint64_t)o->k);
        add_number(t, o->totals->nkmers);
        add_number(t, o->totals->ndistinct);
        add_share(t, o->counted->written.nunique, o->totals->ndistinct);
        if (filtered)
                add_share(t, o->counted->written.info.ndistinct, o->totals->ndistinct);
        add_cell(t, format_size(o->counted->written.info.file_nbytes, size));
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

static void put_table(struct text_out *out, const struct count *c)
{
        struct table t = { 0 };
        add_titles(&t, is_filtered(c));
        for (int i = 0; i < c->noutputs; i++)
                add_row(&t, &c->outputs[i], is_filtered(c));
        text_out_puts(out, "\n");
        put_row(out, &t, 0, "file");
        for (int i = 0; i < c->noutputs; i++)
                put_row(out, &t, i + 1, c->outputs[i].path);
        for (int i = 0; i < c->noutputs; i++) {
                const struct count_output *o = &c->outputs[i];
                char label[64];
                snprintf(label, sizeof label, "%d-mers lost to saturation", o->k);
                if (o->totals->nsaturated > 0)
                        writing_put_number(out, label, o->totals->nsaturated);
        }
}

/* ---- devices and ranks ---- */

/* Prints nothing unless the device made several passes or did not hold all reads. */
static void put_passes(struct text_out *out, const struct kc_gpu_report *gpu)
{
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
static void put_parts(struct text_out *out, const struct kc_gpu_report *gpu)
{
        for (int i = 0; i < gpu->nparts && gpu->nparts > 1; i++) {
                const struct kc_gpu_part_report *part = &gpu->parts[i];
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

/* The beginning of a line about one of several k. */
static void put_k(struct text_out *out, const struct count *c, int i)
{
        if (c->noutputs > 1)
                text_out_printf(out, "k = %d: ", c->outputs[i].k);
}

/* What the device did for output i. */
static void put_device(struct text_out *out, const struct count *c, int i)
{
        const struct device_choice *device = &c->writing.device;
        const struct kc_gpu_report *gpu = &c->counter.reports[i];
        char name[DEVICE_NAME_NBYTES], peak[FORMATTED_NBYTES];
        if (!device->cuda)
                return;
        put_k(out, c, i);
        text_out_printf(out, "counted on %s, table %s, %s of device memory\n",
                        device_name(device, name), device->table_name,
                        format_size(gpu->peak_nbytes, peak));
        if (i == 0)
                device_put_left_out(out, device);
        put_passes(out, gpu);
        put_parts(out, gpu);
}

static void put_ranks(struct text_out *out, const struct count *c, int i)
{
        const int nwaiting = ranks_nwaiting(c->ranks);
        for (int j = 0; j < count_nreports(c); j++) {
                const struct rank_report *r = &c->reports[j];
                char bases[FORMATTED_NBYTES], kmers[FORMATTED_NBYTES], sent[FORMATTED_NBYTES];
                char taken[FORMATTED_NBYTES];
                put_k(out, c, i);
                text_out_printf(out,
                                "rank %d on %s read %s bases, sent %s, received %s, counted %s "
                                "distinct k-mers\n",
                                r->rank, r->host, format_number(r->read.nbases, bases),
                                format_size(r->nsent, sent), format_size(r->ntaken, taken),
                                format_number(r->ncounted[i], kmers));
        }
        if (i == 0 && nwaiting > 0)
                text_out_printf(out, "%d other process%s waited: one process %s of a machine\n",
                                nwaiting, nwaiting == 1 ? "" : "es",
                                c->writing.device.cuda ? "drives all devices"
                                                       : "uses all processors");
}

/* ---- the files ---- */

static void put_output(struct text_out *out, const struct count *c)
{
        const struct count_output *o = &c->outputs[0];
        char size[FORMATTED_NBYTES];
        format_size(o->counted->written.info.file_nbytes, size);
        if (count_adds(c))
                text_out_printf(out, "added to %s, now %u runs, %s\n", o->path,
                                o->counted->written.info.nruns, size);
        else
                text_out_printf(out, "wrote %s, %s\n", o->path, size);
}

static void put_exports(struct text_out *out, const struct exporting_files *exports)
{
        for (size_t i = 0; i < exports->n; i++)
                text_out_printf(out, "%s%s", i == 0 ? "exported to " : ", ", exports->paths[i]);
        if (exports->n > 0)
                text_out_puts(out, "\n");
}

/* ---- the last lines ---- */

/* On a device, the file of kept reads serves all k. */
static uint64_t spilled_nbytes(const struct count *c)
{
        const uint64_t shared = c->writing.device.cuda ? c->counter.reports[0].kept_file_nbytes : 0;
        uint64_t nbytes = shared;
        for (int i = 0; i < c->noutputs; i++)
                nbytes += c->outputs[i].totals->spilled_nbytes - shared;
        return nbytes;
}

static void put_costs(struct text_out *out, const struct count *c)
{
        struct writing_costs costs = { .spilled_nbytes =
                                               c->settings->reader_only ? 0 : spilled_nbytes(c),
                                       .nprocesses = count_nreports(c) };
        for (int i = 0; i < costs.nprocesses; i++)
                if (c->reports[i].peak_nbytes > costs.most_nbytes)
                        costs.most_nbytes = c->reports[i].peak_nbytes;
        writing_put_costs(out, &c->writing, &costs);
}

/* Only for a person at a terminal. */
static void put_next(struct text_out *out, const struct count *c)
{
        const char *output = c->outputs[0].path;
        char name[SHELL_LINE_NBYTES];
        if (leaves_file(c) && !count_adds(c) && isatty(out->fd))
                text_out_printf(out, "next: kcount hist --plot %s%s\n",
                                strchr("-@", *output) ? "./" : "", shell_word(output, name));
}

static void put_results(struct text_out *out, const struct count *c)
{
        const bool several = c->noutputs > 1;
        if (several)
                put_table(out, c);
        else
                put_counted(out, c);
        for (int i = 0; i < c->noutputs; i++) {
                put_device(out, c, i);
                put_ranks(out, c, i);
        }
        if (!leaves_file(c))
                return;
        if (!several)
                put_output(out, c);
        for (int i = 0; i < c->noutputs; i++)
                put_exports(out, &c->outputs[i].exports);
}

void count_put_text(const void *ctx, struct text_out *out)
{
        const struct count *c = ctx;
        put_read(out, c);
        if (!c->settings->reader_only)
                put_results(out, c);
        put_costs(out, c);
        if (!c->settings->reader_only)
                put_next(out, c);
}
