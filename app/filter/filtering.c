#include "app/filter/filtering.h"

#include "app/filter/mates.h"
#include "app/filter/trim.h"

#include <stdlib.h>
#include <string.h>

/* A text that goes to an output. */
struct segment {
        const char *text;
        size_t nbytes;
        unsigned output;
};

/* What was made of a block, all but the pieces of records. */
struct filtering_slot {
        struct segment *segments;
        size_t nsegments, room;
        struct notes notes;
};

/* A read, or a piece of one, with its answer. */
struct read {
        const struct kc_seq_record *record;
        const char *bytes;
        struct kc_ask_summary summary; /* of what stays */
        const struct kc_ask_summary *asked;
        uint64_t nbases, nstay; /* bases of the read, and how many stay */
};

static struct read read_of(const struct filtering *f, const struct kc_record_batch *batch, size_t i,
                           const struct kc_ask_summary *asked)
{
        struct read read = { .record = &batch->records[i],
                             .bytes = batch->bytes,
                             .summary = *asked,
                             .asked = asked };
        const struct kc_seq_record *record = read.record;
        read.nbases = record->offset + record->nbases - record->noverlap;
        read.nstay = f->trims ? judge_trim(&read.summary, f->k, read.nbases) : read.nbases;
        return read;
}

static bool is_whole(const struct kc_seq_record *record)
{
        return (record->flags & KC_RECORD_WHOLE) == KC_RECORD_WHOLE;
}

static const char *text_of(const struct read *read)
{
        return read->bytes + read->record->text;
}

static const char *name_of(const struct read *read)
{
        return read->bytes + read->record->name;
}

/* ---- lines about reads ---- */

static void add_row(struct notes *notes, const struct read *read)
{
        notes_row(notes, name_of(read), mates_word(name_of(read), read->record->name_nbytes),
                  read->asked);
}

/* Called by write only. */
static enum kc_status put_notes(struct filtering *f, struct notes *notes, struct kc_error *err)
{
        return notes_put(notes, f->outputs, &f->totals, err);
}

/* ---- whole records: format ---- */

/* Add a text, which may continue the last segment. */
static enum kc_status add_text(struct filtering_slot *w, const char *text, size_t nbytes,
                               unsigned output, struct kc_error *err)
{
        struct segment *last = w->nsegments > 0 ? &w->segments[w->nsegments - 1] : NULL;
        if (last != NULL && last->output == output && last->text + last->nbytes == text) {
                last->nbytes += nbytes;
                return KC_OK;
        }
        if (w->nsegments == w->room) {
                const size_t room = w->room > 0 ? 2 * w->room : 256;
                struct segment *segments = realloc(w->segments, room * sizeof *segments);
                if (segments == NULL)
                        return kc_fail(err, KC_ENOMEM, "out of memory for the reads of a block");
                w->segments = segments;
                w->room = room;
        }
        w->segments[w->nsegments++] = (struct segment){ text, nbytes, output };
        return KC_OK;
}

struct adding {
        struct filtering_slot *slot;
        unsigned output;
};

static enum kc_status take_segment(void *ctx, const char *text, size_t nbytes, struct kc_error *err)
{
        const struct adding *adding = ctx;
        return add_text(adding->slot, text, nbytes, adding->output, err);
}

static enum kc_status add_read(struct filtering_slot *w, const struct read *read, bool kept,
                               unsigned mate, struct kc_error *err)
{
        struct adding adding = { w, (kept ? OUTPUTS_KEPT : OUTPUTS_REST) + mate };
        const char *text = text_of(read);
        if (!kept || read->nstay == read->nbases)
                return take_segment(&adding, text, read->record->text_nbytes, err);
        struct trim trim = trim_begin(read->nstay, text[0] == '@');
        return trim_text(&trim, text, read->record->text_nbytes, take_segment, &adding, err);
}

/* Decide, and note the decision. */
static bool judge_single(const struct filtering *f, struct notes *notes, const struct read *read)
{
        const bool stays = !f->trims || read->nstay > 0;
        const bool kept = stays && judge_keeps(&f->judge, &read->summary);
        notes->totals.nreads++;
        notes->totals.nkept += kept;
        if (outputs_has(f->outputs, OUTPUTS_TABLE))
                add_row(notes, read);
        if (kept && outputs_has(f->outputs, OUTPUTS_NAMES))
                notes_name(notes, name_of(read),
                           mates_word(name_of(read), read->record->name_nbytes));
        return kept;
}

static bool judge_pair(const struct filtering *f, struct notes *notes, const struct read mates[2])
{
        const bool stays = !f->trims || (mates[0].nstay > 0 && mates[1].nstay > 0);
        const bool kept =
                stays && judge_keeps_pair(&f->judge, &mates[0].summary, &mates[1].summary);
        notes->totals.nreads += 2;
        notes->totals.nkept += kept ? 2 : 0;
        for (int m = 0; m < 2 && outputs_has(f->outputs, OUTPUTS_TABLE); m++)
                add_row(notes, &mates[m]);
        if (kept && outputs_has(f->outputs, OUTPUTS_NAMES))
                notes_name(notes, name_of(&mates[0]),
                           mates_stem(name_of(&mates[0]), mates[0].record->name_nbytes));
        return kept;
}

/* Quote names up to their first blanks. */
static enum kc_status refuse_names(const struct filtering *f, const struct read *a,
                                   const struct read *b, struct kc_error *err)
{
        enum { MOST = 100 };
        const size_t na = mates_word(name_of(a), a->record->name_nbytes);
        const size_t nb = mates_word(name_of(b), b->record->name_nbytes);
        return kc_fail(err, KC_EINPUT,
                       "%s: record %llu, %.*s, and record %llu of %s, %.*s, are not mates: their "
                       "names differ",
                       f->names[0], (unsigned long long)a->record->number + 1,
                       (int)(na < MOST ? na : MOST), name_of(a),
                       (unsigned long long)b->record->number + 1, f->names[1],
                       (int)(nb < MOST ? nb : MOST), name_of(b));
}

static enum kc_status format_pair(const struct filtering *f, struct filtering_slot *w,
                                  const struct read mates[2], struct kc_error *err)
{
        enum kc_status status;
        if (!mates_match(name_of(&mates[0]), mates[0].record->name_nbytes, name_of(&mates[1]),
                         mates[1].record->name_nbytes))
                return refuse_names(f, &mates[0], &mates[1], err);
        const bool kept = judge_pair(f, &w->notes, mates);
        KC_TRY(add_read(w, &mates[0], kept, 0, err));
        KC_TRY(add_read(w, &mates[1], kept, f->in_step, err));
out:
        return status;
}

static enum kc_status format_singles(const struct filtering *f, struct filtering_slot *w,
                                     const struct asked *block, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (size_t i = 0; i < block->batch->n; i++) {
                const struct read read = read_of(f, block->batch, i, &block->answers[0][i].summary);
                if (is_whole(read.record))
                        KC_TRY(add_read(w, &read, judge_single(f, &w->notes, &read), 0, err));
        }
out:
        return status;
}

static enum kc_status format_pairs(const struct filtering *f, struct filtering_slot *w,
                                   const struct asked *block, struct kc_error *err)
{
        const struct kc_mate_batch *pairs = block->pairs;
        enum kc_status status = KC_OK;
        for (size_t i = 0; i < pairs->n; i++) {
                struct read mates[2];
                for (int m = 0; m < 2; m++)
                        mates[m] = read_of(f, pairs->batch[m], pairs->first[m] + i * pairs->step,
                                           &block->answers[m][i].summary);
                KC_TRY(format_pair(f, w, mates, err));
        }
out:
        return status;
}

enum kc_status filtering_format(struct filtering *f, int worker, const struct asked *block,
                                struct kc_error *err)
{
        struct filtering_slot *w = &f->slots[block->slot];
        enum kc_status status;
        KC_TRY(outputs_help(f->outputs, worker, err));
        w->nsegments = 0;
        notes_clear(&w->notes);
        KC_TRY(block->pairs != NULL ? format_pairs(f, w, block, err)
                                    : format_singles(f, w, block, err));
out:
        return status;
}

/* ---- records in pieces: write ---- */

struct putting {
        const struct filtering *filtering;
        unsigned output;
        bool trims;
        struct trim trim;
};

static enum kc_status put_text(void *ctx, const char *text, size_t nbytes, struct kc_error *err)
{
        const struct putting *p = ctx;
        return outputs_put(p->filtering->outputs, p->output, text, nbytes, err);
}

static enum kc_status put_held(void *ctx, const char *text, size_t nbytes, struct kc_error *err)
{
        struct putting *p = ctx;
        return p->trims ? trim_text(&p->trim, text, nbytes, put_text, p, err)
                        : put_text(p, text, nbytes, err);
}

/* The record is complete. record: its last piece. */
static enum kc_status end_pieces(struct filtering *f, const struct read *read, struct kc_error *err)
{
        const bool kept = judge_single(f, &f->notes, read);
        struct putting p = { .filtering = f,
                             .output = kept ? OUTPUTS_KEPT : OUTPUTS_REST,
                             .trims = kept && read->nstay < read->nbases,
                             .trim = trim_begin(read->nstay, f->is_fastq) };
        enum kc_status status;
        KC_TRY(held_release(&f->held, put_held, &p, err));
        KC_TRY(put_notes(f, &f->notes, err));
out:
        return status;
}

static enum kc_status take_piece(struct filtering *f, const struct kc_record_batch *batch, size_t i,
                                 const struct kc_ask_summary *summary, struct kc_error *err)
{
        const struct kc_seq_record *record = &batch->records[i];
        const char *text = batch->bytes + record->text;
        enum kc_status status;
        if (record->flags & KC_RECORD_BEGINS) {
                f->pieces = KC_ASK_NOTHING;
                f->is_fastq = text[0] == '@';
        }
        kc_ask_summary_append(&f->pieces, summary);
        KC_TRY(held_append(&f->held, text, record->text_nbytes, err));
        if (record->flags & KC_RECORD_ENDS) {
                const struct read read = read_of(f, batch, i, &f->pieces);
                KC_TRY(end_pieces(f, &read, err));
        }
out:
        return status;
}

static enum kc_status put_segments(struct filtering *f, const struct filtering_slot *w,
                                   struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (size_t i = 0; i < w->nsegments; i++) {
                const struct segment *s = &w->segments[i];
                KC_TRY(outputs_put(f->outputs, s->output, s->text, s->nbytes, err));
        }
out:
        return status;
}

static bool is_piece(const struct asked *block, size_t i)
{
        return block->batch != NULL && i < block->batch->n && !is_whole(&block->batch->records[i]);
}

enum kc_status filtering_write(struct filtering *f, const struct asked *block, struct kc_error *err)
{
        struct filtering_slot *w = &f->slots[block->slot];
        const size_t last = block->batch != NULL && block->batch->n > 1 ? block->batch->n - 1 : 0;
        enum kc_status status;
        if (is_piece(block, 0))
                KC_TRY(take_piece(f, block->batch, 0, &block->answers[0][0].summary, err));
        KC_TRY(put_segments(f, w, err));
        KC_TRY(put_notes(f, &w->notes, err));
        if (last > 0 && is_piece(block, last))
                KC_TRY(take_piece(f, block->batch, last, &block->answers[0][last].summary, err));
out:
        return status;
}

/* ---- opening and closing ---- */

uint64_t filtering_slot_nbytes(const struct filtering *f, int slot)
{
        const struct filtering_slot *w = &f->slots[slot];
        return w->room * sizeof *w->segments + notes_nbytes(&w->notes);
}

enum kc_status filtering_open(struct filtering *f, struct kc_error *err)
{
        f->slots = calloc((size_t)f->nslots, sizeof *f->slots);
        return f->slots != NULL ? KC_OK : kc_fail(err, KC_ENOMEM, "out of memory");
}

void filtering_restart(struct filtering *f)
{
        f->totals = (struct notes_totals){ 0 };
        held_forget(&f->held);
}

void filtering_close(struct filtering *f)
{
        for (int i = 0; f->slots != NULL && i < f->nslots; i++) {
                free(f->slots[i].segments);
                notes_free(&f->slots[i].notes);
        }
        free(f->slots);
        notes_free(&f->notes);
        held_free(&f->held);
}
