#include "io/parse/fasta.h"

#include "io/parse/line.h"
#include "io/parse/select.h"
#include "io/parse/sequence.h"
#include "kmer/hpc.h"

#include <stdio.h>
#include <string.h>

/* The kind of line that begins with this letter. */
static enum kc_fasta_place place_of(uint8_t first)
{
        switch (first) {
        case '>':
                return KC_FASTA_HEADER;
        case ';':
                return KC_FASTA_COMMENT;
        case '\n':
                return KC_FASTA_LINE_START;
        default:
                return KC_FASTA_SEQUENCE;
        }
}

/* Take the letters of [from, to), last first. Returns false when there are enough or one is
 * invalid. */
static bool take_letters(struct kc_backward *b, const uint8_t *text, size_t from, size_t to)
{
        for (size_t i = to; i > from; i--) {
                if (b->have == b->want || kc_base_code(text[i - 1]) < 0)
                        return false;
                kc_backward_take(b, text[i - 1]);
        }
        return b->have < b->want;
}

/*
 * Walk the lines of [begin, end) backwards while they continue one sequence. Returns true if the
 * walk reached the beginning, so that the bases before it belong to the same sequence.
 */
static bool walk_back(struct kc_backward *b, const uint8_t *text, size_t begin, size_t tail,
                      size_t end, enum kc_fasta_place first_place)
{
        size_t line = tail;
        for (;;) {
                enum kc_fasta_place place = KC_FASTA_LINE_START;
                if (line == begin && first_place != KC_FASTA_LINE_START)
                        place = first_place;
                else if (line < end)
                        place = place_of(text[line]);
                if (place == KC_FASTA_HEADER)
                        return false;
                size_t n = end - line;
                if (line != tail)
                        n = kc_line_nletters(text + line, n);
                if (place == KC_FASTA_SEQUENCE && !take_letters(b, text, line, line + n))
                        return false;
                if (line == begin)
                        return true;
                end = line - 1; /* the previous line end */
                const uint8_t *eol = memrchr(text + begin, '\n', end - begin);
                line = eol == NULL ? begin : (size_t)(eol - text) + 1;
        }
}

static bool has_header(const struct kc_fasta_state *state, const uint8_t *text, size_t begin,
                       size_t end)
{
        if (begin < end && state->place == KC_FASTA_LINE_START && text[begin] == '>')
                return true;
        return memmem(text + begin, end - begin, "\n>", 2) != NULL;
}

/* Where the last header line of the text [begin, end) begins; end: it has none. */
static size_t last_header(const struct kc_fasta_state *state, const uint8_t *text, size_t begin,
                          size_t end)
{
        for (size_t to = end; to > begin;) {
                const uint8_t *found = memrchr(text + begin, '>', to - begin);
                if (found == NULL)
                        break;
                to = (size_t)(found - text);
                if (to == begin ? state->place == KC_FASTA_LINE_START : text[to - 1] == '\n')
                        return to;
        }
        return end;
}

/* Count the letters of the sequence that the text ends with, as far as that matters. */
static void count_letters(struct kc_fasta_state *state, const struct kc_chunk *chunk)
{
        const uint8_t *text = chunk->buffer;
        const uint64_t enough = (uint64_t)state->nskip + KC_MAX_K;
        const size_t header = last_header(state, text, chunk->text, chunk->end);
        enum kc_fasta_place place = state->place;
        size_t at = chunk->text;
        state->nletters += chunk->nblanks;
        if (header < chunk->end) {
                at = header;
                place = KC_FASTA_LINE_START;
                state->nletters = 0;
        }
        while (at < chunk->end && state->nletters < enough) {
                const uint8_t *eol = memchr(text + at, '\n', chunk->end - at);
                const size_t n = (eol != NULL ? (size_t)(eol - text) : chunk->end) - at;
                if (place == KC_FASTA_LINE_START)
                        place = place_of(text[at]);
                if (place == KC_FASTA_SEQUENCE)
                        state->nletters += eol != NULL ? kc_line_nletters(text + at, n) : n;
                at += n + 1;
                place = KC_FASTA_LINE_START;
        }
}

void kc_fasta_advance(struct kc_fasta_state *state, const struct kc_chunk *chunk, size_t tail,
                      int k)
{
        struct kc_backward b = { .want = k - 1, .hpc = state->hpc };
        if (chunk->text == chunk->end)
                return;
        if (walk_back(&b, chunk->buffer, chunk->text, tail, chunk->end, state->place))
                for (int older = state->ncontext; older > 0 && b.have < b.want; older--)
                        kc_backward_take(&b, state->context[older - 1]);
        if (state->nskip > 0)
                count_letters(state, chunk);
        if (!state->in_record)
                state->in_record = has_header(state, chunk->buffer, chunk->text, chunk->end);
        if (tail == chunk->end)
                state->place = KC_FASTA_LINE_START;
        else if (tail > chunk->text || state->place == KC_FASTA_LINE_START)
                state->place = place_of(chunk->buffer[tail]);
        state->ncontext = b.have;
        memcpy(state->context, b.letters + KC_MAX_K - b.have, (size_t)b.have);
}

/* ---- the parallel part ---- */

struct scan {
        struct kc_chunk *chunk;
        const struct kc_kernels *kernels;
        struct kc_record record; /* the one being built */
        bool in_record;
        bool continued; /* the record began before the chunk... */
        uint64_t first; /* ...and this is the place of its first letter in the sequence */
        uint32_t nskip;
        struct kc_problem *problem;
};

/* Leave out the letters of the record that are among the first nskip. If it began before the chunk,
 * the chunk's nblanks come after the first letter that is not of its context. */
static void skip(struct scan *s)
{
        const uint64_t after = s->first + s->record.ncontext + 1;
        uint64_t nblanks = s->continued && s->nskip > after ? s->nskip - after : 0;
        if (nblanks > s->chunk->nblanks)
                nblanks = s->chunk->nblanks;
        s->chunk->nblanks -= nblanks;
        s->chunk->nleft_out += nblanks;
        kc_chunk_skip(s->chunk, &s->record, s->first, s->nskip - (uint32_t)nblanks);
}

static enum kc_status close_record(struct scan *s, struct kc_error *err)
{
        if (s->nskip > 0)
                skip(s);
        if (s->record.nbases <= s->record.ncontext)
                return KC_OK;
        return kc_chunk_add_record(s->chunk, s->record, err);
}

static void refuse(struct scan *s, const char *what)
{
        snprintf(s->problem->what, sizeof s->problem->what, "%s", what);
        s->problem->record = s->chunk->nreads;
}

static void refuse_letter(struct scan *s, uint8_t letter)
{
        kc_problem_set_letter(s->problem, letter);
        s->problem->record = s->chunk->nreads;
}

static void add_letters(struct scan *s, size_t from, size_t n)
{
        uint8_t *buffer = s->chunk->buffer;
        if (!s->in_record) {
                refuse(s, "has no '>' line before its sequence");
                return;
        }
        if (s->record.nbases == 0)
                s->record.seq = (uint32_t)from;
        size_t to = s->record.seq + s->record.nbases;
        if (to != from)
                memmove(buffer + to, buffer + from, n);
        s->record.nbases += (uint32_t)n;
}

/* Take a line of a sequence, or a part of it; returns where it ends. */
static size_t take_sequence(struct scan *s, size_t line, size_t end, bool fresh)
{
        const uint8_t *text = s->chunk->buffer + line;
        const size_t n = kc_sequence_line(s->kernels, text, end - line), stop = line + n;
        const size_t nletters = stop < end ? kc_line_nletters(text, n) : n;
        if (fresh && (*text == '@' || *text == '+'))
                refuse(s, "has a line that begins with '@' or '+': FASTA and FASTQ are mixed in "
                          "one file");
        else if (stop < end && text[n] != '\n')
                refuse_letter(s, text[n]);
        else if (nletters > 0)
                add_letters(s, line, nletters);
        return stop;
}

static enum kc_status take_header(struct scan *s, size_t line, size_t n, bool fresh,
                                  struct kc_error *err)
{
        enum kc_status status = KC_OK;
        if (fresh) {
                status = close_record(s, err);
                s->record = (struct kc_record){ .qual = KC_NO_QUALITY };
                s->in_record = true;
                s->continued = false;
                s->first = 0;
                s->chunk->nreads++;
        }
        if (memchr(s->chunk->buffer + line, '\r', n) != NULL)
                refuse_letter(s, '\r');
        return status;
}

/* Take the line at *at, or the part of it that the text has, and move *at to the next one. place:
 * where *at is in the file. */
static enum kc_status take_line(struct scan *s, enum kc_fasta_place place, size_t end, size_t *at,
                                struct kc_error *err)
{
        const uint8_t *line = s->chunk->buffer + *at;
        const bool fresh = place == KC_FASTA_LINE_START;
        const size_t from = *at;
        if (fresh)
                place = place_of(*line);
        if (place == KC_FASTA_SEQUENCE) {
                *at = take_sequence(s, from, end, fresh) + 1;
                return KC_OK;
        }
        const uint8_t *eol = memchr(line, '\n', end - from);
        const size_t n = eol == NULL ? end - from : (size_t)(eol - line);
        *at = from + n + 1;
        if (place != KC_FASTA_HEADER)
                return KC_OK;
        return take_header(s, from, eol == NULL ? n : kc_line_nletters(line, n), fresh, err);
}

/* Put the bases before the chunk in front of its text, if its first sequence continues theirs. */
static void begin_scan(struct scan *s, const struct kc_fasta_state *state)
{
        size_t n = (size_t)state->ncontext;
        s->in_record = state->in_record;
        s->continued = true;
        s->first = state->nletters - n;
        s->nskip = state->nskip;
        s->record.qual = KC_NO_QUALITY;
        s->record.seq = (uint32_t)(s->chunk->text - n);
        s->record.nbases = s->record.ncontext = (uint16_t)n;
        memcpy(s->chunk->buffer + s->record.seq, state->context, n);
}

static size_t first_binary(const struct kc_chunk *chunk)
{
        size_t at = chunk->text;
        while (at < chunk->end && chunk->buffer[at] >= 9)
                at++;
        return at;
}

enum kc_status kc_fasta_scan(struct kc_chunk *chunk, const struct kc_kernels *kernels,
                             const struct kc_fasta_state *state, bool binary,
                             struct kc_problem *problem, struct kc_error *err)
{
        struct scan s = { .chunk = chunk, .kernels = kernels, .problem = problem };
        enum kc_fasta_place place = state->place;
        enum kc_status status = KC_OK;
        size_t end = binary ? first_binary(chunk) : chunk->end;
        begin_scan(&s, state);
        *problem = (struct kc_problem){ 0 };
        for (size_t at = chunk->text; at < end && problem->what[0] == 0;) {
                KC_TRY(take_line(&s, place, end, &at, err));
                place = KC_FASTA_LINE_START;
        }
        KC_TRY(close_record(&s, err));
        if (binary && problem->what[0] == 0) {
                char what[96];
                snprintf(what, sizeof what,
                         "holds binary data (byte 0x%02x): this is not FASTA, or it is damaged",
                         (unsigned)chunk->buffer[end]);
                refuse(&s, what);
        }
out:
        return status;
}
