#include "app/store/exporting.h"

#include "app/cli/message.h"
#include "app/cli/output_name.h"
#include "app/cli/signals.h"
#include "app/cli/suggest.h"
#include "app/cli/typed_kmer.h"
#include "app/library/export.h"
#include "kmer/kmer.h"

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

static struct kc_export_options options_of(const struct exporting *exporting, int k, bool stranded,
                                           uint64_t nkmers)
{
        return (struct kc_export_options){ .format = exporting->format,
                                           .k = k,
                                           .stranded = stranded,
                                           .min_count = exporting->min_count,
                                           .max_count = exporting->max_count,
                                           .nkmers = nkmers,
                                           .replace = exporting->force,
                                           .guard = signals_guard };
}

enum kc_status exporting_check(const struct exporting *exporting, int k, bool stranded,
                               struct kc_error *err)
{
        struct kc_export *writer = NULL;
        const struct kc_export_options options = options_of(exporting, k, stranded, 0);
        enum kc_status status = kc_export_create(&writer, exporting->output, &options, err);
        kc_export_close(writer);
        return status;
}

static void warn(const struct exporting *exporting, const struct kc_export_written *written)
{
        if (written->nclipped > 0)
                message_print("kcount: warning: %s: %" PRIu64 " counts above %" PRIu32
                              " were written as %" PRIu32
                              ", the largest that the format can hold\n",
                              exporting->output, written->nclipped, written->count_limit,
                              written->count_limit);
}

enum kc_status exporting_fill(const struct exporting *exporting, struct kc_store *store,
                              struct kc_export **writer, struct kc_error *err)
{
        struct kc_export *w = NULL;
        struct kc_store_info info;
        uint64_t from[KC_MAX_WORDS], to[KC_MAX_WORDS];
        enum kc_status status;
        kc_store_get_info(store, &info);
        const struct kc_export_options options =
                options_of(exporting, info.k, info.stranded, info.ndistinct);
        KC_TRY(typed_kmer_range(exporting->from ? exporting->from : "",
                                exporting->to ? exporting->to : "", info.k, from, to, err));
        KC_TRY(kc_export_create(&w, exporting->output, &options, err));
        const bool is_whole = exporting->from == NULL && exporting->to == NULL;
        const struct kc_export_feed feed = { .store = store,
                                             .from = is_whole ? NULL : from,
                                             .to = is_whole ? NULL : to,
                                             .count_cap = exporting->count_cap,
                                             .max_count = exporting->max_count,
                                             .nthreads = exporting->nthreads,
                                             .job = exporting->job };
        KC_TRY(kc_export_feed(&feed, w, err));
        KC_TRY(kc_export_finish(w, err));
        if (info.hpc)
                message_print("kcount: warning: %s cannot record that homopolymers are compressed: "
                              "look up only compressed k-mers in it\n",
                              exporting->output);
out:
        if (status != KC_OK) {
                kc_export_close(w);
                w = NULL;
        }
        *writer = w;
        return status;
}

enum kc_status exporting_commit(const struct exporting *exporting, struct kc_export *writer,
                                struct kc_new_file *other, struct kc_export_written *written,
                                struct kc_error *err)
{
        enum kc_status status = kc_export_commit(writer, other, written, err);
        if (status == KC_OK)
                warn(exporting, written);
        return status;
}

enum kc_status exporting_write(const struct exporting *exporting, struct kc_store *store,
                               struct kc_error *err)
{
        struct kc_export *writer;
        struct kc_export_written written;
        enum kc_status status = exporting_fill(exporting, store, &writer, err);
        if (status == KC_OK)
                status = exporting_commit(exporting, writer, NULL, &written, err);
        kc_export_close(writer);
        return status;
}
