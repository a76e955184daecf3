#include "app/exporting.h"

#include "app/kmer_text.h"
#include "app/message.h"
#include "app/output_name.h"
#include "app/signals.h"
#include "kmer/kmer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kc_status exporting_format(const char *name, enum kc_file_format *format, struct kc_error *err)
{
        if (kc_format_find(name, format))
                return KC_OK;
        return kc_fail(err, KC_EUSAGE, "'%s' is not a format; --help lists them", name);
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
        name[kc_format_stem_length(format, name)] = '\0';
        return name;
}

char *exporting_stem(const char *name, enum kc_file_format format)
{
        return strndup(name, kc_format_stem_length(format, name));
}

enum kc_status exporting_name_files(const struct exporting *exporting,
                                    struct exporting_files *files, struct kc_error *err)
{
        files->n = kc_format_paths(exporting->format, exporting->output, files->paths);
        return files->n > 0 ? KC_OK : kc_fail(err, KC_ENOMEM, "out of memory");
}

void exporting_free(struct exporting_files *files)
{
        while (files->n > 0)
                free(files->paths[--files->n]);
}

static struct kc_format_options options_of(const struct exporting *exporting, int k, bool stranded,
                                           uint64_t nkmers)
{
        return (struct kc_format_options){ .format = exporting->format,
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
        struct kc_format_writer *writer = NULL;
        const struct kc_format_options options = options_of(exporting, k, stranded, 0);
        enum kc_status status = kc_format_create(&writer, exporting->output, &options, err);
        kc_format_close(writer);
        return status;
}

/* Pass n pairs to the writer with counts lowered to the cap. A count above max_count stays, so that
 * the writer leaves it out. */
static enum kc_status put_capped(const struct exporting *exporting, struct kc_format_writer *writer,
                                 size_t nwords, const uint64_t *kmers, const uint32_t *counts,
                                 size_t n, struct kc_error *err)
{
        enum { PART = 1024 };
        const uint32_t cap = exporting->count_cap, max = exporting->max_count;
        enum kc_status status = KC_OK;
        uint32_t capped[PART];
        for (size_t done = 0; done < n && status == KC_OK; done += PART) {
                const size_t npart = n - done < PART ? n - done : PART;
                for (size_t i = 0; i < npart; i++) {
                        const uint32_t count = counts[done + i];
                        capped[i] = count > cap && count <= max ? cap : count;
                }
                status = kc_format_put(writer, kmers + done * nwords, capped, npart, err);
        }
        return status;
}

/* Pass all k-mers of the cursor to the writer. */
static enum kc_status copy(const struct exporting *exporting, struct kc_cursor *cursor,
                           struct kc_format_writer *writer, int k, struct kc_error *err)
{
        enum kc_status status;
        for (;;) {
                const uint64_t *kmers;
                const uint32_t *counts;
                size_t n;
                KC_TRY(kc_cursor_next(cursor, &kmers, &counts, &n, err));
                if (n == 0)
                        break;
                if (exporting->count_cap == UINT32_MAX)
                        KC_TRY(kc_format_put(writer, kmers, counts, n, err));
                else
                        KC_TRY(put_capped(exporting, writer, kc_kmer_nwords(k), kmers, counts, n,
                                          err));
        }
out:
        return status;
}

static void report(const struct exporting *exporting, const struct kc_format_written *written)
{
        if (written->nclipped > 0)
                message_print("kcount: warning: %s: %" PRIu64 " counts above %" PRIu32
                              " were written as %" PRIu32
                              ", the largest that the format can hold\n",
                              exporting->output, written->nclipped, written->count_limit,
                              written->count_limit);
}

enum kc_status exporting_fill(const struct exporting *exporting, struct kc_store *store,
                              struct kc_format_writer **writer, struct kc_error *err)
{
        struct kc_format_writer *w = NULL;
        struct kc_cursor *cursor = NULL;
        struct kc_store_info info;
        uint64_t from[KC_MAX_WORDS], to[KC_MAX_WORDS];
        enum kc_status status;
        kc_store_get_info(store, &info);
        const struct kc_format_options options =
                options_of(exporting, info.k, info.stranded, info.ndistinct);
        KC_TRY(kmer_text_range(exporting->from ? exporting->from : "",
                               exporting->to ? exporting->to : "", info.k, from, to, err));
        KC_TRY(kc_format_create(&w, exporting->output, &options, err));
        KC_TRY(kc_cursor_open(&cursor, store, from, to, err));
        KC_TRY(copy(exporting, cursor, w, info.k, err));
        KC_TRY(kc_format_finish(w, err));
out:
        kc_cursor_close(cursor);
        if (status != KC_OK) {
                kc_format_close(w);
                w = NULL;
        }
        *writer = w;
        return status;
}

enum kc_status exporting_commit(const struct exporting *exporting, struct kc_format_writer *writer,
                                struct kc_new_file *other, struct kc_error *err)
{
        struct kc_format_written written;
        enum kc_status status = kc_format_commit(writer, other, &written, err);
        if (status == KC_OK)
                report(exporting, &written);
        return status;
}

enum kc_status exporting_write(const struct exporting *exporting, struct kc_store *store,
                               struct kc_error *err)
{
        struct kc_format_writer *writer;
        enum kc_status status = exporting_fill(exporting, store, &writer, err);
        if (status == KC_OK)
                status = exporting_commit(exporting, writer, NULL, err);
        kc_format_close(writer);
        return status;
}
