/* The last stage: lists of pairs become sorted parts of the run. */
#include "cpu/engine_internal.h"

/* Report what all bins have dropped, in a call for part 0 without pairs. */
static enum kc_status report_dropped(const struct counting *c, struct kc_error *err)
{
        const struct kc_run_pairs nothing = { .part = 0, .dropped = c->counted.dropped };
        return c->sink->put(c->sink->ctx, &nothing, err);
}

static enum kc_status sort_lists(struct cpu_engine *e, int worker, void *sorter,
                                 struct kc_list_reader *reader, struct kc_error *err)
{
        struct counting *c = kc_engine_current(e);
        enum kc_status status = KC_OK;
        uint32_t list;
        while ((list = atomic_fetch_add(&e->next, 1)) < c->pairs.nlists) {
                KC_TRY(kc_engine_check(e, err));
                if (list == 0)
                        KC_TRY(report_dropped(c, err));
                KC_TRY(c->width->sort(sorter, reader, list, c->sink, err));
                kc_lists_drop(&c->pairs, worker, list);
                kc_job_advance(e->job, 1);
        }
out:
        return status;
}

static enum kc_status order_worker(void *ctx, int worker, struct kc_error *err)
{
        struct cpu_engine *e = ctx;
        const struct counting *c = kc_engine_current(e);
        struct kc_counter_totals sums = { 0 };
        struct kc_width_setup setup = c->setup;
        struct kc_list_reader reader;
        void *sorter = NULL;
        setup.sums = e->pairs != NULL ? &sums : NULL;
        kc_list_reader_init(&reader, &c->pairs);
        enum kc_status status = c->width->sorter_new(&sorter, &setup, err);
        if (status == KC_OK)
                status = sort_lists(e, worker, sorter, &reader, err);
        if (e->pairs != NULL)
                kc_engine_add_sums(e, &sums);
        c->width->sorter_free(sorter);
        kc_list_reader_free(&reader);
        return status;
}

enum kc_status kc_engine_order(struct cpu_engine *e, struct kc_error *err)
{
        kc_engine_begin_stage(e, KC_STAGE_ORDER, kc_engine_current(e)->pairs.nlists);
        return kc_parallel(e->params->nthreads, order_worker, kc_engine_stop, e, err);
}
