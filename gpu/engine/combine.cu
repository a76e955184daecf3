/*
 * Set operations on .kc files: memory for the joins of kmer/join.h, and the steps of the driver.
 * The threads are in crew.cu.
 *
 *      workers:  blocks of a range ──▶ pinned ──▶ device        gpu/runs/join_feed.cuh
 *      driver:   blocks ──▶ pairs                               gpu/runs/joiner.cuh
 *                pairs  ──▶ joined, two by two, and filtered    gpu/runs/join.cuh
 *                ──▶ a range ──▶ blocks ──▶ pinned              gpu/blocks/encode.cuh
 *      workers:  pinned ──▶ sink                                gpu/output/emit.cuh
 *
 * Blocks cross the bus encoded as in the files, a third of the size of their pairs. The host only
 * reads, writes, and computes and verifies checksums.
 */
#include "gpu/engine/crew.cuh"
#include "gpu/engine/plan.cuh"
#include "gpu/output/emit.cuh"
#include "gpu/runs/join_feed.cuh"
#include "gpu/runs/joiner.cuh"
#include "kmer/remedy.h"

#include <cinttypes>
#include <cstdlib>

#define MIB ((size_t)1 << 20)

enum {
        PINNED_MIB = 256, /* most for the encoder's parts */
};

namespace
{

template <class Key> struct combiner {
        const struct kc_join_source *source;
        struct kc_gpu_crew crew;
        struct kc_gpu_emitter<Key> *emitter;
        struct kc_join_feed<Key> *feed;
        size_t max_blocks;
        struct kc_gpu_encoder_caps parts;
        struct kc_gpu_joiner<Key> joiner;
        uint64_t nranges;
        struct kc_gpu_join_totals found; /* at the end */
};

} // namespace

/* ---- memory ---- */

/* The encoder gets a quarter of the bound. */
template <class Key>
static enum kc_status plan_memory(struct combiner<Key> *c, struct kc_error *err)
{
        enum kc_status status;
        const size_t limit = c->crew.gpu->limit_nbytes;
        KC_TRY(kc_gpu_joiner_plan<Key>(c->crew.gpu, c->source, c->crew.params->batch_nkmers, 0,
                                       &c->max_blocks, err));
        c->parts = kc_gpu_plan_encoder(c->source->k, c->crew.nworkers, c->source->npairs, limit / 4,
                                       PINNED_MIB * MIB);
        if (kc_gpu_encoder_nbytes<Key>(c->parts.max_pairs) > limit / 4)
                status = kc_gpu_joiner_no_room(c->crew.gpu, c->source->plan->nruns, err);
out:
        return status;
}

template <class Key> static enum kc_status take_memory(void *ctx, struct kc_error *err)
{
        struct combiner<Key> *c = (struct combiner<Key> *)ctx;
        enum kc_status status;
        struct kc_gpu *gpu = c->crew.gpu;
        KC_TRY(plan_memory(c, err));
        KC_TRY(kc_gpu_joiner_open(&c->joiner, gpu, c->source, c->max_blocks, err));
        KC_TRY(kc_gpu_emitter_attach(c->emitter, gpu, &c->parts, err));
        KC_TRY(kc_join_feed_attach(c->feed, gpu, c->max_blocks, err));
        KC_TRY(kc_gpu_hold(gpu, kc_gpu_joiner_join_nbytes<Key>(c->max_blocks), err));
out:
        return status;
}

/* ---- a range ---- */

template <class Key>
static enum kc_status combine_range(struct combiner<Key> *c, const struct kc_join_range *in,
                                    struct kc_decode_range<Key> *range, struct kc_error *err)
{
        enum kc_status status;
        kc_gpu_run<Key> joined = {};
        int trace = kc_gpu_trace_begin(c->crew.trace, "join", c->nranges, NULL);
        KC_TRY(kc_gpu_joiner_join(&c->joiner, in, range, &c->crew.sink->filter, &joined, err));
        kc_gpu_trace_end(c->crew.trace, trace, NULL);
        KC_TRY(kc_gpu_emitter_put_range(c->emitter, &joined, err));
out:
        kc_gpu_run_free(c->crew.gpu, &joined);
        return status;
}

template <class Key> static enum kc_status combine_all(void *ctx, struct kc_error *err)
{
        struct combiner<Key> *c = (struct combiner<Key> *)ctx;
        enum kc_status status;
        struct kc_join_range in;
        struct kc_decode_range<Key> range;
        const kc_gpu_run<Key> none = {};
        kc_job_begin_stage(c->crew.job, KC_STAGE_ORDER,
                           c->source->npairs / c->parts.part_pairs + 1);
        for (;; c->nranges++) {
                int trace = kc_gpu_trace_begin(c->crew.trace, "wait", c->nranges, NULL);
                KC_TRY(kc_join_feed_next(c->feed, &in, &range, err));
                kc_gpu_trace_end(c->crew.trace, trace, NULL);
                if (in.nblocks == 0)
                        break;
                KC_TRY(kc_join_feed_ahead(c->feed, err));
                KC_TRY(combine_range(c, &in, &range, err));
        }
        KC_TRY(kc_gpu_joiner_totals(&c->joiner, &c->found, err));
        kc_gpu_emitter_drop(c->emitter, &c->found.dropped);
        KC_TRY(kc_gpu_emitter_put(c->emitter, &none, err)); /* an empty range: the end */
out:
        return status;
}

/* ---- threads ---- */

template <class Key> static enum kc_status read_ranges(void *ctx, int reader, struct kc_error *err)
{
        struct combiner<Key> *c = (struct combiner<Key> *)ctx;
        return kc_join_feed_read(c->feed, reader, err);
}

template <class Key> static enum kc_status write(void *ctx, struct kc_error *err)
{
        return kc_gpu_emitter_write(((struct combiner<Key> *)ctx)->emitter, err);
}

/* Check that the counts that left the device add up to those that the joins kept. */
template <class Key>
static enum kc_status add_up(struct combiner<Key> *c, struct kc_join_totals *totals,
                             struct kc_error *err)
{
        struct kc_gpu_emit_totals out;
        kc_gpu_emitter_totals(c->emitter, &out);
        if (out.sum != c->found.joined.nkept)
                return kc_fail_remedy(err, KC_EDEVICE, KC_REMEDY_CPU,
                                      "the counts from the device add up to %" PRIu64
                                      " instead of %" PRIu64 "; please report this",
                                      out.sum, c->found.joined.nkept);
        *totals = c->found.joined;
        return KC_OK;
}

template <class Key>
static enum kc_status combine(struct combiner<Key> *c, struct kc_join_totals *totals,
                              struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(kc_join_feed_new(&c->feed, c->source, c->crew.nreaders, c->crew.gate, err));
        KC_TRY(kc_gpu_emitter_new(&c->emitter, c->source->k, c->crew.sink, c->crew.job,
                                  c->crew.gate, c->crew.trace, err));
        KC_TRY(kc_gpu_crew_run(&c->crew, err));
        KC_TRY(add_up(c, totals, err));
        KC_TRY(kc_gpu_trace_write(c->crew.trace, err));
out:
        return status;
}

template <class Key> static void free_memory(struct combiner<Key> *c)
{
        kc_join_feed_free(c->feed);
        kc_gpu_joiner_close(&c->joiner);
}

template <class Key>
static enum kc_status combine_with(const struct kc_gpu_params *params, int nthreads,
                                   const struct kc_join_source *source,
                                   const struct kc_run_sink *sink, struct kc_job *job,
                                   struct kc_join_totals *totals, struct kc_gpu_report *report,
                                   struct kc_error *err)
{
        combiner<Key> c = {};
        struct kc_gpu_session session;
        c.source = source;
        c.crew.params = params;
        c.crew.sink = sink;
        c.crew.job = job;
        c.crew.task = { &c, take_memory<Key>, combine_all<Key>, read_ranges<Key>, write<Key> };
        /* No worker can do both: with a single worker, the driver would wait forever. */
        c.crew.nworkers = nthreads > 2 ? nthreads : 2;
        c.crew.nreaders = c.crew.nworkers / 2;
        kc_gpu_session_begin(&session, params, job);
        kc_gpu_crew_init(&c.crew, &session);
        enum kc_status status = combine(&c, totals, err);
        kc_gpu_crew_stop(&c.crew, report);
        kc_gpu_emitter_free(c.emitter);
        report->nranges = c.nranges;
        free_memory(&c);
        kc_gpu_session_end(&session);
        return status;
}

enum kc_status kc_gpu_combine(const struct kc_gpu_params *params, int nthreads,
                              const struct kc_join_source *source, const struct kc_run_sink *sink,
                              struct kc_job *job, struct kc_join_totals *totals,
                              struct kc_gpu_report *report, struct kc_error *err)
{
        *totals = {};
        *report = {};
        if (source->k < 1 || source->k > KC_GPU_ENGINE_MAX_K || nthreads < 1)
                return kc_fail(err, KC_EUSAGE, "with CUDA, k must be between 1 and %d",
                               KC_GPU_ENGINE_MAX_K);
        return kc_key_choose(source->k, [&](auto key) {
                return combine_with<decltype(key)>(params, nthreads, source, sink, job, totals,
                                                   report, err);
        });
}
