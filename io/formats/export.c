#include "io/formats/export_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct kc_export_format *const kinds[KC_NFILE_FORMATS] = {
        [KC_FILE_TSV] = &kc_export_tsv,     [KC_FILE_KFF] = &kc_export_kff,
        [KC_FILE_KMC] = &kc_export_kmc,     [KC_FILE_JELLYFISH] = &kc_export_jellyfish,
        [KC_FILE_FASTK] = &kc_export_fastk, [KC_FILE_ARROW] = &kc_export_arrow,
};

/* ---- names ---- */

static size_t nfiles(const struct kc_export_format *kind)
{
        size_t n = 1;
        while (n < KC_EXPORT_MAX_FILES && kind->files[n].after != NULL)
                n++;
        return n;
}

static char *name_file(const struct kc_export_format *kind, const char *path, size_t i)
{
        const struct kc_export_file *file = &kind->files[i];
        const char *slash = strrchr(path, '/');
        const char *base = slash != NULL ? slash + 1 : path;
        char *name;
        if (file->after == NULL)
                return strdup(path);
        return asprintf(&name, "%.*s%s%s%s", (int)(base - path), path, file->before, base,
                        file->after) < 0
                       ? NULL
                       : name;
}

size_t kc_export_paths(enum kc_file_format format, const char *path,
                       char *paths[KC_EXPORT_MAX_FILES])
{
        const size_t n = nfiles(kinds[format]);
        for (size_t i = 0; i < n; i++) {
                paths[i] = name_file(kinds[format], path, i);
                if (paths[i] != NULL)
                        continue;
                while (i > 0)
                        free(paths[--i]);
                return 0;
        }
        return n;
}

size_t kc_export_stem_length(enum kc_file_format format, const char *path)
{
        const struct kc_export_file *files = kinds[format]->files;
        const size_t length = strlen(path);
        for (size_t i = 0; i < KC_EXPORT_MAX_FILES && files[i].after != NULL; i++) {
                const size_t n = strlen(files[i].after);
                if (*files[i].before == '\0' && length > n && path[length - n - 1] != '/' &&
                    strcmp(path + length - n, files[i].after) == 0)
                        return length - n;
        }
        return length;
}

/* ---- writing ---- */

static enum kc_status open_files(struct kc_export *writer, struct kc_error *err)
{
        /* flush: in most formats, nothing shows that a file was truncated */
        const struct kc_new_file_options options = { .replace = writer->options.replace,
                                                     .flush = true,
                                                     .guard = writer->options.guard };
        enum kc_status status = KC_OK;
        const size_t n = nfiles(writer->kind);
        for (size_t i = 0; i < n && status == KC_OK; i++) {
                writer->nouts++;
                status = kc_export_out_open(
                        &writer->outs[i], name_file(writer->kind, writer->path, i), &options, err);
        }
        return status;
}

static enum kc_status allocate_batch(struct kc_export *writer, struct kc_error *err)
{
        const size_t n = writer->kind->batch_nkmers;
        const size_t nbytes = writer->kind->batch_nbytes != NULL
                                      ? writer->kind->batch_nbytes(writer, n)
                                      : n * writer->record_nbytes;
        writer->kmers = malloc(n * writer->nwords * sizeof *writer->kmers);
        writer->counts = malloc(n * sizeof *writer->counts);
        writer->records = malloc(nbytes + KC_EXPORT_SLACK);
        if (writer->kmers == NULL || writer->counts == NULL || writer->records == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for writing %s", writer->path);
        return KC_OK;
}

enum kc_status kc_export_create(struct kc_export **writer, const char *path,
                                const struct kc_export_options *options, struct kc_error *err)
{
        enum kc_status status;
        struct kc_export *w = calloc(1, sizeof *w);
        if (w == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for writing %s", path);
        w->kind = kinds[options->format];
        w->options = *options;
        w->path = path;
        w->nwords = (size_t)kc_kmer_nwords(options->k);
        w->written.count_limit = w->kind->count_limit;
        KC_TRY(open_files(w, err));
        if (w->kind->begin != NULL)
                KC_TRY(w->kind->begin(w, err));
        KC_TRY(allocate_batch(w, err));
        *writer = w;
        w = NULL;
out:
        kc_export_close(w);
        return status;
}

/* Clip the counts of the batch to what the format can hold. */
static void clip(struct kc_export *writer)
{
        const uint32_t limit = writer->kind->count_limit;
        uint64_t nclipped = 0;
        for (size_t i = 0; i < writer->n; i++) {
                nclipped += writer->counts[i] > limit;
                writer->counts[i] = writer->counts[i] > limit ? limit : writer->counts[i];
        }
        writer->written.nclipped += nclipped;
}

static enum kc_status write_batch(struct kc_export *writer, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        const size_t n = writer->n;
        if (n == 0)
                return KC_OK;
        if (writer->kind->count_limit < UINT32_MAX)
                clip(writer);
        char *end = writer->kind->encode(writer, writer->kmers, writer->counts, n, writer->records);
        if (writer->kind->note != NULL)
                KC_TRY(writer->kind->note(writer, writer->kmers, n, err));
        KC_TRY(kc_export_out_write(&writer->outs[0], writer->records,
                                   (size_t)(end - writer->records), err));
        writer->written.nkmers += n;
        writer->n = 0;
out:
        return status;
}

/* Append the pairs that the filter keeps to the batch, which has room for all n. */
static void take_pairs(struct kc_export *writer, const uint64_t *kmers, const uint32_t *counts,
                       size_t n)
{
        const uint32_t min = writer->options.min_count, max = writer->options.max_count;
        const size_t nwords = writer->nwords;
        size_t used = writer->n;
        for (size_t i = 0; i < n; i++) {
                writer->counts[used] = counts[i];
                for (size_t j = 0; j < nwords; j++)
                        writer->kmers[used * nwords + j] = kmers[i * nwords + j];
                used += counts[i] >= min && counts[i] <= max;
        }
        writer->n = used;
}

enum kc_status kc_export_put(struct kc_export *writer, const uint64_t *kmers,
                             const uint32_t *counts, size_t n, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        if (writer->kind->tally != NULL)
                writer->kind->tally(writer, counts, n);
        while (n > 0) {
                size_t room = writer->kind->batch_nkmers - writer->n;
                size_t m = n < room ? n : room;
                take_pairs(writer, kmers, counts, m);
                kmers += m * writer->nwords;
                counts += m;
                n -= m;
                if (writer->n == writer->kind->batch_nkmers)
                        KC_TRY(write_batch(writer, err));
        }
out:
        return status;
}

enum kc_status kc_export_finish(struct kc_export *writer, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(write_batch(writer, err));
        if (writer->kind->end != NULL)
                KC_TRY(writer->kind->end(writer, err));
        for (size_t i = 0; i < writer->nouts; i++)
                KC_TRY(kc_export_out_flush(&writer->outs[i], err));
out:
        return status;
}

enum kc_status kc_export_commit(struct kc_export *writer, struct kc_new_file *other,
                                struct kc_export_written *written, struct kc_error *err)
{
        struct kc_new_file *files[KC_EXPORT_MAX_FILES + 1];
        size_t n = 0;
        while (n < writer->nouts) {
                files[n] = &writer->outs[n].file;
                n++;
        }
        if (other != NULL)
                files[n++] = other;
        enum kc_status status = kc_new_files_commit(files, n, err);
        *written = writer->written;
        for (size_t i = 0; i < writer->nouts; i++)
                written->nbytes += writer->outs[i].nbytes;
        return status;
}

void kc_export_close(struct kc_export *writer)
{
        if (writer == NULL)
                return;
        for (size_t i = 0; i < writer->nouts; i++)
                kc_export_out_close(&writer->outs[i]);
        free(writer->state);
        free(writer->kmers);
        free(writer->counts);
        free(writer->records);
        free(writer);
}
