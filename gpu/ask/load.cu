#include "gpu/ask/load.cuh"

#include "base/parallel.h"
#include "gpu/device/gate.h"
#include "gpu/runs/join_feed.cuh"
#include "gpu/runs/joiner.cuh"
#include "kmer/block_codec.h"

enum {
        USUAL_BLOCKS = 16384, /* in a range: 16 Mi pairs. Ranges are large because the host
                                 waits for the device several times in each */
        BLOCKS_PER_RUN = 4,   /* the minimum, for ranges of many runs */
};

namespace
{

/* The pairs of a single run need no join: they are decoded to where put gets them. */
template <class Key> struct single {
        struct kc_gpu_run<Key> pairs;
        struct kc_decode_run *run;                 /* device */
        struct kc_decode_run *fresh, *found;       /* pinned: before decoding, and after */
        unsigned long long *refused, *now_refused; /* device, pinned */
        uint64_t nread;
};

template <class Key> struct loader {
        struct kc_gpu *gpu;
        const struct kc_join_source *source;
        const struct kc_ask_taker<Key> *taker;
        struct kc_gate gate;
        struct kc_join_feed<Key> *feed;
        bool is_single;
        struct single<Key> single;        /* of a single run */
        struct kc_gpu_joiner<Key> joiner; /* of others */
        size_t max_blocks;
};

} // namespace

template <class Key> static size_t range_nbytes(bool is_single, size_t nblocks)
{
        const size_t input = kc_join_feed_nbytes<Key>(nblocks);
        return is_single ? input + kc_gpu_run_nbytes<Key>(nblocks * KC_BLOCK_NKMERS)
                         : input + kc_gpu_joiner_own_nbytes<Key>(nblocks) +
                                   kc_gpu_joiner_join_nbytes<Key>(nblocks);
}

template <class Key> static size_t choose_blocks(const struct loader<Key> *l)
{
        const size_t nruns = l->source->plan->nruns, least = nruns + 1;
        const size_t all = l->source->npairs / KC_BLOCK_NKMERS + nruns + 1;
        size_t n = BLOCKS_PER_RUN * nruns > USUAL_BLOCKS ? BLOCKS_PER_RUN * nruns
                                                         : (size_t)USUAL_BLOCKS;
        n = n < all ? n : all;
        while (n > least &&
               range_nbytes<Key>(l->is_single, n) > l->gpu->limit_nbytes / KC_ASK_SHARE)
                n = n / 4 * 3 > least ? n / 4 * 3 : least;
        return n;
}

/* ---- a single run ---- */

/* Whether the plan leaves the counts of its only run as they are. */
static bool is_single_run(const struct kc_join_plan *plan)
{
        return plan->nnodes == 1 && !plan->nodes[0].removes && plan->keeps_all;
}

template <class Key> static enum kc_status open_single(struct loader<Key> *l, struct kc_error *err)
{
        enum kc_status status;
        struct single<Key> *s = &l->single;
        KC_TRY(kc_gpu_run_new(l->gpu, &s->pairs, l->max_blocks * KC_BLOCK_NKMERS, err));
        KC_TRY(kc_gpu_new(l->gpu, &s->run, 1, err));
        KC_TRY(kc_gpu_new(l->gpu, &s->refused, 1, err));
        KC_TRY(KC_CUDA(cudaMallocHost((void **)&s->fresh, 2 * sizeof *s->fresh)));
        KC_TRY(KC_CUDA(cudaMallocHost((void **)&s->now_refused, sizeof *s->now_refused)));
        s->found = s->fresh + 1;
        *s->fresh = {};
        s->fresh->count_mask = UINT32_MAX;
out:
        return status;
}

/* l->single may be zeroed. */
template <class Key> static void close_single(struct loader<Key> *l)
{
        struct single<Key> *s = &l->single;
        kc_gpu_run_free(l->gpu, &s->pairs);
        kc_gpu_delete(l->gpu, s->run, 1);
        kc_gpu_delete(l->gpu, s->refused, 1);
        (void)cudaFreeHost(s->fresh);
        (void)cudaFreeHost(s->now_refused);
        (void)cudaGetLastError();
}

/* Queue the decoding of a range, and the copy of what it finds to the host. */
template <class Key>
static enum kc_status queue_decode(struct loader<Key> *l, struct kc_decode_range<Key> *decode,
                                   struct kc_error *err)
{
        enum kc_status status;
        struct single<Key> *s = &l->single;
        cudaStream_t stream = l->gpu->stream;
        decode->runs = s->run;
        KC_TRY(KC_CUDA(
                cudaMemcpyAsync(s->run, s->fresh, sizeof *s->run, cudaMemcpyHostToDevice, stream)));
        KC_TRY(kc_gpu_decode(l->gpu, decode, &s->pairs, s->refused, err));
        KC_TRY(KC_CUDA(
                cudaMemcpyAsync(s->found, s->run, sizeof *s->run, cudaMemcpyDeviceToHost, stream)));
        KC_TRY(KC_CUDA(cudaMemcpyAsync(s->now_refused, s->refused, sizeof *s->refused,
                                       cudaMemcpyDeviceToHost, stream)));
out:
        return status;
}

template <class Key>
static enum kc_status put_single(struct loader<Key> *l, const struct kc_join_range *in,
                                 struct kc_decode_range<Key> *decode, struct kc_error *err)
{
        enum kc_status status;
        struct single<Key> *s = &l->single;
        size_t begin, n;
        KC_TRY(queue_decode(l, decode, err));
        KC_TRY(kc_join_feed_ahead(l->feed, err));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(l->gpu->stream)));
        if (*s->now_refused != 0)
                return l->source->refuse(l->source->ctx, in, in->nblocks - *s->now_refused, err);
        begin = s->found->nbelow_from;
        n = s->found->nbelow_end - begin;
        s->nread += s->found->sum;
        if (n > 0)
                KC_TRY(l->taker->put(l->taker->ctx, s->pairs.kmers + begin, s->pairs.counts + begin,
                                     n, err));
out:
        return status;
}

/* ---- several runs ---- */

template <class Key>
static enum kc_status put_joined(struct loader<Key> *l, const struct kc_join_range *in,
                                 struct kc_decode_range<Key> *decode, struct kc_error *err)
{
        enum kc_status status;
        const struct kc_run_filter all = { 1, UINT32_MAX };
        struct kc_gpu_run<Key> run = {
        };
        KC_TRY(kc_join_feed_ahead(l->feed, err));
        KC_TRY(kc_gpu_joiner_join(&l->joiner, in, decode, &all, &run, err));
        if (run.n > 0)
                KC_TRY(l->taker->put(l->taker->ctx, run.kmers, run.counts, run.n, err));
out:
        kc_gpu_run_free(l->gpu, &run);
        return status;
}

/* ---- all ranges ---- */

template <class Key> static enum kc_status drive(struct loader<Key> *l, struct kc_error *err)
{
        enum kc_status status;
        struct kc_join_range in;
        struct kc_decode_range<Key> decode;
        KC_TRY(l->is_single
                       ? open_single(l, err)
                       : kc_gpu_joiner_open(&l->joiner, l->gpu, l->source, l->max_blocks, err));
        KC_TRY(kc_join_feed_attach(l->feed, l->gpu, l->max_blocks, err));
        for (;;) {
                KC_TRY(kc_join_feed_next(l->feed, &in, &decode, err));
                if (in.nblocks == 0)
                        break;
                KC_TRY(l->is_single ? put_single(l, &in, &decode, err)
                                    : put_joined(l, &in, &decode, err));
        }
out:
        return status;
}

/* Thread 0 drives the device, the others read. */
template <class Key> static enum kc_status work(void *ctx, int thread, struct kc_error *err)
{
        struct loader<Key> *l = (struct loader<Key> *)ctx;
        return thread == 0 ? drive(l, err) : kc_join_feed_read(l->feed, thread - 1, err);
}

template <class Key> static void stop(void *ctx)
{
        kc_gate_stop(&((struct loader<Key> *)ctx)->gate);
}

template <class Key>
static enum kc_status read_totals(const struct loader<Key> *l, struct kc_join_totals *totals,
                                  struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_gpu_join_totals found = {};
        if (l->is_single)
                found.joined.nread = found.joined.nkept = l->single.nread;
        else
                status = kc_gpu_joiner_totals(&l->joiner, &found, err);
        *totals = found.joined;
        return status;
}

template <class Key>
enum kc_status kc_ask_load_by(const struct kc_ask_taker<Key> *taker, struct kc_gpu *gpu,
                              const struct kc_join_source *source, int nreaders,
                              struct kc_join_totals *totals, struct kc_error *err)
{
        enum kc_status status;
        struct loader<Key> l = {
        };
        l.gpu = gpu;
        l.source = source;
        l.taker = taker;
        l.is_single = is_single_run(source->plan);
        l.max_blocks = choose_blocks(&l);
        kc_gate_init(&l.gate, taker->job);
        KC_TRY(taker->begin(taker->ctx, l.max_blocks * KC_BLOCK_NKMERS,
                            range_nbytes<Key>(l.is_single, l.max_blocks), err));
        KC_TRY(kc_join_feed_new(&l.feed, source, nreaders, &l.gate, err));
        KC_TRY(kc_parallel(1 + nreaders, work<Key>, stop<Key>, &l, err));
        KC_TRY(read_totals(&l, totals, err));
out:
        (void)cudaStreamSynchronize(gpu->upload);
        (void)cudaStreamSynchronize(gpu->stream);
        kc_join_feed_free(l.feed);
        kc_gpu_joiner_close(&l.joiner);
        close_single(&l);
        kc_gate_destroy(&l.gate);
        return status;
}

/* ---- all in one map ---- */

namespace
{

template <class Key> struct loading {
        struct kc_ask_map<Key> *table;
        struct kc_gpu *gpu;
        struct kc_ask_map_options options;
};

} // namespace

template <class Key>
static enum kc_status open_map(void *ctx, uint64_t most_at_once, size_t, struct kc_error *err)
{
        struct loading<Key> *l = (struct loading<Key> *)ctx;
        l->options.most_at_once = most_at_once;
        return kc_ask_map_open(l->table, l->gpu, &l->options, err);
}

template <class Key>
static enum kc_status put(void *ctx, Key *kmers, uint32_t *counts, size_t n, struct kc_error *err)
{
        return kc_ask_map_put(((struct loading<Key> *)ctx)->table, kmers, counts, n, err);
}

template <class Key>
enum kc_status kc_ask_load(struct kc_ask_map<Key> *table, struct kc_gpu *gpu,
                           const struct kc_join_source *source, enum kc_gpu_map map, int nreaders,
                           const struct kc_job *job, struct kc_join_totals *totals,
                           struct kc_error *err)
{
        struct loading<Key> l = {
                table, gpu,
                {
                        map, source->k, source->npairs, 0
                }
        };
        const struct kc_ask_taker<Key> taker = {
                &l, job, open_map<Key>, put<Key>
        };
        return kc_ask_load_by(&taker, gpu, source, nreaders, totals, err);
}

#define INSTANTIATE(Key) \
        template enum kc_status kc_ask_load_by(const struct kc_ask_taker<Key> *, struct kc_gpu *, \
                                               const struct kc_join_source *, int, \
                                               struct kc_join_totals *, struct kc_error *); \
        template enum kc_status kc_ask_load(struct kc_ask_map<Key> *, struct kc_gpu *, \
                                            const struct kc_join_source *, enum kc_gpu_map, int, \
                                            const struct kc_job *, struct kc_join_totals *, \
                                            struct kc_error *);
KC_GPU_INTEGER_KEYS(INSTANTIATE)
