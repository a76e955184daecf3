/*
 * The CUDA engine: memory for the stages, and the steps of the driver. The threads are in crew.cuh.
 *
 *      workers:  source ──▶ pinned ──▶ a device buffer                gpu/feed/feed.cuh
 *      driver:   buffer ──▶ sorted runs                               gpu/count/count.cuh
 *                runs   ──▶ the LSM                                   gpu/runs/lsm.cuh
 *      driver:   the LSM, range by range ──▶ blocks ──▶ pinned        gpu/blocks/encode.cuh
 *      workers:  pinned ──▶ sink                                      gpu/blocks/emit.cuh
 *
 * The driver sleeps while it waits for the device, so all cores are left to reading, the slowest
 * stage.
 */
#include "base/clock.h"
#include "gpu/count/count.cuh"
#include "gpu/crew.cuh"
#include "gpu/feed/feed.cuh"
#include "gpu/plan.cuh"
#include "gpu/runs/lsm.cuh"

#include <cinttypes>

namespace
{

template <class Key> struct gpu_engine {
        const struct kc_count_params *params;
        const struct kc_batch_source *source;
        struct kc_gpu_crew<Key> crew;
        struct kc_gpu_plan plan;
        struct kc_gpu_feed *feed;
        struct kc_gpu_counter<Key> *counter;
        struct kc_gpu_lsm<Key> *lsm;
        double start;
        uint64_t nkmers, nbatches;
        uint64_t nsaturated; /* within batches; at the end, in all */
        struct kc_count_totals *totals;
};

} // namespace

/* ---- memory ---- */

/* With read_ahead, uploads begin while the rest of the memory is allocated. Otherwise the workers
 * have read nothing yet and must not read until nothing can fail any more: sequences taken from the
 * source are lost to another engine. */
template <class Key> static enum kc_status take_memory(void *ctx, struct kc_error *err)
{
        struct gpu_engine<Key> *e = (struct gpu_engine<Key> *)ctx;
        enum kc_status status;
        const struct kc_count_params *p = e->params;
        const struct kc_gpu_params *gpu_params = e->crew.params;
        const bool early = gpu_params->read_ahead;
        struct kc_gpu_lsm_setup lsm = {};
        KC_TRY(kc_gpu_plan_batch<Key>(&e->plan, p, e->crew.gpu.limit_nbytes, err));
        if (early)
                KC_TRY(kc_gpu_feed_attach(e->feed, &e->crew.gpu, &e->plan.batch, err));
        KC_TRY(kc_gpu_counter_new(&e->counter, &e->crew.gpu, p->k, p->stranded, gpu_params->table,
                                  e->plan.batch.nkmers, err));
        KC_TRY(kc_gpu_plan_parts<Key>(&e->plan, p, e->crew.gpu.limit_nbytes, err));
        lsm.host_nbytes = e->plan.host_nbytes;
        lsm.tmp_dir = p->tmp_dir;
        lsm.nthreads = p->nthreads;
        lsm.gate = &e->crew.gate;
        KC_TRY(kc_gpu_lsm_new(&e->lsm, &e->crew.gpu, &lsm, err));
        KC_TRY(kc_gpu_emitter_attach(e->crew.emitter, &e->crew.gpu, &e->plan.parts, err));
        if (!early)
                KC_TRY(kc_gpu_feed_attach(e->feed, &e->crew.gpu, &e->plan.batch, err));
out:
        return status;
}

/* ---- counting ---- */

template <class Key>
static enum kc_status insert(void *ctx, struct kc_gpu_run<Key> *run, struct kc_error *err)
{
        struct gpu_engine<Key> *e = (struct gpu_engine<Key> *)ctx;
        int trace = kc_gpu_trace_begin(&e->crew.trace, "insert", e->nbatches, NULL);
        enum kc_status status = kc_gpu_lsm_insert(e->lsm, run, err);
        kc_gpu_trace_end(&e->crew.trace, trace, NULL);
        if (status == KC_OK && e->crew.sink->expect != NULL)
                e->crew.sink->expect(e->crew.sink->ctx, kc_gpu_lsm_npairs(e->lsm));
        return status;
}

template <class Key>
static enum kc_status count_batch(struct gpu_engine<Key> *e, const struct kc_gpu_reads *reads,
                                  struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_run_taker<Key> taker = {
                e, insert<Key>
        };
        int trace;
        KC_TRY(kc_gpu_lsm_make_room(e->lsm, kc_gpu_plan_room<Key>(reads->nkmers), err));
        trace = kc_gpu_trace_begin(&e->crew.trace, "count", e->nbatches, e->crew.gpu.stream);
        KC_TRY(kc_gpu_counter_count(e->counter, reads, &taker, &e->nsaturated, err));
        kc_gpu_trace_end(&e->crew.trace, trace, e->crew.gpu.stream);
        e->nkmers += reads->nkmers;
        e->nbatches++;
out:
        return status;
}

template <class Key>
static enum kc_status count_all(struct gpu_engine<Key> *e, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_reads reads;
        bool reading = true;
        for (;;) {
                KC_TRY(kc_gpu_feed_take(e->feed, &reads, err));
                if (reads.nkmers == 0)
                        break;
                if (reading && kc_gpu_feed_end_seconds(e->feed) > 0) {
                        reading = false;
                        kc_job_begin_stage(e->crew.job, KC_STAGE_COUNT, 0);
                }
                KC_TRY(count_batch(e, &reads, err));
                kc_gpu_feed_give_back(e->feed);
        }
out:
        return status;
}

/* ---- the run ---- */

/* Ranges are much longer than parts, because the cost of a range grows with the number of runs. */
template <class Key>
static enum kc_status merge_all(struct gpu_engine<Key> *e, struct kc_error *err)
{
        enum { RANGE_NPAIRS = 1 << 24 };
        enum kc_status status;
        struct kc_gpu_run<Key> range;
        uint64_t nsaturated, nparts = kc_gpu_lsm_npairs(e->lsm) / e->plan.parts.part_pairs + 1;
        kc_job_begin_stage(e->crew.job, KC_STAGE_ORDER, nparts);
        for (uint64_t i = 0;; i++) {
                int trace = kc_gpu_trace_begin(&e->crew.trace, "merge", i, NULL);
                KC_TRY(kc_gpu_lsm_next(e->lsm, RANGE_NPAIRS, &range, err));
                kc_gpu_trace_end(&e->crew.trace, trace, NULL);
                if (range.n == 0)
                        break;
                KC_TRY(kc_gpu_emitter_put_range(e->crew.emitter, &range, err));
        }
        KC_TRY(kc_gpu_emitter_put(e->crew.emitter, &range, err)); /* an empty range: the end */
        KC_TRY(kc_gpu_lsm_nsaturated(e->lsm, &nsaturated, err));
        e->nsaturated += nsaturated;
out:
        return status;
}

/* ---- threads ---- */

template <class Key> static enum kc_status drive(void *ctx, struct kc_error *err)
{
        struct gpu_engine<Key> *e = (struct gpu_engine<Key> *)ctx;
        enum kc_status status;
        double read, counted;
        KC_TRY(count_all(e, err));
        counted = kc_clock_seconds();
        read = kc_gpu_feed_end_seconds(e->feed);
        e->totals->stage_seconds[KC_STAGE_PARTITION] = read - e->start;
        e->totals->stage_seconds[KC_STAGE_COUNT] = counted - read;
        kc_gpu_counter_free(e->counter);
        e->counter = NULL;
        kc_gpu_feed_detach(e->feed);
        KC_TRY(merge_all(e, err));
out:
        return status;
}

template <class Key> static enum kc_status read_batches(void *ctx, int reader, struct kc_error *err)
{
        struct gpu_engine<Key> *e = (struct gpu_engine<Key> *)ctx;
        return kc_gpu_feed_read(e->feed, reader, err);
}

/*
 * The counts must add up: the number of k-mers in all batches is the sum of all counts plus what
 * saturation cut off.
 */
template <class Key> static enum kc_status add_up(struct gpu_engine<Key> *e, struct kc_error *err)
{
        struct kc_gpu_emit_totals out;
        kc_gpu_emitter_totals(e->crew.emitter, &out);
        if (out.sum + e->nsaturated != e->nkmers)
                return kc_fail_remedy(err, KC_EDEVICE, KC_REMEDY_CPU,
                                      "the device counted %" PRIu64 " of %" PRIu64
                                      " k-mers; please report this",
                                      out.sum + e->nsaturated, e->nkmers);
        e->totals->nkmers = e->nkmers;
        e->totals->ndistinct = out.ndistinct;
        e->totals->nsaturated = e->nsaturated;
        e->totals->spilled_nbytes = kc_gpu_lsm_spilled_nbytes(e->lsm);
        return KC_OK;
}

/*
 * All threads but the driver write; fewer read. If the driver, and the thread that meanwhile
 * allocates space in the output, find all cores busy, they preempt a reader, and soon all other
 * readers wait for that reader's chunk. So with many threads, these two get a core each.
 */
template <class Key> static void count_workers(struct gpu_engine<Key> *e, int nthreads)
{
        enum { MANY = 8 };
        e->crew.nworkers = nthreads > MANY ? nthreads - 1 : nthreads;
        e->crew.nreaders = nthreads > MANY ? nthreads - 2 : nthreads;
}

/* At usual coverage and error rates, one base in NBASES_PER_PAIR begins a k-mer not seen before.
 * The sink gets this estimate before anything is counted, because it takes time to allocate
 * space. */
template <class Key> static void expect_pairs(const struct gpu_engine<Key> *e)
{
        enum { NBASES_PER_PAIR = 8 };
        const uint64_t most = UINT64_C(1) << 29; /* in case the estimate is far too high */
        uint64_t npairs = e->params->expected_nbases / NBASES_PER_PAIR;
        if (e->crew.sink->expect != NULL && npairs > 0)
                e->crew.sink->expect(e->crew.sink->ctx, npairs < most ? npairs : most);
}

template <class Key> static enum kc_status count(struct gpu_engine<Key> *e, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_feed_setup feed = {};
        feed.k = e->params->k;
        feed.nthreads = e->crew.nreaders;
        feed.source = e->source;
        feed.batch_words = e->plan.host_words;
        feed.read_ahead = e->crew.params->read_ahead;
        expect_pairs(e);
        KC_TRY(kc_gpu_feed_new(&e->feed, &feed, &e->crew.gate, &e->crew.trace, err));
        KC_TRY(kc_gpu_crew_run(&e->crew, e->params->k, err));
        KC_TRY(add_up(e, err));
        e->totals->stage_seconds[KC_STAGE_ORDER] = kc_clock_seconds() - e->start -
                                                   e->totals->stage_seconds[KC_STAGE_PARTITION] -
                                                   e->totals->stage_seconds[KC_STAGE_COUNT];
        KC_TRY(kc_gpu_trace_write(&e->crew.trace, err));
out:
        return status;
}

template <class Key>
static enum kc_status count_with(const struct kc_count_params *params,
                                 const struct kc_gpu_params *gpu_params,
                                 const struct kc_batch_source *source,
                                 const struct kc_run_sink *sink, struct kc_job *job,
                                 struct kc_count_totals *totals, struct kc_gpu_report *report,
                                 struct kc_error *err)
{
        struct gpu_engine<Key> e = {
        };
        e.params = params;
        e.source = source;
        e.totals = totals;
        e.crew.params = gpu_params;
        e.crew.sink = sink;
        e.crew.job = job;
        e.crew.task = { &e, take_memory<Key>, drive<Key>, read_batches<Key> };
        count_workers(&e, params->nthreads);
        e.start = kc_clock_seconds();
        kc_gpu_crew_init(&e.crew);
        kc_gpu_plan_host(&e.plan, params, gpu_params);
        enum kc_status status = count(&e, err);
        kc_gpu_crew_stop(&e.crew, e.nbatches, report);
        kc_gpu_lsm_free(e.lsm);
        kc_gpu_counter_free(e.counter);
        kc_gpu_feed_free(e.feed);
        kc_gpu_crew_close(&e.crew);
        return status;
}

enum kc_status kc_gpu_count(const struct kc_count_params *params,
                            const struct kc_gpu_params *gpu_params,
                            const struct kc_batch_source *source, const struct kc_run_sink *sink,
                            struct kc_job *job, struct kc_count_totals *totals,
                            struct kc_gpu_report *report, struct kc_error *err)
{
        *totals = {};
        *report = {};
        if (params->k < 1 || params->k > KC_GPU_ENGINE_MAX_K || params->nthreads < 1)
                return kc_fail(err, KC_EUSAGE, "with CUDA, k must be between 1 and %d",
                               KC_GPU_ENGINE_MAX_K);
        return params->k <= 32 ? count_with<kc_key64>(params, gpu_params, source, sink, job, totals,
                                                      report, err)
                               : count_with<kc_key128>(params, gpu_params, source, sink, job,
                                                       totals, report, err);
}
