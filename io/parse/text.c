#include "io/parse/text.h"

#include "io/input/damage.h"
#include "io/input/foreign.h"

#include <string.h>

/* What the split decided about one chunk. */
struct cut {
        enum kc_text_format format;
        bool binary;                 /* there is a byte under 9 */
        size_t nlines;               /* line ends in the chunk's own text */
        size_t tail;                 /* after its last line end */
        size_t whole, whole_nlines;  /* FASTQ: where whole records end, and their lines */
        struct kc_fasta_state fasta; /* at the chunk's beginning */
        bool too_long;               /* FASTQ: the record after the whole ones is too long to
                                        hold */
        struct kc_problem problem;   /* FASTA */
};

void kc_text_init(struct kc_text *text, const char *name, const struct kc_kernels *kernels, int k)
{
        *text = (struct kc_text){
                .name = name,
                .kernels = kernels,
                .k = k,
                .record_max = kc_limits_usual().record_max,
                .at_begin = true,
                .piecewise = { .kernels = kernels, .k = k, .held = kc_limits_usual().held },
        };
        kc_order_init(&text->order);
}

void kc_text_destroy(struct kc_text *text)
{
        kc_order_destroy(&text->order);
        kc_bytes_free(&text->carry);
        kc_bytes_free(&text->held);
        kc_fastq_long_free(&text->piecewise);
}

static void count_lines(const struct kc_text *text, const struct kc_chunk *chunk, struct cut *cut)
{
        const uint8_t *begin = chunk->buffer + chunk->text;
        size_t n = chunk->end - chunk->text;
        cut->nlines = text->kernels->count_lines(begin, n, &cut->binary);
        const uint8_t *eol = memrchr(begin, '\n', n);
        cut->tail = eol == NULL ? chunk->text : (size_t)(eol - chunk->buffer) + 1;
}

/* ---- split ---- */

/* Add a line end to a file that does not end with one. */
static void end_text(struct kc_text *text, struct kc_chunk *chunk, struct cut *cut)
{
        if (chunk->end > chunk->text) {
                text->last_byte = chunk->buffer[chunk->end - 1];
                text->any_text = true;
        }
        if (chunk->last && text->any_text && text->last_byte != '\n') {
                chunk->buffer[chunk->end++] = '\n';
                cut->nlines++;
                cut->tail = chunk->end;
        }
}

/* Drop the bytes of a byte order mark, which may have begun in earlier chunks. */
static void skip_bom(struct kc_text *text, struct kc_chunk *chunk)
{
        while (text->at_begin && chunk->text < chunk->end) {
                text->at_begin = text->nbom < KC_BOM_NBYTES &&
                                 chunk->buffer[chunk->text] == (uint8_t)KC_BOM[text->nbom];
                text->nbom += text->at_begin;
                chunk->text += text->at_begin;
        }
}

static void skip_blank(struct kc_chunk *chunk, struct cut *cut)
{
        while (chunk->text < chunk->end) {
                uint8_t c = chunk->buffer[chunk->text];
                if (c != '\n' && c != '\r' && c != ' ' && c != '\t')
                        break;
                cut->nlines -= c == '\n';
                chunk->text++;
        }
        chunk->start = chunk->text;
        if (cut->tail < chunk->text)
                cut->tail = chunk->text;
}

/* The format shows in the first byte that is not blank; blank lines before it are dropped. */
static enum kc_status find_format(struct kc_text *text, struct kc_chunk *chunk, struct cut *cut,
                                  struct kc_error *err)
{
        skip_bom(text, chunk);
        skip_blank(chunk, cut);
        size_t n = chunk->end - chunk->text;
        if (n == 0 && !chunk->last)
                return KC_OK;
        bool cut_bom = text->nbom > 0 && text->nbom < KC_BOM_NBYTES;
        uint8_t first = n > 0 && !cut_bom ? chunk->buffer[chunk->text] : 0;
        if (first == '@')
                text->format = KC_TEXT_FASTQ;
        else if (first == '>' || first == ';')
                text->format = KC_TEXT_FASTA;
        else if (!text->any_text)
                return KC_OK; /* empty, or nothing was compressed: there are no reads */
        else if (cut_bom)
                return kc_foreign_refuse(text->name, KC_CONTAINER_PLAIN, (const uint8_t *)KC_BOM,
                                         text->nbom, err);
        else
                return kc_foreign_refuse(text->name, KC_CONTAINER_PLAIN,
                                         chunk->buffer + chunk->text, n, err);
        return KC_OK;
}

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

/* Four lines are a record: cut after the last line whose number is a multiple of four. */
static enum kc_status split_fastq(struct kc_text *text, struct kc_chunk *chunk, struct cut *cut,
                                  struct kc_error *err)
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

/*
 * The rest turned out to be inside a line, so its bytes are letters. The first blank is stored, and
 * the others are only counted.
 */
static void put_rest(const struct kc_fasta_state *fasta, struct kc_chunk *chunk)
{
        const struct kc_line_rest *rest = &fasta->rest;
        if (rest->cr)
                chunk->buffer[--chunk->text] = '\r';
        if (rest->nblanks == 0)
                return;
        chunk->buffer[--chunk->text] = ' ';
        if (fasta->place == KC_FASTA_SEQUENCE || fasta->place == KC_FASTA_LINE_START)
                chunk->nblanks = rest->nblanks - 1;
}

/* Decide about the previous chunk's rest as soon as what follows shows whether it ends a line. */
static void resolve_rest(struct kc_fasta_state *fasta, struct kc_chunk *chunk)
{
        struct kc_line_rest *rest = &fasta->rest;
        size_t at = chunk->text;
        while (!rest->cr && at < chunk->end && kc_line_is_blank(chunk->buffer[at]))
                at++;
        bool cr = !rest->cr && at < chunk->end && chunk->buffer[at] == '\r';
        if (at + cr == chunk->end) {
                rest->nblanks += at - chunk->text;
                rest->cr |= cr;
                chunk->text = chunk->end;
                return;
        }
        if (chunk->buffer[at + cr] != '\n')
                put_rest(fasta, chunk);
        *rest = (struct kc_line_rest){ 0 };
}

/* Leave what may end a line to the next chunk. */
static void take_rest(struct kc_line_rest *rest, struct kc_chunk *chunk)
{
        if (chunk->end == chunk->text)
                return;
        size_t end = chunk->end;
        rest->cr = chunk->buffer[end - 1] == '\r';
        end -= rest->cr;
        while (end > chunk->text && kc_line_is_blank(chunk->buffer[end - 1]))
                end--;
        rest->nblanks = chunk->end - rest->cr - end;
        chunk->end = end;
}

static void split_fasta(struct kc_text *text, struct kc_chunk *chunk, struct cut *cut)
{
        bool at_begin = cut->tail == chunk->text;
        resolve_rest(&text->fasta, chunk);
        if (at_begin)
                cut->tail = chunk->text;
        take_rest(&text->fasta.rest, chunk);
        cut->fasta = text->fasta;
        kc_fasta_advance(&text->fasta, chunk, cut->tail, text->k);
}

/*
 * BGZF ends without its end-of-file block. In FASTQ it may: if a part of a record is missing, this
 * shows in any case, because the file ends or another record begins within the record. The
 * exception is a name whose line breaks off before other text.
 *   in_line  whether the text before the end breaks off within a line
 */
static enum kc_status check_open_end(const struct kc_text *text, const struct kc_chunk *chunk,
                                     bool in_line, struct kc_error *err)
{
        const struct kc_open_end *open = &chunk->open_end;
        const bool goes_on = !chunk->last || open->nafter > 0;
        if (text->format == KC_TEXT_FASTQ && !(goes_on && in_line))
                return KC_OK;
        return kc_damage_no_end_block(text->name, open->offset, goes_on, "gzip -dc FILE", err);
}

static bool breaks_off_in_line(const struct kc_text *text, const struct kc_chunk *chunk)
{
        const size_t at = chunk->end - chunk->open_end.nafter;
        return (at > chunk->text ? chunk->buffer[at - 1] : text->last_byte) != '\n';
}

static enum kc_status split(struct kc_text *text, struct kc_chunk *chunk, struct cut *cut,
                            struct kc_error *err)
{
        const bool in_line = breaks_off_in_line(text, chunk);
        enum kc_status status;
        end_text(text, chunk, cut);
        if (text->format == KC_TEXT_UNKNOWN) {
                status = find_format(text, chunk, cut, err);
                if (status != KC_OK)
                        return status;
        }
        if (chunk->open_end.found) {
                status = check_open_end(text, chunk, in_line, err);
                if (status != KC_OK)
                        return status;
        }
        cut->format = text->format;
        if (text->format == KC_TEXT_FASTQ)
                return split_fastq(text, chunk, cut, err);
        if (text->format == KC_TEXT_FASTA)
                split_fasta(text, chunk, cut);
        return KC_OK;
}

/* ---- confirm ---- */

static bool is_blank(const uint8_t *text, size_t n)
{
        for (size_t i = 0; i < n; i++)
                if (text[i] != '\n' && text[i] != '\r' && text[i] != ' ' && text[i] != '\t')
                        return false;
        return true;
}

/* *strict: whether the guess of four lines holds for the whole chunk; if so, its records are
 * indexed. */
static enum kc_status scan_strict(const struct kc_text *text, struct kc_chunk *chunk,
                                  const struct cut *cut, bool *strict, struct kc_error *err)
{
        *strict = false;
        if (cut->binary || cut->too_long)
                return KC_OK;
        if (chunk->last && !is_blank(chunk->buffer + cut->whole, chunk->end - cut->whole))
                return KC_OK;
        return kc_fastq_scan(chunk, text->kernels, chunk->start, cut->whole, cut->whole_nlines,
                             strict, err);
}

static enum kc_status report(const struct kc_text *text, const struct kc_problem *problem,
                             struct kc_error *err)
{
        if (problem->what[0] == 0)
                return KC_OK;
        struct kc_problem shown = *problem;
        const uint64_t record = text->nreads + problem->record;
        if (shown.remedies == 0 && text->checker != NULL) {
                shown.remedies = KC_REMEDY_TEST;
                shown.filter = text->checker;
        }
        return kc_problem_fail(&shown, text->name, err, "%s: record %llu %s", text->name,
                               (unsigned long long)(record > 0 ? record : 1), shown.what);
}

/* Continue a record that is read in pieces; *whole: it has ended, and others may follow. */
static enum kc_status parse_piece(struct kc_text *text, struct kc_chunk *chunk, bool *whole,
                                  struct kc_error *err)
{
        enum kc_status status;
        struct kc_problem problem;
        KC_TRY(kc_fastq_long_parse(&text->piecewise, chunk, &problem, err));
        KC_TRY(report(text, &problem, err));
        *whole = text->piecewise.place == KC_LONG_NONE;
out:
        return status;
}

/* Index the whole records from chunk->start on, and keep what follows them. */
static enum kc_status parse_whole(struct kc_text *text, struct kc_chunk *chunk,
                                  struct kc_error *err)
{
        enum kc_status status;
        struct kc_problem problem;
        size_t consumed;
        KC_TRY(kc_fastq_parse(chunk, text->kernels, chunk->last, &consumed, &problem, err));
        KC_TRY(report(text, &problem, err));
        KC_TRY(keep(&text->held, chunk, consumed, err));
        text->retry_nbytes = 2 * text->held.nbytes;
        if (text->retry_nbytes > text->record_max)
                text->retry_nbytes = text->record_max;
        if (text->held.nbytes > text->record_max)
                kc_fastq_long_begin(&text->piecewise);
out:
        return status;
}

/* In confirm's order: parse the chunk from the true end of the records before it. */
static enum kc_status parse_general(struct kc_text *text, struct kc_chunk *chunk,
                                    struct kc_error *err)
{
        enum kc_status status = KC_OK;
        bool whole = text->piecewise.place == KC_LONG_NONE;
        chunk->nrecords = chunk->nreads = 0;
        if (atomic_load_explicit(&text->general, memory_order_relaxed)) {
                size_t nbytes = text->held.nbytes + (chunk->end - chunk->text);
                chunk->start = chunk->text;
                if (whole && !chunk->last && nbytes < text->retry_nbytes)
                        return keep(&text->held, chunk, chunk->text, err);
                KC_TRY(kc_chunk_take_over(chunk, &text->held, err));
        }
        atomic_store_explicit(&text->general, true, memory_order_relaxed);
        if (!whole)
                KC_TRY(parse_piece(text, chunk, &whole, err));
        if (whole)
                KC_TRY(parse_whole(text, chunk, err));
out:
        return status;
}

static enum kc_status confirm_fastq(struct kc_text *text, struct kc_chunk *chunk, bool strict,
                                    struct kc_error *err)
{
        enum kc_status status = KC_OK;
        if (!strict || atomic_load_explicit(&text->general, memory_order_relaxed))
                KC_TRY(parse_general(text, chunk, err));
        text->nreads += chunk->nreads;
out:
        return status;
}

static enum kc_status confirm_fasta(struct kc_text *text, const struct kc_chunk *chunk,
                                    const struct cut *cut, struct kc_error *err)
{
        enum kc_status status = report(text, &cut->problem, err);
        text->nreads += chunk->nreads;
        return status;
}

static enum kc_status scan(const struct kc_text *text, struct kc_chunk *chunk, struct cut *cut,
                           bool *strict, struct kc_error *err)
{
        if (cut->format == KC_TEXT_FASTA)
                return kc_fasta_scan(chunk, text->kernels, &cut->fasta, cut->binary, &cut->problem,
                                     err);
        if (cut->format == KC_TEXT_FASTQ)
                return scan_strict(text, chunk, cut, strict, err);
        return KC_OK;
}

/* In confirm's order. */
static enum kc_status confirm(struct kc_text *text, struct kc_chunk *chunk, const struct cut *cut,
                              bool strict, struct kc_error *own, struct kc_error *err)
{
        bool sound = !text->order.failed && own->status == KC_OK;
        if (sound && cut->format == KC_TEXT_FASTQ)
                confirm_fastq(text, chunk, strict, own);
        if (sound && cut->format == KC_TEXT_FASTA)
                confirm_fasta(text, chunk, cut, own);
        return kc_order_settle(&text->order, chunk, own, err);
}

enum kc_status kc_text_parse(struct kc_text *text, struct kc_chunk *chunk, struct kc_error *err)
{
        struct cut cut = { 0 };
        bool strict = false;
        struct kc_error own = chunk->error; /* kept until it is this chunk's turn to report it */
        count_lines(text, chunk, &cut);

        kc_turn_wait(&text->order.split, chunk->seq);
        if (own.status == KC_OK)
                split(text, chunk, &cut, &own);
        kc_turn_pass(&text->order.split);

        if (own.status == KC_OK)
                scan(text, chunk, &cut, &strict, &own);

        kc_turn_wait(&text->order.confirm, chunk->seq);
        enum kc_status status = confirm(text, chunk, &cut, strict, &own, err);
        kc_turn_pass(&text->order.confirm);
        return status;
}
