/*
 * kcount compare: how many distinct k-mers have which counts in two or three .kc files.
 */
#include "app/cli/command.h"
#include "app/cli/file_check.h"
#include "app/cli/size.h"
#include "app/hist/joint.h"
#include "app/hist/matrix.h"
#include "app/library/same_file.h"
#include "app/store/dumping.h"
#include "app/store/stores.h"

#include <stdlib.h>
#include <string.h>

enum { FORMAT_TSV = 1, FORMAT_KAT };

struct compare_settings {
        struct dumping_settings common;
        const char *max_count, *device, *gpu_trace;
        uint64_t gpu_memory_nbytes, gpu_batch_nkmers;
        int format; /* 0: not given */
};

struct compare_command {
        const struct compare_settings *settings;
        const char *path; /* NULL: standard output */
        struct kc_store *stores[KC_JOINT_MAX_FILES];
        struct kc_store_info info; /* of the first */
        uint64_t nread;            /* k-mers of all */
        struct joint_histogram joint;
        struct joint_totals totals;
        struct writing writing;
        struct text_out *out;
};

/* ---- options ---- */

/* Parse one number of the list, which ends at a comma or with the text, and return its end; NULL if
 * it is not a number up to `most`. */
static const char *parse_bound(const char *text, uint64_t most, uint32_t *bound)
{
        char digits[16];
        const size_t n = strcspn(text, ",");
        uint64_t number;
        if (n >= sizeof digits)
                return NULL;
        memcpy(digits, text, n);
        digits[n] = '\0';
        if (!parse_number(digits, &number) || number > most)
                return NULL;
        *bound = (uint32_t)number;
        return text + n;
}

static enum kc_status parse_bounds(const char *text, size_t nfiles, uint64_t most, uint32_t *bounds,
                                   struct kc_error *err)
{
        const char *at = text;
        size_t n = 0;
        for (;;) {
                at = n < nfiles ? parse_bound(at, most, &bounds[n++]) : NULL;
                if (at == NULL || *at == '\0')
                        break;
                at++;
        }
        if (at != NULL && n == 1)
                for (; n < nfiles; n++)
                        bounds[n] = bounds[0];
        if (at == NULL || n != nfiles)
                return kc_fail(err, KC_EUSAGE,
                               "--max-count %s: give one number from 0 to %llu for all files, or "
                               "%zu with commas between them",
                               text, (unsigned long long)most, nfiles);
        return KC_OK;
}

/* The bounds of a matrix, which must have some. */
static enum kc_status set_bounds(struct compare_command *c, struct kc_error *err)
{
        const bool is_matrix = c->settings->format == FORMAT_KAT;
        const char *text = c->settings->max_count;
        struct joint_histogram *h = &c->joint;
        if (text != NULL)
                return parse_bounds(text, h->nfiles, is_matrix ? MATRIX_MOST : UINT32_MAX - 1,
                                    h->most, err);
        for (size_t i = 0; is_matrix && i < h->nfiles; i++)
                h->most[i] = MATRIX_LAST;
        return KC_OK;
}

static enum kc_status check_options(struct compare_command *c, struct kc_error *err)
{
        const struct compare_settings *s = c->settings;
        enum kc_status status;
        KC_TRY(device_check(s->device, 0, DEVICE_COMPARES, err));
        KC_TRY(set_bounds(c, err));
        if (s->format != FORMAT_KAT)
                return KC_OK;
        if (c->joint.nfiles != 2)
                return kc_fail(err, KC_EUSAGE,
                               "--format kat is a matrix of two files; leave one of the three out");
        for (size_t i = 0; i < c->joint.nfiles; i++)
                if (c->joint.most[i] == 0)
                        return kc_fail(err, KC_EUSAGE,
                                       "--format kat prints all rows and columns: --max-count must "
                                       "be at least 1");
        if (s->common.common.json && c->path == NULL)
                return kc_fail(err, KC_EUSAGE,
                               "--format kat and --json both print on standard output: name a file "
                               "for the matrix with -o");
out:
        return status;
}

static enum kc_status check_outputs(const struct compare_command *c, struct kc_error *err)
{
        const struct compare_settings *s = c->settings;
        const char *const outputs[] = { s->gpu_trace, c->path };
        const size_t noutputs = c->path != NULL ? 2 : 1;
        enum kc_status status;
        KC_TRY(dumping_check(&s->common, c->joint.files, c->joint.nfiles, err));
        if (s->gpu_trace != NULL)
                KC_TRY(kc_output_check_files(outputs, noutputs, c->joint.files, c->joint.nfiles,
                                             err));
out:
        return status;
}

static enum kc_status choose_device(struct compare_command *c, struct kc_error *err)
{
        struct writing *w = &c->writing;
        enum { LEAST = 60 << 20 }; /* docs/dev/notes/gpu.md */
        const char *device = device_if_worth(c->settings->device, c->nread, w->nthreads, LEAST);
        return device_choose(&w->device, device, 0, c->info.k, DEVICE_COMPARES, err);
}

static enum kc_status open_all(struct compare_command *c, struct kc_error *err)
{
        enum kc_status status;
        struct kc_store_info info;
        KC_TRY(check_outputs(c, err));
        for (size_t i = 0; i < c->joint.nfiles; i++) {
                KC_TRY(stores_open(&c->stores[i], c->joint.files[i], err));
                kc_store_get_info(c->stores[i], &info);
                stores_warn_absent(&info, c->joint.files[i]);
                c->nread += info.ndistinct;
        }
        kc_store_get_info(c->stores[0], &c->info);
        c->joint.k = c->info.k;
        KC_TRY(choose_device(c, err));
out:
        return status;
}

/* ---- work and reports ---- */

/* Whether JSON takes the place of the table. */
static bool prints_json(const struct compare_command *c)
{
        return c->settings->common.common.json && c->path == NULL;
}

static void put_json_totals(const struct compare_command *c, struct json *json)
{
        const struct joint_totals *t = &c->totals;
        json_strings(json, "files", c->joint.files, c->joint.nfiles);
        json_number(json, "k", (uint64_t)c->info.k);
        json_bool(json, "stranded", c->info.stranded);
        json_bool(json, "hpc", c->info.hpc);
        json_bool(json, "only", c->info.only_checksum != 0);
        writing_json_device(json, &c->writing);
        if (c->path != NULL)
                json_string(json, "output", c->path);
        uint64_t most[KC_JOINT_MAX_FILES];
        for (size_t i = 0; i < c->joint.nfiles; i++)
                most[i] = c->joint.most[i];
        json_numbers(json, "max_counts", most, c->joint.nfiles);
        json_number(json, "distinct", t->in_any);
        json_number(json, "distinct_in_all", t->in_all);
        json_numbers(json, "distinct_in", t->in, c->joint.nfiles);
        json_numbers(json, "distinct_only_in", t->only_in, c->joint.nfiles);
}

static void put_json(const void *ctx, size_t number, struct json *json)
{
        (void)number;
        const struct compare_command *c = ctx;
        put_json_totals(c, json);
        writing_json_costs(json, &c->writing, NULL, 0);
}

static void put_json_with_rows(const struct compare_command *c)
{
        struct json json = { .out = c->out };
        writing_json_begin(&json, &c->writing);
        put_json_totals(c, &json);
        joint_put_json(&json, &c->joint);
        writing_json_costs(&json, &c->writing, NULL, 0);
        json_end(&json, '}');
}

static void put_text(const void *ctx, struct text_out *out)
{
        const struct compare_command *c = ctx;
        const struct joint_totals *t = &c->totals;
        char any[FORMATTED_NBYTES], all[FORMATTED_NBYTES], only[FORMATTED_NBYTES];
        text_out_printf(out, "%s distinct %d-mers, %s in all files\n",
                        format_number(t->in_any, any), c->info.k, format_number(t->in_all, all));
        for (size_t i = 0; i < c->joint.nfiles; i++)
                text_out_printf(out, "%s only in %s\n", format_number(t->only_in[i], only),
                                c->joint.files[i]);
        writing_put_device(out, &c->writing, "compared");
        writing_put_names(out, &c->path, 1);
        text_out_puts(out, "\n");
        writing_put_costs(out, &c->writing, &(struct writing_costs){ 0 });
}

/* ctx: a struct compare_command. */
static enum kc_status join_on_device(void *ctx, const struct kc_join_source *source,
                                     const struct kc_joint_taker *taker, uint64_t *nread,
                                     struct kc_error *err)
{
        struct compare_command *c = ctx;
        struct writing *w = &c->writing;
        const struct kc_gpu_params params = { .device = w->device.indices[0],
                                              .memory_nbytes = c->settings->gpu_memory_nbytes,
                                              .batch_nkmers = c->settings->gpu_batch_nkmers,
                                              .trace = c->settings->gpu_trace };
        return kc_gpu_joint(&params, w->nthreads, source, taker, w->job, nread, &w->gpu, err);
}

/* Where c->writing.device says. */
static enum kc_status find_cells(struct compare_command *c, struct kc_error *err)
{
        struct joint_histogram *h = &c->joint;
        const struct kc_joint_engine engine = { c, join_on_device };
        if (c->writing.device.cuda)
                return kc_store_joint_by(c->stores, h->nfiles, h->most, &engine, &h->cells,
                                         &h->ncells, err);
        return kc_store_joint(c->stores, h->nfiles, h->most, NULL, c->writing.nthreads,
                              c->writing.job, &h->cells, &h->ncells, err);
}

/* Compare, and print on c->out, which is a file or standard output. */
static enum kc_status print(void *ctx, struct kc_error *err)
{
        struct compare_command *c = ctx;
        struct joint_histogram *h = &c->joint;
        enum kc_status status;
        KC_TRY(find_cells(c, err));
        c->totals = joint_add_up(h);
        if (prints_json(c))
                put_json_with_rows(c);
        else if (c->settings->format == FORMAT_KAT)
                KC_TRY(joint_put_matrix(c->out, h, err));
        else
                joint_put_table(c->out, h);
        KC_TRY(text_out_status(c->out, err));
out:
        return status;
}

static enum kc_status fill_file(void *ctx, struct kc_error *err)
{
        struct compare_command *c = ctx;
        enum kc_status status = print(c, err);
        return status == KC_OK ? text_out_finish(c->out, err) : status;
}

static enum kc_status print_to_stdout(struct compare_command *c, struct kc_error *err)
{
        const struct writing_work work = {
                .ctx = c, .on_device = print, .on_cpu = print, .hidden = true
        };
        return writing_run_part(&c->writing, &work, err);
}

static enum kc_status print_to_file(struct compare_command *c, struct kc_error *err)
{
        static const char *const label = "comparing";
        const struct writing_work work = { .ctx = c,
                                           .on_device = fill_file,
                                           .on_cpu = fill_file,
                                           .progress = { &label, 1, PROGRESS_PARTS } };
        const struct writing_report report = { .ctx = c,
                                               .put_text = put_text,
                                               .put_json = put_json };
        struct text_out file;
        enum kc_status status;
        c->out = &file;
        KC_TRY(writing_run_text(&c->writing, &work, &file, c->path, c->settings->common.force,
                                err));
        writing_report(&c->writing, &report);
out:
        return status;
}

static enum kc_status run_compare(const struct invocation *call, struct kc_error *err)
{
        const struct compare_settings *s = call->settings;
        struct compare_command c = { .settings = s,
                                     .path = dumping_path(&s->common),
                                     .joint = { .files = call->operands,
                                                .nfiles = (size_t)call->noperands },
                                     .writing = writing_of(call, &s->common.common),
                                     .out = call->out };
        enum kc_status status;
        KC_TRY(check_options(&c, err));
        KC_TRY(open_all(&c, err));
        KC_TRY(c.path != NULL ? print_to_file(&c, err) : print_to_stdout(&c, err));
out:
        for (size_t i = 0; i < c.joint.nfiles; i++)
                kc_store_close(c.stores[i]);
        free(c.joint.cells);
        return status;
}

#define FIELD(member) offsetof(struct compare_settings, member)

static const struct option_spec compare_options[] = {
        OPTION(TEXT, "max-count", FIELD(max_count),
               "Treat all counts over N as one count, which the table shows as N + 1. One number "
               "applies to all files; a list such as 1000,4 has a number for each file. 0, the "
               "default, means no bound. The sums are those of the real counts.",
               .argument = "N[,M...]"),
        OPTION(WORD, "format", FIELD(format),
               "tsv (default), or kat, for KAT's plots. kat is the matrix of two files that 'kat "
               "comp' writes to PREFIX-main.mx: a row for each count in the first file and a "
               "column for each count in the second, from 0 to N of --max-count (default: 1000). "
               "The last row and column also include all greater counts.",
               .argument = "FORMAT", .words = "tsv kat"),
        DUMPING_OPTIONS(FIELD(common)),
        OPTION_THREADS(FIELD(common.common.nthreads)),
        OPTION_DEVICE(FIELD(device)),
        OPTION_GPU_MEMORY(FIELD(gpu_memory_nbytes)),
        OPTION_GPU_BATCH(FIELD(gpu_batch_nkmers)),
        OPTION_GPU_TRACE(FIELD(gpu_trace)),
        WRITING_OPTIONS(FIELD(common.common)),
        { 0 },
};

const struct command command_compare = {
        .name = "compare",
        .run = run_compare,
        .operands = "A.kc B.kc [C.kc]",
        .group = COMMAND_LOOKS,
        .summary = "Count k-mers by their counts in two or three .kc files",
        .description =
                "Prints the joint histogram: a header line, then a line for each combination of "
                "counts that k-mers have, sorted. The columns are separated by tabs:\n\n"
                "count_a, count_b, count_c: the count in A.kc, B.kc and C.kc; 0: the k-mer is not "
                "in the file. distinct: the number of distinct k-mers with these counts. sum_a, "
                "sum_b, sum_c: the sum of their counts in each file.\n\n"
                "If A.kc holds reads and B.kc an assembly, this is the copy-number spectrum: lines "
                "with count_a = 0 are k-mers of the assembly that no read has, most of them errors "
                "of the assembly, and lines with count_b = 0 are k-mers of the reads that the "
                "assembly lacks.\n\n"
                "All files must have the same k, and must agree in --stranded, --hpc and --only. "
                "A file with several runs is taken as a whole, without the k-mers that were "
                "removed from it. k-mers that --min or --max dropped when a file was made count "
                "as absent; a warning says so.\n\n"
                "With --json, the table and totals are printed as one JSON object on standard "
                "output. With -o as well, the file has the table, and the JSON only the totals.",
        .examples =
                "  kcount compare reads.kc assembly.kc > spectrum.tsv\n"
                "  kcount compare reads.kc hap1.kc hap2.kc --max-count 1000,4,4 -o spectrum.tsv\n"
                "  kcount compare reads.kc assembly.kc --format kat -o spectrum-main.mx\n",
        .options = compare_options,
        .settings_nbytes = sizeof(struct compare_settings),
        .min_operands = 2,
        .max_operands = KC_JOINT_MAX_FILES,
        .for_more = "two or three .kc files; 'kcount merge' joins several",
};
