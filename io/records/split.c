/*
 * Where FASTA and lines are cut: before the last header, or after the last line, so that records
 * stay whole. If a chunk holds only a part of one record, it becomes a piece, which ends after the
 * last letter: what follows, that is, the record's end or blanks whose meaning the next chunk
 * decides, is left to the next chunk.
 */
#include "io/records/text.h"

#include "io/parse/line.h"

#include <stdio.h>
#include <string.h>

/* Where the last letter of [from, to) ends. */
static size_t strip(const uint8_t *buffer, size_t from, size_t to)
{
        while (to > from && kc_line_is_space(buffer[to - 1]))
                to--;
        return to;
}

static size_t skip_spaces(const uint8_t *buffer, size_t from, size_t to)
{
        while (from < to && kc_line_is_space(buffer[from]))
                from++;
        return from;
}

static size_t line_begin(const uint8_t *buffer, size_t from, size_t to)
{
        const uint8_t *eol = memrchr(buffer + from, '\n', to - from);
        return eol == NULL ? from : (size_t)(eol - buffer) + 1;
}

/* The last header line that begins in [from, to), after `begin`; 0: none. */
static size_t last_header(const uint8_t *buffer, size_t begin, size_t from, size_t to)
{
        while (to > from) {
                const uint8_t *found = memrchr(buffer + from, '>', to - from);
                if (found == NULL)
                        break;
                to = (size_t)(found - buffer);
                if (to > begin && found[-1] == '\n')
                        return to;
        }
        return 0;
}

static size_t first_header(const uint8_t *buffer, size_t from, size_t to)
{
        from = skip_spaces(buffer, from, to);
        while (from < to && buffer[from] != '>') {
                const uint8_t *eol = memchr(buffer + from, '\n', to - from);
                from = eol == NULL ? to : (size_t)(eol - buffer) + 1;
        }
        return from;
}

/* Remember the last bases of [from, to), which continues a record if in_piece. */
static void keep_overlap(struct kc_record_text *text, const struct kc_chunk *chunk, size_t from,
                         size_t to, bool in_piece)
{
        struct kc_chunk view = { .buffer = chunk->buffer, .text = from, .end = to };
        const bool within = in_piece || text->format == KC_RECORD_LINES;
        if (!in_piece)
                text->piece.ncontext = 0;
        text->piece.place = within ? KC_FASTA_SEQUENCE : KC_FASTA_LINE_START;
        kc_fasta_advance(&text->piece, &view, line_begin(chunk->buffer, from, to),
                         kc_record_context(&text->options) + 1);
}

/* Cut FASTA without a further header: a piece of its record, from the sequence's letters. Returns
 * the cut, or chunk->start if there are none. */
static enum kc_status cut_fasta(struct kc_record_text *text, const struct kc_chunk *chunk,
                                size_t *whole, struct kc_error *err)
{
        const uint8_t *buffer = chunk->buffer;
        size_t from = chunk->start, to = strip(buffer, from, chunk->end);
        enum kc_status status = KC_OK;
        for (size_t line = line_begin(buffer, from, to);
             to > from && (line > from || !text->in_piece) && buffer[line] == ';';
             line = line_begin(buffer, from, to))
                to = strip(buffer, from, line);
        if (!text->in_piece) {
                const size_t header = first_header(buffer, from, to);
                const uint8_t *eol = memchr(buffer + header, '\n', to - header);
                if (eol == NULL)
                        return KC_OK;
                const size_t n = (size_t)(eol - buffer) - header;
                text->piece_name.nbytes = 0;
                KC_TRY(kc_bytes_append(&text->piece_name, buffer + header + 1,
                                       kc_record_line(buffer + header, n) - 1, err));
        }
        *whole = to;
        if (to > from)
                keep_overlap(text, chunk, from, to, text->in_piece);
out:
        return status;
}

/* Cut a line that goes on: a piece of its first field, or of what follows that. */
static void cut_line(struct kc_record_text *text, const struct kc_chunk *chunk, size_t *whole)
{
        const uint8_t *buffer = chunk->buffer;
        const size_t to = strip(buffer, chunk->start, chunk->end);
        size_t from = chunk->start, stop;
        if (!text->in_piece)
                from = skip_spaces(buffer, from, to);
        if (from >= to)
                return;
        *whole = to;
        for (stop = from; stop < to && !kc_line_is_blank(buffer[stop]);)
                stop++;
        if (!text->past_field && stop > from)
                keep_overlap(text, chunk, from, stop, text->in_piece);
        text->past_field |= stop < to;
}

/* The chunk's only record, or line, does not end in it. */
static enum kc_status cut_piece(struct kc_record_text *text, const struct kc_chunk *chunk,
                                size_t *whole, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        *whole = chunk->start;
        if (chunk->end - chunk->start < text->options.chunk_nbytes)
                return KC_OK;
        if (text->format == KC_RECORD_FASTA)
                KC_TRY(cut_fasta(text, chunk, whole, err));
        else
                cut_line(text, chunk, whole);
        text->in_piece |= *whole > chunk->start;
        if (chunk->end - *whole > text->options.record_max)
                return kc_fail(err, KC_EINPUT,
                               "%s: line %llu has a name, or blanks in a row, of more than %zu "
                               "bytes",
                               text->name, (unsigned long long)text->nlines + 1,
                               text->options.record_max);
out:
        return status;
}

/* Where the last record of the chunk begins, if another one ends in it before; otherwise 0. */
static size_t find_last(const struct kc_record_text *text, const struct kc_chunk *chunk)
{
        if (text->format == KC_RECORD_FASTA)
                return last_header(chunk->buffer, chunk->start, chunk->text, chunk->end);
        const size_t line = line_begin(chunk->buffer, chunk->text, chunk->end);
        return line > chunk->text ? line : 0;
}

/* Put the name of the record that continues in this chunk into the arena. */
static enum kc_status continue_record(const struct kc_record_text *text,
                                      struct kc_record_memory *memory, struct kc_record_cut *cut,
                                      struct kc_error *err)
{
        struct kc_chunk *chunk = &memory->chunk;
        const struct kc_bytes *name = &text->piece_name;
        enum kc_status status;
        KC_TRY(kc_record_memory_extend(memory, name->nbytes, err));
        cut->name = chunk->end;
        cut->name_nbytes = name->nbytes;
        if (name->nbytes > 0)
                memcpy(chunk->buffer + chunk->end, name->data, name->nbytes);
        chunk->end += name->nbytes;
out:
        return status;
}

/* Note the state before the chunk. */
static void note_piece(const struct kc_record_text *text, struct kc_record_cut *cut)
{
        cut->continues = text->in_piece;
        cut->past_field = text->past_field;
        cut->line = text->nlines;
        cut->noverlap = text->in_piece ? text->piece.ncontext : 0;
        memcpy(cut->overlap, text->piece.context, (size_t)cut->noverlap);
}

enum kc_status kc_record_split(struct kc_record_text *text, struct kc_record_memory *memory,
                               struct kc_record_cut *cut, struct kc_error *err)
{
        struct kc_chunk *chunk = &memory->chunk;
        enum kc_status status;
        bool binary = false;
        size_t nlines = text->carry_nlines + cut->fastq.nlines;
        KC_TRY(kc_chunk_take_over(chunk, &text->carry, err));
        note_piece(text, cut);
        cut->whole = chunk->last ? chunk->end : find_last(text, chunk);
        if (cut->whole > 0)
                text->in_piece = text->past_field = false;
        else
                KC_TRY(cut_piece(text, chunk, &cut->whole, err));
        cut->goes_on = text->in_piece;
        const size_t rest = chunk->end - cut->whole;
        text->carry_nlines = text->kernels->count_lines(chunk->buffer + cut->whole, rest, &binary);
        text->nlines += nlines - text->carry_nlines;
        KC_TRY(kc_bytes_append(&text->carry, chunk->buffer + cut->whole, rest, err));
        if (cut->continues)
                KC_TRY(continue_record(text, memory, cut, err));
out:
        return status;
}
