/*
 * kcount export: write the k-mers and their counts in the format of another program.
 */
#include "app/command.h"
#include "app/kmer_text.h"
#include "app/output_name.h"
#include "app/signals.h"
#include "app/stores.h"
#include "io/formats/writer.h"
#include "kmer/kmer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct export_settings {
        uint64_t min_count, max_count;
        const char *format, *output, *from, *to;
        bool force;
};

static enum kc_status check_settings(const struct export_settings *s, const char *input,
                                     enum kc_format *format, struct kc_error *err)
{
        enum kc_status status;
        if (!kc_format_find(s->format, format))
                return kc_fail(err, KC_EUSAGE, "'%s' is not a format; --help lists them",
                               s->format);
        if (strcmp(s->output, "-") == 0)
                return kc_fail(err, KC_EUSAGE,
                               "an export cannot be written to standard output; 'kcount dump' "
                               "prints text");
        KC_TRY(options_check_range(s->min_count, s->max_count, err));
        KC_TRY(output_check_inputs(s->output, &input, 1, err));
out:
        return status;
}

/* All k-mers of the cursor, to the writer. */
static enum kc_status copy(struct kc_cursor *cursor, struct kc_format_writer *writer,
                           struct kc_error *err)
{
        enum kc_status status;
        for (;;) {
                const uint64_t *kmers;
                const uint32_t *counts;
                size_t n;
                KC_TRY(kc_cursor_next(cursor, &kmers, &counts, &n, err));
                if (n == 0)
                        break;
                KC_TRY(kc_format_put(writer, kmers, counts, n, err));
        }
out:
        return status;
}

static void report(const struct export_settings *s, const struct kc_format_written *written)
{
        if (written->nclipped > 0)
                fprintf(stderr,
                        "kcount: warning: %s: %" PRIu64 " counts above %" PRIu32
                        " were written as %" PRIu32 ", the largest that the format can hold\n",
                        s->output, written->nclipped, written->count_limit, written->count_limit);
}

static enum kc_status write_store(const struct export_settings *s, enum kc_format format,
                                  struct kc_store *store, struct kc_error *err)
{
        struct kc_format_writer *writer = NULL;
        struct kc_cursor *cursor = NULL;
        struct kc_store_info info;
        uint64_t from[KC_MAX_WORDS], to[KC_MAX_WORDS];
        enum kc_status status;
        kc_store_get_info(store, &info);
        const struct kc_format_options options = { .format = format,
                                                   .k = info.k,
                                                   .stranded = info.stranded,
                                                   .min_count = (uint32_t)s->min_count,
                                                   .max_count = (uint32_t)s->max_count,
                                                   .nkmers = info.ndistinct,
                                                   .replace = s->force,
                                                   .guard = signals_guard };
        struct kc_format_written written;
        KC_TRY(kmer_text_range(s->from ? s->from : "", s->to ? s->to : "", info.k, from, to, err));
        KC_TRY(kc_format_create(&writer, s->output, &options, err));
        KC_TRY(kc_cursor_open(&cursor, store, from, to, err));
        KC_TRY(copy(cursor, writer, err));
        KC_TRY(kc_format_commit(writer, &written, err));
        report(s, &written);
out:
        kc_cursor_close(cursor);
        kc_format_close(writer);
        return status;
}

static enum kc_status run_export(const struct invocation *call, struct kc_error *err)
{
        const struct export_settings *s = call->settings;
        struct kc_store *store = NULL;
        enum kc_format format;
        enum kc_status status;
        KC_TRY(check_settings(s, call->operands[0], &format, err));
        KC_TRY(stores_open(&store, call->operands[0], err));
        signals_install(NULL);
        KC_TRY(write_store(s, format, store, err));
out:
        kc_store_close(store);
        return status;
}

#define FIELD(member) offsetof(struct export_settings, member)

static const struct option_spec export_options[] = {
        { .type = OPTION_TEXT,
          .name = "to",
          .argument = "FORMAT",
          .offset = FIELD(format),
          .required = true,
          .help = "The format: tsv, kff, kmc, jellyfish, fastk or arrow." },
        { .type = OPTION_TEXT,
          .letter = 'o',
          .name = "output",
          .argument = "NAME",
          .offset = FIELD(output),
          .required = true,
          .help = "The file to write or, if the format has several, what their names begin with." },
        { .type = OPTION_FLAG,
          .name = "force",
          .offset = FIELD(force),
          .help = "Replace existing files." },
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
        .summary = "Write the k-mers and counts for other programs",
        .description =
                "The k-mers with their counts, sorted, in the format of another program. The files "
                "appear when all are complete; if anything fails, none does.\n\n"
                "tsv: NAME, with a line for each k-mer: the k-mer, a tab, its count.\n\n"
                "kff: NAME, in k-mer file format 1, which vg and kmc_tools read.\n\n"
                "kmc: NAME.kmc_pre and NAME.kmc_suf, a sorted database for kmc_tools, kmc_dump and "
                "programs on KMC's API.\n\n"
                "jellyfish: NAME, for 'jellyfish query', 'dump', 'histo' and 'merge', and programs "
                "that read Jellyfish's files. Any two exports with the same k can be merged.\n\n"
                "fastk: NAME.ktab with the hidden file .NAME.ktab.1 beside it, and NAME.hist. A "
                "count over 32767 is written as 32767, as FastK does, with a warning. Only "
                "canonical k-mers. The histogram has all counts, whatever --min and --max.\n\n"
                "arrow: NAME, in Arrow's IPC file format (Feather version 2), with the columns kmer "
                "and count.",
        .examples = "  kcount export reads.kc --to kff -o reads.kff\n"
                    "  kcount export reads.kc --to fastk --min 4 -o reads\n"
                    "  kcount export reads.kc --to tsv --from-kmer ACG --to-kmer ACG -o acg.tsv\n",
        .options = export_options,
        .settings_nbytes = sizeof(struct export_settings),
        .min_operands = 1,
        .max_operands = 1,
};
