#include "io/parse/stored.h"

#include "base/job.h"
#include "io/parse/bam_header.h"
#include "io/parse/cut.h"

#include <stdlib.h>
#include <string.h>

enum kc_status kc_stored_init(struct kc_stored *stored, char *const *names, atomic_uint *marks,
                              size_t n, struct kc_job *job, struct kc_error *err)
{
        stored->names = names;
        stored->marks = marks;
        stored->n = n;
        stored->job = job;
        stored->files = calloc(n, sizeof *stored->files);
        stored->inputs = calloc(n, sizeof *stored->inputs);
        stored->opened = calloc(n, sizeof *stored->opened);
        pthread_mutex_init(&stored->opening, NULL);
        stored->initialized = true;
        if (stored->files == NULL || stored->inputs == NULL || stored->opened == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for reading");
        return KC_OK;
}

static void close_file(void *ctx, size_t i)
{
        struct kc_stored *stored = ctx;
        if (stored->opened[i])
                kc_input_close(&stored->inputs[i]);
        stored->opened[i] = false;
}

void kc_stored_free(struct kc_stored *stored)
{
        if (!stored->initialized)
                return;
        for (size_t i = 0; stored->opened != NULL && i < stored->n; i++)
                close_file(stored, i);
        free(stored->files);
        free(stored->parts);
        free(stored->inputs);
        free(stored->opened);
        pthread_mutex_destroy(&stored->opening);
        *stored = (struct kc_stored){ 0 };
}

void kc_stored_note(struct kc_stored *stored, size_t i, uint64_t nbytes,
                    const struct kc_detected *found)
{
        const bool bam = found->bam;
        const bool bgzf = found->container == KC_CONTAINER_BGZF;
        const bool named = strcmp(stored->names[i], "-") != 0; /* not standard input */
        stored->files[i] = (struct kc_stored_file){
                .nbytes = nbytes, .bgzf = bgzf, .fasta = found->first == '>', .bam = bam
        };
        if (!named || (!bgzf && (bam || found->container != KC_CONTAINER_PLAIN)) ||
            (!bam && found->first != '>' && found->first != '@'))
                stored->unfit = true;
}

bool kc_stored_has_qualities(const struct kc_stored *stored)
{
        for (size_t i = 0; i < stored->n; i++)
                if (!stored->files[i].fasta)
                        return true;
        return false;
}

static enum kc_status open_file(struct kc_stored *stored, size_t i, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        pthread_mutex_lock(&stored->opening);
        if (!stored->opened[i]) {
                status = kc_input_open(&stored->inputs[i], stored->names[i], err);
                stored->opened[i] = status == KC_OK;
        }
        pthread_mutex_unlock(&stored->opening);
        return status;
}

/* Plain FASTA does not show where its last record ends. If the file has become longer, leave it to
 * the host's reader, which reads it all or reports that. */
static enum kc_status check_end(const struct kc_stored *stored, size_t i, size_t *got,
                                struct kc_error *err)
{
        const struct kc_stored_file *file = &stored->files[i];
        bool longer = false;
        enum kc_status status = KC_OK;
        if (file->fasta && !file->bgzf)
                status = kc_input_is_longer(&stored->inputs[i], file->nbytes, &longer, err);
        if (longer)
                *got = 0;
        return status;
}

static enum kc_status read_file(void *ctx, size_t file, uint64_t offset, void *to, size_t n,
                                size_t *got, struct kc_error *err)
{
        struct kc_stored *stored = ctx;
        enum kc_status status;
        *got = 0;
        KC_TRY(open_file(stored, file, err));
        KC_TRY(kc_input_read_at(&stored->inputs[file], to, n, offset, got, err));
        kc_job_advance(stored->job, *got);
        if (offset + n == stored->files[file].nbytes)
                KC_TRY(check_end(stored, file, got, err));
out:
        return status;
}

static void mark(void *ctx, size_t file, unsigned marks)
{
        struct kc_stored *stored = ctx;
        atomic_fetch_or(&stored->marks[file], marks);
}

static void report(void *ctx, const struct kc_stored_totals *totals)
{
        struct kc_stored *stored = ctx;
        stored->totals = *totals;
}

/* Returns false if a header of BAM is not sound. */
static bool measure_headers(struct kc_stored *stored)
{
        for (size_t i = 0; i < stored->n; i++) {
                struct kc_stored_file *file = &stored->files[i];
                if (file->bam && file->header_nbytes == 0 &&
                    !kc_bam_header_measure(stored->names[i], &file->header_nbytes, &file->nrefs))
                        return false;
        }
        return true;
}

/* ---- parts ---- */

static uint64_t count_parts(const struct kc_stored_file *file, uint64_t part_nbytes)
{
        const bool cuttable = !file->bam && file->nbytes > part_nbytes;
        return cuttable ? file->nbytes / part_nbytes + (file->nbytes % part_nbytes != 0) : 1;
}

/* The part of a file between two cuts. */
static struct kc_stored_part part_between(const struct kc_stored_file *file, size_t number,
                                          const struct kc_cut *begin, const struct kc_cut *end)
{
        const uint64_t last = end->skip > 0 ? end->block_nbytes : 0;
        return (struct kc_stored_part){ .file = number,
                                        .offset = begin->at,
                                        .nbytes = end->at + last - begin->at,
                                        .skip = begin->at == 0 ? file->header_nbytes : begin->skip,
                                        .kept = end->skip > 0 ? end->skip : UINT32_MAX,
                                        .ends_file = end->at == file->nbytes };
}

/* Append the parts of file i. A part in which no record begins is left out. Once a cut is far away,
 * the file is not cut any more: its records are long, and finding where they begin takes long. */
static enum kc_status cut_file(struct kc_stored *stored, size_t i, uint64_t nparts,
                               struct kc_error *err)
{
        enum { FAR_NBYTES = 1 << 20 };
        const struct kc_stored_file *file = &stored->files[i];
        const char first = file->fasta ? '>' : '@';
        const struct kc_cut end_of_file = { .at = file->nbytes };
        struct kc_cut begin = { 0 }, end = { 0 };
        enum kc_status status = KC_OK;
        uint64_t from = 0;
        for (uint64_t part = 1; part < nparts && end.at <= from + FAR_NBYTES; part++) {
                from = file->nbytes / nparts * part;
                KC_TRY(kc_cut_find(&stored->inputs[i], file->bgzf, first, from, &end, err));
                if (end.at >= file->nbytes)
                        break;
                if (end.at == begin.at && end.skip == begin.skip)
                        continue;
                stored->parts[stored->nparts++] = part_between(file, i, &begin, &end);
                begin = end;
        }
        stored->parts[stored->nparts++] = part_between(file, i, &begin, &end_of_file);
out:
        return status;
}

static enum kc_status cut_files(struct kc_stored *stored, uint64_t part_nbytes,
                                struct kc_error *err)
{
        enum kc_status status = KC_OK;
        uint64_t nparts = 0;
        for (size_t i = 0; i < stored->n; i++)
                nparts += count_parts(&stored->files[i], part_nbytes);
        free(stored->parts);
        stored->nparts = 0;
        stored->parts = calloc(nparts, sizeof *stored->parts);
        if (stored->parts == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for reading");
        for (size_t i = 0; i < stored->n; i++) {
                const uint64_t n = count_parts(&stored->files[i], part_nbytes);
                if (n > 1)
                        KC_TRY(open_file(stored, i, err));
                KC_TRY(cut_file(stored, i, n, err));
        }
out:
        return status;
}

bool kc_stored_source(struct kc_stored *stored, uint64_t part_nbytes,
                      struct kc_stored_source *source)
{
        struct kc_error ignored = { 0 }; /* batches come from the same files: reading reports it */
        stored->unfit = stored->unfit || !measure_headers(stored) ||
                        cut_files(stored, part_nbytes, &ignored) != KC_OK;
        *source = (struct kc_stored_source){ .ctx = stored,
                                             .files = stored->files,
                                             .nfiles = stored->n,
                                             .parts = stored->parts,
                                             .nparts = stored->nparts,
                                             .read = read_file,
                                             .mark = mark,
                                             .close = close_file,
                                             .report = report };
        return !stored->unfit;
}
