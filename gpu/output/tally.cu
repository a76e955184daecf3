#include "gpu/output/tally.cuh"

#include <algorithm>
#include <cstdlib>

enum { NTHREADS = 256, BLOCKS_PER_PROCESSOR = 4 };

/* rows[0] is the number of counts in `big`. */
static __global__ void __launch_bounds__(NTHREADS)
        tally_kernel(const uint32_t *counts, size_t n, uint64_t *rows, uint32_t *big)
{
        __shared__ uint32_t own[KC_RUN_NROWS];
        for (uint32_t i = threadIdx.x; i < KC_RUN_NROWS; i += NTHREADS)
                own[i] = 0;
        __syncthreads();
        for (size_t i = blockIdx.x * (size_t)NTHREADS + threadIdx.x; i < n;
             i += gridDim.x * (size_t)NTHREADS) {
                const uint32_t count = counts[i];
                if (count < KC_RUN_NROWS)
                        atomicAdd(&own[count], 1u);
                else
                        big[atomicAdd((unsigned long long *)&rows[0], 1ull)] = count;
        }
        __syncthreads();
        for (uint32_t i = 1 + threadIdx.x; i < KC_RUN_NROWS; i += NTHREADS)
                if (own[i] != 0)
                        atomicAdd((unsigned long long *)&rows[i], (unsigned long long)own[i]);
}

enum kc_status kc_gpu_tally_open(struct kc_gpu_tally *tally, struct kc_gpu *gpu,
                                 struct kc_error *err)
{
        enum kc_status status;
        tally->gpu = gpu;
        tally->host_big = (uint32_t *)malloc(KC_TALLY_NPAIRS * sizeof *tally->host_big);
        if (tally->host_big == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        KC_TRY(kc_gpu_new(gpu, &tally->rows, KC_RUN_NROWS, err));
        KC_TRY(kc_gpu_new(gpu, &tally->big, KC_TALLY_NPAIRS, err));
        KC_TRY(KC_CUDA(
                cudaMemsetAsync(tally->rows, 0, KC_RUN_NROWS * sizeof *tally->rows, gpu->stream)));
out:
        return status;
}

void kc_gpu_tally_close(struct kc_gpu_tally *tally)
{
        if (tally->gpu == NULL)
                return;
        kc_gpu_delete(tally->gpu, tally->rows, KC_RUN_NROWS);
        kc_gpu_delete(tally->gpu, tally->big, KC_TALLY_NPAIRS);
        free(tally->host_big);
        *tally = {};
}

/* Hand over the counts in `big`, and forget them. */
static enum kc_status put_big(struct kc_gpu_tally *tally, const struct kc_run_sink *sink,
                              struct kc_error *err)
{
        enum kc_status status;
        struct kc_run_counts out = {};
        uint64_t n;
        KC_TRY(kc_gpu_read(tally->gpu, &n, tally->rows, 1, err));
        if (n == 0)
                return KC_OK;
        KC_TRY(kc_gpu_read(tally->gpu, tally->host_big, tally->big, (size_t)n, err));
        KC_TRY(KC_CUDA(cudaMemsetAsync(tally->rows, 0, sizeof *tally->rows, tally->gpu->stream)));
        for (size_t i = 0; i < n; i++)
                tally->done.nkmers += tally->host_big[i];
        tally->done.ndistinct += n;
        out.counts = tally->host_big;
        out.n = (size_t)n;
        KC_TRY(sink->put_counts(sink->ctx, &out, err));
out:
        return status;
}

enum kc_status kc_gpu_tally_add(struct kc_gpu_tally *tally, const uint32_t *counts, size_t n,
                                const struct kc_run_sink *sink, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        const unsigned most = (unsigned)tally->gpu->nmultiprocessors * BLOCKS_PER_PROCESSOR;
        for (size_t first = 0; first < n; first += KC_TALLY_NPAIRS) {
                const size_t part = std::min(n - first, (size_t)KC_TALLY_NPAIRS);
                const unsigned grid = std::min(kc_ceil_div(part, NTHREADS), most);
                tally_kernel<<<grid, NTHREADS, 0, tally->gpu->stream>>>(counts + first, part,
                                                                        tally->rows, tally->big);
                KC_TRY(KC_LAUNCHED());
                KC_TRY(put_big(tally, sink, err));
        }
out:
        return status;
}

enum kc_status kc_gpu_tally_end(struct kc_gpu_tally *tally, uint64_t *rows,
                                struct kc_run_dropped *done, struct kc_error *err)
{
        enum kc_status status;
        uint64_t own[KC_RUN_NROWS];
        KC_TRY(kc_gpu_read(tally->gpu, own, tally->rows, KC_RUN_NROWS, err));
        for (uint64_t count = 1; count < KC_RUN_NROWS; count++) {
                rows[count] += own[count];
                tally->done.ndistinct += own[count];
                tally->done.nkmers += count * own[count];
        }
        tally->done.nunique += own[1];
        kc_run_add_dropped(done, &tally->done);
out:
        return status;
}
