/*
 * kcount export: write the k-mers and their counts in the format of another program.
 */
#include "app/command.h"
#include "app/exporting.h"
#include "app/output_check.h"
#include "app/signals.h"
#include "app/stores.h"

#include <stdlib.h>
#include <string.h>

struct export_settings {
        uint64_t min_count, max_count;
        const char *format, *output, *from, *to;
        bool force;
};

static enum kc_status check_files(const struct exporting *exporting, const char *input,
                                  struct kc_error *err)
{
        struct exporting_files files;
        enum kc_status status = exporting_name_files(exporting, &files, err);
        if (status != KC_OK)
                return status;
        status = output_check_files((const char *const *)files.paths, files.n, &input, 1, err);
        exporting_free(&files);
        return status;
}

static enum kc_status check_settings(const struct export_settings *s, struct kc_error *err)
{
        if (strcmp(s->output, "-") == 0)
                return kc_fail(err, KC_EUSAGE,
                               "an export cannot be written to standard output; 'kcount dump' "
                               "prints text");
        return options_check_range(s->min_count, s->max_count, err);
}

static enum kc_status run_export(const struct invocation *call, struct kc_error *err)
{
        const struct export_settings *s = call->settings;
        struct exporting exporting = { .min_count = (uint32_t)s->min_count,
                                       .max_count = (uint32_t)s->max_count,
                                       .count_cap = UINT32_MAX,
                                       .from = s->from,
                                       .to = s->to,
                                       .force = s->force };
        struct kc_store *store = NULL;
        char *output = NULL;
        enum kc_status status;
        KC_TRY(exporting_format(s->format, &exporting.format, err));
        KC_TRY(check_settings(s, err));
        exporting.output = output = exporting_stem(s->output, exporting.format);
        if (output == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        KC_TRY(check_files(&exporting, call->operands[0], err));
        KC_TRY(stores_open(&store, call->operands[0], err));
        signals_install(NULL);
        KC_TRY(exporting_write(&exporting, store, err));
out:
        kc_store_close(store);
        free(output);
        return status;
}

#define FIELD(member) offsetof(struct export_settings, member)

static const struct option_spec export_options[] = {
        { .type = OPTION_TEXT,
          .name = "to",
          .argument = "FORMAT",
          .words = EXPORTING_FORMAT_WORDS,
          .offset = FIELD(format),
          .required = true,
          .help = "The format: " EXPORTING_FORMATS "." },
        { .type = OPTION_OUTPUT,
          .letter = 'o',
          .name = "output",
          .argument = "NAME",
          .offset = FIELD(output),
          .required = true,
          .help = "The file to write, or what its files' names begin with. Required. An ending "
                  "that the format adds may be included." },
        OPTION_FORCE(FIELD(force)),
        OPTION_MIN(FIELD(min_count)),
        OPTION_MAX(FIELD(max_count)),
        { .type = OPTION_TEXT,
          .name = "from-kmer",
          .argument = "FROM",
          .offset = FIELD(from),
          .help = "Leave out k-mers that come before FROM in the alphabet. It may be shorter than "
                  "k, and is then filled with A." },
        { .type = OPTION_TEXT,
          .name = "to-kmer",
          .argument = "TO",
          .offset = FIELD(to),
          .help = "Leave out k-mers that come after TO. It may be shorter than k, and is then "
                  "filled with T." },
        { 0 },
};

const struct command command_export = {
        .name = "export",
        .run = run_export,
        .operands = "FILE.kc",
        .group = COMMAND_CONVERTS,
        .summary = "Convert to " EXPORTING_FORMATS,
        .description =
                "The k-mers with their counts, sorted, in the format of another program. The files "
                "appear when all are complete; if anything fails, none does.\n\n"
                "tsv: NAME, with a line for each k-mer: the k-mer, a tab, its count.\n"
                "kff: NAME, in k-mer file format 1, which vg and kmc_tools read.\n"
                "kmc: NAME.kmc_pre and NAME.kmc_suf, a sorted database for kmc_tools, kmc_dump and "
                "programs on KMC's API.\n"
                "jellyfish: NAME, for 'jellyfish query', 'dump', 'histo' and 'merge', and programs "
                "that read Jellyfish's files. Any two exports with the same k can be merged.\n"
                "fastk: NAME.ktab with the hidden file .NAME.ktab.1 beside it, and NAME.hist. A "
                "count over 32767 is written as 32767, as FastK does, with a warning. Only "
                "canonical k-mers. The histogram has all counts, whatever --min and --max.\n"
                "arrow: NAME, in Arrow's IPC file format (Feather version 2), with the columns "
                "kmer and count.",
        .examples = "  kcount export reads.kc --to kff -o reads.kff\n"
                    "  kcount export reads.kc --to fastk --min 4 -o reads\n"
                    "  kcount export reads.kc --to tsv --from-kmer ACG --to-kmer ACG -o acg.tsv\n",
        .options = export_options,
        .settings_nbytes = sizeof(struct export_settings),
        .min_operands = 1,
        .max_operands = 1,
};
