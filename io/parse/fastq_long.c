#include "io/parse/fastq_long.h"

#include "io/parse/select.h"
#include "io/parse/sequence.h"
#include "kmer/hpc.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Letters of one kind in the chunk: lines, or parts of lines, joined in place. */
struct letters {
        size_t begin, n;
};

/* Most blanks that are kept for the next chunk because they may end a line: no file has more. */
enum { MAX_BLANKS = 1 << 20 };

struct parse {
        struct kc_fastq_long *state;
        struct kc_chunk *chunk;
        struct letters seq, qual;
        size_t front; /* the buffer before it is free */
        struct kc_problem *problem;
};

void kc_fastq_long_free(struct kc_fastq_long *l)
{
        kc_bytes_free(&l->sequence);
}

void kc_fastq_long_begin(struct kc_fastq_long *l)
{
        l->place = KC_LONG_HEADER;
        l->in_line = false;
        l->rest = (struct kc_line_rest){ 0 };
        l->nbases = l->nqual = l->nseq_lines = l->nqual_first = 0;
        l->sequence.nbytes = 0;
        l->ncontext = 0;
}

static void add_letters(struct parse *p, struct letters *letters, size_t from, size_t n)
{
        uint8_t *buffer = p->chunk->buffer;
        if (letters->n == 0)
                letters->begin = from;
        if (letters->begin + letters->n != from)
                memmove(buffer + letters->begin + letters->n, buffer + from, n);
        letters->n += n;
}

/* ---- pieces ---- */

/* Whether k-mers may contain this base. qual may be NULL. */
static bool counts(const struct kc_fastq_long *l, uint8_t base, const uint8_t *qual)
{
        return kc_base_code(base) >= 0 && (qual == NULL || *qual >= l->min_quality);
}

/* Keep the end of what was passed on: up to k - 1 bases that all count. */
static void set_context(struct kc_fastq_long *l, const uint8_t *seq, const uint8_t *qual, size_t n)
{
        struct kc_backward b = { .want = l->k - 1, .hpc = l->hpc };
        for (; n > 0 && b.have < b.want && counts(l, seq[n - 1], qual ? &qual[n - 1] : NULL); n--)
                kc_backward_take(&b, seq[n - 1]);
        memcpy(l->context, b.letters + KC_MAX_K - b.have, (size_t)b.have);
        l->ncontext = b.have;
}

/* Index the piece of the sequence that lies in this chunk, after its context. */
static enum kc_status give_sequence(struct parse *p, struct kc_error *err)
{
        struct kc_fastq_long *l = p->state;
        size_t ncontext = (size_t)l->ncontext, begin = p->seq.begin - ncontext;
        uint8_t *seq = p->chunk->buffer + begin;
        if (p->seq.n == 0)
                return KC_OK;
        memcpy(seq, l->context, ncontext);
        struct kc_record record = { .seq = (uint32_t)begin,
                                    .nbases = (uint32_t)(ncontext + p->seq.n),
                                    .qual = KC_NO_QUALITY,
                                    .ncontext = (uint16_t)ncontext };
        set_context(l, seq, NULL, record.nbases);
        kc_chunk_skip(p->chunk, &record, l->nbases - p->seq.n - ncontext, l->nskip);
        return kc_chunk_add_record(p->chunk, record, err);
}

/*
 * Index the bases whose qualities lie in this chunk. They are put before its text, and the context
 * before both, with a quality that counts.
 */
static enum kc_status give_with_qualities(struct parse *p, struct kc_error *err)
{
        struct kc_fastq_long *l = p->state;
        size_t ncontext = (size_t)l->ncontext, n = p->qual.n;
        size_t seq_begin = p->front - 2 * ncontext - n, qual_begin = p->qual.begin - ncontext;
        uint8_t *seq = p->chunk->buffer + seq_begin, *qual = p->chunk->buffer + qual_begin;
        if (n == 0)
                return KC_OK;
        memcpy(seq, l->context, ncontext);
        memcpy(seq + ncontext, l->sequence.data + (l->nqual - n), n);
        memset(qual, l->min_quality, ncontext);
        struct kc_record record = { .seq = (uint32_t)seq_begin,
                                    .nbases = (uint32_t)(ncontext + n),
                                    .qual = (uint32_t)qual_begin,
                                    .ncontext = (uint16_t)ncontext };
        set_context(l, seq, qual, record.nbases);
        kc_chunk_skip(p->chunk, &record, l->nqual - n - ncontext, l->nskip);
        return kc_chunk_add_record(p->chunk, record, err);
}

/* Hold the sequence until its qualities come; if it is too long, only count its bases. */
static enum kc_status hold_sequence(struct parse *p, struct kc_error *err)
{
        struct kc_fastq_long *l = p->state;
        if (l->nbases <= l->held.nbytes)
                return kc_bytes_append(&l->sequence, p->chunk->buffer + p->seq.begin, p->seq.n,
                                       err);
        kc_bytes_free(&l->sequence);
        return KC_OK;
}

static enum kc_status give_pieces(struct parse *p, struct kc_error *err)
{
        enum kc_status status;
        if (p->state->min_quality == 0)
                return give_sequence(p, err);
        KC_TRY(hold_sequence(p, err));
        if (p->problem->what[0] == 0)
                KC_TRY(give_with_qualities(p, err));
out:
        return status;
}

/* ---- lines ---- */

static void refuse(struct parse *p, const char *what)
{
        snprintf(p->problem->what, sizeof p->problem->what, "%s", what);
}

static void check_held(struct parse *p)
{
        const struct kc_fastq_long *l = p->state;
        if (l->min_quality > 0 && l->nbases > l->held.nbytes)
                kc_problem_set_held(p->problem, &l->held, l->nbases, 1);
}

/* A line of the sequence, or the one with the plus sign. */
static void take_sequence(struct parse *p, size_t line, size_t n)
{
        struct kc_fastq_long *l = p->state;
        uint8_t first = n > 0 && !l->in_line ? p->chunk->buffer[line] : 0;
        if (first == '+') {
                l->place = KC_LONG_PLUS;
                check_held(p);
        } else if (first == '@' || first == '>') {
                refuse(p, "has no '+' line after its sequence");
        } else {
                add_letters(p, &p->seq, line, n);
                l->nbases += n;
        }
}

static void take_quality(struct parse *p, size_t line, size_t n)
{
        struct kc_fastq_long *l = p->state;
        uint64_t left = l->nbases > l->nqual ? l->nbases - l->nqual : 0;
        add_letters(p, &p->qual, line, n < left ? n : (size_t)left);
        l->nqual += n;
}

/* If a sequence is one line, so are its qualities: too many letters on several lines mean that the
 * first line had too few. */
static void end_quality_line(struct parse *p)
{
        struct kc_fastq_long *l = p->state;
        if (l->nqual_first == 0)
                l->nqual_first = l->nqual;
        if (l->nqual == l->nbases)
                l->place = KC_LONG_NONE;
        else if (l->nqual > l->nbases)
                snprintf(p->problem->what, sizeof p->problem->what,
                         "has %" PRIu64 " bases but %" PRIu64 " quality letters", l->nbases,
                         l->nseq_lines == 1 ? l->nqual_first : l->nqual);
}

static void end_line(struct parse *p)
{
        struct kc_fastq_long *l = p->state;
        if (l->place == KC_LONG_HEADER)
                l->place = KC_LONG_SEQUENCE;
        else if (l->place == KC_LONG_SEQUENCE)
                l->nseq_lines++;
        else if (l->place == KC_LONG_PLUS)
                l->place = KC_LONG_QUALITY;
        else
                end_quality_line(p);
}

/* Leave what may end a line of letters to the next chunk; returns how many letters precede it. */
static size_t hold_rest(struct parse *p, size_t at)
{
        struct kc_fastq_long *l = p->state;
        size_t all = p->chunk->end - at, n = kc_line_nletters(p->chunk->buffer + at, all);
        if (l->place != KC_LONG_SEQUENCE && l->place != KC_LONG_QUALITY)
                return all;
        l->rest.cr = n < all && p->chunk->buffer[p->chunk->end - 1] == '\r';
        l->rest.nblanks = all - n - l->rest.cr;
        if (l->rest.nblanks > MAX_BLANKS)
                snprintf(p->problem->what, sizeof p->problem->what,
                         "has more than %d spaces and tabs in a row", MAX_BLANKS);
        return n;
}

/* Take the line at `at`, or what the chunk has of it; returns where the next one begins. */
static size_t take_line(struct parse *p, size_t at)
{
        struct kc_fastq_long *l = p->state;
        const uint8_t *buffer = p->chunk->buffer;
        const uint8_t *eol = memchr(buffer + at, '\n', p->chunk->end - at);
        size_t stop = eol != NULL ? (size_t)(eol - buffer) : p->chunk->end;
        size_t n = eol != NULL ? kc_line_nletters(buffer + at, stop - at) : hold_rest(p, at);
        if (l->place == KC_LONG_SEQUENCE)
                take_sequence(p, at, n);
        else if (l->place == KC_LONG_QUALITY)
                take_quality(p, at, n);
        l->in_line = eol == NULL && (l->in_line || n > 0);
        if (eol == NULL)
                return stop;
        end_line(p);
        return stop + 1;
}

/* ---- a chunk ---- */

/* For context, for the rest, and for the bases that go with qualities. */
size_t kc_fastq_long_room(const struct kc_fastq_long *l, const struct kc_chunk *chunk)
{
        size_t rest = (size_t)l->rest.nblanks + l->rest.cr;
        size_t room = chunk->text - chunk->start + 2 * KC_MAX_K + rest;
        if (l->min_quality > 0)
                room += chunk->end - chunk->start + rest;
        return room;
}

/* Put the rest of the previous chunk before this one's text; returns where it begins. */
static size_t put_rest(struct kc_fastq_long *l, struct kc_chunk *chunk)
{
        size_t begin = chunk->start;
        if (l->rest.cr)
                chunk->buffer[--begin] = '\r';
        begin -= (size_t)l->rest.nblanks;
        memset(chunk->buffer + begin, ' ', (size_t)l->rest.nblanks);
        l->rest = (struct kc_line_rest){ 0 };
        return begin;
}

static void check_end(struct parse *p)
{
        const struct kc_fastq_long *l = p->state;
        if (!p->chunk->last || l->place == KC_LONG_NONE || p->problem->what[0] != 0)
                return;
        if (l->place < KC_LONG_PLUS)
                refuse(p, "is truncated: the file ends within it");
        else
                snprintf(p->problem->what, sizeof p->problem->what,
                         "is truncated: the file ends within it, with %" PRIu64
                         " bases but %" PRIu64 " quality letters",
                         l->nbases, l->nqual);
}

static void check_bytes(struct parse *p, size_t from, size_t to)
{
        const struct kc_kernels *kernels = p->state->kernels;
        const uint8_t *buffer = p->chunk->buffer, *seq = buffer + p->seq.begin;
        bool binary = false;
        if (p->problem->what[0] != 0)
                return;
        kernels->count_lines(buffer + from, to - from, &binary);
        size_t odd = kc_sequence_find_odd(kernels, seq, p->seq.n);
        if (binary)
                refuse(p, "holds binary data: this is not FASTQ");
        else if (odd < p->seq.n)
                kc_problem_set_letter(p->problem, seq[odd]);
}

enum kc_status kc_fastq_long_parse(struct kc_fastq_long *l, struct kc_chunk *chunk,
                                   struct kc_problem *problem, struct kc_error *err)
{
        struct parse p = { .state = l, .chunk = chunk, .problem = problem };
        enum kc_status status;
        *problem = (struct kc_problem){ .record = 1 };
        KC_TRY(kc_chunk_reserve_front(chunk, kc_fastq_long_room(l, chunk), err));
        size_t next = put_rest(l, chunk);
        p.front = next;
        while (next < chunk->end && l->place != KC_LONG_NONE && problem->what[0] == 0)
                next = take_line(&p, next);
        check_end(&p);
        check_bytes(&p, chunk->start, next);
        KC_TRY(give_pieces(&p, err));
        chunk->nreads += l->place == KC_LONG_NONE;
        chunk->start = next;
out:
        return status;
}
