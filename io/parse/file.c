#include "io/parse/file.h"

#include "io/input/damage.h"
#include "io/parse/cut.h"

/* What may be held of a record: its share of the memory. */
static struct kc_limits limits_of(const struct kc_file_options *options)
{
        enum { CHUNK_SHARES = 6, SEQUENCE_SHARES = 3 }; /* buffers have room to spare, or grow */
        struct kc_limits limits = kc_limits_usual();
        if (options->memory_nbytes > 0) {
                size_t worker = options->memory_nbytes / (unsigned)options->nworkers / CHUNK_SHARES;
                size_t file = options->memory_nbytes / (unsigned)options->nfiles / SEQUENCE_SHARES;
                limits.record_max = worker < limits.record_max ? worker : limits.record_max;
                limits.held.nbytes = file < limits.held.nbytes ? file : limits.held.nbytes;
                limits.held.bound_nbytes = options->bound_nbytes;
                limits.held.bound_factor =
                        options->bound_factor * (unsigned)options->nfiles * SEQUENCE_SHARES;
        }
        if (options->record_max > 0)
                limits.record_max = options->record_max;
        if (options->sequence_max > 0)
                limits.held.nbytes = options->sequence_max;
        return limits;
}

static void limit_text(struct kc_text *text, const struct kc_limits *limits,
                       const struct kc_file_options *options)
{
        if (options->min_quality > 0)
                text->fastq.piecewise.min_quality = kc_quality_letter(options->min_quality);
        text->fastq.record_max = limits->record_max;
        text->fastq.piecewise.held = limits->held;
        text->fastq.piecewise.nskip = text->fasta.nskip = options->selection.nskip;
        text->fastq.piecewise.hpc = text->fasta.hpc = options->selection.hpc;
}

static enum kc_status open_source(struct kc_file *file, struct kc_input *in,
                                  const struct kc_detected *found,
                                  const struct kc_file_options *options, struct kc_error *err)
{
        struct kc_limits limits = limits_of(options);
        enum kc_status status = kc_source_open(&file->source, in, found->container,
                                               options->chunk_nbytes, options->ninflaters, err);
        if (status != KC_OK)
                return status;
        if (options->memory_nbytes > 0)
                file->source->memory_nbytes = options->memory_nbytes / (unsigned)options->nfiles;
        limit_text(&file->text, &limits, options);
        file->source->bam = found->bam;
        file->source->must_not_grow = found->bam || found->first == '>' || found->first == ';';
        if (!found->bam)
                return KC_OK;
        file->bam = kc_bam_new(file->text.name, options->kernels, options->k, options->min_quality,
                               &options->selection, &limits);
        return file->bam != NULL ? KC_OK : kc_fail(err, KC_ENOMEM, "out of memory for reading");
}

/* Where the piece begins and ends, at records. */
struct ends {
        struct kc_cut begin, end;
        bool is_last;
};

static enum kc_status find_ends(const struct kc_input *in, const struct kc_detected *found,
                                const struct kc_input_piece *piece, struct ends *ends,
                                struct kc_error *err)
{
        const bool bgzf = found->container == KC_CONTAINER_BGZF;
        enum kc_status status = KC_OK;
        *ends = (struct ends){ .end.at = in->size, .is_last = true };
        if (piece->from > 0)
                KC_TRY(kc_cut_find(in, bgzf, found->first, piece->from, &ends->begin, err));
        if (piece->to < in->size)
                KC_TRY(kc_cut_find(in, bgzf, found->first, piece->to, &ends->end, err));
        ends->is_last = ends->end.at == in->size;
out:
        return status;
}

static bool is_part(const struct kc_input_piece *piece)
{
        return piece->from > 0 || piece->to < UINT64_MAX;
}

/* Check that the pieces of all processes make up the whole file, each byte once. */
static enum kc_status check_piece(const struct kc_input *in, const char *path,
                                  const struct kc_input_piece *piece, const struct ends *ends,
                                  struct kc_error *err)
{
        if (!is_part(piece))
                return KC_OK;
        if (in->size != piece->nbytes)
                return kc_fail(err, KC_EINPUT, "%s was written to while it was being opened",
                               kc_input_name(path));
        if (ends->begin.at > ends->end.at)
                return kc_fail(
                        err, KC_EINPUT,
                        "%s cannot be shared among processes: its records are too long; count it "
                        "with one",
                        kc_input_name(path));
        return KC_OK;
}

static bool is_empty(const struct kc_input_piece *piece, const struct ends *ends)
{
        return piece->from > 0 && ends->begin.at == ends->end.at &&
               ends->begin.skip == ends->end.skip;
}

/* Limit what is read of the file to the piece. */
static void cut_out(struct kc_file *file, const struct kc_detected *found, const struct ends *ends)
{
        struct kc_source *source = file->source;
        source->input.offset = ends->begin.at;
        if (found->container == KC_CONTAINER_PLAIN)
                source->input.size = ends->end.at;
        else if (!ends->is_last)
                source->part.end = ends->end.at;
        source->part.skip = ends->begin.skip;
        source->part.kept = ends->end.skip;
        source->must_not_grow &= ends->is_last;
}

enum kc_status kc_file_open(struct kc_file *file, const char *path,
                            const struct kc_input_piece *piece,
                            const struct kc_file_options *options, bool *empty,
                            struct kc_error *err)
{
        struct kc_input in;
        struct kc_detected found;
        struct ends ends;
        *empty = false;
        *file = (struct kc_file){ 0 };
        kc_text_init(&file->text, kc_input_name(path), options->kernels, options->k);
        enum kc_status status = kc_input_open(&in, path, err);
        if (status == KC_OK)
                status = kc_detect(&in, options->accepted, &found, err);
        if (status == KC_OK)
                status = find_ends(&in, &found, piece, &ends, err);
        if (status == KC_OK)
                status = check_piece(&in, path, piece, &ends, err);
        *empty = status == KC_OK && is_empty(piece, &ends);
        if (status != KC_OK || *empty) {
                kc_input_close(&in);
                return status;
        }
        file->text.fastq.checker = kc_container_packing(found.container).checker;
        file->percent_other = found.percent_other;
        if (found.container != KC_CONTAINER_ALIGNMENTS) {
                status = open_source(file, &in, &found, options, err);
                if (status == KC_OK && is_part(piece))
                        cut_out(file, &found, &ends);
                return status;
        }
        return kc_alignments_open(&file->alignments, &in,
                                  options->min_quality > 0 ? KC_FIELDS_QUALITIES : KC_FIELDS_BASES,
                                  &options->selection, options->nworkers, options->chunk_nbytes,
                                  err);
}

bool kc_file_fill(struct kc_file *file, struct kc_chunk *chunk)
{
        kc_chunk_clear(chunk);
        if (file->source != NULL)
                return kc_source_fill(file->source, chunk);
        return kc_alignments_fill(file->alignments, chunk);
}

bool kc_file_is_serial(const struct kc_file *file)
{
        return file->source == NULL || file->source->serial;
}

bool kc_file_inflates(const struct kc_file *file)
{
        return file->source != NULL && file->source->inflates;
}

bool kc_file_has_qualities(const struct kc_file *file)
{
        return kc_file_has_flags(file) || file->text.format == KC_TEXT_FASTQ;
}

bool kc_file_has_flags(const struct kc_file *file)
{
        return file->alignments != NULL || file->bam != NULL;
}

enum kc_status kc_file_parse(struct kc_file *file, struct kc_chunk *chunk, struct kc_error *err)
{
        if (file->bam != NULL) {
                if (chunk->open_end.found)
                        kc_damage_no_end_block(file->text.name, chunk->open_end.offset,
                                               !chunk->last, "samtools fastq FILE", &chunk->error);
                return kc_bam_parse(file->bam, chunk, err);
        }
        if (file->source != NULL)
                return kc_text_parse(&file->text, chunk, err);
        if (chunk->error.status == KC_OK)
                return KC_OK;
        chunk->nrecords = chunk->nreads = 0;
        return kc_fail_as(err, &chunk->error);
}

void kc_file_close(struct kc_file *file)
{
        kc_source_close(file->source);
        kc_alignments_close(file->alignments);
        kc_bam_free(file->bam);
        kc_text_destroy(&file->text);
        *file = (struct kc_file){ 0 };
}
