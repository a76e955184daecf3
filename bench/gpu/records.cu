#include "bench/gpu/stages.cuh"

#include "gpu/expand.cuh"
#include "gpu/superkmer.cuh"

enum { BIN_BITS = 18 }; /* of no influence on how many records there are */

static enum kc_status found_new(struct kc_gpu *gpu, uint64_t cap, struct kc_found *found,
                                struct kc_error *err)
{
        enum kc_status status;
        found->cap = cap;
        KC_TRY(kc_gpu_new(gpu, &found->records, cap, err));
        KC_TRY(kc_gpu_new(gpu, &found->ranks, cap, err));
        KC_TRY(kc_gpu_new(gpu, &found->bins, (size_t)1 << BIN_BITS, err));
        KC_TRY(kc_gpu_new(gpu, &found->n, 1, err));
out:
        return status;
}

static void found_free(struct kc_gpu *gpu, struct kc_found *found)
{
        kc_gpu_delete(gpu, found->n, 1);
        kc_gpu_delete(gpu, found->bins, (size_t)1 << BIN_BITS);
        kc_gpu_delete(gpu, found->ranks, found->cap);
        kc_gpu_delete(gpu, found->records, found->cap);
}

template <class Key>
enum kc_status bench_records(struct bench *bench, int k, const struct kc_gpu_reads *reads,
                             uint64_t *nrecords, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu *gpu = &bench->gpu;
        kc_superkmer_setup setup = kc_superkmer_setup_for(k, BIN_BITS, kc_stretch<Key>::MAX_NBASES);
        struct kc_found found = {};
        KC_TRY(found_new(gpu, kc_superkmer_expected(k, reads->nkmers), &found, err));
        KC_TRY(kc_superkmer_find(gpu, &setup, reads, 0, reads->nspans, &found, err));
        KC_TRY(KC_CUDA(cudaMemcpyAsync(nrecords, found.n, sizeof *nrecords, cudaMemcpyDeviceToHost,
                                       gpu->stream)));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(gpu->stream)));
out:
        found_free(gpu, &found);
        return status;
}

#define INSTANTIATE(Key) \
        template enum kc_status bench_records<Key>( \
                struct bench *, int, const struct kc_gpu_reads *, uint64_t *, struct kc_error *);
KC_GPU_KEYS(INSTANTIATE)
