#include "bench/gpu/stages.cuh"

#include "gpu/blocks/encode.cuh"
#include "gpu/order/order.cuh"
#include "gpu/runs/merge.cuh"

#include <algorithm>

/* ---- pairs in any order to a run ---- */

template <class Key> struct ordering {
        const struct kc_gpu_run<Key> *run; /* the k-mers to shuffle */
        int k;
        Key *kmers, *kmers_tmp;
        uint32_t *counts, *counts_tmp;
        struct kc_gpu_run<Key> ordered;
};

/* Shuffle the run by a permutation of the numbers up to mask; a result beyond the run is permuted
 * again until it is in the run. */
template <class Key>
__global__ static void scatter_kernel(struct kc_gpu_run<Key> run, uint64_t mask, Key *kmers,
                                      uint32_t *counts)
{
        uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
        if (i >= run.n)
                return;
        uint64_t to = i;
        do
                to = (to * UINT64_C(0x9e3779b97f4a7c15) + 12345) & mask;
        while (to >= run.n);
        kmers[to] = run.kmers[i];
        counts[to] = run.counts[i];
}

template <class Key>
static enum kc_status prepare_order(struct bench *bench, void *ctx, struct kc_error *err)
{
        struct ordering<Key> *o = (struct ordering<Key> *)ctx;
        uint64_t mask = 1;
        kc_gpu_run_free(&bench->gpu, &o->ordered);
        while (mask < o->run->n)
                mask *= 2;
        scatter_kernel<<<kc_ceil_div(o->run->n, 256), 256, 0, bench->gpu.stream>>>(
                *o->run, mask - 1, o->kmers, o->counts);
        return KC_LAUNCHED();
}

template <class Key>
static enum kc_status run_order(struct bench *bench, void *ctx, struct kc_error *err)
{
        struct ordering<Key> *o = (struct ordering<Key> *)ctx;
        return kc_gpu_order(&bench->gpu, o->k, o->kmers, o->counts, o->kmers_tmp, o->counts_tmp,
                            o->run->n, o->run->n, &o->ordered, err);
}

template <class Key>
static enum kc_status time_order(struct bench *bench, int k, const struct kc_gpu_run<Key> *run,
                                 struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu *gpu = &bench->gpu;
        ordering<Key> o = {};
        struct stage stage = stage_of("order", "pairs", k, run->n);
        stage.nbytes = 2 * kc_gpu_run_nbytes<Key>(run->n);
        o.run = run;
        o.k = k;
        KC_TRY(kc_gpu_new(gpu, &o.kmers, run->n, err));
        KC_TRY(kc_gpu_new(gpu, &o.kmers_tmp, run->n, err));
        KC_TRY(kc_gpu_new(gpu, &o.counts, run->n, err));
        KC_TRY(kc_gpu_new(gpu, &o.counts_tmp, run->n, err));
        KC_TRY(stage_time(bench, &stage, prepare_order<Key>, run_order<Key>, &o, err));
        stage_print(bench, &stage);
out:
        kc_gpu_run_free(gpu, &o.ordered);
        kc_gpu_delete(gpu, o.counts_tmp, run->n);
        kc_gpu_delete(gpu, o.counts, run->n);
        kc_gpu_delete(gpu, o.kmers_tmp, run->n);
        kc_gpu_delete(gpu, o.kmers, run->n);
        return status;
}

/* ---- two runs to one ---- */

template <class Key> struct merging {
        const struct kc_gpu_run<Key> *a, *b;
        struct kc_gpu_run<Key> merged;
        uint64_t *nsaturated; /* device */
};

template <class Key>
static enum kc_status prepare_merge(struct bench *bench, void *ctx, struct kc_error *err)
{
        struct merging<Key> *m = (struct merging<Key> *)ctx;
        (void)err;
        kc_gpu_run_free(&bench->gpu, &m->merged);
        return KC_OK;
}

template <class Key>
static enum kc_status run_merge(struct bench *bench, void *ctx, struct kc_error *err)
{
        struct merging<Key> *m = (struct merging<Key> *)ctx;
        return kc_gpu_merge_runs(&bench->gpu, m->a, m->b, m->nsaturated, &m->merged, err);
}

template <class Key>
static enum kc_status time_merge(struct bench *bench, int k, const struct kc_gpu_run<Key> *a,
                                 const struct kc_gpu_run<Key> *b, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu *gpu = &bench->gpu;
        struct merging<Key> m = {
                a, b, {}, NULL
        };
        struct stage stage = stage_of("merge", "pairs", k, a->n + b->n);
        KC_TRY(kc_gpu_new(gpu, &m.nsaturated, 1, err));
        KC_TRY(KC_CUDA(cudaMemsetAsync(m.nsaturated, 0, sizeof *m.nsaturated, gpu->stream)));
        KC_TRY(stage_time(bench, &stage, prepare_merge<Key>, run_merge<Key>, &m, err));
        stage.nbytes = kc_gpu_run_nbytes<Key>(a->n + b->n + m.merged.n);
        stage_print(bench, &stage);
out:
        kc_gpu_run_free(gpu, &m.merged);
        kc_gpu_delete(gpu, m.nsaturated, 1);
        return status;
}

/* ---- a run to blocks ---- */

enum { ENCODE_NPAIRS = 1 << 24, PART_NPAIRS = 1 << 19, NSLOTS = 24 };

template <class Key> struct encoding {
        struct kc_gpu_encoder<Key> *encoder;
        const struct kc_gpu_run<Key> *run;
        int k;
        uint64_t nparts, nbytes; /* of blocks */
};

/* An encoder serves one run, so create a new one each time, untimed. */
template <class Key>
static enum kc_status prepare_encode(struct bench *bench, void *ctx, struct kc_error *err)
{
        struct encoding<Key> *e = (struct encoding<Key> *)ctx;
        enum kc_status status;
        const struct kc_gpu_encoder_caps caps = { ENCODE_NPAIRS, PART_NPAIRS, NSLOTS };
        kc_gpu_encoder_free(e->encoder);
        e->encoder = NULL;
        KC_TRY(kc_gpu_encoder_new(&e->encoder, &bench->gpu, e->k, &caps, err));
        for (int slot = 0; slot < NSLOTS; slot++)
                KC_TRY(kc_gpu_encoder_open(e->encoder, slot, err));
out:
        return status;
}

template <class Key>
static enum kc_status await_part(struct encoding<Key> *e, uint64_t part, struct kc_error *err)
{
        struct kc_run_blocks blocks = {};
        enum kc_status status = kc_gpu_encoder_wait(e->encoder, (int)(part % NSLOTS), &blocks, err);
        e->nbytes += 8 * blocks.nwords;
        return status;
}

/* Take the next part into a slot; if the slot was used before, wait for it first. */
template <class Key> static enum kc_status take_part(struct encoding<Key> *e, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        uint64_t part = e->nparts++;
        if (part >= NSLOTS)
                KC_TRY(await_part(e, part - NSLOTS, err));
        KC_TRY(kc_gpu_encoder_download(e->encoder, (int)(part % NSLOTS), err));
out:
        return status;
}

/* Encode the run's pairs in ranges, as the LSM provides them, and each range in parts, as the
 * engine does. */
template <class Key>
static enum kc_status run_encode(struct bench *bench, void *ctx, struct kc_error *err)
{
        struct encoding<Key> *e = (struct encoding<Key> *)ctx;
        enum kc_status status = KC_OK;
        (void)bench;
        e->nbytes = e->nparts = 0;
        for (size_t from = 0; from < e->run->n; from += ENCODE_NPAIRS) {
                size_t nparts, n = std::min((size_t)ENCODE_NPAIRS, e->run->n - from);
                struct kc_gpu_run<Key> range = {
                        e->run->kmers + from, e->run->counts + from, n, n
                };
                KC_TRY(kc_gpu_encoder_put(e->encoder, &range, from + n == e->run->n, &nparts, err));
                for (size_t i = 0; i < nparts; i++)
                        KC_TRY(take_part(e, err));
        }
        for (uint64_t part = e->nparts < NSLOTS ? 0 : e->nparts - NSLOTS; part < e->nparts; part++)
                KC_TRY(await_part(e, part, err));
out:
        return status;
}

template <class Key>
static enum kc_status time_encode(struct bench *bench, int k, const struct kc_gpu_run<Key> *run,
                                  struct kc_error *err)
{
        enum kc_status status;
        struct encoding<Key> e = {
                NULL, run, k, 0, 0
        };
        struct stage stage = stage_of("encode", "pairs", k, run->n);
        KC_TRY(stage_time(bench, &stage, prepare_encode<Key>, run_encode<Key>, &e, err));
        stage.nbytes = e.nbytes;
        stage.over_bus = true;
        stage_print(bench, &stage);
out:
        kc_gpu_encoder_free(e.encoder);
        return status;
}

template <class Key>
enum kc_status bench_runs(struct bench *bench, int k, const struct kc_gpu_run<Key> *a,
                          const struct kc_gpu_run<Key> *b, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(time_order(bench, k, a, err));
        KC_TRY(time_merge(bench, k, a, b, err));
        KC_TRY(time_encode(bench, k, a, err));
out:
        return status;
}

#define INSTANTIATE(Key) \
        template enum kc_status bench_runs(struct bench *, int, const struct kc_gpu_run<Key> *, \
                                           const struct kc_gpu_run<Key> *, struct kc_error *);
KC_GPU_KEYS(INSTANTIATE)
