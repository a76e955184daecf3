/*
 * Three stages, each run by all threads:
 *
 *      batches ──▶ super-k-mers in bins by minimizer                               partition
 *      bins    ──▶ distinct k-mers with counts, filtered, in lists by prefix       count
 *      lists   ──▶ sorted parts of the run                                         order
 *
 * Several k are counted from the same batches: each has bins of its own, and is counted and ordered
 * in turn.
 *
 * A sink that wants only counts gets those of each bin as soon as it is counted; then there are no
 * lists of pairs, and nothing to order.
 *
 * Existing pairs (kc_cpu_order) go straight to the lists by prefix, and only the last stage
 * follows.
 *
 * Only the first and the last stage touch all data in memory; counting stays in cache.
 */
#include "cpu/cpu_engine.h"

#include "base/clock.h"
#include "cpu/engine_internal.h"
#include "kmer/kmer.h"

#include <stdlib.h>

enum {
        MIN_CHUNKS = 64,   /* for each thread's lists, however small the memory */
        HEADS_NBYTES = 12, /* per chunk, for list arrays beside chunks: see kc_engine_fit_lists */
        BUFFERS_NBYTES = 1 << 20,  /* per thread: batch, buffers to read lists and write blocks, and
                                      the small arrays of its tables */
        SCRATCH_NBYTES = 12 << 20, /* wanted per thread for tables and sorting: with less, bins
                                      often take several passes */
};

void kc_engine_stop(void *ctx)
{
        struct cpu_engine *e = ctx;
        atomic_store(&e->failed, true);
        for (int i = 0; i < e->ncountings; i++)
                e->countings[i].sink->cancel(e->countings[i].sink->ctx);
}

/* ---- all of it ---- */

static enum kc_status timed(enum kc_status (*stage)(struct cpu_engine *, struct kc_error *),
                            struct cpu_engine *e, double *seconds, struct kc_error *err)
{
        const double start = kc_clock_seconds();
        const enum kc_status status = stage(e, err);
        *seconds = kc_clock_seconds() - start;
        return status;
}

static void free_counting(struct counting *c)
{
        free(c->bin_order);
        c->bin_order = NULL;
        kc_lists_free(&c->bins);
        kc_lists_free(&c->pairs);
}

static void set_totals(struct counting *c, struct kc_count_totals *totals)
{
        totals->nkmers = c->nkmers;
        totals->ndistinct = c->counted.ndistinct;
        totals->nsaturated = c->counted.nsaturated;
        totals->nown = c->nown;
        if (!kc_engine_wants_pairs(c)) {
                totals->nother_distinct = c->counted.dropped.ndistinct;
                totals->nother_kmers = c->counted.dropped.nkmers;
        }
        kc_engine_release_lists(c, &c->pairs);
        totals->spilled_nbytes = c->spilled_nbytes;
}

/* From the bins of the current k to its run. The space that its lists took is then free for the
 * next one. */
static enum kc_status finish(struct cpu_engine *e, struct kc_count_totals *totals,
                             struct kc_error *err)
{
        enum kc_status status;
        struct counting *c = kc_engine_current(e);
        KC_TRY(timed(kc_engine_count, e, &totals->stage_seconds[KC_STAGE_COUNT], err));
        if (kc_engine_wants_pairs(c))
                KC_TRY(timed(kc_engine_order, e, &totals->stage_seconds[KC_STAGE_ORDER], err));
        set_totals(c, totals);
out:
        return status;
}

static enum kc_status order_pairs(struct cpu_engine *e, struct kc_count_totals *totals,
                                  struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(timed(kc_engine_take_pairs, e, &totals->stage_seconds[KC_STAGE_PARTITION], err));
        KC_TRY(timed(kc_engine_order, e, &totals->stage_seconds[KC_STAGE_ORDER], err));
        struct counting *c = kc_engine_current(e);
        c->nown = c->counted.ndistinct;
        set_totals(c, totals);
out:
        return status;
}

static enum kc_status run_stages(struct cpu_engine *e, struct kc_count_task *tasks,
                                 struct kc_error *err)
{
        enum kc_status status;
        double read;
        if (e->pairs != NULL)
                return order_pairs(e, &tasks[0].totals, err);
        KC_TRY(timed(kc_engine_partition, e, &read, err));
        for (e->current = 0; e->current < e->ncountings; e->current++) {
                tasks[e->current].totals.stage_seconds[KC_STAGE_PARTITION] = read;
                KC_TRY(finish(e, &tasks[e->current].totals, err));
        }
out:
        return status;
}

uint64_t kc_cpu_scratch_nbytes(uint64_t memory_nbytes, int nthreads)
{
        uint64_t scratch = (uint64_t)nthreads * SCRATCH_NBYTES;
        if (scratch > memory_nbytes / 2)
                scratch = memory_nbytes / 2;
        return scratch < memory_nbytes / 8 ? memory_nbytes / 8 : scratch;
}

/* Memory that is not scratch is for lists, except for the buffers that threads have in all
 * stages. Returns the memory for tables of a thread. */
static size_t share_memory(struct cpu_engine *e)
{
        size_t nthreads = (size_t)e->params->nthreads, all = e->params->memory_nbytes;
        size_t scratch = kc_cpu_scratch_nbytes(all, e->params->nthreads);
        size_t lists = all - scratch, buffers = nthreads * BUFFERS_NBYTES;
        size_t least =
                kc_engine_nwriters(e) * (MIN_CHUNKS * (size_t)e->ncountings + KC_ARENA_HOARD);
        lists -= buffers < lists / 2 ? buffers : lists / 2;
        e->nchunks = lists / (KC_CHUNK_NBYTES + HEADS_NBYTES);
        if (e->nchunks < least)
                e->nchunks = least;
        return scratch / nthreads;
}

static enum kc_status make_countings(struct cpu_engine *e, struct kc_count_task *tasks, int n,
                                     size_t scratch_nbytes, struct kc_error *err)
{
        e->countings = calloc((size_t)n, sizeof *e->countings);
        if (e->countings == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        for (int i = 0; i < n; i++) {
                struct counting *c = &e->countings[i];
                const struct kc_run_sink *sink = tasks[i].sink;
                tasks[i].totals = (struct kc_count_totals){ 0 };
                c->k = tasks[i].k;
                c->sink = sink;
                c->width = kc_width(kc_kmer_nwords(c->k));
                c->setup = (struct kc_width_setup){ .k = c->k,
                                                    .stranded = e->params->stranded,
                                                    .scratch_nbytes = scratch_nbytes,
                                                    .filter = sink->filter,
                                                    .only = tasks[i].only,
                                                    .counts = sink->put_counts ? sink : NULL };
        }
        return KC_OK;
}

static enum kc_status check_tasks(const struct kc_count_params *params,
                                  const struct kc_count_task *tasks, int n, struct kc_error *err)
{
        bool sound = params->nthreads >= 1 && n >= 1;
        for (int i = 0; i < n; i++)
                sound &= tasks[i].k >= 1 && tasks[i].k <= KC_MAX_K;
        return sound ? KC_OK : kc_fail(err, KC_EUSAGE, "k must be between 1 and %d", KC_MAX_K);
}

/* e: the caller sets params, job, and either source or pairs; the rest is 0. */
static enum kc_status run_engine(struct cpu_engine *e, struct kc_count_task *tasks, int ntasks,
                                 struct kc_error *err)
{
        const struct kc_count_params *params = e->params;
        enum kc_status status;
        pthread_mutex_init(&e->lock, NULL);
        KC_TRY(check_tasks(params, tasks, ntasks, err));
        e->ncountings = ntasks;
        const size_t scratch_nbytes = share_memory(e);
        KC_TRY(make_countings(e, tasks, ntasks, scratch_nbytes, err));
        KC_TRY(kc_arena_init(&e->arena, e->nchunks, (int)kc_engine_nwriters(e), err));
        e->nchunks -= kc_engine_nwriters(e) * KC_ARENA_HOARD;
        KC_TRY(run_stages(e, tasks, err));
out:
        if (status != KC_OK && params->exchange != NULL)
                params->exchange->fail(params->exchange->ctx);
        for (int i = 0; e->countings != NULL && i < ntasks; i++)
                free_counting(&e->countings[i]);
        free(e->countings);
        kc_arena_free(&e->arena);
        pthread_mutex_destroy(&e->lock);
        return status;
}

enum kc_status kc_cpu_count_all(const struct kc_count_params *params,
                                const struct kc_batch_source *source, struct kc_count_task *tasks,
                                int ntasks, struct kc_job *job, struct kc_error *err)
{
        struct cpu_engine e = { .params = params, .source = source, .job = job };
        return run_engine(&e, tasks, ntasks, err);
}

enum kc_status kc_cpu_count(const struct kc_count_params *params,
                            const struct kc_batch_source *source, const struct kc_run_sink *sink,
                            struct kc_job *job, struct kc_count_totals *totals,
                            struct kc_error *err)
{
        struct kc_count_task task = { .k = params->k, .sink = sink };
        const enum kc_status status = kc_cpu_count_all(params, source, &task, 1, job, err);
        *totals = task.totals;
        return status;
}

enum kc_status kc_cpu_order(const struct kc_count_params *params,
                            const struct kc_pair_source *source, const struct kc_run_sink *sink,
                            struct kc_job *job, struct kc_count_totals *totals, uint64_t *npairs,
                            struct kc_error *err)
{
        struct kc_count_task task = { .k = params->k, .sink = sink };
        struct cpu_engine e = { .params = params, .pairs = source, .job = job };
        const enum kc_status status = run_engine(&e, &task, 1, err);
        *totals = task.totals;
        *npairs = e.npairs;
        return status;
}
