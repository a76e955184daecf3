#include "io/parse/text.h"

#include "io/input/damage.h"
#include "io/input/foreign.h"

#include <string.h>

/* What the split decided about one chunk. */
struct cut {
        enum kc_text_format format;
        struct kc_fastq_cut fastq;
        size_t tail;                 /* after the last line end of the chunk's own text */
        struct kc_fasta_state fasta; /* at the chunk's beginning */
        struct kc_problem problem;   /* FASTA */
};

void kc_text_init(struct kc_text *text, const char *name, const struct kc_kernels *kernels, int k)
{
        *text = (struct kc_text){
                .name = name,
                .kernels = kernels,
                .k = k,
                .at_begin = true,
        };
        kc_fastq_text_init(&text->fastq, name, kernels, k);
        kc_order_init(&text->order);
}

void kc_text_destroy(struct kc_text *text)
{
        kc_order_destroy(&text->order);
        kc_fastq_text_free(&text->fastq);
}

static void count_lines(const struct kc_text *text, const struct kc_chunk *chunk, struct cut *cut)
{
        const uint8_t *begin = chunk->buffer + chunk->text;
        size_t n = chunk->end - chunk->text;
        cut->fastq.nlines = text->kernels->count_lines(begin, n, &cut->fastq.binary);
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
                cut->fastq.nlines++;
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
                if (!kc_line_is_space(c))
                        break;
                cut->fastq.nlines -= c == '\n';
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
                return kc_fastq_text_split(&text->fastq, chunk, &cut->fastq, err);
        if (text->format == KC_TEXT_FASTA)
                split_fasta(text, chunk, cut);
        return KC_OK;
}

/* ---- confirm ---- */

static enum kc_status confirm_fasta(struct kc_text *text, const struct kc_chunk *chunk,
                                    const struct cut *cut, struct kc_error *err)
{
        enum kc_status status = kc_problem_report(&cut->problem, text->name, text->fastq.checker,
                                                  text->nreads, err);
        text->nreads += chunk->nreads;
        return status;
}

static enum kc_status scan(const struct kc_text *text, struct kc_chunk *chunk, struct cut *cut,
                           bool *strict, struct kc_error *err)
{
        if (cut->format == KC_TEXT_FASTA)
                return kc_fasta_scan(chunk, text->kernels, &cut->fasta, cut->fastq.binary,
                                     &cut->problem, err);
        if (cut->format == KC_TEXT_FASTQ)
                return kc_fastq_text_scan(&text->fastq, chunk, &cut->fastq, strict, err);
        return KC_OK;
}

/* In confirm's order. */
static enum kc_status confirm(struct kc_text *text, struct kc_chunk *chunk, const struct cut *cut,
                              bool strict, struct kc_error *own, struct kc_error *err)
{
        bool sound = !text->order.failed && own->status == KC_OK;
        if (sound && cut->format == KC_TEXT_FASTQ)
                kc_fastq_text_confirm(&text->fastq, chunk, strict, own);
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
