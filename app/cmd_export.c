/*
 * kcount export: write the k-mers and their counts in the format of another program.
 */
#include "app/cli/command.h"
#include "app/cli/file_check.h"
#include "app/cli/signals.h"
#include "app/cli/size.h"
#include "app/cli/writing.h"
#include "app/library/same_file.h"
#include "app/store/exporting.h"
#include "app/store/stores.h"

#include <stdlib.h>
#include <string.h>

struct export_settings {
        struct writing_settings common;
        uint64_t min_count, max_count;
        const char *format, *output, *from, *to;
        bool force;
};

struct export
{
        const struct export_settings *settings;
        struct writing writing;
        struct exporting exporting;
        char *output; /* as the format takes it */
        struct exporting_files files;
        const char *input;
        struct kcount_counts *counts;
        struct kcount_exported written;
};

static enum kc_status check_settings(const struct export_settings *s, struct kc_error *err)
{
        if (strcmp(s->output, "-") == 0)
                return kc_fail(err, KC_EUSAGE,
                               "an export cannot be written to standard output; 'kcount dump' "
                               "prints text");
        return options_check_range(s->min_count, s->max_count, err);
}

/* Decide what to export, and under which names. */
static enum kc_status set_up(struct export *e, struct kc_error *err)
{
        const struct export_settings *s = e->settings;
        enum kc_status status;
        e->exporting = (struct exporting){ .min_count = (uint32_t)s->min_count,
                                           .max_count = (uint32_t)s->max_count,
                                           .count_cap = UINT32_MAX,
                                           .from = s->from,
                                           .to = s->to,
                                           .force = s->force,
                                           .nthreads = e->writing.nthreads,
                                           .job = e->writing.job };
        KC_TRY(exporting_format(s->format, &e->exporting.format, err));
        KC_TRY(check_settings(s, err));
        e->exporting.output = e->output = exporting_stem(s->output, e->exporting.format);
        if (e->output == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        KC_TRY(exporting_name_files(&e->exporting, &e->files, err));
        KC_TRY(kc_output_check_files((const char *const *)e->files.paths, e->files.n, &e->input, 1,
                                     err));
out:
        return status;
}

/* ctx: a struct export. */
static enum kc_status fill(void *ctx, struct kc_error *err)
{
        struct export *e = ctx;
        return exporting_write(&e->exporting, e->counts, NULL, &e->written, err);
}

static enum kc_status write_files(struct export *e, struct kc_error *err)
{
        static const char *const label = "writing";
        const struct writing_work work = { .ctx = e,
                                           .on_cpu = fill,
                                           .progress = { &label, 1, PROGRESS_KMERS } };
        return writing_run_part(&e->writing, &work, err); /* the library has named the files */
}

/* ---- the report: ctx is a struct export ---- */

static void put_text(const void *ctx, struct text_out *out)
{
        const struct export *e = ctx;
        char size[FORMATTED_NBYTES], nkmers[FORMATTED_NBYTES];
        writing_put_names(out, (const char *const *)e->files.paths, e->files.n);
        text_out_printf(out, ", %s k-mers, %s\n", format_number(e->written.nkmers, nkmers),
                        format_size(e->written.nbytes, size));
}

static void put_json(const void *ctx, size_t number, struct json *json)
{
        (void)number;
        const struct export *e = ctx;
        json_string(json, "input", e->input);
        json_string(json, "format", e->settings->format);
        json_strings(json, "files", (const char *const *)e->files.paths, e->files.n);
        json_number(json, "output_bytes", e->written.nbytes);
        json_number(json, "distinct", e->written.nkmers);
        json_number(json, "clipped_counts", e->written.nclipped);
        writing_json_costs(json, &e->writing, NULL, 0);
}

static enum kc_status run_export(const struct invocation *call, struct kc_error *err)
{
        const struct export_settings *s = call->settings;
        struct export e = { .settings = s,
                            .writing = writing_of(call, &s->common),
                            .input = call->operands[0] };
        enum kc_status status;
        KC_TRY(set_up(&e, err));
        KC_TRY(stores_open_counts(&e.counts, e.input, err));
        signals_install(e.writing.job);
        KC_TRY(write_files(&e, err));
        writing_report(&e.writing, &(struct writing_report){
                                           .ctx = &e, .put_text = put_text, .put_json = put_json });
out:
        kcount_close(e.counts);
        exporting_free(&e.files);
        free(e.output);
        return status;
}

static char *propose_output(const struct invocation *call)
{
        const struct export_settings *s = call->settings;
        enum kc_file_format format;
        return exporting_format(s->format, &format, NULL) == KC_OK
                       ? exporting_name(call->operands[0], format)
                       : strdup("NAME");
}

#define FIELD(member) offsetof(struct export_settings, member)

static const struct option_spec export_options[] = {
        OPTION(TEXT, "to", FIELD(format), "The format: " EXPORTING_FORMATS ".",
               .argument = "FORMAT", .words = EXPORTING_FORMAT_WORDS, .required = true),
        OPTION(OUTPUT, "output", FIELD(output),
               "The file to write, or the beginning of the files' names. Required. An ending "
               "that the format adds may be included.",
               .letter = 'o', .argument = "NAME", .required = true, .propose = propose_output),
        OPTION_THREADS(FIELD(common.nthreads)),
        OPTION_MIN(FIELD(min_count)),
        OPTION_MAX(FIELD(max_count)),
        OPTION(TEXT, "from-kmer", FIELD(from),
               "Leave out k-mers before FROM in alphabetical order. FROM may be shorter than "
               "k, and is then filled with A.",
               .argument = "FROM"),
        OPTION(TEXT, "to-kmer", FIELD(to),
               "Leave out k-mers after TO in alphabetical order. TO may be shorter than k, "
               "and is then filled with T.",
               .argument = "TO"),
        OPTION_FORCE(FIELD(force)),
        WRITING_OPTIONS(FIELD(common)),
        { 0 },
};

const struct command command_export = {
        .name = "export",
        .run = run_export,
        .operands = "FILE.kc",
        .group = COMMAND_CONVERTS,
        .summary = "Convert to " EXPORTING_FORMATS,
        .description =
                "Writes the k-mers with their counts, sorted, in the format of another program. "
                "The files appear when all are complete; if anything fails, none does.\n\n"
                "tsv: NAME, with a line for each k-mer: the k-mer, a tab, its count.\n"
                "kff: NAME, in k-mer file format 1, which vg and kmc_tools read.\n"
                "kmc: NAME.kmc_pre and NAME.kmc_suf, a sorted database for kmc_tools, kmc_dump "
                "and programs that use KMC's API.\n"
                "jellyfish: NAME, for 'jellyfish query', 'dump', 'histo' and 'merge', and "
                "programs that read Jellyfish's files. Any two exports with the same k can be "
                "merged.\n"
                "fastk: NAME.ktab with the hidden file .NAME.ktab.1 beside it, and NAME.hist. A "
                "count over 32767 is written as 32767, as FastK does, with a warning. The "
                "k-mers must be canonical. The histogram has all counts, regardless of --min "
                "and --max.\n"
                "arrow: NAME, in Arrow's IPC file format (Feather version 2), with the columns "
                "kmer and count.",
        .examples = "  kcount export reads.kc --to kff -o reads.kff\n"
                    "  kcount export reads.kc --to fastk --min 4 -o reads\n"
                    "  kcount export reads.kc --to tsv --from-kmer ACG --to-kmer ACG -o acg.tsv\n",
        .options = export_options,
        .settings_nbytes = sizeof(struct export_settings),
        .min_operands = 1,
        .max_operands = 1,
        .for_more = "one .kc file; 'kcount merge' joins several",
};
