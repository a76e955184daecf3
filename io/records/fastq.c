/*
 * Records of FASTQ, from the index that the reader's parser makes (io/parse/fastq.h). Where the
 * parser has joined lines in place, a copy of the text shows how they were.
 */
#include "io/records/text.h"

#include <stdio.h>
#include <string.h>

struct fastq {
        const struct kc_record_text *text;
        struct kc_record_memory *memory;
        struct kc_chunk *chunk;
        struct kc_record_cut *cut;
        size_t from, to; /* the text of the records, as it was read */
};

/* The place of the text at `at` as it was read, which is a copy if lines were joined. */
static size_t as_read(const struct kc_chunk *chunk, size_t at)
{
        return chunk->copy == 0 ? at : at - chunk->copied + chunk->copy;
}

/* The beginning of the line before the one that begins at `at`. The search stops at `from`, where
 * some line before `at` begins. */
static size_t line_before(const struct fastq *f, size_t from, size_t at)
{
        const uint8_t *buffer = f->chunk->buffer;
        const uint8_t *eol = memrchr(buffer + from, '\n', at - 1 - from);
        return eol == NULL ? from : (size_t)(eol - buffer) + 1;
}

/* Set the place and length of a line from its second letter on, without the line's end. */
static void set_line(const struct fastq *f, size_t from, size_t to, uint32_t *at, uint32_t *nbytes)
{
        *at = (uint32_t)from + 1;
        *nbytes = (uint32_t)kc_record_line(f->chunk->buffer + from, to - from) - 1;
}

/* Check the record that was added last. */
static void check_letters(const struct fastq *f)
{
        const struct kc_seq_record *record = &f->memory->records[f->memory->n - 1];
        const uint8_t *bases = f->chunk->buffer + record->bases;
        struct kc_problem *problem = &f->cut->problem;
        if (f->text->options.accepted & KC_RECORDS_SYMBOLS)
                return; /* the index has only such records */
        const size_t bad = kc_record_bad_letter(f->text, bases, record->nbases);
        if (bad == record->nbases)
                return;
        kc_record_refuse_letter(f->text, bases[bad], bad == 0, problem);
        problem->record = f->memory->n - f->cut->continues;
}

/* Turn one record of the index into one of the batch; it ends where the text ends. */
static enum kc_status add(const struct fastq *f, const struct kc_record *index,
                          struct kc_error *err)
{
        struct kc_record_memory *memory = f->memory;
        enum kc_status status;
        KC_TRY(kc_record_memory_reserve(memory, err));
        struct kc_seq_record *record = &memory->records[memory->n];
        const size_t seq = as_read(f->chunk, index->seq), qual = as_read(f->chunk, index->qual);
        struct kc_seq_record *before = memory->n > 0 ? record - 1 : NULL;
        /* from the last record on, since sanitizers check every byte that a search may reach */
        const bool is_later = before != NULL && before->text > f->from;
        const size_t begin = line_before(f, is_later ? before->text : f->from, seq);
        record->text = before != NULL ? (uint32_t)begin : (uint32_t)f->from;
        record->text_nbytes = (uint32_t)f->to - record->text;
        if (before != NULL)
                before->text_nbytes = record->text - before->text;
        set_line(f, begin, seq, &record->name, &record->name_nbytes);
        set_line(f, line_before(f, begin, qual), qual, &record->plus, &record->plus_nbytes);
        record->bases = index->seq;
        record->nbases = index->nbases;
        record->qualities = index->qual;
        record->flags = KC_RECORD_WHOLE;
        memory->n++;
out:
        return status;
}

/* Add the records of the index from number `first` on. */
static enum kc_status add_all(const struct fastq *f, size_t first, struct kc_error *err)
{
        const struct kc_chunk *chunk = f->chunk;
        enum kc_status status = KC_OK;
        for (size_t i = first; i < chunk->nrecords && f->cut->problem.what[0] == 0; i++) {
                KC_TRY(add(f, &chunk->records[i], err));
                check_letters(f);
        }
        /* the line end that was added to the file is the last byte of all */
        if (f->cut->added_eol && chunk->nrecords > first && f->to == as_read(chunk, chunk->end))
                f->memory->records[f->memory->n - 1].text_nbytes--;
out:
        return status;
}

enum kc_status kc_record_take_fastq(const struct kc_record_text *text,
                                    struct kc_record_memory *memory, size_t end,
                                    struct kc_record_cut *cut, struct kc_error *err)
{
        struct kc_chunk *chunk = &memory->chunk;
        const struct fastq f = { text, memory, chunk, cut, chunk->start, end };
        memory->n = 0;
        return add_all(&f, 0, err);
}

/* ---- the general form ---- */

/* Remember the name of a record that comes in pieces, the first of which is [from, to). */
static enum kc_status keep_name(struct kc_record_text *text, const uint8_t *from, const uint8_t *to,
                                struct kc_error *err)
{
        const uint8_t *eol = memchr(from, '\n', (size_t)(to - from));
        if (eol == NULL)
                return kc_fail(err, KC_EINPUT, "%s: record %llu has a name of more than %zu bytes",
                               text->name, (unsigned long long)text->nrecords + 1,
                               text->options.record_max);
        text->piece_name.nbytes = 0;
        return kc_bytes_append(&text->piece_name, from + 1,
                               kc_record_line(from, (size_t)(eol - from)) - 1, err);
}

/* Make a record of the piece whose text [from, to) was parsed. index: its bases; NULL: none. */
static enum kc_status add_piece(const struct fastq *f, const struct kc_record *index,
                                unsigned flags, struct kc_error *err)
{
        const struct kc_bytes *name = &f->text->piece_name;
        struct kc_record_memory *memory = f->memory;
        const size_t after = as_read(f->chunk, f->chunk->end);
        enum kc_status status;
        KC_TRY(kc_record_memory_reserve(memory, err));
        struct kc_seq_record *record = &memory->records[memory->n];
        if (name->nbytes > 0) /* room was made before the text was copied */
                memcpy(f->chunk->buffer + after, name->data, name->nbytes);
        record->text = (uint32_t)f->from;
        record->text_nbytes = (uint32_t)(f->to - f->from);
        if (f->cut->added_eol && f->to == after)
                record->text_nbytes--;
        record->name = (uint32_t)after;
        record->name_nbytes = (uint32_t)name->nbytes;
        if (index != NULL) {
                record->bases = index->seq;
                record->nbases = index->nbases;
                record->noverlap = index->ncontext;
        }
        record->qualities = KC_RECORD_NO_QUALITIES;
        record->flags = (uint8_t)flags;
        memory->n++;
        check_letters(f);
out:
        return status;
}

/* The piece comes first in the index, if it has bases. */
static enum kc_status take_piece(struct kc_record_text *text, const struct fastq *all, bool begins,
                                 size_t *nindexed, struct kc_error *err)
{
        const struct kc_chunk *chunk = all->chunk;
        struct fastq f = *all;
        enum kc_status status = KC_OK;
        f.from = as_read(chunk, chunk->copied);
        f.to = as_read(chunk, chunk->start);
        *nindexed = chunk->nrecords > 0 && chunk->records[0].qual == KC_NO_QUALITY;
        const bool ends = chunk->nreads > chunk->nrecords - *nindexed;
        all->cut->continues = !begins;
        if (begins)
                KC_TRY(keep_name(text, chunk->buffer + f.from, chunk->buffer + f.to, err));
        status = add_piece(&f, *nindexed ? chunk->records : NULL,
                           (begins ? KC_RECORD_BEGINS : 0) | (ends ? KC_RECORD_ENDS : 0), err);
out:
        return status;
}

enum kc_status kc_record_take_general(struct kc_record_text *text, struct kc_record_memory *memory,
                                      struct kc_record_cut *cut, struct kc_error *err)
{
        struct kc_fastq_text *fastq = &text->fastq;
        struct kc_chunk *chunk = &memory->chunk;
        const bool in_piece = fastq->piecewise.place != KC_LONG_NONE;
        const bool begins = fastq->piecewise.place == KC_LONG_HEADER;
        /* for the copy of the text, and a name, which is either kept or in what is held */
        const size_t room = chunk->end - chunk->front + 2 * fastq->held.nbytes;
        enum kc_status status;
        size_t nindexed = 0;
        memory->n = 0;
        cut->problem = (struct kc_problem){ 0 };
        if (in_piece)
                KC_TRY(kc_record_memory_extend(memory, room + text->piece_name.nbytes, err));
        KC_TRY(kc_fastq_text_confirm(fastq, chunk, false, err));
        if (chunk->copy == 0)
                goto out; /* all of it is held */
        const struct fastq f = { text,
                                 memory,
                                 chunk,
                                 cut,
                                 as_read(chunk, chunk->start),
                                 as_read(chunk, chunk->end - fastq->held.nbytes) };
        if (in_piece)
                KC_TRY(take_piece(text, &f, begins, &nindexed, err));
        status = add_all(&f, nindexed, err);
out:
        return status;
}
