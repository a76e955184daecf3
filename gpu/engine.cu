/*
 * The CUDA engine: threads and memory for the stages.
 *
 *      workers:  source ──▶ pinned ──▶ a device buffer of two         gpu/feed/feed.cuh
 *      driver:   buffer ──▶ sorted runs                               gpu/count/count.cuh
 *                runs   ──▶ the LSM                                   gpu/runs/lsm.cuh
 *      driver:   the LSM, range by range ──▶ blocks ──▶ pinned        gpu/blocks/encode.cuh
 *      workers:  pinned ──▶ sink                                      gpu/blocks/emit.cuh
 *
 * One thread, the driver, makes all calls to the device except the workers' copies, and sleeps
 * while it waits. This leaves all cores to reading, the slowest stage.
 */
#include "base/clock.h"
#include "base/parallel.h"
#include "gpu/blocks/emit.cuh"
#include "gpu/count/count.cuh"
#include "gpu/device/gate.h"
#include "gpu/device/trace.cuh"
#include "gpu/feed/feed.cuh"
#include "gpu/gpu.h"
#include "gpu/plan.cuh"
#include "gpu/runs/lsm.cuh"

#include <cinttypes>

namespace
{

template <class Key> struct gpu_engine {
        const struct kc_count_params *params;
        const struct kc_gpu_params *gpu_params;
        const struct kc_batch_source *source;
        const struct kc_run_sink *sink;
        struct kc_gate gate;
        struct kc_gpu_trace trace;
        struct kc_gpu_plan plan;
        struct kc_gpu gpu;
        struct kc_gpu_feed *feed;
        struct kc_gpu_counter<Key> *counter;
        struct kc_gpu_lsm<Key> *lsm;
        struct kc_gpu_emitter<Key> *emitter;
        double start;
        int nworkers, nreaders;
        uint64_t nkmers, nbatches;
        uint64_t nsaturated; /* within batches; at the end, in all */
        bool began;          /* the device is ready: sink and job are in use */
        struct kc_count_totals *totals;
};

} // namespace

/* ---- the device ---- */

template <class Key>
static enum kc_status open_device(struct gpu_engine<Key> *e, struct kc_error *err)
{
        enum kc_status status;
        int trace = kc_gpu_trace_begin(&e->trace, "open device", 0, NULL);
        KC_TRY(kc_gpu_wake(e->gpu_params->device, err));
        KC_TRY(kc_gpu_open(&e->gpu, e->gpu_params->device, e->gpu_params->memory_nbytes, err));
        KC_TRY(kc_gpu_trace_attach(&e->trace, &e->gpu, err));
        kc_gpu_trace_end(&e->trace, trace, NULL);
out:
        return status;
}

/* With read_ahead, uploads begin while the rest of the memory is allocated. Otherwise the workers
 * have read nothing yet and must not read until nothing can fail any more: sequences taken from the
 * source are lost to another engine. */
template <class Key>
static enum kc_status take_memory(struct gpu_engine<Key> *e, struct kc_error *err)
{
        enum kc_status status;
        const struct kc_count_params *p = e->params;
        const bool early = e->gpu_params->read_ahead;
        struct kc_gpu_lsm_setup lsm = {};
        int trace = kc_gpu_trace_begin(&e->trace, "take memory", 0, NULL);
        KC_TRY(kc_gpu_plan_batch<Key>(&e->plan, p, e->gpu.limit_nbytes, err));
        if (early)
                KC_TRY(kc_gpu_feed_attach(e->feed, &e->gpu, &e->plan.batch, err));
        KC_TRY(kc_gpu_counter_new(&e->counter, &e->gpu, p->k, p->stranded, e->gpu_params->table,
                                  e->plan.batch.nkmers, err));
        KC_TRY(kc_gpu_plan_parts<Key>(&e->plan, p, e->gpu.limit_nbytes, err));
        lsm.host_nbytes = e->plan.host_nbytes;
        lsm.tmp_dir = p->tmp_dir;
        lsm.nthreads = p->nthreads;
        lsm.gate = &e->gate;
        KC_TRY(kc_gpu_lsm_new(&e->lsm, &e->gpu, &lsm, err));
        KC_TRY(kc_gpu_emitter_attach(e->emitter, &e->gpu, &e->plan.parts, err));
        if (!early)
                KC_TRY(kc_gpu_feed_attach(e->feed, &e->gpu, &e->plan.batch, err));
        kc_gpu_trace_end(&e->trace, trace, NULL);
        __atomic_store_n(&e->began, true, __ATOMIC_RELEASE);
out:
        return status;
}

/* ---- counting ---- */

template <class Key>
static enum kc_status insert(void *ctx, struct kc_gpu_run<Key> *run, struct kc_error *err)
{
        struct gpu_engine<Key> *e = (struct gpu_engine<Key> *)ctx;
        int trace = kc_gpu_trace_begin(&e->trace, "insert", e->nbatches, NULL);
        enum kc_status status = kc_gpu_lsm_insert(e->lsm, run, err);
        kc_gpu_trace_end(&e->trace, trace, NULL);
        if (status == KC_OK && e->sink->expect != NULL)
                e->sink->expect(e->sink->ctx, kc_gpu_lsm_npairs(e->lsm));
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
        trace = kc_gpu_trace_begin(&e->trace, "count", e->nbatches, e->gpu.stream);
        KC_TRY(kc_gpu_counter_count(e->counter, reads, &taker, &e->nsaturated, err));
        kc_gpu_trace_end(&e->trace, trace, e->gpu.stream);
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
                        kc_gate_begin_stage(&e->gate, KC_STAGE_COUNT, 0);
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
        kc_gate_begin_stage(&e->gate, KC_STAGE_ORDER, nparts);
        for (uint64_t i = 0;; i++) {
                int trace = kc_gpu_trace_begin(&e->trace, "merge", i, NULL);
                KC_TRY(kc_gpu_lsm_next(e->lsm, RANGE_NPAIRS, &range, err));
                kc_gpu_trace_end(&e->trace, trace, NULL);
                if (range.n == 0)
                        break;
                KC_TRY(kc_gpu_emitter_put_range(e->emitter, &range, err));
        }
        KC_TRY(kc_gpu_emitter_put(e->emitter, &range, err)); /* an empty range: the end */
        KC_TRY(kc_gpu_lsm_nsaturated(e->lsm, &nsaturated, err));
        e->nsaturated += nsaturated;
out:
        return status;
}

/* ---- threads ---- */

template <class Key> static enum kc_status drive(struct gpu_engine<Key> *e, struct kc_error *err)
{
        enum kc_status status;
        double read, counted;
        KC_TRY(open_device(e, err));
        KC_TRY(take_memory(e, err));
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

/* Thread 0 is the driver, the others are workers 0 .. nworkers-1. The first nreaders of these
 * read. */
template <class Key> static enum kc_status run(void *ctx, int thread, struct kc_error *err)
{
        struct gpu_engine<Key> *e = (struct gpu_engine<Key> *)ctx;
        enum kc_status status;
        if (thread == 0)
                return drive(e, err);
        if (thread <= e->nreaders)
                KC_TRY(kc_gpu_feed_read(e->feed, thread - 1, err));
        KC_TRY(kc_gpu_emitter_write(e->emitter, err));
out:
        return status;
}

template <class Key> static void on_failure(void *ctx)
{
        struct gpu_engine<Key> *e = (struct gpu_engine<Key> *)ctx;
        kc_gate_stop(&e->gate);
        if (__atomic_load_n(&e->began, __ATOMIC_ACQUIRE))
                e->sink->cancel(e->sink->ctx);
}

/*
 * The counts must add up: the number of k-mers in all batches is the sum of all counts plus what
 * saturation cut off.
 */
template <class Key> static enum kc_status add_up(struct gpu_engine<Key> *e, struct kc_error *err)
{
        struct kc_gpu_emit_totals out;
        kc_gpu_emitter_totals(e->emitter, &out);
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
        e->nworkers = nthreads > MANY ? nthreads - 1 : nthreads;
        e->nreaders = nthreads > MANY ? nthreads - 2 : nthreads;
}

/* At usual coverage and error rates, one base in NBASES_PER_PAIR begins a k-mer not seen before.
 * The sink gets this estimate before anything is counted, because it takes time to allocate
 * space. */
template <class Key> static void expect_pairs(const struct gpu_engine<Key> *e)
{
        enum { NBASES_PER_PAIR = 8 };
        const uint64_t most = UINT64_C(1) << 29; /* in case the estimate is far too high */
        uint64_t npairs = e->params->expected_nbases / NBASES_PER_PAIR;
        if (e->sink->expect != NULL && npairs > 0)
                e->sink->expect(e->sink->ctx, npairs < most ? npairs : most);
}

template <class Key> static enum kc_status count(struct gpu_engine<Key> *e, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_feed_setup feed = {};
        feed.k = e->params->k;
        feed.nthreads = e->nreaders;
        feed.source = e->source;
        feed.batch_words = e->plan.host_words;
        feed.read_ahead = e->gpu_params->read_ahead;
        expect_pairs(e);
        KC_TRY(kc_gpu_feed_new(&e->feed, &feed, &e->gate, &e->trace, err));
        KC_TRY(kc_gpu_emitter_new(&e->emitter, e->params->k, e->sink, &e->gate, &e->trace, err));
        KC_TRY(kc_parallel(e->nworkers + 1, run<Key>, on_failure<Key>, e, err));
        KC_TRY(add_up(e, err));
        e->totals->stage_seconds[KC_STAGE_ORDER] = kc_clock_seconds() - e->start -
                                                   e->totals->stage_seconds[KC_STAGE_PARTITION] -
                                                   e->totals->stage_seconds[KC_STAGE_COUNT];
        KC_TRY(kc_gpu_trace_write(&e->trace, err));
out:
        return status;
}

/* The order matters: memory must not be freed while a copy into it is in progress. */
template <class Key> static void close_all(struct gpu_engine<Key> *e)
{
        cudaStream_t streams[] = { e->gpu.upload, e->gpu.stream, e->gpu.download };
        for (cudaStream_t stream : streams)
                if (stream != NULL)
                        (void)cudaStreamSynchronize(stream);
        kc_gpu_trace_close(&e->trace);
        kc_gpu_emitter_free(e->emitter);
        kc_gpu_lsm_free(e->lsm);
        kc_gpu_counter_free(e->counter);
        kc_gpu_feed_free(e->feed);
        kc_gpu_close(&e->gpu);
        kc_gate_destroy(&e->gate);
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
        e.gpu_params = gpu_params;
        e.source = source;
        e.sink = sink;
        e.totals = totals;
        count_workers(&e, params->nthreads);
        e.start = kc_clock_seconds();
        kc_gate_init(&e.gate, job);
        kc_gpu_trace_open(&e.trace, gpu_params->trace);
        kc_gpu_plan_host(&e.plan, params, gpu_params);
        kc_gate_begin_stage(&e.gate, KC_STAGE_PARTITION, 0);
        enum kc_status status = count(&e, err);
        report->began = e.began;
        report->peak_nbytes = e.gpu.peak_nbytes;
        report->nbatches = e.nbatches;
        close_all(&e);
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
