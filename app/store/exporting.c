#include "app/store/exporting.h"

#include "app/cli/bridge.h"
#include "app/cli/message.h"
#include "app/cli/output_name.h"
#include "app/cli/signals.h"
#include "app/cli/suggest.h"
#include "app/cli/typed_kmer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "; did you mean 'kmc'?", or "". */
static const char *suggest_format(const char *typed, char text[SUGGESTION_NBYTES])
{
        static const char *const others[][2] = { { "jf", "jellyfish" },
                                                 { "text", "tsv" },
                                                 { "txt", "tsv" },
                                                 { "fasta", "kcount dump --fasta" },
                                                 { "fa", "kcount dump --fasta" } };
        struct suggestion s = suggestion_begin(typed, strlen(typed));
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
                suggestion_offer(&s, others[i][0], others[i][1]);
        for (int i = 0; i < KC_NFILE_FORMATS; i++)
                suggestion_offer(&s, kc_file_format_name(i), kc_file_format_name(i));
        return suggestion_text(&s, text);
}

enum kc_status exporting_format(const char *name, enum kc_file_format *format, struct kc_error *err)
{
        if (kc_file_format_find(name, format))
                return KC_OK;
        char suggestion[SUGGESTION_NBYTES];
        return kc_fail(err, KC_EUSAGE, "'%s' is not a format; formats are " KC_FILE_FORMATS "%s",
                       name, suggest_format(name, suggestion));
}

char *exporting_name(const char *path, enum kc_file_format format)
{
        /* the other formats have several files, and add endings of their own */
        static const char *const endings[KC_NFILE_FORMATS] = {
                [KC_FILE_TSV] = ".tsv",
                [KC_FILE_KFF] = ".kff",
                [KC_FILE_JELLYFISH] = ".jf",
                [KC_FILE_ARROW] = ".arrow",
        };
        char *name;
        if (asprintf(&name, "%.*s%s", (int)output_stem_length(path), path,
                     endings[format] != NULL ? endings[format] : "") < 0)
                return NULL;
        name[kc_export_stem_length(format, name)] = '\0';
        return name;
}

char *exporting_stem(const char *name, enum kc_file_format format)
{
        return strndup(name, kc_export_stem_length(format, name));
}

enum kc_status exporting_name_files(const struct exporting *exporting,
                                    struct exporting_files *files, struct kc_error *err)
{
        files->n = kc_export_paths(exporting->format, exporting->output, files->paths);
        return files->n > 0 ? KC_OK : kc_fail(err, KC_ENOMEM, "out of memory");
}

void exporting_free(struct exporting_files *files)
{
        while (files->n > 0)
                free(files->paths[--files->n]);
}

enum kc_status exporting_check(const struct exporting *exporting, int k, bool stranded,
                               struct kc_error *err)
{
        struct kc_export *writer = NULL;
        const struct kc_export_options options = { .format = exporting->format,
                                                   .k = k,
                                                   .stranded = stranded,
                                                   .min_count = exporting->min_count,
                                                   .max_count = exporting->max_count,
                                                   .replace = exporting->force,
                                                   .guard = signals_guard };
        enum kc_status status = kc_export_create(&writer, exporting->output, &options, err);
        kc_export_close(writer);
        return status;
}

static void warn(const struct exporting *exporting, bool hpc,
                 const struct kcount_exported *exported)
{
        if (hpc)
                message_print("kcount: warning: %s cannot record that homopolymers are compressed: "
                              "look up only compressed k-mers in it\n",
                              exporting->output);
        if (exported->nclipped > 0)
                message_print("kcount: warning: %s: %" PRIu64 " counts above %" PRIu32
                              " were written as %" PRIu32
                              ", the largest that the format can hold\n",
                              exporting->output, exported->nclipped, exported->count_limit,
                              exported->count_limit);
}

/* For a command that has written something already: a signal does not cancel its export. */
static bool guard_names(int step, const char *temporary)
{
        return step == KCOUNT_NAMES_ALLOW || signals_guard(step, temporary);
}

enum kc_status exporting_write(const struct exporting *exporting, struct kcount_counts *counts,
                               const struct kcount_export_inside *inside,
                               struct kcount_exported *exported, struct kc_error *err)
{
        static const char *const stage = "writing";
        const struct exporting *e = exporting;
        struct bridge_progress progress = { e->job, &stage, 1 };
        struct kcount_export_options options = KCOUNT_EXPORT_OPTIONS_INIT;
        struct kcount_exported written = { .size = sizeof written };
        struct kcount_info info = { .size = sizeof info };
        struct kcount_error *error = NULL;
        uint64_t from[KCOUNT_MAX_WORDS], to[KCOUNT_MAX_WORDS];
        enum kc_status status;
        kcount_get_info(counts, &info);
        KC_TRY(typed_kmer_range(e->from ? e->from : "", e->to ? e->to : "", info.k, from, to, err));
        options.format = kc_file_format_name(e->format);
        options.replace = e->force;
        options.from = e->from != NULL || e->to != NULL ? from : NULL;
        options.to = options.from != NULL ? to : NULL;
        options.min_count = e->min_count;
        options.max_count = e->max_count;
        options.count_cap = e->count_cap;
        options.nthreads = e->nthreads > 0 ? e->nthreads : 1;
        options.guard = e->job != NULL ? signals_guard : guard_names;
        options.progress = e->job != NULL ? bridge_progress : NULL;
        options.progress_ctx = &progress;
        options.inside = inside;
        KC_TRY(bridge_check(kcount_export(counts, e->output, &options, &written, &error), &error,
                            err));
        warn(exporting, info.hpc, &written);
        if (exported != NULL)
                *exported = written;
out:
        return status;
}
