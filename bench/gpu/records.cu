#include "bench/gpu/stages.cuh"

enum kc_status bench_records(struct bench *bench, const struct kc_superkmer_setup *superkmers,
                             struct kc_gpu_kept *kept, uint64_t *nrecords, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu *gpu = &bench->gpu;
        struct kc_records_out out = {}; /* has no room: the records are only counted */
        struct kc_gpu_chunks chunks;
        uint64_t *n = NULL, position;
        KC_TRY(kc_gpu_new(gpu, &n, 1, err));
        KC_TRY(KC_CUDA(cudaMemsetAsync(n, 0, sizeof *n, gpu->stream)));
        out.bins[0] = { 0, 0, 1 };
        out.lists[out.nlists++] = { NULL, 0, n };
        KC_TRY(kc_gpu_kept_begin(kept, NULL, 0, &chunks, &position, err));
        KC_TRY(kc_superkmer_find(gpu, superkmers, &chunks, 0, chunks.ngroups, &out, err));
        KC_TRY(kc_gpu_read(gpu, nrecords, n, 1, err));
out:
        kc_gpu_delete(gpu, n, 1);
        return status;
}
