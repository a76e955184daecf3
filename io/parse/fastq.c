#include "io/parse/fastq.h"

#include "io/input/damage.h"
#include "io/input/foreign.h"
#include "io/parse/line.h"
#include "io/parse/sequence.h"

#include <stdio.h>
#include <string.h>

/*
 * Strict records. The sequence's length says where the quality line must end, so only headers and
 * sequences are searched for line ends:
 *
 *      @name<nl> ACGT...<nl> +<nl> IIII...<nl>
 *      search    search      look  look at [nbases]
 *
 * A line end hidden in a part that is not searched would make more than four lines a record; so
 * counting all line ends, which the chunk's split needs anyway, makes the check complete.
 */
static bool scan_record(const struct kc_kernels *kernels, const uint8_t *buffer, size_t at,
                        size_t end, struct kc_record *record, size_t *next)
{
        const uint8_t *stop = buffer + end, *seq, *eol, *qual;
        if (buffer[at] != '@' || (eol = memchr(buffer + at, '\n', end - at)) == NULL)
                return false;
        seq = eol + 1;
        eol = seq + kc_sequence_line(kernels, seq, (size_t)(stop - seq));
        if (eol == stop || *eol != '\n')
                return false;
        const uint8_t *plus = eol + 1;
        size_t nbases = kc_line_nletters(seq, (size_t)(eol - seq));
        if (nbases > 0 && (*seq == '+' || *seq == '@'))
                return false; /* no sequence: the general parser finds out what it is */
        if (stop - plus < 2 || *plus != '+')
                return false;
        if (plus[1] == '\n')
                qual = plus + 2;
        else if ((eol = memchr(plus, '\n', (size_t)(stop - plus))) != NULL)
                qual = eol + 1;
        else
                return false;
        size_t left = (size_t)(stop - qual);
        size_t len = nbases;
        while (left > len && kc_line_is_blank(qual[len]))
                len++;
        if (left > len && qual[len] == '\r')
                len++;
        if (left <= len || qual[len] != '\n')
                return false;
        if (kc_line_nletters(qual, len) != nbases)
                return false; /* the line's end was taken for quality letters: too few */
        record->seq = (uint32_t)(seq - buffer);
        record->nbases = (uint32_t)nbases;
        record->qual = (uint32_t)(qual - buffer);
        record->ncontext = 0;
        record->turned = false;
        *next = (size_t)(qual - buffer) + len + 1;
        return true;
}

enum kc_status kc_fastq_scan(struct kc_chunk *chunk, const struct kc_kernels *kernels, size_t start,
                             size_t end, size_t nlines, bool *strict, struct kc_error *err)
{
        struct kc_record record;
        enum kc_status status;
        size_t at = start;
        *strict = false;
        KC_TRY(kc_chunk_reserve_records(chunk, nlines / 4, err));
        while (at < end) {
                if (!scan_record(kernels, chunk->buffer, at, end, &record, &at))
                        return KC_OK;
                KC_TRY(kc_chunk_add_record(chunk, record, err));
        }
        *strict = 4 * chunk->nrecords == nlines;
        chunk->nreads = chunk->nrecords;
out:
        return status;
}

/* ---- the general form ---- */

/* Text being walked line by line; `at` is where the next line begins. */
struct line_walk {
        uint8_t *buffer;
        size_t at, end;
        size_t line, nletters; /* the current line, without its end */
};

/* Go to the next line; false if it is not complete. */
static bool next_line(struct line_walk *w)
{
        if (w->at >= w->end)
                return false;
        const uint8_t *eol = memchr(w->buffer + w->at, '\n', w->end - w->at);
        if (eol == NULL)
                return false;
        w->line = w->at;
        w->at = (size_t)(eol - w->buffer) + 1;
        w->nletters = kc_line_nletters(w->buffer + w->line, w->at - 1 - w->line);
        return true;
}

/* Where a record's parts lie, before anything is moved. */
struct extent {
        size_t begin, seq, plus, qual, end;
        size_t nbases, nqual, nseq_lines;
        size_t nqual_first; /* in the first quality line */
};

enum outcome { RECORD, NO_MORE, INCOMPLETE, BAD };

static enum outcome bad(struct kc_problem *problem, const char *what)
{
        snprintf(problem->what, sizeof problem->what, "%s", what);
        return BAD;
}

static bool has_blank(const uint8_t *text, size_t n)
{
        return memchr(text, ' ', n) != NULL || memchr(text, '\t', n) != NULL;
}

/* What may explain different lengths: blanks count as letters within a line, but not at its end. */
static const char *explain_lengths(const struct line_walk *w, const struct extent *x)
{
        const uint8_t *qual = w->buffer + x->qual, *eol = memchr(qual, '\n', w->end - x->qual);
        if (has_blank(w->buffer + x->seq, x->plus - x->seq))
                return ": there is a space or tab in or after its sequence";
        if (eol != NULL && has_blank(qual, (size_t)(eol - qual)))
                return ": there is a space or tab in or after its quality";
        return "";
}

static enum outcome bad_length(const struct line_walk *w, const struct extent *x,
                               struct kc_problem *problem)
{
        bool one_line = x->nseq_lines == 1;
        snprintf(problem->what, sizeof problem->what, "has %zu bases but %zu quality letters%s",
                 x->nbases, one_line ? x->nqual_first : x->nqual, explain_lengths(w, x));
        return BAD;
}

static enum outcome find_sequence(struct line_walk *w, struct extent *x, struct kc_problem *problem)
{
        x->seq = w->at;
        while (next_line(w)) {
                uint8_t first = w->nletters > 0 ? w->buffer[w->line] : 0;
                if (first == '+') {
                        x->plus = w->line;
                        return RECORD;
                }
                if (first == '@' || first == '>')
                        return bad(problem, "has no '+' line after its sequence");
                x->nbases += w->nletters;
                x->nseq_lines++;
        }
        return INCOMPLETE;
}

static enum outcome find_quality(struct line_walk *w, struct extent *x, struct kc_problem *problem)
{
        x->qual = w->at;
        for (size_t nlines = 0; x->nqual < x->nbases; nlines++) {
                if (!next_line(w))
                        return INCOMPLETE;
                x->nqual += w->nletters;
                if (nlines == 0)
                        x->nqual_first = x->nqual;
        }
        x->end = w->at;
        return x->nqual == x->nbases ? RECORD : bad_length(w, x, problem);
}

/* No whole line is left. If an incomplete line is blank so far, one byte shows how it began. */
static enum outcome end_lines(const struct line_walk *w, struct extent *x)
{
        size_t left = w->end - x->begin;
        if (left > 1 && kc_line_nletters(w->buffer + x->begin, left) == 0)
                x->begin = w->end - 1;
        return left > 0 ? INCOMPLETE : NO_MORE;
}

/* Find the next record. On INCOMPLETE and BAD, x->begin is where it begins. */
static enum outcome find_record(struct line_walk *w, struct extent *x, struct kc_problem *problem)
{
        *x = (struct extent){ .begin = w->at };
        bool found = false;
        while (!found && next_line(w)) {
                found = w->nletters > 0;
                x->begin = found ? w->line : w->at;
        }
        if (!found)
                return end_lines(w, x);
        if (w->buffer[w->line] != '@') {
                char shown[KC_SHOWN_NBYTES];
                snprintf(problem->what, sizeof problem->what, "does not begin with '@' but with %s",
                         kc_foreign_show(shown, w->buffer + w->line, w->nletters));
                return BAD;
        }
        enum outcome outcome = find_sequence(w, x, problem);
        return outcome == RECORD ? find_quality(w, x, problem) : outcome;
}

/* Join the lines of [from, to) in place; returns where they begin. */
static size_t join_lines(uint8_t *buffer, size_t from, size_t to)
{
        struct line_walk w = { .buffer = buffer, .at = from, .end = to };
        size_t out = from;
        while (next_line(&w)) {
                memmove(buffer + out, buffer + w.line, w.nletters);
                out += w.nletters;
        }
        return from;
}

/* Whether the first line has a carriage return inside, as a whole file of an old Mac would. */
static bool has_returns_only(const struct line_walk *w, const struct extent *x)
{
        const uint8_t *begin = w->buffer + x->begin;
        const uint8_t *eol = memchr(begin, '\n', w->end - x->begin);
        const uint8_t *cr = eol == NULL ? NULL : memchr(begin, '\r', (size_t)(eol - begin));
        return cr != NULL && cr + 1 < eol;
}

static enum outcome explain_truncated(const struct line_walk *w, const struct extent *x,
                                      struct kc_problem *problem)
{
        if (x->plus == 0 && has_returns_only(w, x))
                return kc_problem_set_return(problem), BAD;
        if (x->plus == 0)
                return bad(problem, "is truncated: the file ends within it" KC_DAMAGE_REMEDY);
        const char *why = explain_lengths(w, x);
        snprintf(problem->what, sizeof problem->what,
                 "is truncated: the file ends within it, with %zu bases but %zu quality letters%s",
                 x->nbases, x->nqual, *why ? why : KC_DAMAGE_REMEDY);
        return BAD;
}

static bool is_binary(const struct kc_kernels *kernels, const uint8_t *buffer, size_t from,
                      size_t to)
{
        bool binary = false;
        kernels->count_lines(buffer + from, to - from, &binary);
        return binary;
}

static void refuse_binary(const uint8_t *text, struct kc_problem *problem)
{
        while (*text >= 9)
                text++;
        snprintf(problem->what, sizeof problem->what,
                 "holds binary data (byte 0x%02x): this is not FASTQ, or it is damaged",
                 (unsigned)*text);
}

/* Check that a record is text, and that no byte of its sequence is odd. */
static enum outcome check_bytes(const struct kc_kernels *kernels, const uint8_t *buffer,
                                const struct extent *x, struct kc_problem *problem)
{
        size_t n = x->plus - x->seq, odd = kc_sequence_find_odd(kernels, buffer + x->seq, n);
        if (is_binary(kernels, buffer, x->begin, x->end))
                refuse_binary(buffer + x->begin, problem);
        else if (odd < n)
                kc_problem_set_letter(problem, buffer[x->seq + odd]);
        else
                return RECORD;
        return BAD;
}

enum kc_status kc_fastq_parse(struct kc_chunk *chunk, const struct kc_kernels *kernels, bool last,
                              size_t *consumed, struct kc_problem *problem, struct kc_error *err)
{
        struct line_walk w = { .buffer = chunk->buffer, .at = chunk->start, .end = chunk->end };
        struct extent x;
        enum kc_status status = KC_OK;
        enum outcome outcome;
        *problem = (struct kc_problem){ 0 };
        while ((outcome = find_record(&w, &x, problem)) == RECORD) {
                outcome = check_bytes(kernels, chunk->buffer, &x, problem);
                if (outcome == BAD)
                        break;
                struct kc_record record = {
                        .seq = (uint32_t)join_lines(chunk->buffer, x.seq, x.plus),
                        .qual = (uint32_t)join_lines(chunk->buffer, x.qual, x.end),
                        .nbases = (uint32_t)x.nbases,
                };
                KC_TRY(kc_chunk_add_record(chunk, record, err));
                chunk->nreads++;
        }
        if (outcome == INCOMPLETE && is_binary(kernels, chunk->buffer, x.begin, w.end))
                refuse_binary(chunk->buffer + x.begin, problem);
        else if (outcome == INCOMPLETE && last)
                explain_truncated(&w, &x, problem);
        problem->record = chunk->nreads + 1;
        *consumed = x.begin;
out:
        return status;
}
