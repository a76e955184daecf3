#include "app/filter/run.h"

static enum kc_status begin(void *ctx, const struct kc_records *const streams[2],
                            struct kc_error *err)
{
        struct filter_run *run = ctx;
        return alignments_begin(&run->alignments, streams, err);
}

/* Pieces, and pooled alignments, are judged only together with others, so all their windows are
 * needed. */
static uint64_t nfirst(void *ctx, const struct kc_seq_record *record, uint64_t nwindows)
{
        const struct filter_run *run = ctx;
        const struct judge *judge = &run->filtering.judge;
        if ((record->flags & KC_RECORD_WHOLE) != KC_RECORD_WHOLE ||
            (run->alignments.has_alignments && judge->pairs == JUDGE_POOLED))
                return nwindows;
        return judge_nfirst(judge, nwindows);
}

static void settle(void *ctx, struct kc_asked_part *first, struct kc_asked_part *second)
{
        const struct filter_run *run = ctx;
        judge_settle(&run->filtering.judge, first, second);
}

static enum kc_status format(void *ctx, int worker, const struct asked *block, struct kc_error *err)
{
        struct filter_run *run = ctx;
        return run->alignments.has_alignments
                       ? alignments_format(&run->alignments, worker, block, err)
                       : filtering_format(&run->filtering, worker, block, err);
}

static uint64_t slot_nbytes(const void *ctx, int slot)
{
        const struct filter_run *run = ctx;
        return run->alignments.has_alignments ? alignments_slot_nbytes(&run->alignments, slot)
                                              : filtering_slot_nbytes(&run->filtering, slot);
}

static enum kc_status write(void *ctx, const struct asked *block, struct kc_error *err)
{
        struct filter_run *run = ctx;
        return run->alignments.has_alignments ? alignments_write(&run->alignments, block, err)
                                              : filtering_write(&run->filtering, block, err);
}

static enum kc_status pass(struct filter_run *run, struct kc_error *err)
{
        const bool is_partial = !run->filtering.trims && !outputs_has(&run->outputs, OUTPUTS_TABLE);
        const struct asking_consumer consumer = { .ctx = run,
                                                  .begin = begin,
                                                  .nfirst = is_partial ? nfirst : NULL,
                                                  .settle = settle,
                                                  .format = format,
                                                  .slot_nbytes = slot_nbytes,
                                                  .write = write };
        enum kc_status status;
        KC_TRY(notes_begin_table(&run->outputs, err));
        KC_TRY(asking_run(run->store, &run->input, &run->options, &consumer, NULL, err));
        KC_TRY(alignments_finish(&run->alignments, err));
out:
        return status;
}

static enum kc_status restart(struct filter_run *run, struct kc_error *err)
{
        enum kc_status status;
        filtering_restart(&run->filtering);
        alignments_restart(&run->alignments);
        KC_TRY(outputs_restart(&run->outputs, run->wanted, err));
        KC_TRY(pass(run, err));
out:
        return status;
}

enum kc_status filter_run(struct filter_run *run, struct kc_error *err)
{
        struct kc_error own = { 0 };
        enum kc_status status = pass(run, &own);
        if (status != KC_OK && run->alignments.wants_two_passes)
                status = restart(run, err);
        else if (status != KC_OK)
                kc_fail_as(err, &own);
        if (status == KC_OK)
                status = outputs_finish(&run->outputs, err);
        return status;
}
