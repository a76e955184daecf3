#include "io/records.h"

#include "io/inflate/source.h"
#include "io/parse/alignments.h"
#include "io/records/text.h"

#include <htslib/sam.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_NBYTES = 512 << 10, MIN_INFLATERS = 3 };

struct kc_records {
        struct kc_source *source; /* of text */
        struct kc_record_text text;
        struct kc_alignments *alignments; /* or htslib reads the file */

        pthread_mutex_t lock; /* for all below, and to read alignments */
        struct kc_error failure;
        bool ended;
        uint64_t nrecords, nbatches; /* of alignments */
};

/* ---- batches ---- */

static enum kc_status prepare(const struct kc_records *records, struct kc_record_batch *batch,
                              struct kc_error *err)
{
        batch->n = 0;
        batch->input_nbytes = 0;
        if (batch->memory != NULL)
                return KC_OK;
        batch->memory = calloc(1, sizeof *batch->memory);
        if (batch->memory == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for reading");
        return kc_chunk_init(&batch->memory->chunk, records->text.options.chunk_nbytes, err);
}

void kc_record_batch_free(struct kc_record_batch *batch)
{
        struct kc_record_memory *memory = batch->memory;
        if (memory == NULL)
                return;
        for (size_t i = 0; i < memory->nalignments; i++)
                bam_destroy1(memory->alignments[i]);
        free(memory->alignments);
        free(memory->records);
        kc_chunk_free(&memory->chunk);
        free(memory);
        *batch = (struct kc_record_batch){ 0 };
}

size_t kc_record_batch_nbytes(const struct kc_record_batch *batch)
{
        const struct kc_record_memory *memory = batch->memory;
        if (memory == NULL)
                return 0;
        size_t nbytes = sizeof *memory + kc_chunk_nbytes(&memory->chunk) +
                        memory->cap * sizeof *memory->records;
        for (size_t i = 0; i < memory->nalignments; i++)
                nbytes += sizeof *memory->alignments + sizeof **memory->alignments +
                          memory->alignments[i]->m_data;
        return nbytes;
}

/* Show what the memory holds. */
static void show(struct kc_record_batch *batch)
{
        batch->n = batch->memory->n;
        batch->records = batch->memory->records;
        batch->bytes = (const char *)batch->memory->chunk.buffer;
        batch->alignments = batch->memory->alignments;
}

/* ---- alignments ---- */

/* Make room for one more alignment. */
static enum kc_status reserve_alignment(struct kc_record_memory *memory, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(kc_record_memory_reserve(memory, err));
        if (memory->n < memory->nalignments)
                return KC_OK;
        struct bam1_t **grown =
                realloc(memory->alignments, memory->cap * sizeof *memory->alignments);
        if (grown == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for reading");
        memory->alignments = grown;
        for (; memory->nalignments < memory->cap; memory->nalignments++)
                if ((grown[memory->nalignments] = bam_init1()) == NULL)
                        return kc_fail(err, KC_ENOMEM, "out of memory for reading");
out:
        return status;
}

/* Under the lock: read alignments until there are as many bytes as in a chunk. */
static enum kc_status read_alignments(struct kc_records *records, struct kc_record_memory *memory,
                                      struct kc_error *err)
{
        enum kc_status status = KC_OK;
        size_t nbytes = 0;
        memory->n = 0;
        while (!records->ended && nbytes < records->text.options.chunk_nbytes) {
                bool found;
                KC_TRY(reserve_alignment(memory, err));
                struct bam1_t *alignment = memory->alignments[memory->n];
                KC_TRY(kc_alignments_next(records->alignments, alignment, &found, err));
                records->ended = !found;
                nbytes += (size_t)alignment->l_data;
                memory->n += found;
        }
out:
        return status;
}

/* Put an alignment's name, bases and qualities after what the arena has. */
static void decode(struct kc_chunk *chunk, const struct bam1_t *alignment,
                   struct kc_seq_record *record)
{
        const char *name = bam_get_qname(alignment);
        const size_t n = (size_t)alignment->core.l_qseq;
        *record = (struct kc_seq_record){
                .name = (uint32_t)chunk->end,
                .name_nbytes = (uint32_t)strlen(name),
                .nbases = (uint32_t)n,
                .qualities = KC_RECORD_NO_QUALITIES,
                .flags = KC_RECORD_WHOLE,
        };
        memcpy(chunk->buffer + chunk->end, name, record->name_nbytes);
        record->bases = (uint32_t)(chunk->end += record->name_nbytes);
        kc_alignment_bases(alignment, chunk->buffer + chunk->end);
        chunk->end += n;
        if (kc_alignment_has_qualities(alignment)) {
                record->qualities = (uint32_t)chunk->end;
                kc_alignment_qualities(alignment, chunk->buffer + chunk->end);
                chunk->end += n;
        }
        if (!kc_alignment_is_primary(alignment))
                record->flags |= KC_RECORD_REPEATED;
}

static enum kc_status decode_all(struct kc_record_memory *memory, uint64_t first,
                                 struct kc_error *err)
{
        enum kc_status status;
        size_t nbytes = 0;
        for (size_t i = 0; i < memory->n; i++)
                nbytes += (size_t)memory->alignments[i]->core.l_qname +
                          2 * (size_t)memory->alignments[i]->core.l_qseq;
        kc_chunk_clear(&memory->chunk);
        KC_TRY(kc_record_memory_extend(memory, nbytes, err));
        for (size_t i = 0; i < memory->n; i++) {
                decode(&memory->chunk, memory->alignments[i], &memory->records[i]);
                memory->records[i].number = first + i;
        }
out:
        return status;
}

static enum kc_status next_alignments(struct kc_records *records, struct kc_record_batch *batch,
                                      struct kc_error *err)
{
        struct kc_record_memory *memory = batch->memory;
        pthread_mutex_lock(&records->lock);
        enum kc_status status = read_alignments(records, memory, err);
        records->ended |= status != KC_OK;
        const uint64_t first = records->nrecords;
        if (status == KC_OK && memory->n > 0) {
                records->nrecords += memory->n;
                batch->number = records->nbatches++;
        }
        pthread_mutex_unlock(&records->lock);
        return status == KC_OK ? decode_all(memory, first, err) : status;
}

/* ---- the stream ---- */

static enum kc_status next_text(struct kc_records *records, struct kc_record_batch *batch,
                                struct kc_error *err)
{
        struct kc_record_memory *memory = batch->memory;
        enum kc_status status = KC_OK;
        for (memory->n = 0; memory->n == 0 && status == KC_OK;) {
                kc_chunk_clear(&memory->chunk);
                if (!kc_source_fill(records->source, &memory->chunk))
                        break;
                status = kc_record_text_parse(&records->text, batch, err);
                batch->input_nbytes += memory->chunk.input_nbytes;
        }
        return status;
}

static void record_failure(struct kc_records *records, const struct kc_error *own)
{
        pthread_mutex_lock(&records->lock);
        kc_fail_as(&records->failure, own);
        pthread_mutex_unlock(&records->lock);
}

/* Any thread may have failed, at records that come before those of this thread. */
static enum kc_status earlier_failure(struct kc_records *records, struct kc_error *err)
{
        pthread_mutex_lock(&records->lock);
        const enum kc_status status =
                records->failure.status != KC_OK ? kc_fail_as(err, &records->failure) : KC_OK;
        pthread_mutex_unlock(&records->lock);
        return status;
}

enum kc_status kc_records_next(struct kc_records *records, struct kc_record_batch *batch,
                               struct kc_error *err)
{
        struct kc_error own = { 0 };
        enum kc_status status;
        KC_TRY(prepare(records, batch, &own));
        KC_TRY(earlier_failure(records, &own));
        if (records->alignments != NULL)
                KC_TRY(next_alignments(records, batch, &own));
        else
                KC_TRY(next_text(records, batch, &own));
        show(batch);
out:
        if (status != KC_OK)
                record_failure(records, &own);
        else if (batch->n > 0)
                return KC_OK;
        return earlier_failure(records, err);
}

struct sam_hdr_t *kc_records_header(const struct kc_records *records)
{
        return records->alignments != NULL ? kc_alignments_header(records->alignments) : NULL;
}

enum kc_records_kind kc_records_kind(const struct kc_records *records)
{
        if (records->alignments == NULL)
                return KC_RECORDS_TEXT;
        return kc_alignments_is_cram(records->alignments) ? KC_RECORDS_CRAM : KC_RECORDS_BAM;
}

/* Whether the header's first line has this tag with this value. */
static bool header_says(struct sam_hdr_t *header, const char *tag, const char *value)
{
        kstring_t found = KS_INITIALIZE;
        const bool says = sam_hdr_find_tag_hd(header, tag, &found) == 0 && found.s != NULL &&
                          strcmp(found.s, value) == 0;
        ks_free(&found);
        return says;
}

enum kc_records_order kc_records_order(const struct kc_records *records)
{
        struct sam_hdr_t *header = kc_records_header(records);
        if (header == NULL)
                return KC_RECORDS_ANY_ORDER;
        if (header_says(header, "GO", "query") || header_says(header, "SO", "queryname"))
                return KC_RECORDS_BY_NAME;
        return header_says(header, "SO", "coordinate") ? KC_RECORDS_BY_PLACE : KC_RECORDS_ANY_ORDER;
}

/* ---- opening and closing ---- */

static enum kc_status open_alignments(struct kc_records *records, struct kc_input *in,
                                      struct kc_error *err)
{
        const struct kc_records_options *options = &records->text.options;
        if (options->accepted & KC_RECORDS_ALIGNMENTS)
                return kc_alignments_open(&records->alignments, in, KC_FIELDS_ALL,
                                          &(struct kc_selection){ 0 }, options->nthreads,
                                          options->chunk_nbytes, err);
        kc_fail_filter(err, KC_REMEDY_FILTER, in->name, "samtools fasta FILE",
                       "%s is SAM, BAM or CRAM, which is not read here", in->name);
        kc_input_close(in);
        return KC_EINPUT;
}

static enum kc_status open_file(struct kc_records *records, const char *path, struct kc_error *err)
{
        const struct kc_records_options *options = &records->text.options;
        const unsigned lines = options->accepted & KC_RECORDS_LINES;
        struct kc_input in;
        struct kc_detected found;
        enum kc_status status;
        KC_TRY(kc_input_open(&in, path, err));
        KC_TRY(kc_detect(&in, lines ? KC_ACCEPT_LINES | KC_ACCEPT_EMPTY : 0, &found, err));
        if (found.container == KC_CONTAINER_ALIGNMENTS || found.bam)
                return open_alignments(records, &in, err);
        records->text.fastq.checker = kc_container_packing(found.container).checker;
        /* guessing takes half as much work again: too much for two threads (io/parse/reader.c) */
        return kc_source_open(&records->source, &in, found.container, options->chunk_nbytes,
                              options->nthreads >= MIN_INFLATERS ? options->nthreads : 1, err);
out:
        kc_input_close(&in);
        return status;
}

enum kc_status kc_records_open(struct kc_records **records, const char *path,
                               const struct kc_records_options *options, struct kc_error *err)
{
        struct kc_records_options used = *options;
        struct kc_records *r = calloc(1, sizeof *r);
        *records = NULL;
        if (r == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for reading");
        if (used.chunk_nbytes == 0)
                used.chunk_nbytes = CHUNK_NBYTES;
        if (used.record_max == 0)
                used.record_max = kc_limits_usual().record_max;
        pthread_mutex_init(&r->lock, NULL);
        kc_record_text_init(&r->text, kc_input_name(path), &used);
        const enum kc_status status = open_file(r, path, err);
        if (status == KC_OK)
                *records = r;
        else
                kc_records_close(r);
        return status;
}

void kc_records_close(struct kc_records *records)
{
        if (records == NULL)
                return;
        kc_source_close(records->source);
        kc_alignments_close(records->alignments);
        kc_record_text_destroy(&records->text);
        pthread_mutex_destroy(&records->lock);
        free(records);
}
