/* The last stage: lists of pairs become sorted parts of the run, on one rank or on all together. */
#include "cpu/engine_internal.h"
#include "cpu/pair.h"
#include "kmer/kmer.h"

#include <stdlib.h>

/* Report what all bins have dropped, in a call for part 0 without pairs. */
static enum kc_status report_dropped(const struct counting *c, struct kc_error *err)
{
        const struct kc_run_pairs nothing = { .part = 0, .dropped = c->counted.dropped };
        return c->sink->put(c->sink->ctx, &nothing, err);
}

/* Take the next list that this rank owns. */
static bool next_list(struct cpu_engine *e, uint32_t *list)
{
        const struct kc_exchange *exchange = e->params->exchange;
        *list = atomic_fetch_add(&e->next, 1);
        if (exchange != NULL)
                *list = (uint32_t)kc_exchange_own(exchange, *list, kc_engine_current(e)->stripe);
        return *list < kc_engine_current(e)->pairs.nlists;
}

static enum kc_status sort_lists(struct cpu_engine *e, int worker, void *sorter,
                                 struct kc_list_reader *reader, struct kc_error *err)
{
        struct counting *c = kc_engine_current(e);
        const struct kc_run_sink sink = e->joint != NULL ? kc_joint_run_sink(e->joint) : *c->sink;
        enum kc_status status = KC_OK;
        uint32_t list;
        while (next_list(e, &list)) {
                KC_TRY(kc_engine_check(e, err));
                if (list == 0)
                        KC_TRY(report_dropped(c, err));
                KC_TRY(c->width->sort(sorter, reader, list, &sink, err));
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
        if (worker == e->params->nthreads)
                return kc_joint_run_serve(e->joint, err);
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

/* ---- order with other ranks ---- */

/* How many pairs a list has. They are counted one by one, because their sizes differ. */
static enum kc_status count_pairs(struct kc_list_reader *reader, uint32_t list, size_t key_nbytes,
                                  uint64_t *npairs, struct kc_error *err)
{
        const uint8_t *data;
        size_t nbytes;
        enum kc_status status;
        *npairs = 0;
        kc_list_rewind(reader, list);
        while ((status = kc_list_next(reader, &data, &nbytes, err)) == KC_OK && nbytes > 0)
                for (size_t at = 0; at < nbytes; ++*npairs) {
                        uint32_t count;
                        at += key_nbytes;
                        at += kc_pair_get_count(data + at, &count);
                }
        return status;
}

static enum kc_status count_lists_worker(void *ctx, int worker, struct kc_error *err)
{
        struct cpu_engine *e = ctx;
        struct counting *c = kc_engine_current(e);
        const size_t key_nbytes = kc_pair_key_nbytes(c->k, c->setup.prefix_bits);
        enum kc_status status = KC_OK;
        struct kc_list_reader reader;
        uint32_t list;
        (void)worker;
        kc_list_reader_init(&reader, &c->pairs);
        while (next_list(e, &list)) {
                KC_TRY(kc_engine_check(e, err));
                KC_TRY(count_pairs(&reader, list, key_nbytes, &c->starts[list + 1], err));
        }
out:
        kc_list_reader_free(&reader);
        return status;
}

/* The lists of other ranks are empty here. Unless they are dropped, too, the disk space of the
 * groups to which they belong is not given back. */
static void drop_foreign_lists(struct counting *c, const struct kc_exchange *exchange)
{
        for (uint32_t list = 0; list < c->pairs.nlists; list++)
                if (kc_exchange_owner(exchange, list, c->stripe) != exchange->rank)
                        kc_lists_drop(&c->pairs, 0, list);
}

/* Where each list begins in the run of all ranks. */
static enum kc_status place_lists(struct cpu_engine *e, struct kc_error *err)
{
        struct counting *c = kc_engine_current(e);
        const size_t n = c->pairs.nlists;
        enum kc_status status;
        c->starts = calloc(n + 1, sizeof *c->starts);
        if (c->starts == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        atomic_store(&e->next, 0);
        KC_TRY(kc_parallel(e->params->nthreads, count_lists_worker, kc_engine_stop, e, err));
        KC_TRY(kc_exchange_sum(e->params->exchange, c->starts, n + 1, err));
        for (size_t i = 1; i <= n; i++)
                c->starts[i] += c->starts[i - 1];
out:
        return status;
}

static enum kc_status order_together(struct cpu_engine *e, struct kc_error *err)
{
        struct counting *c = kc_engine_current(e);
        const struct kc_exchange *exchange = e->params->exchange;
        enum kc_status status;
        KC_TRY(place_lists(e, err));
        drop_foreign_lists(c, exchange);
        const struct kc_joint_run_setup setup = { .exchange = exchange,
                                                  .sink = c->sink,
                                                  .nwords = kc_kmer_nwords(c->k),
                                                  .nparts = c->pairs.nlists,
                                                  .stripe = c->stripe,
                                                  .starts = c->starts };
        KC_TRY(kc_joint_run_new(&e->joint, &setup, err));
        const struct kc_exchange_taker taker = kc_joint_run_taker(e->joint);
        atomic_store(&e->next, 0);
        const int nworkers = e->params->nthreads + (exchange->rank == 0);
        KC_TRY(exchange->begin(exchange->ctx, &taker, err));
        KC_TRY(kc_parallel(nworkers, order_worker, kc_engine_stop, e, err));
        KC_TRY(exchange->end(exchange->ctx, err));
out:
        if (status != KC_OK)
                exchange->fail(exchange->ctx); /* the taker is not called after this */
        kc_joint_run_free(e->joint);
        e->joint = NULL;
        return status;
}

enum kc_status kc_engine_order(struct cpu_engine *e, struct kc_error *err)
{
        const struct kc_exchange *exchange = e->params->exchange;
        const uint64_t nlists = kc_engine_current(e)->pairs.nlists;
        const uint64_t nranks = exchange != NULL ? (uint64_t)exchange->nranks : 1;
        kc_engine_begin_stage(e, KC_STAGE_ORDER, (nlists + nranks - 1) / nranks);
        if (exchange != NULL)
                return order_together(e, err);
        return kc_parallel(e->params->nthreads, order_worker, kc_engine_stop, e, err);
}
