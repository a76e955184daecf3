/*
 * Joint histograms of .kc files: memory for the joins of kmer/join.h, and the steps of the driver.
 * The threads are in crew.cu.
 *
 *      workers:  blocks of a range ──▶ pinned ──▶ device        gpu/runs/join_feed.cuh
 *      driver:   blocks ──▶ pairs, joined file by file          gpu/runs/joiner.cuh
 *                files  ──▶ joined, each k-mer added to a cell  gpu/runs/cells.cuh
 *
 * Only cells come back, so all workers read.
 */
#include "base/job.h"
#include "gpu/engine/crew.cuh"
#include "gpu/runs/cells.cuh"
#include "gpu/runs/join_feed.cuh"
#include "gpu/runs/joiner.cuh"
#include "kmer/block_codec.h"

namespace
{

template <class Key> struct comparer {
        const struct kc_join_source *source;
        const struct kc_joint_taker *taker;
        struct kc_gpu_crew crew;
        struct kc_join_feed<Key> *feed;
        size_t max_blocks;
        struct kc_gpu_joiner<Key> joiner;
        struct kc_gpu_cells cells;
        uint64_t nranges;
};

} // namespace

template <class Key> static enum kc_status take_memory(void *ctx, struct kc_error *err)
{
        struct comparer<Key> *c = (struct comparer<Key> *)ctx;
        enum kc_status status;
        struct kc_gpu *gpu = c->crew.gpu;
        const size_t list_nbytes = KC_BLOCK_NKMERS * kc_gpu_cells_kmer_nbytes(c->taker->nfiles);
        KC_TRY(kc_gpu_joiner_plan<Key>(gpu, c->source, c->crew.params->batch_nkmers, list_nbytes,
                                       &c->max_blocks, err));
        KC_TRY(kc_gpu_joiner_open(&c->joiner, gpu, c->source, c->max_blocks, err));
        KC_TRY(kc_gpu_cells_open(&c->cells, gpu, c->taker, c->max_blocks * KC_BLOCK_NKMERS, err));
        KC_TRY(kc_join_feed_attach(c->feed, gpu, c->max_blocks, err));
        KC_TRY(kc_gpu_hold(gpu, kc_gpu_joiner_join_nbytes<Key>(c->max_blocks), err));
out:
        return status;
}

template <class Key>
static enum kc_status add_range(struct comparer<Key> *c, const struct kc_join_range *in,
                                struct kc_decode_range<Key> *range, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_run<Key, uint64_t> left, right;
        const uint64_t before = c->joiner.npairs;
        int trace = kc_gpu_trace_begin(c->crew.trace, "join", c->nranges, NULL);
        KC_TRY(kc_gpu_joiner_sides(&c->joiner, in, range, &left, &right, err));
        KC_TRY(kc_gpu_cells_add(&c->cells, &left, &right, err));
        kc_gpu_trace_end(c->crew.trace, trace, NULL);
        kc_job_advance(c->crew.job, c->joiner.npairs - before);
out:
        kc_gpu_joiner_drop(&c->joiner);
        return status;
}

template <class Key> static enum kc_status compare_all(void *ctx, struct kc_error *err)
{
        struct comparer<Key> *c = (struct comparer<Key> *)ctx;
        enum kc_status status;
        struct kc_join_range in;
        struct kc_decode_range<Key> range;
        kc_job_expect(c->crew.job, c->source->npairs);
        for (;; c->nranges++) {
                int trace = kc_gpu_trace_begin(c->crew.trace, "wait", c->nranges, NULL);
                KC_TRY(kc_join_feed_next(c->feed, &in, &range, err));
                kc_gpu_trace_end(c->crew.trace, trace, NULL);
                if (in.nblocks == 0)
                        break;
                KC_TRY(kc_join_feed_ahead(c->feed, err));
                KC_TRY(add_range(c, &in, &range, err));
        }
        KC_TRY(kc_gpu_cells_end(&c->cells, err));
out:
        return status;
}

template <class Key> static enum kc_status read_ranges(void *ctx, int reader, struct kc_error *err)
{
        return kc_join_feed_read(((struct comparer<Key> *)ctx)->feed, reader, err);
}

template <class Key> static enum kc_status compare(struct comparer<Key> *c, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(kc_join_feed_new(&c->feed, c->source, c->crew.nreaders, c->crew.gate, err));
        KC_TRY(kc_gpu_crew_run(&c->crew, err));
        KC_TRY(kc_gpu_trace_write(c->crew.trace, err));
out:
        return status;
}

template <class Key> static void free_memory(struct comparer<Key> *c)
{
        kc_join_feed_free(c->feed);
        kc_gpu_cells_close(&c->cells);
        kc_gpu_joiner_close(&c->joiner);
}

template <class Key>
static enum kc_status compare_with(const struct kc_gpu_params *params, int nthreads,
                                   const struct kc_join_source *source,
                                   const struct kc_joint_taker *taker, struct kc_job *job,
                                   uint64_t *nread, struct kc_gpu_report *report,
                                   struct kc_error *err)
{
        comparer<Key> c = {};
        struct kc_gpu_session session;
        c.source = source;
        c.taker = taker;
        c.crew.params = params;
        c.crew.job = job;
        c.crew.task.ctx = &c;
        c.crew.task.take_memory = take_memory<Key>;
        c.crew.task.drive = compare_all<Key>;
        c.crew.task.read = read_ranges<Key>;
        c.crew.nworkers = c.crew.nreaders = nthreads;
        kc_gpu_session_begin(&session, params, job);
        kc_gpu_crew_init(&c.crew, &session);
        enum kc_status status = compare(&c, err);
        kc_gpu_crew_stop(&c.crew, report);
        report->nranges = c.nranges;
        *nread = c.joiner.nread;
        free_memory(&c);
        kc_gpu_session_end(&session);
        return status;
}

enum kc_status kc_gpu_joint(const struct kc_gpu_params *params, int nthreads,
                            const struct kc_join_source *source, const struct kc_joint_taker *taker,
                            struct kc_job *job, uint64_t *nread, struct kc_gpu_report *report,
                            struct kc_error *err)
{
        *nread = 0;
        *report = {};
        if (source->k < 1 || source->k > KC_GPU_ENGINE_MAX_K || nthreads < 1)
                return kc_fail(err, KC_EUSAGE, "with CUDA, k must be between 1 and %d",
                               KC_GPU_ENGINE_MAX_K);
        return kc_key_choose(source->k, [&](auto key) {
                return compare_with<decltype(key)>(params, nthreads, source, taker, job, nread,
                                                   report, err);
        });
}
