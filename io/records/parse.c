/*
 * Records of FASTA and of lines. A sequence in one line stays where it is in the text; one that has
 * several lines, or continues a piece, is put together behind the text.
 */
#include "io/records/text.h"

#include "io/parse/line.h"
#include "io/parse/sequence.h"
#include "io/text_file.h"

#include <stdio.h>
#include <string.h>

struct record_parse {
        const struct kc_record_text *text;
        struct kc_record_memory *memory;
        struct kc_chunk *chunk;
        struct kc_record_cut *cut;
        struct kc_seq_record *record; /* the one being made; NULL: none */
        size_t taken;                 /* text before it belongs to records that are complete */
        size_t joined;                /* end of the sequences put together; 0: none yet */
        bool is_joined;               /* the record's is one of them */
        bool fresh;                   /* the line begins in the chunk */
        uint64_t nbegun;
};

/* ---- letters ---- */

size_t kc_record_bad_letter(const struct kc_record_text *text, const uint8_t *letters, size_t n)
{
        static const bool allowed[256] = {
                ['A' ... 'Z'] = true, ['a' ... 'z'] = true, ['-'] = true, ['*'] = true, ['.'] = true
        };
        size_t at = 0;
        if (text->options.accepted & KC_RECORDS_SYMBOLS)
                return kc_sequence_line(text->kernels, letters, n);
        while (at < n && allowed[letters[at]])
                at++;
        return at;
}

void kc_record_refuse_letter(const struct kc_record_text *text, uint8_t letter, bool first,
                             struct kc_problem *problem)
{
        const char *what = letter == ' '             ? "a space"
                           : letter == '\t'          ? "a tab"
                           : letter == '>' && !first ? "'>'" KC_TEXT_INNER_HEADER
                                                     : NULL;
        if (text->options.accepted & KC_RECORDS_SYMBOLS)
                kc_problem_set_letter(problem, letter);
        else if (what != NULL)
                snprintf(problem->what, sizeof problem->what, "is not a sequence: it contains %s",
                         what);
        else
                snprintf(problem->what, sizeof problem->what,
                         "is not a sequence: it contains the byte 0x%02x", (unsigned)letter);
}

static bool refused(const struct record_parse *p)
{
        return p->cut->problem.what[0] != 0;
}

static void refuse(struct record_parse *p, const char *what)
{
        struct kc_problem *problem = &p->cut->problem;
        snprintf(problem->what, sizeof problem->what, "%s", what);
        problem->record = p->nbegun;
}

static void refuse_letter(struct record_parse *p, size_t line, size_t at)
{
        const uint8_t *buffer = p->chunk->buffer;
        bool binary = false;
        kc_record_refuse_letter(p->text, buffer[at], p->fresh && at == line, &p->cut->problem);
        p->cut->problem.record = p->nbegun;
        if (!(p->text->options.accepted & KC_RECORDS_SYMBOLS))
                p->cut->bad_line = p->cut->line + 1 +
                                   p->text->kernels->count_lines(buffer + p->chunk->start,
                                                                 at - p->chunk->start, &binary);
}

/* ---- records ---- */

static enum kc_status begin(struct record_parse *p, unsigned flags, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(kc_record_memory_reserve(p->memory, err));
        p->record = &p->memory->records[p->memory->n];
        p->record->text = (uint32_t)p->taken;
        p->record->qualities = KC_RECORD_NO_QUALITIES;
        p->record->flags = (uint8_t)flags;
        p->is_joined = false;
        p->nbegun += flags & KC_RECORD_BEGINS;
out:
        return status;
}

static void end(struct record_parse *p, size_t at, unsigned flags)
{
        if (p->record == NULL)
                return;
        p->record->text_nbytes = (uint32_t)(at - p->taken);
        p->record->flags |= (uint8_t)flags;
        p->memory->n++;
        p->record = NULL;
        p->taken = at;
}

static void append(struct record_parse *p, const uint8_t *letters, size_t n)
{
        memcpy(p->chunk->buffer + p->joined, letters, n);
        p->joined += n;
        p->record->nbases += (uint32_t)n;
}

/* Put the record's sequence together from now on, after what it has already. */
static enum kc_status join(struct record_parse *p, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_seq_record *record = p->record;
        const uint32_t at = record->bases, n = record->nbases;
        if (p->joined == 0) { /* room for all: letters of the text, and the overlap */
                KC_TRY(kc_record_memory_extend(p->memory,
                                               p->cut->whole - p->chunk->start + KC_MAX_K, err));
                p->joined = p->chunk->end;
        }
        p->is_joined = true;
        record->bases = (uint32_t)p->joined;
        record->nbases = 0;
        append(p, p->chunk->buffer + at, n);
out:
        return status;
}

static enum kc_status add_letters(struct record_parse *p, size_t from, size_t n,
                                  struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_seq_record *record = p->record;
        if (record->nbases == 0 && !p->is_joined) {
                record->bases = (uint32_t)from;
                record->nbases = (uint32_t)n;
                return KC_OK;
        }
        if (!p->is_joined)
                KC_TRY(join(p, err));
        append(p, p->chunk->buffer + from, n);
out:
        return status;
}

/* Go on with the record that an earlier chunk began. */
static enum kc_status resume(struct record_parse *p, struct kc_error *err)
{
        const struct kc_record_cut *cut = p->cut;
        enum kc_status status;
        KC_TRY(begin(p, 0, err));
        p->record->name = (uint32_t)cut->name;
        p->record->name_nbytes = (uint32_t)cut->name_nbytes;
        p->record->noverlap = (uint16_t)cut->noverlap;
        KC_TRY(join(p, err));
        append(p, cut->overlap, (size_t)cut->noverlap);
out:
        return status;
}

/* ---- lines ---- */

/* Letters of the record, in the line that begins at `line`. */
static enum kc_status take_letters(struct record_parse *p, size_t line, size_t from, size_t n,
                                   struct kc_error *err)
{
        const size_t bad = kc_record_bad_letter(p->text, p->chunk->buffer + from, n);
        if (bad < n) {
                refuse_letter(p, line, from + bad);
                return KC_OK;
        }
        return n > 0 ? add_letters(p, from, n, err) : KC_OK;
}

static enum kc_status take_sequence(struct record_parse *p, size_t line, size_t n,
                                    struct kc_error *err)
{
        const uint8_t first = p->chunk->buffer[line];
        if (p->record == NULL && n > 0)
                refuse(p, "has no '>' line before its sequence");
        else if (p->fresh && (first == '@' || first == '+') &&
                 (p->text->options.accepted & KC_RECORDS_SYMBOLS))
                refuse(p, "has a line that begins with '@' or '+': FASTA and FASTQ are mixed in "
                          "one file");
        else if (n > 0)
                return take_letters(p, line, line, n, err);
        return KC_OK;
}

/* A line of FASTA [n], with its end. */
static enum kc_status take_fasta(struct record_parse *p, size_t line, size_t n,
                                 struct kc_error *err)
{
        const uint8_t *text = p->chunk->buffer + line;
        enum kc_status status = KC_OK;
        if (p->fresh && *text == '>') {
                end(p, line, KC_RECORD_ENDS);
                KC_TRY(begin(p, KC_RECORD_BEGINS, err));
                p->record->name = (uint32_t)(line + 1);
                p->record->name_nbytes = (uint32_t)kc_record_line(text, n) - 1;
        } else if (!p->fresh || *text != ';' || !(p->text->options.accepted & KC_RECORDS_SYMBOLS)) {
                const size_t nletters = n - (text[n - 1] == '\n');
                status = take_sequence(p, line, kc_line_nletters(text, nletters), err);
        }
out:
        return status;
}

/* A line, whose first field is a record. */
static enum kc_status take_line(struct record_parse *p, size_t line, size_t n, struct kc_error *err)
{
        const uint8_t *text = p->chunk->buffer + line;
        const size_t nletters = kc_line_nletters(text, n - (text[n - 1] == '\n'));
        enum kc_status status = KC_OK;
        size_t from = 0, to;
        while (p->fresh && from < nletters && kc_line_is_blank(text[from]))
                from++;
        for (to = from; to < nletters && !kc_line_is_blank(text[to]);)
                to++;
        if (p->fresh && to > from)
                KC_TRY(begin(p, KC_RECORD_BEGINS, err));
        if (p->record != NULL && (p->fresh || !p->cut->past_field))
                KC_TRY(take_letters(p, line + from, line + from, to - from, err));
        if (text[n - 1] == '\n')
                end(p, line + n, KC_RECORD_ENDS);
out:
        return status;
}

enum kc_status kc_record_parse(const struct kc_record_text *text, struct kc_record_memory *memory,
                               struct kc_record_cut *cut, struct kc_error *err)
{
        struct kc_chunk *chunk = &memory->chunk;
        struct record_parse p = {
                .text = text, .memory = memory, .chunk = chunk, .cut = cut, .taken = chunk->start
        };
        enum kc_status status = KC_OK;
        p.fresh = !cut->continues;
        if (cut->goes_on && cut->whole == chunk->start)
                return KC_OK; /* all of the chunk is left to the next one */
        if (cut->continues)
                KC_TRY(resume(&p, err));
        for (size_t line = chunk->start, n; line < cut->whole && !refused(&p); line += n) {
                const uint8_t *eol = memchr(chunk->buffer + line, '\n', cut->whole - line);
                n = eol == NULL ? cut->whole - line : (size_t)(eol - chunk->buffer) + 1 - line;
                if (cut->format == KC_RECORD_FASTA)
                        KC_TRY(take_fasta(&p, line, n, err));
                else
                        KC_TRY(take_line(&p, line, n, err));
                p.fresh = true;
        }
        end(&p, cut->whole, cut->goes_on ? 0 : KC_RECORD_ENDS);
        if (memory->n > 0) /* blank lines belong to the record before or after them */
                memory->records[memory->n - 1].text_nbytes += (uint32_t)(cut->whole - p.taken);
out:
        return status;
}
