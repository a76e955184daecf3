#include "bench/gpu/stages.cuh"

#include "gpu/count/expand.cuh"
#include "gpu/count/superkmer.cuh"

enum { BIN_BITS = 18 }; /* does not affect the number of records */

template <class Key>
enum kc_status bench_records(struct bench *bench, int k, const struct kc_gpu_reads *reads,
                             uint64_t *nrecords, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu *gpu = &bench->gpu;
        kc_superkmer_setup setup = kc_superkmer_setup_for(k, BIN_BITS, kc_stretch<Key>::MAX_NBASES);
        uint64_t cap = kc_superkmer_expected(k, reads->nkmers);
        uint64_t *records = NULL, *n = NULL;
        KC_TRY(kc_gpu_new(gpu, &records, cap, err));
        KC_TRY(kc_gpu_new(gpu, &n, 1, err));
        KC_TRY(kc_superkmer_find(gpu, &setup, reads, 0, reads->nspans, records, cap, n, err));
        KC_TRY(KC_CUDA(
                cudaMemcpyAsync(nrecords, n, sizeof *n, cudaMemcpyDeviceToHost, gpu->stream)));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(gpu->stream)));
out:
        kc_gpu_delete(gpu, n, 1);
        kc_gpu_delete(gpu, records, cap);
        return status;
}

#define INSTANTIATE(Key) \
        template enum kc_status bench_records<Key>( \
                struct bench *, int, const struct kc_gpu_reads *, uint64_t *, struct kc_error *);
KC_GPU_KEYS(INSTANTIATE)
