#include "app/filter/alignments.h"

#include "io/input/input.h"
#include "kmer/remedy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLLATE "samtools collate -O -u FILE"

/* ---- what does not go together ---- */

static const char *input_name(const struct alignments *a)
{
        return kc_input_name(a->path);
}

/* The input is fine, but these options need FASTQ, which can be made from it. */
static enum kc_status refuse_alignments(const struct alignments *a, const char *why,
                                        struct kc_error *err)
{
        struct kc_error own = { 0 };
        kc_fail_filter(&own, KC_REMEDY_FILTER, input_name(a), "samtools fastq FILE", "%s %s",
                       input_name(a), why);
        own.status = KC_EUSAGE;
        return kc_fail_as(err, &own);
}

static enum kc_status check_text(const struct alignments *a, struct kc_error *err)
{
        const enum outputs_kind kind = a->filtering->outputs->kind;
        if (kind == OUTPUTS_SAM || kind == OUTPUTS_BAM)
                return kc_fail(err, KC_EUSAGE,
                               "%s is FASTQ or FASTA, which does not become SAM or BAM: give the "
                               "output another ending",
                               input_name(a));
        if (a->is_rule_given && !a->is_paired)
                return kc_fail(err, KC_EUSAGE,
                               "--pairs needs two inputs, one with --interleaved, or SAM or BAM");
        return KC_OK;
}

static enum kc_status check_alignments(const struct alignments *a, enum kc_records_kind kind,
                                       struct kc_error *err)
{
        if (a->is_paired)
                return kc_fail(err, KC_EUSAGE,
                               "%s has alignments, whose mates are found by their names: give it "
                               "alone, and without --interleaved",
                               input_name(a));
        if (kind == KC_RECORDS_CRAM)
                return kc_fail_filter(err, KC_REMEDY_FILTER, input_name(a), COLLATE,
                                      "%s is CRAM; of alignments, filter reads and writes SAM and "
                                      "BAM only",
                                      input_name(a));
        if (a->filtering->trims)
                return refuse_alignments(a,
                                         "has alignments, which do not fit trimmed reads: "
                                         "--trim is for FASTQ and FASTA",
                                         err);
        if (a->filtering->outputs->kind == OUTPUTS_TEXT)
                return refuse_alignments(
                        a, "is SAM or BAM, so the names of outputs must end in .bam or .sam", err);
        return KC_OK;
}

static enum kc_status refuse_order(struct alignments *a, const char *problem, struct kc_error *err)
{
        return kc_fail_filter(err, KC_REMEDY_FILTER, input_name(a), COLLATE, "%s: %s; %s",
                              input_name(a), problem,
                              a->can_repeat ? "what was written cannot be taken back"
                                            : "a pipe cannot be read twice");
}

static enum kc_status refuse_memory(const struct alignments *a, struct kc_error *err)
{
        struct kc_error own = { 0 };
        kc_fail_filter(&own, KC_REMEDY_MORE_MEMORY | KC_REMEDY_FILTER, input_name(a), COLLATE,
                       "%s: the names of its reads do not fit in memory (%" PRIu64
                       " names in %" PRIu64 " MiB)",
                       input_name(a), a->verdicts.names.n, a->names_nbytes >> 20);
        own.status = KC_ENOMEM;
        return kc_fail_as(err, &own);
}

/* The records of a name do not follow each other. */
static enum kc_status refuse_name(struct alignments *a, const char *name, size_t nbytes,
                                  struct kc_error *err)
{
        char problem[NAMES_MOST_NBYTES + 64];
        a->wants_two_passes = a->can_repeat && a->can_restart;
        snprintf(problem, sizeof problem, "the read %.*s comes again after others", (int)nbytes,
                 name);
        return refuse_order(a, problem, err);
}

/* ---- beginning ---- */

static enum kc_status plan_passes(struct alignments *a, const struct kc_records *stream,
                                  struct kc_error *err)
{
        const enum kc_records_order order = kc_records_order(stream);
        a->is_promised = order == KC_RECORDS_BY_NAME;
        a->has_two_passes =
                a->wants_two_passes || (a->can_repeat && !a->is_promised &&
                                        (order == KC_RECORDS_BY_PLACE || !a->can_restart));
        a->remembers = !a->has_two_passes;
        a->wants_two_passes = false;
        if (order == KC_RECORDS_BY_PLACE && !a->has_two_passes)
                return refuse_order(a, "it is sorted by position, not by name", err);
        return KC_OK;
}

static void set_format(struct alignments *a)
{
        const struct outputs *outputs = a->filtering->outputs;
        a->writes = outputs_has(outputs, OUTPUTS_KEPT) || outputs_has(outputs, OUTPUTS_REST);
        a->format = outputs->kind == OUTPUTS_BAM ? KC_ALIGNMENT_BAM : KC_ALIGNMENT_SAM;
}

enum kc_status alignments_put_header(struct alignments *a, struct kc_error *err)
{
        struct outputs *outputs = a->filtering->outputs;
        struct kc_alignment_bytes bytes = { 0 };
        enum kc_status status;
        KC_TRY(kc_alignment_put_header(&bytes, a->format, a->header, &a->program, err));
        KC_TRY(outputs_put(outputs, OUTPUTS_KEPT, bytes.data, bytes.n, err));
        KC_TRY(outputs_put(outputs, OUTPUTS_REST, bytes.data, bytes.n, err));
out:
        free(bytes.data);
        return status;
}

enum kc_status alignments_begin(struct alignments *a, const struct kc_records *const streams[2],
                                struct kc_error *err)
{
        const struct kc_records *second = streams[1] != NULL ? streams[1] : streams[0];
        const bool is_text = kc_records_kind(streams[0]) == KC_RECORDS_TEXT &&
                             kc_records_kind(second) == KC_RECORDS_TEXT;
        enum kc_status status;
        if (is_text)
                return check_text(a, err);
        KC_TRY(check_alignments(a, kc_records_kind(streams[0]), err));
        a->has_alignments = true;
        a->header = kc_records_header(streams[0]);
        KC_TRY(plan_passes(a, streams[0], err));
        set_format(a);
        a->verdicts = verdicts_begin(&a->filtering->judge, a->names_nbytes);
        if (a->slots == NULL)
                a->slots = calloc((size_t)a->filtering->nslots, sizeof *a->slots);
        if (a->slots == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        if (!a->has_two_passes)
                KC_TRY(alignments_put_header(a, err));
out:
        return status;
}

/* ---- blocks ---- */

enum kc_status alignments_format(struct alignments *a, int worker, const struct asked *block,
                                 struct kc_error *err)
{
        struct outputs *outputs = a->filtering->outputs;
        struct alignments_slot *w = &a->slots[block->slot];
        const struct kc_record_batch *batch = block->batch;
        enum kc_status status = KC_OK;
        KC_TRY(outputs_help(outputs, worker, err));
        notes_clear(&w->notes);
        for (size_t i = 0; i < batch->n && outputs_has(outputs, OUTPUTS_TABLE); i++) {
                const struct kc_seq_record *record = &batch->records[i];
                if ((record->flags & KC_RECORD_REPEATED) == 0)
                        notes_row(&w->notes, batch->bytes + record->name, record->name_nbytes,
                                  &block->answers[0][i].summary);
        }
        if (a->writes && !a->has_two_passes)
                KC_TRY(written_make(&w->written, a->format, a->header, batch, err));
out:
        return status;
}

static enum kc_status check_name(const struct alignments *a, const struct kc_record_batch *batch,
                                 size_t i, struct kc_error *err)
{
        const struct kc_seq_record *record = &batch->records[i];
        const char *name = batch->bytes + record->name;
        if (record->name_nbytes == 0 || (record->name_nbytes == 1 && *name == '*'))
                return kc_fail(err, KC_EINPUT,
                               "%s: alignment record %" PRIu64
                               " has no name, by which alignments are kept or dropped",
                               input_name(a), record->number + 1);
        return KC_OK;
}

/* The answer to a primary record; NULL for others. */
static const struct kc_ask_summary *read_of(const struct asked *block, size_t i)
{
        const bool is_primary = (block->batch->records[i].flags & KC_RECORD_REPEATED) == 0;
        return is_primary ? &block->answers[0][i].summary : NULL;
}

/* ---- the only pass ---- */

enum kc_status alignments_put(const struct alignments *a, int slot, size_t first, size_t end,
                              bool kept, struct kc_error *err)
{
        size_t nbytes;
        if (!a->writes || first == end)
                return KC_OK;
        const char *text = written_text(&a->slots[slot].written, first, end, &nbytes);
        return outputs_put(a->filtering->outputs, kept ? OUTPUTS_KEPT : OUTPUTS_REST, text, nbytes,
                           err);
}

struct putting_held {
        struct outputs *outputs;
        unsigned number;
};

static enum kc_status put_held(void *ctx, const char *text, size_t nbytes, struct kc_error *err)
{
        const struct putting_held *p = ctx;
        return outputs_put(p->outputs, p->number, text, nbytes, err);
}

/* See whether the name of the group has come before. */
static enum kc_status remember_name(struct alignments *a, struct kc_error *err)
{
        bool is_new, fits;
        enum kc_status status;
        if (!a->remembers)
                return KC_OK;
        KC_TRY(verdicts_note(&a->verdicts, a->name, a->name_nbytes, &is_new, &fits, err));
        if (!fits && !a->is_promised)
                return refuse_memory(a, err);
        if (fits && !is_new)
                return refuse_name(a, a->name, a->name_nbytes, err);
        if (!fits) {
                a->remembers = false;
                verdicts_free(&a->verdicts);
        }
out:
        return status;
}

/* The group is complete: write it. Those of its records that are not held are [first, end) of the
 * block in the slot. */
static enum kc_status end_group(struct alignments *a, int slot, size_t first, size_t end,
                                struct kc_error *err)
{
        struct filtering *f = a->filtering;
        enum kc_status status;
        if (a->name_nbytes == 0)
                return KC_OK;
        KC_TRY(remember_name(a, err));
        const bool kept = judge_keeps_group(&f->judge, &a->group);
        struct putting_held p = { f->outputs, kept ? OUTPUTS_KEPT : OUTPUTS_REST };
        KC_TRY(held_release(&f->held, put_held, &p, err));
        KC_TRY(alignments_put(a, slot, first, end, kept, err));
        a->notes.totals.nreads += a->nreads;
        a->notes.totals.nkept += kept ? a->nreads : 0;
        if (kept && outputs_has(f->outputs, OUTPUTS_NAMES))
                notes_name(&a->notes, a->name, a->name_nbytes);
        a->name_nbytes = 0;
out:
        return status;
}

static void begin_group(struct alignments *a, const char *name, size_t nbytes)
{
        memcpy(a->name, name, nbytes);
        a->name_nbytes = nbytes;
        a->nreads = 0;
        a->group = JUDGE_NO_READS;
}

static enum kc_status hold(struct alignments *a, int slot, size_t first, size_t end,
                           struct kc_error *err)
{
        size_t nbytes;
        if (!a->writes || first == end)
                return KC_OK;
        const char *text = written_text(&a->slots[slot].written, first, end, &nbytes);
        return held_append(&a->filtering->held, text, nbytes, err);
}

static enum kc_status write_groups(struct alignments *a, const struct asked *block,
                                   struct kc_error *err)
{
        const struct kc_record_batch *batch = block->batch;
        enum kc_status status = KC_OK;
        size_t first = 0; /* of the group that is not complete */
        for (size_t i = 0; i < batch->n; i++) {
                const struct kc_seq_record *record = &batch->records[i];
                const char *name = batch->bytes + record->name;
                KC_TRY(check_name(a, batch, i, err));
                if (record->name_nbytes != a->name_nbytes ||
                    memcmp(name, a->name, a->name_nbytes) != 0) {
                        KC_TRY(end_group(a, block->slot, first, i, err));
                        begin_group(a, name, record->name_nbytes);
                        first = i;
                }
                const struct kc_ask_summary *read = read_of(block, i);
                if (read != NULL)
                        judge_add(&a->filtering->judge, &a->group, read);
                a->nreads += read != NULL;
        }
        KC_TRY(hold(a, block->slot, first, batch->n, err));
out:
        return status;
}

/* ---- the first pass of two ---- */

static enum kc_status judge_names(struct alignments *a, const struct asked *block,
                                  struct kc_error *err)
{
        const struct kc_record_batch *batch = block->batch;
        enum kc_status status = KC_OK;
        for (size_t i = 0; i < batch->n; i++) {
                const struct kc_seq_record *record = &batch->records[i];
                const struct kc_ask_summary *read = read_of(block, i);
                bool fits;
                KC_TRY(check_name(a, batch, i, err));
                KC_TRY(verdicts_add(&a->verdicts, batch->bytes + record->name, record->name_nbytes,
                                    read, &fits, err));
                if (!fits)
                        return refuse_memory(a, err);
                a->notes.totals.nreads += read != NULL;
        }
out:
        return status;
}

/* ---- both ---- */

enum kc_status alignments_write(struct alignments *a, const struct asked *block,
                                struct kc_error *err)
{
        struct filtering *f = a->filtering;
        enum kc_status status;
        KC_TRY(a->has_two_passes ? judge_names(a, block, err) : write_groups(a, block, err));
        KC_TRY(notes_put(&a->slots[block->slot].notes, f->outputs, &f->totals, err));
        KC_TRY(notes_put(&a->notes, f->outputs, &f->totals, err));
out:
        return status;
}

enum kc_status alignments_finish(struct alignments *a, struct kc_error *err)
{
        struct filtering *f = a->filtering;
        enum kc_status status;
        if (!a->has_alignments)
                return KC_OK;
        if (a->has_two_passes)
                return alignments_second_pass(a, err);
        KC_TRY(end_group(a, 0, 0, 0, err));
        KC_TRY(notes_put(&a->notes, f->outputs, &f->totals, err));
out:
        return status;
}

uint64_t alignments_slot_nbytes(const struct alignments *a, int slot)
{
        return written_nbytes(&a->slots[slot].written) + notes_nbytes(&a->slots[slot].notes);
}

void alignments_restart(struct alignments *a)
{
        a->name_nbytes = 0;
        notes_clear(&a->notes);
        verdicts_free(&a->verdicts);
}

void alignments_close(struct alignments *a)
{
        for (int i = 0; a->slots != NULL && i < a->filtering->nslots; i++) {
                written_free(&a->slots[i].written);
                notes_free(&a->slots[i].notes);
        }
        free(a->slots);
        notes_free(&a->notes);
        verdicts_free(&a->verdicts);
}
