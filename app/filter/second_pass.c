/*
 * The second pass over alignments: all names have been judged, and the records are written in their
 * order. Each thread reads a batch and makes its output; the threads write in turn.
 */
#include "app/filter/alignments.h"
#include "base/job.h"
#include "base/parallel.h"
#include "base/turn.h"

struct second_pass {
        struct alignments *alignments;
        struct kc_records *records;
        struct kc_turn turn;
};

static void give_up(void *ctx)
{
        struct second_pass *pass = ctx;
        kc_turn_stop(&pass->turn);
}

/* Write each record of the batch to the output that its name belongs to. Each worker has a slot. */
static enum kc_status put_batch(struct alignments *a, int worker,
                                const struct kc_record_batch *batch, struct kc_error *err)
{
        struct notes *notes = &a->slots[worker].notes;
        struct filtering *f = a->filtering;
        enum kc_status status = KC_OK;
        for (size_t i = 0; i < batch->n; i++) {
                const struct kc_seq_record *record = &batch->records[i];
                const char *name = batch->bytes + record->name;
                bool kept, is_first;
                if (!verdicts_find(&a->verdicts, name, record->name_nbytes, &kept, &is_first))
                        return kc_fail(err, KC_EINPUT, "%s has changed while it was read", a->path);
                KC_TRY(alignments_put(a, worker, i, i + 1, kept, err));
                notes->totals.nkept += kept && (record->flags & KC_RECORD_REPEATED) == 0;
                if (kept && is_first && outputs_has(f->outputs, OUTPUTS_NAMES))
                        notes_name(notes, name, record->name_nbytes);
        }
        KC_TRY(notes_put(notes, f->outputs, &f->totals, err));
out:
        return status;
}

static enum kc_status take_batch(struct second_pass *pass, int worker,
                                 const struct kc_record_batch *batch, struct kc_error *err)
{
        struct alignments *a = pass->alignments;
        enum kc_status status;
        if (kc_job_is_canceled(a->job))
                return kc_fail(err, KC_ECANCELED, "interrupted");
        KC_TRY(outputs_help(a->filtering->outputs, worker, err));
        if (a->writes)
                KC_TRY(written_make(&a->slots[worker].written, a->format, a->header, batch, err));
        if (!kc_turn_wait(&pass->turn, batch->number))
                return kc_fail(err, KC_ECANCELED, "another thread failed");
        KC_TRY(put_batch(a, worker, batch, err));
        kc_turn_pass(&pass->turn);
out:
        return status;
}

static enum kc_status take_batches(void *ctx, int worker, struct kc_error *err)
{
        struct second_pass *pass = ctx;
        struct kc_record_batch batch = { 0 };
        enum kc_status status;
        KC_TRY(kc_records_next(pass->records, &batch, err));
        while (batch.n > 0) {
                KC_TRY(take_batch(pass, worker, &batch, err));
                KC_TRY(kc_records_next(pass->records, &batch, err));
        }
out:
        kc_record_batch_free(&batch);
        return status;
}

enum kc_status alignments_second_pass(struct alignments *a, struct kc_error *err)
{
        const int nthreads = a->filtering->nthreads;
        const struct kc_records_options options = { .accepted = KC_RECORDS_ALIGNMENTS,
                                                    .nthreads = nthreads };
        struct second_pass pass = { .alignments = a };
        enum kc_status status;
        kc_turn_init(&pass.turn);
        kc_job_expect(a->job, 0);
        KC_TRY(kc_records_open(&pass.records, a->path, &options, err));
        a->header = kc_records_header(pass.records);
        KC_TRY(alignments_put_header(a, err));
        KC_TRY(kc_parallel(nthreads, take_batches, give_up, &pass, err));
out:
        kc_records_close(pass.records);
        kc_turn_destroy(&pass.turn);
        return status;
}
