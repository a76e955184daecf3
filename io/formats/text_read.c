/*
 * Text: a k-mer and its count on each line, with blanks or a tab between them, as "kcount dump",
 * "jellyfish dump -c" and kmc_dump print; or FASTA with the count in place of the name, as
 * "jellyfish dump" prints.
 *
 * Under the lock, a thread takes as many whole records as fit in its buffer; it parses them without
 * the lock.
 */
#include "io/formats/text_read.h"

#include "io/input/foreign.h"
#include "io/text_file.h"
#include "kmer/remedy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
        LINES_NBYTES = 64 << 10, /* what a thread takes at a time */
};

/* What a thread has taken and not yet parsed. */
struct lines {
        const uint8_t *at, *end; /* in the worker's buffer; ends with a newline */
        uint64_t number;         /* of the line at `at` */
};

struct text_state {
        struct kc_text_file *file; /* NULL: import->in */
        struct lines *lines;       /* [nworkers] */
        bool fasta;

        /* what threads share */
        uint8_t rest[LINES_NBYTES]; /* the beginning of an incomplete record */
        size_t nrest;
        const uint8_t *piece; /* text that was read from the file, but not yet taken */
        size_t npiece;
        uint8_t *buffer; /* holds piece if file is NULL */
        uint64_t number; /* of the next line */
        bool ended;
};

/* 1 + the base's code; 0: not a base */
static const uint8_t base_of[256] = {
        ['A'] = 1, ['C'] = 2, ['G'] = 3, ['T'] = 4, ['U'] = 4,
        ['a'] = 1, ['c'] = 2, ['g'] = 3, ['t'] = 4, ['u'] = 4,
};

/* ---- blank lines ---- */

static inline bool is_blank(uint8_t letter)
{
        return letter == ' ' || letter == '\t' || letter == '\r';
}

/* Skip blanks and one newline; NULL if anything else comes first. */
static inline const uint8_t *end_line(const uint8_t *at)
{
        while (is_blank(*at))
                at++;
        return *at == '\n' ? at + 1 : NULL;
}

/* Whether the first line that is not blank is a header. There is room for a newline after text. */
static bool is_fasta(uint8_t *text, size_t n)
{
        const uint8_t *at = text, *next;
        text[n] = '\n';
        while (at < text + n && (next = end_line(at)) != NULL)
                at = next;
        return at < text + n && *at == '>';
}

/* ---- taking lines ---- */

static enum kc_status next_piece(struct kc_import *import, struct text_state *t,
                                 struct kc_error *err)
{
        enum kc_status status;
        size_t n = 0;
        if (t->file != NULL) {
                const char *letters;
                status = kc_text_file_read(t->file, &letters, &n, err);
                t->piece = (const uint8_t *)letters;
        } else {
                status = kc_input_read(&import->in, t->buffer, LINES_NBYTES, &n, err);
                t->piece = t->buffer;
        }
        t->npiece = n;
        t->ended = n == 0;
        return status;
}

/* The end of the last complete record; NULL if there is none. A record of FASTA ends where the next
 * one begins. */
static const uint8_t *find_end(const struct text_state *t, const uint8_t *begin, const uint8_t *end)
{
        while (end > begin) {
                const uint8_t *eol = memrchr(begin, '\n', (size_t)(end - begin));
                if (eol == NULL)
                        return NULL;
                if (!t->fasta || (eol + 1 < end && eol[1] == '>'))
                        return eol + 1;
                end = eol;
        }
        return NULL;
}

static size_t count_lines(const uint8_t *at, const uint8_t *end)
{
        size_t n = 0;
        while ((at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
                n++;
                at++;
        }
        return n;
}

/* Fill a buffer with text, which the caller cuts after a record. n: out, its length. */
static enum kc_status fill(struct kc_import *import, struct text_state *t, uint8_t *buffer,
                           size_t *n, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        memcpy(buffer, t->rest, t->nrest);
        *n = t->nrest;
        t->nrest = 0;
        while (*n < LINES_NBYTES && !t->ended) {
                const size_t room = LINES_NBYTES - *n, now = t->npiece < room ? t->npiece : room;
                memcpy(buffer + *n, t->piece, now);
                *n += now;
                t->piece += now;
                t->npiece -= now;
                if (t->npiece == 0)
                        KC_TRY(next_piece(import, t, err));
        }
out:
        return status;
}

/* Take whole records into the worker's buffer: none if the text has ended. */
static enum kc_status take_lines(struct kc_import *import, struct text_state *t, int worker,
                                 struct kc_error *err)
{
        struct lines *l = &t->lines[worker];
        uint8_t *buffer = import->workers[worker].buffer;
        enum kc_status status;
        size_t n = 0;
        l->at = l->end = buffer;
        pthread_mutex_lock(&import->lock);
        KC_TRY(fill(import, t, buffer, &n, err));
        if (t->number == 1)
                t->fasta = is_fasta(buffer, n);
        l->number = t->number;
        l->end = buffer + n;
        if (t->ended) {
                if (n > 0 && buffer[n - 1] != '\n') {
                        kc_fail(&import->warning, KC_EINPUT,
                                "%s may be truncated: its last line has no line end", import->name);
                        buffer[n] = '\n'; /* there is room for one more */
                        l->end++;
                }
        } else {
                l->end = find_end(t, buffer, buffer + n);
                if (l->end == NULL) {
                        l->end = buffer;
                        status = kc_fail(err, KC_EINPUT, "%s, line %" PRIu64 " is too long",
                                         import->name, t->number);
                        goto out;
                }
                t->nrest = (size_t)(buffer + n - l->end);
                memcpy(t->rest, l->end, t->nrest);
        }
        t->number += count_lines(buffer, l->end);
out:
        pthread_mutex_unlock(&import->lock);
        return status;
}

/* ---- parsing ---- */

static enum kc_status refuse_line(const struct kc_import *import, const struct lines *l,
                                  const uint8_t *line, const char *what, struct kc_error *err)
{
        char shown[KC_SHOWN_NBYTES];
        const uint8_t *eol = memchr(line, '\n', (size_t)(l->end - line));
        if (eol == line)
                return kc_fail(err, KC_EINPUT, "%s, line %" PRIu64 ": %s; the line is empty",
                               import->name, l->number, what);
        return kc_fail(err, KC_EINPUT, "%s, line %" PRIu64 ": %s, but %s", import->name, l->number,
                       what, kc_foreign_show(shown, line, (size_t)(eol + 1 - line)));
}

/* Parse k bases; NULL if there are fewer. */
static inline const uint8_t *parse_kmer(const uint8_t *at, int k, uint64_t *kmer)
{
        int nleft = k;
        for (int w = kc_kmer_nwords(k) - 1; w >= 0; w--) {
                uint64_t word = 0;
                for (; nleft > 32 * w; nleft--) {
                        const unsigned base = base_of[*at++];
                        if (__builtin_expect(base == 0, 0))
                                return NULL;
                        word = word << 2 | (base - 1);
                }
                kmer[w] = word;
        }
        return at;
}

/* Parse a number of any length, at most UINT64_MAX; NULL if there is none. */
static inline const uint8_t *parse_count(const uint8_t *at, uint64_t *count)
{
        const uint8_t *begin = at;
        uint64_t n = 0;
        for (; (unsigned)(*at - '0') <= 9; at++) /* once n has overflowed, it stays at the limit */
                if (__builtin_mul_overflow(n, 10, &n) ||
                    __builtin_add_overflow(n, (uint64_t)(*at - '0'), &n))
                        n = UINT64_MAX;
        *count = n;
        return at == begin ? NULL : at;
}

/* Both parse one record and return what follows it, or NULL if there is no valid record. */

static const uint8_t *parse_columns(const uint8_t *at, int k, uint64_t *kmer, uint64_t *count)
{
        at = parse_kmer(at, k, kmer);
        if (at == NULL || !is_blank(*at))
                return NULL;
        while (is_blank(*at))
                at++;
        at = parse_count(at, count);
        return at == NULL ? NULL : end_line(at);
}

static const uint8_t *parse_fasta(const uint8_t *at, const uint8_t *end, int k, uint64_t *kmer,
                                  uint64_t *count)
{
        if (*at != '>' || (at = parse_count(at + 1, count)) == NULL)
                return NULL;
        at = end_line(at);
        if (at == NULL || at == end)
                return NULL;
        at = parse_kmer(at, k, kmer);
        return at == NULL ? NULL : end_line(at);
}

static enum kc_status parse_lines(struct kc_import *import, struct text_state *t, int worker,
                                  struct kc_pair_batch *batch, struct kc_error *err)
{
        struct lines *l = &t->lines[worker];
        struct kc_import_worker *w = &import->workers[worker];
        const int k = import->info.k;
        uint64_t *kmer = batch->kmers + batch->n * (size_t)kc_kmer_nwords(k), count;
        while (l->at < l->end && batch->n < batch->cap) {
                const uint8_t *next = t->fasta ? parse_fasta(l->at, l->end, k, kmer, &count)
                                               : parse_columns(l->at, k, kmer, &count);
                if (next != NULL) {
                        batch->counts[batch->n++] = kc_import_count(w, count, 0);
                        kmer += kc_kmer_nwords(k);
                        l->number += t->fasta;
                } else if ((next = end_line(l->at)) == NULL) {
                        char what[64];
                        snprintf(what, sizeof what, "there should be %d bases and a count", k);
                        return refuse_line(import, l, l->at, what, err);
                }
                l->at = next;
                l->number++;
        }
        return KC_OK;
}

enum kc_status kc_import_text_read(struct kc_import *import, void *state, int worker,
                                   struct kc_pair_batch *batch, struct kc_error *err)
{
        struct text_state *t = state;
        struct lines *l = &t->lines[worker];
        enum kc_status status = KC_OK;
        while (batch->n == 0) {
                if (l->at == l->end) {
                        KC_TRY(kc_import_reserve(import, worker, LINES_NBYTES + 1, err));
                        KC_TRY(take_lines(import, t, worker, err));
                        if (l->at == l->end)
                                break;
                }
                KC_TRY(parse_lines(import, t, worker, batch, err));
        }
out:
        return status;
}

/* ---- opening ---- */

static enum kc_status refuse_reads(const struct kc_import *import, struct kc_error *err)
{
        return kc_fail_file(err, KC_EINPUT, KC_REMEDY_COUNT, import->name, "%s holds reads",
                            import->name);
}

/* Whether it is FASTQ, SAM, BAM or CRAM. FASTA may hold counts. */
static bool holds_reads(struct kc_input *in)
{
        const unsigned accepted = KC_ACCEPT_LINES | KC_ACCEPT_EMPTY;
        struct kc_detected found;
        return kc_detect(in, accepted, &found, NULL) == KC_OK &&
               (found.bam || found.container == KC_CONTAINER_ALIGNMENTS || found.first == '@');
}

/* Find out whether the text is FASTA, and k. Worker 0 keeps the lines and parses them later. */
static enum kc_status look(struct kc_import *import, struct text_state *t, struct kc_error *err)
{
        struct lines *l = &t->lines[0];
        enum kc_status status;
        KC_TRY(kc_import_reserve(import, 0, LINES_NBYTES + 1, err));
        t->number = 1;
        KC_TRY(next_piece(import, t, err));
        KC_TRY(take_lines(import, t, 0, err));
        while (l->at < l->end && end_line(l->at) != NULL) {
                l->at = end_line(l->at);
                l->number++;
        }
        if (l->at == l->end)
                return kc_fail(err, KC_EINPUT, "%s holds no k-mers, so their length is not known",
                               import->name);
        const uint8_t *at = l->at;
        if (*at == '>' && !(at[1] >= '0' && at[1] <= '9'))
                return refuse_reads(import, err);
        if (*at == '>')
                at = (const uint8_t *)memchr(at, '\n', (size_t)(l->end - at)) + 1;
        size_t k = 0;
        while (at < l->end && base_of[at[k]] != 0)
                k++;
        if (k == 0)
                return refuse_line(import, l, l->at, "there should be a k-mer and its count", err);
        status = kc_import_set_k(import, k, err);
out:
        return status;
}

/* Open the whole file as text. Counts in another format were not recognized only if they come from
 * a pipe or are compressed. */
static enum kc_status open_file(struct kc_import *import, struct text_state *t,
                                struct kc_error *err)
{
        struct kc_error refused = { 0 };
        if (holds_reads(&import->in))
                return refuse_reads(import, err);
        const enum kc_status status = kc_text_file_open_input(&t->file, &import->in, &refused);
        if (refused.remedies & KC_REMEDY_IMPORT)
                return kc_fail_remedy(err, status, KC_REMEDY_SAVE, "%s", refused.message);
        return status == KC_OK ? KC_OK : kc_fail_as(err, &refused);
}

static enum kc_status begin(struct kc_import *import, bool whole, void **state,
                            struct kc_error *err)
{
        struct text_state *t = calloc(1, sizeof *t);
        enum kc_status status;
        *state = t;
        if (t == NULL || (t->lines = calloc((size_t)import->nworkers, sizeof *t->lines)) == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        if (whole)
                KC_TRY(open_file(import, t, err));
        else if ((t->buffer = malloc(LINES_NBYTES)) == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        KC_TRY(look(import, t, err));
        /* a line without compression has at least k bases, a blank, a digit and a newline */
        import->info.expected_npairs = import->in.size / ((uint64_t)import->info.k + 3);
out:
        return status;
}

enum kc_status kc_import_text_begin(struct kc_import *import, void **state, struct kc_error *err)
{
        return begin(import, false, state, err);
}

void kc_import_text_close(void *state)
{
        struct text_state *t = state;
        if (t == NULL)
                return;
        kc_text_file_close(t->file);
        free(t->lines);
        free(t->buffer);
        free(t);
}

static enum kc_status open_text(struct kc_import *import, struct kc_error *err)
{
        return begin(import, true, &import->state, err);
}

static enum kc_status read_text(struct kc_import *import, int worker, struct kc_pair_batch *batch,
                                struct kc_error *err)
{
        return kc_import_text_read(import, import->state, worker, batch, err);
}

const struct kc_import_format kc_import_text = {
        .what = "text",
        .open = open_text,
        .read = read_text,
        .close = kc_import_text_close,
};
