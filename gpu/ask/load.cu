#include "gpu/ask/load.cuh"

#include "base/parallel.h"
#include "gpu/device/gate.h"
#include "gpu/runs/join_feed.cuh"
#include "gpu/runs/joiner.cuh"
#include "kmer/block_codec.h"

enum {
        USUAL_BLOCKS = 4096, /* in a range: 4 Mi pairs */
        BLOCKS_PER_RUN = 4,  /* the minimum, for ranges of many runs */
};

namespace
{

template <class Key> struct loader {
        struct kc_gpu *gpu;
        const struct kc_join_source *source;
        const struct kc_ask_taker<Key> *taker;
        struct kc_gate gate;
        struct kc_join_feed<Key> *feed;
        struct kc_gpu_joiner<Key> joiner;
        size_t max_blocks;
};

} // namespace

template <class Key> static size_t range_nbytes(size_t nblocks)
{
        return kc_join_feed_nbytes<Key>(nblocks) + kc_gpu_joiner_own_nbytes<Key>(nblocks) +
               kc_gpu_joiner_join_nbytes<Key>(nblocks);
}

template <class Key> static size_t choose_blocks(const struct loader<Key> *l)
{
        const size_t nruns = l->source->plan->nruns, least = nruns + 1;
        const size_t all = l->source->npairs / KC_BLOCK_NKMERS + nruns + 1;
        size_t n = BLOCKS_PER_RUN * nruns > USUAL_BLOCKS ? BLOCKS_PER_RUN * nruns
                                                         : (size_t)USUAL_BLOCKS;
        n = n < all ? n : all;
        while (n > least && range_nbytes<Key>(n) > l->gpu->limit_nbytes / KC_ASK_SHARE)
                n = n / 4 * 3 > least ? n / 4 * 3 : least;
        return n;
}

template <class Key>
static enum kc_status put_range(struct loader<Key> *l, const struct kc_join_range *in,
                                struct kc_decode_range<Key> *decode, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_run<Key> run;
        KC_TRY(kc_gpu_joiner_join(&l->joiner, in, decode, &run, err));
        if (run.n > 0)
                KC_TRY(l->taker->put(l->taker->ctx, run.kmers, run.counts, run.n, err));
out:
        kc_gpu_run_free(l->gpu, &run);
        return status;
}

template <class Key> static enum kc_status drive(struct loader<Key> *l, struct kc_error *err)
{
        enum kc_status status;
        struct kc_join_range in;
        struct kc_decode_range<Key> decode;
        KC_TRY(kc_gpu_joiner_open(&l->joiner, l->gpu, l->source, l->max_blocks, err));
        KC_TRY(kc_join_feed_attach(l->feed, l->gpu, l->max_blocks, err));
        for (;;) {
                KC_TRY(kc_join_feed_next(l->feed, &in, &decode, err));
                if (in.nblocks == 0)
                        break;
                KC_TRY(put_range(l, &in, &decode, err));
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
        l.max_blocks = choose_blocks(&l);
        kc_gate_init(&l.gate, NULL);
        KC_TRY(taker->begin(taker->ctx, l.max_blocks * KC_BLOCK_NKMERS,
                            range_nbytes<Key>(l.max_blocks), err));
        KC_TRY(kc_join_feed_new(&l.feed, source, nreaders, &l.gate, err));
        KC_TRY(kc_parallel(1 + nreaders, work<Key>, stop<Key>, &l, err));
        KC_TRY(kc_gpu_joiner_totals(&l.joiner, totals, err));
out:
        (void)cudaStreamSynchronize(gpu->upload);
        (void)cudaStreamSynchronize(gpu->stream);
        kc_join_feed_free(l.feed);
        kc_gpu_joiner_close(&l.joiner);
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
                           struct kc_join_totals *totals, struct kc_error *err)
{
        struct loading<Key> l = {
                table, gpu,
                {
                        map, source->k, source->npairs, 0
                }
        };
        const struct kc_ask_taker<Key> taker = {
                &l, open_map<Key>, put<Key>
        };
        return kc_ask_load_by(&taker, gpu, source, nreaders, totals, err);
}

#define INSTANTIATE(Key) \
        template enum kc_status kc_ask_load_by(const struct kc_ask_taker<Key> *, struct kc_gpu *, \
                                               const struct kc_join_source *, int, \
                                               struct kc_join_totals *, struct kc_error *); \
        template enum kc_status kc_ask_load(struct kc_ask_map<Key> *, struct kc_gpu *, \
                                            const struct kc_join_source *, enum kc_gpu_map, int, \
                                            struct kc_join_totals *, struct kc_error *);
KC_GPU_INTEGER_KEYS(INSTANTIATE)
