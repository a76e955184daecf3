/* Existing pairs, which take the place of the first two stages. */
#include "cpu/engine_internal.h"
#include "kmer/kmer.h"

#include <inttypes.h>
#include <stdlib.h>

enum { BATCH_PAIRS = 4 << 10 };

/* The sum cannot wrap around before a thread sees it above the limit, which is far below 2^64. */
static enum kc_status add_counts(struct cpu_engine *e, const struct kc_pair_batch *batch,
                                 struct kc_error *err)
{
        uint64_t sum = 0;
        for (size_t i = 0; i < batch->n; i++)
                sum += batch->counts[i];
        atomic_fetch_add(&e->npairs, batch->n);
        if (atomic_fetch_add(&kc_engine_current(e)->nkmers, sum) + sum <= KC_MAX_PAIRS_SUM)
                return KC_OK;
        return kc_fail(err, KC_EINPUT, "the counts add up to more than %" PRIu64, KC_MAX_PAIRS_SUM);
}

static enum kc_status take_batches(struct cpu_engine *e, int worker, void *counter,
                                   struct kc_pair_batch *batch, struct kc_error *err)
{
        struct counting *c = kc_engine_current(e);
        enum kc_status status;
        for (;;) {
                KC_TRY(kc_engine_check(e, err));
                KC_TRY(e->pairs->next(e->pairs->ctx, worker, batch, err));
                if (batch->n == 0)
                        break;
                KC_TRY(add_counts(e, batch, err));
                KC_TRY(c->width->collect(counter, batch->kmers, batch->counts, batch->n, worker,
                                         err));
                kc_job_advance(e->job, batch->n);
        }
        KC_TRY(c->width->flush(counter, worker, err));
        KC_TRY(kc_lists_seal(&c->pairs, worker, err));
out:
        return status;
}

static enum kc_status take_worker(void *ctx, int worker, struct kc_error *err)
{
        struct cpu_engine *e = ctx;
        const struct counting *c = kc_engine_current(e);
        struct kc_pair_batch batch = { .cap = BATCH_PAIRS };
        void *counter = NULL;
        enum kc_status status;
        batch.kmers = malloc(BATCH_PAIRS * sizeof *batch.kmers * (size_t)kc_kmer_nwords(c->k));
        batch.counts = malloc(BATCH_PAIRS * sizeof *batch.counts);
        if (batch.kmers == NULL || batch.counts == NULL)
                status = kc_fail(err, KC_ENOMEM, "out of memory for a batch of k-mers");
        else
                status = c->width->counter_new(&counter, &c->setup, err);
        if (status == KC_OK)
                status = take_batches(e, worker, counter, &batch, err);
        c->width->counter_free(counter);
        free(batch.kmers);
        free(batch.counts);
        return status;
}

enum kc_status kc_engine_take_pairs(struct cpu_engine *e, struct kc_error *err)
{
        enum kc_status status;
        kc_engine_begin_stage(e, KC_STAGE_PARTITION, e->pairs->expected_npairs);
        KC_TRY(kc_engine_init_pairs(e, err));
        KC_TRY(kc_parallel(e->params->nthreads, take_worker, kc_engine_stop, e, err));
out:
        return status;
}
