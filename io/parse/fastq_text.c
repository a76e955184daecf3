#include "io/parse/fastq_text.h"

#include "io/parse/fastq.h"
#include "io/parse/select.h"

#include <string.h>

void kc_fastq_text_init(struct kc_fastq_text *text, const char *name,
                        const struct kc_kernels *kernels, int k)
{
        *text = (struct kc_fastq_text){
                .name = name,
                .kernels = kernels,
                .record_max = kc_limits_usual().record_max,
                .piecewise = { .kernels = kernels, .k = k, .held = kc_limits_usual().held },
        };
}

void kc_fastq_text_free(struct kc_fastq_text *text)
{
        kc_bytes_free(&text->carry);
        kc_bytes_free(&text->held);
        kc_fastq_long_free(&text->piecewise);
}

/* ---- split ---- */

/* Keep what lies between the last whole record and the end of the chunk: the next record. */
static enum kc_status keep(struct kc_bytes *kept, const struct kc_chunk *chunk, size_t from,
                           struct kc_error *err)
{
        return kc_bytes_append(kept, chunk->buffer + from, chunk->end - from, err);
}

/* Where the line begins after which there are nlines line ends in [.., end). */
static size_t line_from_end(const uint8_t *buffer, size_t end, size_t nlines)
{
        for (; nlines > 0; nlines--)
                end = (size_t)((const uint8_t *)memrchr(buffer, '\n', end) - buffer);
        const uint8_t *eol = memrchr(buffer, '\n', end);
        return (size_t)(eol - buffer) + 1;
}

/* Cut after the last line whose number is a multiple of four. */
enum kc_status kc_fastq_text_split(struct kc_fastq_text *text, struct kc_chunk *chunk,
                                   struct kc_fastq_cut *cut, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        size_t nlines = text->carry_nlines + cut->nlines, rest = nlines % 4;
        if (atomic_load_explicit(&text->general, memory_order_relaxed))
                return KC_OK; /* confirm parses it in any case */
        cut->whole_nlines = nlines - rest;
        /* binary data can be refused without more text: the general parser sees them now */
        cut->too_long = text->carry.nbytes + (chunk->end - chunk->text) > text->record_max;
        if (cut->whole_nlines == 0 && !chunk->last && !cut->binary && !cut->too_long) {
                cut->whole = chunk->start = chunk->text;
                text->carry_nlines = nlines;
                return keep(&text->carry, chunk, chunk->text, err);
        }
        KC_TRY(kc_chunk_take_over(chunk, &text->carry, err));
        cut->whole = chunk->start;
        if (cut->whole_nlines > 0)
                cut->whole = line_from_end(chunk->buffer, chunk->end, rest);
        cut->too_long = chunk->end - cut->whole > text->record_max;
        if (!cut->too_long) /* otherwise the general parser goes on from this chunk */
                KC_TRY(keep(&text->carry, chunk, cut->whole, err));
        text->carry_nlines = rest;
out:
        return status;
}

/* ---- scan ---- */

static bool is_blank(const uint8_t *text, size_t n)
{
        for (size_t i = 0; i < n; i++)
                if (text[i] != '\n' && text[i] != '\r' && text[i] != ' ' && text[i] != '\t')
                        return false;
        return true;
}

enum kc_status kc_fastq_text_scan(const struct kc_fastq_text *text, struct kc_chunk *chunk,
                                  const struct kc_fastq_cut *cut, bool *strict,
                                  struct kc_error *err)
{
        *strict = false;
        if (cut->binary || cut->too_long)
                return KC_OK;
        if (chunk->last && !is_blank(chunk->buffer + cut->whole, chunk->end - cut->whole))
                return KC_OK;
        enum kc_status status = kc_fastq_scan(chunk, text->kernels, chunk->start, cut->whole,
                                              cut->whole_nlines, strict, err);
        if (status == KC_OK && *strict)
                kc_chunk_skip_all(chunk, 0, text->piecewise.nskip);
        return status;
}

/* ---- confirm ---- */

/* Continue a record that is read in pieces; *whole: it has ended, and others may follow. */
static enum kc_status parse_piece(struct kc_fastq_text *text, struct kc_chunk *chunk, bool *whole,
                                  struct kc_error *err)
{
        enum kc_status status;
        struct kc_problem problem;
        KC_TRY(kc_fastq_long_parse(&text->piecewise, chunk, &problem, err));
        KC_TRY(kc_problem_report(&problem, text->name, text->checker, text->nreads, err));
        *whole = text->piecewise.place == KC_LONG_NONE;
out:
        return status;
}

/* Index the whole records from chunk->start on, and keep what follows them. */
static enum kc_status parse_whole(struct kc_fastq_text *text, struct kc_chunk *chunk,
                                  struct kc_error *err)
{
        enum kc_status status;
        struct kc_problem problem;
        const size_t npieces = chunk->nrecords;
        size_t consumed;
        KC_TRY(kc_fastq_parse(chunk, text->kernels, chunk->last, &consumed, &problem, err));
        kc_chunk_skip_all(chunk, npieces, text->piecewise.nskip);
        KC_TRY(kc_problem_report(&problem, text->name, text->checker, text->nreads, err));
        KC_TRY(keep(&text->held, chunk, consumed, err));
        text->retry_nbytes = 2 * text->held.nbytes;
        if (text->retry_nbytes > text->record_max)
                text->retry_nbytes = text->record_max;
        if (text->held.nbytes > text->record_max)
                kc_fastq_long_begin(&text->piecewise);
out:
        return status;
}

/* Copy the text to be parsed to its end. The room before it must not grow afterwards, because only
 * the text would move along. */
static enum kc_status copy_text(const struct kc_fastq_text *text, struct kc_chunk *chunk,
                                struct kc_error *err)
{
        const size_t n = chunk->end - chunk->start;
        enum kc_status status;
        KC_TRY(kc_chunk_reserve_front(chunk, kc_fastq_long_room(&text->piecewise, chunk), err));
        KC_TRY(kc_chunk_reserve(chunk, chunk->end - chunk->front + n, err));
        chunk->copied = chunk->start;
        chunk->copy = chunk->end;
        memcpy(chunk->buffer + chunk->copy, chunk->buffer + chunk->start, n);
out:
        return status;
}

/* In confirm's order: parse the chunk from the true end of the records before it. */
static enum kc_status parse_general(struct kc_fastq_text *text, struct kc_chunk *chunk,
                                    struct kc_error *err)
{
        enum kc_status status = KC_OK;
        bool whole = text->piecewise.place == KC_LONG_NONE;
        chunk->nrecords = chunk->nreads = chunk->nleft_out = 0;
        if (atomic_load_explicit(&text->general, memory_order_relaxed)) {
                size_t nbytes = text->held.nbytes + (chunk->end - chunk->text);
                chunk->start = chunk->text;
                if (whole && !chunk->last && nbytes < text->retry_nbytes)
                        return keep(&text->held, chunk, chunk->text, err);
                KC_TRY(kc_chunk_take_over(chunk, &text->held, err));
        }
        if (text->keeps_text)
                KC_TRY(copy_text(text, chunk, err));
        atomic_store_explicit(&text->general, true, memory_order_relaxed);
        if (!whole)
                KC_TRY(parse_piece(text, chunk, &whole, err));
        if (whole)
                KC_TRY(parse_whole(text, chunk, err));
out:
        return status;
}

enum kc_status kc_fastq_text_confirm(struct kc_fastq_text *text, struct kc_chunk *chunk,
                                     bool strict, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        if (!strict || atomic_load_explicit(&text->general, memory_order_relaxed))
                KC_TRY(parse_general(text, chunk, err));
        text->nreads += chunk->nreads;
out:
        return status;
}
