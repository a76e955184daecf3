/*
 * Set operations on .kc files: the threads and memory for the joins of kmer/join.h.
 *
 *      workers:  blocks of a range ──▶ pinned ──▶ device        gpu/runs/join_feed.cuh
 *      driver:   blocks ──▶ pairs                               gpu/blocks/decode.cuh
 *                pairs  ──▶ joined, two by two ──▶ a range      gpu/runs/join.cuh
 *                of the result ──▶ blocks ──▶ pinned            gpu/blocks/encode.cuh
 *      workers:  pinned ──▶ sink                                gpu/blocks/emit.cuh
 *
 * Blocks cross the bus encoded as in the files, a third of the size of their pairs. The host only
 * reads, writes, and computes and verifies checksums.
 */
#include "base/parallel.h"
#include "gpu/blocks/emit.cuh"
#include "gpu/gpu.h"
#include "gpu/plan.cuh"
#include "gpu/runs/join.cuh"
#include "gpu/runs/join_feed.cuh"
#include "kmer/block_codec.h"

#include <cinttypes>
#include <cstdlib>

#define MIB ((size_t)1 << 20)

enum {
        USUAL_BLOCKS = 8192, /* in a range: 8 Mi pairs */
        BLOCKS_PER_RUN = 4,  /* the minimum, for ranges of many runs */
        PINNED_MIB = 256,    /* most for the encoder's parts */
};

namespace
{

template <class Key> struct node_run {
        struct kc_gpu_run<Key, uint64_t> run;
        bool is_own; /* false: a slice of combiner.pairs, the decoded range */
};

template <class Key> struct combiner {
        const struct kc_gpu_params *params;
        const struct kc_join_source *source;
        const struct kc_run_sink *sink;
        struct kc_gate gate;
        struct kc_gpu_trace trace;
        struct kc_gpu gpu;
        struct kc_join_feed<Key> *feed;
        struct kc_gpu_emitter<Key> *emitter;
        int nreaders, nworkers;
        size_t max_blocks;
        struct kc_gpu_encoder_caps parts;
        struct kc_gpu_run<Key, uint64_t> pairs; /* decoded, of one range */
        struct kc_decode_run *runs;             /* [nruns] device */
        struct kc_decode_run *host_runs;        /* pinned */
        unsigned long long *refused;            /* device, see kc_gpu_decode */
        struct kc_join_totals *totals;          /* device */
        struct node_run<Key> *nodes;            /* [nnodes] as in the plan, for one range */
        uint64_t nread, nranges;
        struct kc_join_totals found; /* copied from *totals at the end */
        bool began;
};

} // namespace

/* ---- memory ---- */

static enum kc_status too_little(const struct kc_gpu *gpu, size_t nruns, struct kc_error *err)
{
        return kc_fail_remedy(err, KC_ENOMEM, KC_REMEDY_MORE_GPU_MEMORY | KC_REMEDY_CPU,
                              "%zu MiB of device memory is too little to merge %zu runs",
                              gpu->limit_nbytes / MIB, nruns);
}

/* Memory for the decoded pairs of a range, and for all that its joins hold at a time: their input,
 * their output, and how tiles are cut. */
template <class Key> static size_t pairs_nbytes(size_t nblocks)
{
        return kc_gpu_run_nbytes<Key, uint64_t>(nblocks * KC_BLOCK_NKMERS);
}

template <class Key> static size_t joins_nbytes(size_t nblocks)
{
        return 2 * pairs_nbytes<Key>(nblocks) + pairs_nbytes<Key>(nblocks) / 16 + MIB;
}

/* Device memory for ranges of nblocks blocks, without the encoder's. */
template <class Key> static size_t range_nbytes(size_t nblocks)
{
        return kc_join_feed_nbytes<Key>(nblocks) + pairs_nbytes<Key>(nblocks) +
               joins_nbytes<Key>(nblocks);
}

/* Five eighths of the bound are for ranges and a quarter for the encoder; the rest is for small
 * allocations and for what the pool loses to fragmentation. */
template <class Key>
static enum kc_status plan_memory(struct combiner<Key> *c, struct kc_error *err)
{
        const size_t limit = c->gpu.limit_nbytes, nruns = c->source->plan->nruns;
        size_t n = BLOCKS_PER_RUN * nruns > USUAL_BLOCKS ? BLOCKS_PER_RUN * nruns
                                                         : (size_t)USUAL_BLOCKS;
        const size_t all = c->source->npairs / KC_BLOCK_NKMERS + nruns + 1;
        n = n < all ? n : all;
        if (c->params->batch_nkmers != 0 && n > c->params->batch_nkmers / KC_BLOCK_NKMERS)
                n = c->params->batch_nkmers / KC_BLOCK_NKMERS;
        n = n > nruns ? n : nruns + 1;
        while (n > nruns + 1 && range_nbytes<Key>(n) > limit / 8 * 5)
                n = n / 4 * 3 > nruns ? n / 4 * 3 : nruns + 1;
        c->max_blocks = n;
        c->parts = kc_gpu_plan_encoder<Key>(c->nworkers, c->source->npairs, limit / 4,
                                            PINNED_MIB * MIB);
        if (range_nbytes<Key>(n) > limit / 8 * 5 ||
            kc_gpu_encoder_nbytes<Key>(c->parts.max_pairs) > limit / 4)
                return too_little(&c->gpu, nruns, err);
        return KC_OK;
}

template <class Key>
static enum kc_status take_memory(struct combiner<Key> *c, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu *gpu = &c->gpu;
        const struct kc_join_plan *plan = c->source->plan;
        KC_TRY(plan_memory(c, err));
        KC_TRY(kc_gpu_run_new(gpu, &c->pairs, c->max_blocks * KC_BLOCK_NKMERS, err));
        KC_TRY(kc_gpu_new(gpu, &c->runs, plan->nruns, err));
        KC_TRY(kc_gpu_new(gpu, &c->refused, 1, err));
        KC_TRY(kc_gpu_new(gpu, &c->totals, 1, err));
        KC_TRY(KC_CUDA(cudaMemsetAsync(c->totals, 0, sizeof *c->totals, gpu->stream)));
        KC_TRY(KC_CUDA(cudaMallocHost((void **)&c->host_runs, plan->nruns * sizeof *c->host_runs)));
        KC_TRY(kc_gpu_emitter_attach(c->emitter, gpu, &c->parts, err));
        KC_TRY(kc_join_feed_attach(c->feed, gpu, c->max_blocks, err));
        KC_TRY(kc_gpu_hold(gpu, joins_nbytes<Key>(c->max_blocks), err));
        c->nodes = (struct node_run<Key> *)calloc(plan->nnodes, sizeof *c->nodes);
        if (c->nodes == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        __atomic_store_n(&c->began, true, __ATOMIC_RELEASE);
out:
        return status;
}

/* ---- a range ---- */

/* The plan's description of each run, for kc_gpu_decode. */
template <class Key> static void describe_runs(struct combiner<Key> *c)
{
        const struct kc_join_plan *plan = c->source->plan;
        for (size_t i = 0; i < plan->nnodes; i++) {
                const struct kc_join_node *node = &plan->nodes[i];
                if (node->left >= 0)
                        continue;
                c->host_runs[node->run] = {};
                c->host_runs[node->run].mark = node->removes ? KC_JOIN_REMOVED : node->mark;
                c->host_runs[node->run].count_mask = node->removes ? 0 : UINT32_MAX;
        }
}

/* Decode the blocks, and find which pairs are in the range. */
template <class Key>
static enum kc_status decode(struct combiner<Key> *c, const struct kc_join_range *in,
                             struct kc_decode_range<Key> *range, struct kc_error *err)
{
        enum kc_status status;
        cudaStream_t stream = c->gpu.stream;
        const size_t nbytes = c->source->plan->nruns * sizeof *c->runs;
        unsigned long long refused;
        describe_runs(c);
        range->runs = c->runs;
        KC_TRY(KC_CUDA(
                cudaMemcpyAsync(c->runs, c->host_runs, nbytes, cudaMemcpyHostToDevice, stream)));
        KC_TRY(kc_gpu_decode(&c->gpu, range, &c->pairs, c->refused, err));
        KC_TRY(KC_CUDA(
                cudaMemcpyAsync(c->host_runs, c->runs, nbytes, cudaMemcpyDeviceToHost, stream)));
        KC_TRY(kc_gpu_read(&c->gpu, &refused, c->refused, 1, err));
        if (refused != 0)
                status = c->source->refuse(c->source->ctx, in, in->nblocks - refused, err);
out:
        return status;
}

/* The leaves: for each run, its pairs in the range. */
template <class Key> static void set_leaves(struct combiner<Key> *c, const struct kc_join_range *in)
{
        const struct kc_join_plan *plan = c->source->plan;
        size_t block = 0;
        for (size_t i = 0; i < plan->nnodes; i++) {
                struct node_run<Key> *node = &c->nodes[i];
                *node = {};
                if (plan->nodes[i].left >= 0)
                        continue;
                const size_t run = plan->nodes[i].run;
                const struct kc_decode_run *found = &c->host_runs[run];
                const size_t begin = block * KC_BLOCK_NKMERS + found->nbelow_from;
                node->run.kmers = c->pairs.kmers + begin;
                node->run.counts = c->pairs.counts + begin;
                node->run.n = found->nbelow_end - found->nbelow_from;
                c->nread += found->sum;
                while (block < in->nblocks && in->blocks[block].run == run)
                        block++;
        }
}

template <class Key> static void drop(struct combiner<Key> *c, struct node_run<Key> *node)
{
        if (node->is_own)
                kc_gpu_run_free(&c->gpu, &node->run);
        *node = {};
}

/* Compute an inner node from its two sides, which are freed. If one side is empty, the other
 * becomes the node, unless the node is a file. */
template <class Key>
static enum kc_status join_node(struct combiner<Key> *c, size_t number, struct kc_error *err)
{
        enum kc_status status;
        const struct kc_join_node *node = &c->source->plan->nodes[number];
        struct node_run<Key> *left = &c->nodes[node->left], *right = &c->nodes[node->right];
        struct node_run<Key> *to = &c->nodes[number];
        if (!node->is_file && (left->run.n == 0 || right->run.n == 0)) {
                struct node_run<Key> *full = left->run.n > 0 ? left : right;
                *to = *full;
                *full = {};
        } else {
                KC_TRY(kc_gpu_join(&c->gpu, c->source->plan, node, &left->run, &right->run,
                                   c->totals, &to->run, err));
                to->is_own = true;
        }
        drop(c, left);
        drop(c, right);
        status = KC_OK;
out:
        return status;
}

template <class Key>
static enum kc_status join_range(struct combiner<Key> *c, struct kc_gpu_run<Key> *range,
                                 struct kc_error *err)
{
        enum kc_status status = KC_OK;
        const struct kc_join_plan *plan = c->source->plan;
        const size_t root = plan->nnodes - 1;
        struct node_run<Key> none = {}, *left = &c->nodes[root], *right = &none;
        for (size_t i = 0; i < root; i++)
                if (plan->nodes[i].left >= 0)
                        KC_TRY(join_node(c, i, err));
        if (plan->nodes[root].left >= 0) {
                left = &c->nodes[plan->nodes[root].left];
                right = &c->nodes[plan->nodes[root].right];
        }
        KC_TRY(kc_gpu_join_root(&c->gpu, plan, &left->run, &right->run, c->totals, range, err));
        drop(c, left);
        drop(c, right);
out:
        return status;
}

template <class Key>
static enum kc_status combine_range(struct combiner<Key> *c, const struct kc_join_range *in,
                                    struct kc_decode_range<Key> *range, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_run<Key> joined = {
        };
        int trace = kc_gpu_trace_begin(&c->trace, "join", c->nranges, NULL);
        KC_TRY(decode(c, in, range, err));
        set_leaves(c, in);
        KC_TRY(join_range(c, &joined, err));
        kc_gpu_trace_end(&c->trace, trace, NULL);
        KC_TRY(kc_gpu_emitter_put_range(c->emitter, &joined, err));
out:
        kc_gpu_run_free(&c->gpu, &joined);
        return status;
}

template <class Key>
static enum kc_status combine_all(struct combiner<Key> *c, struct kc_error *err)
{
        enum kc_status status;
        struct kc_join_range in;
        struct kc_decode_range<Key> range;
        const struct kc_gpu_run<Key> none = {
        };
        kc_gate_begin_stage(&c->gate, KC_STAGE_ORDER, c->source->npairs / c->parts.part_pairs + 1);
        for (;; c->nranges++) {
                int trace = kc_gpu_trace_begin(&c->trace, "wait", c->nranges, NULL);
                KC_TRY(kc_join_feed_next(c->feed, &in, &range, err));
                kc_gpu_trace_end(&c->trace, trace, NULL);
                if (in.nblocks == 0)
                        break;
                KC_TRY(combine_range(c, &in, &range, err));
        }
        KC_TRY(kc_gpu_emitter_put(c->emitter, &none, err)); /* an empty range: the end */
        KC_TRY(kc_gpu_read(&c->gpu, &c->found, c->totals, 1, err));
out:
        return status;
}

/* ---- threads ---- */

template <class Key> static enum kc_status drive(struct combiner<Key> *c, struct kc_error *err)
{
        enum kc_status status;
        int trace = kc_gpu_trace_begin(&c->trace, "open device", 0, NULL);
        KC_TRY(kc_gpu_wake(c->params->device, err));
        KC_TRY(kc_gpu_open(&c->gpu, c->params->device, c->params->memory_nbytes, err));
        KC_TRY(kc_gpu_trace_attach(&c->trace, &c->gpu, err));
        kc_gpu_trace_end(&c->trace, trace, NULL);
        trace = kc_gpu_trace_begin(&c->trace, "take memory", 0, NULL);
        KC_TRY(take_memory(c, err));
        kc_gpu_trace_end(&c->trace, trace, NULL);
        KC_TRY(combine_all(c, err));
out:
        return status;
}

/* Thread 0 is the driver, the others are workers. The first nreaders of these read before they
 * write. */
template <class Key> static enum kc_status run(void *ctx, int thread, struct kc_error *err)
{
        struct combiner<Key> *c = (struct combiner<Key> *)ctx;
        enum kc_status status;
        if (thread == 0)
                return drive(c, err);
        if (thread <= c->nreaders)
                KC_TRY(kc_join_feed_read(c->feed, thread - 1, err));
        KC_TRY(kc_gpu_emitter_write(c->emitter, err));
out:
        return status;
}

template <class Key> static void on_failure(void *ctx)
{
        struct combiner<Key> *c = (struct combiner<Key> *)ctx;
        kc_gate_stop(&c->gate);
        if (__atomic_load_n(&c->began, __ATOMIC_ACQUIRE))
                c->sink->cancel(c->sink->ctx);
}

/* Check that the counts that left the device add up to those that the joins kept. */
template <class Key>
static enum kc_status add_up(struct combiner<Key> *c, struct kc_join_totals *totals,
                             struct kc_error *err)
{
        struct kc_gpu_emit_totals out;
        kc_gpu_emitter_totals(c->emitter, &out);
        if (out.sum != c->found.nkept)
                return kc_fail_remedy(err, KC_EDEVICE, KC_REMEDY_CPU,
                                      "the counts from the device add up to %" PRIu64
                                      " instead of %" PRIu64 "; please report this",
                                      out.sum, c->found.nkept);
        *totals = c->found;
        totals->nread = c->nread;
        return KC_OK;
}

template <class Key>
static enum kc_status combine(struct combiner<Key> *c, struct kc_join_totals *totals,
                              struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(kc_join_feed_new(&c->feed, c->source, c->nreaders, &c->gate, err));
        KC_TRY(kc_gpu_emitter_new(&c->emitter, c->source->k, c->sink, &c->gate, &c->trace, err));
        KC_TRY(kc_parallel(c->nworkers + 1, run<Key>, on_failure<Key>, c, err));
        KC_TRY(add_up(c, totals, err));
        KC_TRY(kc_gpu_trace_write(&c->trace, err));
out:
        return status;
}

/* The order matters: memory must not be freed while a copy into it is in progress. */
template <class Key> static void close_all(struct combiner<Key> *c)
{
        struct kc_gpu *gpu = &c->gpu;
        cudaStream_t streams[] = { gpu->upload, gpu->stream, gpu->download };
        for (cudaStream_t stream : streams)
                if (stream != NULL)
                        (void)cudaStreamSynchronize(stream);
        kc_gpu_trace_close(&c->trace);
        for (size_t i = 0; c->nodes != NULL && i < c->source->plan->nnodes; i++)
                drop(c, &c->nodes[i]);
        free(c->nodes);
        kc_gpu_emitter_free(c->emitter);
        kc_join_feed_free(c->feed);
        kc_gpu_run_free(gpu, &c->pairs);
        kc_gpu_delete(gpu, c->runs, c->source->plan->nruns);
        kc_gpu_delete(gpu, c->refused, 1);
        kc_gpu_delete(gpu, c->totals, 1);
        (void)cudaFreeHost(c->host_runs);
        kc_gpu_close(gpu);
        kc_gate_destroy(&c->gate);
}

template <class Key>
static enum kc_status combine_with(const struct kc_gpu_params *params, int nthreads,
                                   const struct kc_join_source *source,
                                   const struct kc_run_sink *sink, struct kc_job *job,
                                   struct kc_join_totals *totals, struct kc_gpu_report *report,
                                   struct kc_error *err)
{
        struct combiner<Key> c = {
        };
        c.params = params;
        c.source = source;
        c.sink = sink;
        /* No worker can do both: with a single worker, the driver would wait forever. */
        c.nworkers = nthreads > 2 ? nthreads : 2;
        c.nreaders = c.nworkers / 2;
        kc_gate_init(&c.gate, job);
        kc_gpu_trace_open(&c.trace, params->trace);
        enum kc_status status = combine(&c, totals, err);
        report->began = c.began;
        report->peak_nbytes = c.gpu.peak_nbytes;
        report->nbatches = c.nranges;
        close_all(&c);
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
        return source->k <= 32 ? combine_with<kc_key64>(params, nthreads, source, sink, job, totals,
                                                        report, err)
                               : combine_with<kc_key128>(params, nthreads, source, sink, job,
                                                         totals, report, err);
}
