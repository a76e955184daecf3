#include "app/kmc/kmc.h"

#include "app/cli/bridge.h"
#include "app/cli/command.h"
#include "app/cli/file_check.h"
#include "app/cli/json.h"
#include "app/count/count.h"
#include "app/kmc/kmc_options.h"
#include "app/library/device.h"
#include "app/library/machine.h"
#include "app/library/same_file.h"
#include "app/store/exporting.h"
#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The numbers in kmc's report. */
struct kmc_report {
        bool sequences;      /* the report calls the reads sequences */
        double seconds[2];   /* for counting, and for writing the output */
        uint64_t tmp_nbytes; /* of the temporary file with the counts */
        uint64_t nbelow;     /* distinct k-mers with counts below the bounds */
        uint64_t nabove;     /* and above them */
        uint64_t ndistinct;  /* all distinct k-mers */
        uint64_t nkmers;     /* all their occurrences */
        uint64_t nreads;
};

/* kmc reports its number of super-k-mers; kcount does not use any. */
enum { NO_SUPER_KMERS = 0 };

bool kmc_is_name(const char *program)
{
        const char *slash = strrchr(program, '/');
        const char *name = slash != NULL ? slash + 1 : program;
        return strcmp(name, "kcount-kmc") == 0 || strcmp(name, "kmc") == 0;
}

static uint32_t as_count(uint64_t number)
{
        return number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
}

static uint32_t min_count(const struct kmc_settings *s)
{
        return s->min_count > 1 ? as_count(s->min_count) : 1;
}

/* Pipelines give bounds above the machine's memory (-m128), and the engine would accept them.
 * Returns 0, for the default bound, unless the given one is lower. */
static uint64_t memory_bound(const struct kmc_settings *s)
{
        const uint64_t nbytes = s->memory_gb * 1000000000;
        return nbytes < kc_memory_default_nbytes(1) ? nbytes : 0;
}

/* The name of the temporary .kc file for the counts, which no other process uses. The caller frees
 * it; NULL when out of memory. */
static char *name_counts(const struct kmc_settings *s)
{
        char *path;
        return asprintf(&path, "%s/kcount-kmc.%ld.%.0f.kc", s->folder, (long)getpid(),
                        kc_clock_seconds() * 1e9) < 0
                       ? NULL
                       : path;
}

/* The files that will be written, except for the temporary one. */
struct kmc_files {
        char *output;     /* as the format takes it */
        const char *json; /* as in kmc, "-" is the name of a file; NULL: none */
        struct exporting_files exports;
        const char *names[COUNT_MAX_OTHER_FILES]; /* [n] of all of them */
        size_t n;
};

/* Count into a .kc file, open it, and remove its name so that it cannot be left behind. */
static enum kc_status count_reads(const struct invocation *call, const struct kmc_settings *s,
                                  const struct kmc_files *files, struct kcount_counts **counts,
                                  struct kc_error *err)
{
        if (!kc_path_is_folder(s->folder))
                return kc_fail(err, KC_EIO, "there is no folder %s", s->folder);
        char *path = name_counts(s);
        if (path == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        struct count_settings counting = { .common = { .nthreads = s->nthreads, .quiet = true },
                                           .ks = { .n = 1, .values = { s->k } },
                                           .memory_nbytes = memory_bound(s),
                                           .min_count = min_count(s),
                                           .max_count = UINT32_MAX,
                                           .output = path,
                                           .tmp_dir = s->folder,
                                           .device = "auto",
                                           .reader = KC_READING_FASTER,
                                           .stranded = s->stranded,
                                           .skip_empty = true,
                                           .other_files = files->names,
                                           .nother_files = files->n };
        const char *operands[] = { s->input };
        struct invocation inner = *call;
        inner.command = &command_count;
        inner.settings = &counting;
        inner.operands = operands;
        inner.noperands = 1;
        struct kcount_error *error = NULL;
        enum kc_status status = count_create(&inner, err);
        if (status == KC_OK) {
                status = bridge_check(kcount_open(counts, path, &error), &error, err);
                unlink(path);
        }
        free(path);
        return status;
}

static enum kc_status describe(const struct kmc_settings *s, struct kcount_counts *counts,
                               struct kmc_report *report, struct kc_error *err)
{
        struct kcount_row *rows;
        size_t nrows;
        struct kcount_info info = { .size = sizeof info };
        struct kcount_error *error = NULL;
        struct kcount_histogram_options options = KCOUNT_HISTOGRAM_OPTIONS_INIT;
        options.nthreads = (int)s->nthreads;
        const enum kc_status status = bridge_check(
                kcount_histogram(counts, &options, &rows, &nrows, &error), &error, err);
        if (status != KC_OK)
                return status;
        for (size_t i = 0; i < nrows; i++)
                if (rows[i].count > s->max_count)
                        report->nabove += rows[i].number;
        kcount_free(rows);
        kcount_get_info(counts, &info);
        report->sequences = strcmp(s->input_format, "m") == 0;
        report->tmp_nbytes = info.nbytes;
        report->nbelow = info.ndropped_distinct;
        report->ndistinct = info.ndistinct + info.ndropped_distinct;
        report->nkmers = info.nkmers;
        report->nreads = info.nreads;
        return KC_OK;
}

/* If the cap is below the lower bound, kmc writes counts that are below the bound stored in the
 * same file, so that readers skip them. Here the cap is stored as the bound, so that they are read.
 */
static struct exporting export_of(const struct kmc_settings *s, const char *output)
{
        const uint32_t cap = as_count(s->count_cap), least = min_count(s);
        return (struct exporting){ .format = strcmp(s->output_format, "kff") == 0 ? KC_FILE_KFF
                                                                                  : KC_FILE_KMC,
                                   .output = output,
                                   .min_count = least < cap ? least : cap,
                                   .max_count = as_count(s->max_count),
                                   .count_cap = cap,
                                   .force = true };
}

static uint64_t in_megabytes(uint64_t nbytes)
{
        return nbytes / 1000000;
}

/* Scripts read these lines by their labels. */
static void print_report(const struct kmc_report *r, struct text_out *out)
{
        text_out_printf(out, "1st stage: %.6fs\n2nd stage: %.6fs\nTotal    : %.6fs\n",
                        r->seconds[0], r->seconds[1], r->seconds[0] + r->seconds[1]);
        text_out_printf(out, "Tmp size : %" PRIu64 "MB\n\nStats:\n", in_megabytes(r->tmp_nbytes));
        const struct {
                const char *label;
                uint64_t number;
        } lines[] = {
                { "No. of k-mers below min. threshold", r->nbelow },
                { "No. of k-mers above max. threshold", r->nabove },
                { "No. of unique k-mers", r->ndistinct },
                { "No. of unique counted k-mers", r->ndistinct - r->nbelow - r->nabove },
                { "Total no. of k-mers", r->nkmers },
                { r->sequences ? "Total no. of sequences" : "Total no. of reads", r->nreads },
                { "Total no. of super-k-mers", NO_SUPER_KMERS },
        };
        for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
                text_out_printf(out, "   %-34s : %12" PRIu64 "\n", lines[i].label, lines[i].number);
}

static void put_seconds(struct json *json, const char *key, double seconds)
{
        char text[40];
        snprintf(text, sizeof text, "%.6fs", seconds);
        json_string(json, key, text);
}

static void put_json(const struct kmc_report *r, struct text_out *out)
{
        struct json json = { .out = out };
        char tmp[40];
        snprintf(tmp, sizeof tmp, "%" PRIu64 "MB", in_megabytes(r->tmp_nbytes));
        json_begin(&json, NULL, '{');
        put_seconds(&json, "1st_stage", r->seconds[0]);
        put_seconds(&json, "2nd_stage", r->seconds[1]);
        put_seconds(&json, "Total", r->seconds[0] + r->seconds[1]);
        json_string(&json, "Tmp_size", tmp);
        json_begin(&json, "Stats", '{');
        json_number(&json, "#k-mers_below_min_threshold", r->nbelow);
        json_number(&json, "#k-mers_above_max_threshold", r->nabove);
        json_number(&json, "#Unique_k-mers", r->ndistinct);
        json_number(&json, "#Unique_counted_k-mers", r->ndistinct - r->nbelow - r->nabove);
        json_number(&json, "#Total no. of k-mers", r->nkmers);
        json_number(&json, r->sequences ? "#Total_sequences" : "#Total_reads", r->nreads);
        json_number(&json, "#Total_super-k-mers", NO_SUPER_KMERS);
        json_end(&json, '}');
        json_end(&json, '}');
}

/* The file of -j. */
struct kmc_summary {
        struct text_out *json; /* NULL: there is none */
        struct kmc_report *report;
        double counted; /* when counting ended */
};

/* ctx: a struct kmc_summary. One that is written in place has its name already. Its times end
 * before the files are flushed to disk. */
static enum kc_status complete_json(void *ctx, struct kc_new_file **file, struct kc_error *err)
{
        const struct kmc_summary *s = ctx;
        s->report->seconds[1] = kc_clock_seconds() - s->counted;
        *file = NULL;
        if (s->json == NULL)
                return KC_OK;
        put_json(s->report, s->json);
        if (s->json->is_new)
                *file = &s->json->file;
        return text_out_finish(s->json, err);
}

/* The output and the file of -j appear together: either both have their names or neither. */
static enum kc_status write_files(const struct kmc_settings *s, const struct exporting *exporting,
                                  struct kcount_counts *counts, struct kmc_summary *summary,
                                  struct kc_error *err)
{
        const struct kcount_export_inside inside = { summary, complete_json };
        struct kc_new_file *file;
        enum kc_status status;
        if (!s->no_output)
                return exporting_write(exporting, counts, &inside, NULL, err);
        KC_TRY(complete_json(summary, &file, err));
        if (file != NULL)
                KC_TRY(kc_new_file_commit(file, err));
out:
        return status;
}

/* json: for -j, given to text_out_abort afterwards; or NULL. */
static enum kc_status count_and_export(const struct invocation *call, const struct kmc_settings *s,
                                       const struct kmc_files *files, struct text_out *json,
                                       struct kmc_report *report, struct kc_error *err)
{
        struct kcount_counts *counts = NULL;
        const struct exporting exporting = export_of(s, files->output);
        enum kc_status status;
        if (!s->no_output)
                KC_TRY(exporting_check(&exporting, (int)s->k, s->stranded, err));
        KC_TRY(count_reads(call, s, files, &counts, err));
        KC_TRY(describe(s, counts, report, err));
        const double counted = kc_clock_seconds();
        report->seconds[0] = counted - call->start_seconds;
        struct kmc_summary summary = { json, report, counted };
        KC_TRY(write_files(s, &exporting, counts, &summary, err));
        report->seconds[1] = kc_clock_seconds() - counted;
out:
        kcount_close(counts);
        return status;
}

/* For -j. The JSON file is opened before any input is read, so that a bad name is found early. */
static enum kc_status run_with_json(const struct invocation *call, const struct kmc_settings *s,
                                    const struct kmc_files *files, struct kmc_report *report,
                                    struct kc_error *err)
{
        struct text_out json;
        enum kc_status status = text_out_open(&json, files->json, true, err);
        if (status != KC_OK)
                return status;
        status = count_and_export(call, s, files, &json, report, err);
        text_out_abort(&json);
        return status;
}

static enum kc_status name_output(struct kmc_files *files, const struct kmc_settings *s,
                                  struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(output_check_name(s->output, "the output", err));
        if (asprintf(&files->output, "%s%s", s->output,
                     strcmp(s->output_format, "kff") == 0 ? ".kff" : "") < 0) {
                files->output = NULL; /* POSIX leaves it undefined */
                return kc_fail(err, KC_ENOMEM, "out of memory");
        }
        const struct exporting exporting = export_of(s, files->output);
        KC_TRY(exporting_name_files(&exporting, &files->exports, err));
        for (size_t i = 0; i < files->exports.n; i++)
                files->names[files->n++] = files->exports.paths[i];
out:
        return status;
}

/* Name the files and check the names. Free files->output and files->exports in any case. */
static enum kc_status set_up_files(struct kmc_files *files, const struct kmc_settings *s,
                                   struct kc_error *err)
{
        enum kc_status status;
        *files = (struct kmc_files){ 0 };
        if (!s->no_output)
                KC_TRY(name_output(files, s, err));
        if (s->json != NULL) {
                KC_TRY(output_check_name(s->json, "-j", err));
                files->json = strcmp(s->json, "-") == 0 ? "./-" : s->json;
                files->names[files->n++] = files->json;
        }
        KC_TRY(kc_output_check_operands(files->names, files->n, &s->input, 1, err));
out:
        return status;
}

static enum kc_status run_files(const struct invocation *call, const struct kmc_settings *s,
                                struct kmc_report *report, struct kc_error *err)
{
        struct kmc_files files;
        enum kc_status status;
        KC_TRY(set_up_files(&files, s, err));
        if (files.json != NULL)
                KC_TRY(run_with_json(call, s, &files, report, err));
        else
                KC_TRY(count_and_export(call, s, &files, NULL, report, err));
out:
        exporting_free(&files.exports);
        free(files.output);
        return status;
}

enum kc_status kmc_run(const struct invocation *call, int argc, char **argv, struct kc_error *err)
{
        struct kmc_settings settings;
        struct kmc_report report = { 0 };
        enum kc_status status;
        KC_TRY(kmc_options_parse(&settings, argc, argv, err));
        if (settings.wants_help) {
                kmc_options_help(call->out);
                return KC_OK;
        }
        KC_TRY(run_files(call, &settings, &report, err));
        print_report(&report, call->out);
out:
        return status;
}
