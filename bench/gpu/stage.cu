#include "bench/gpu/stage.cuh"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

enum kc_status stage_time(struct bench *bench, struct stage *stage, stage_step prepare,
                          stage_step run, void *ctx, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        cudaStream_t stream = bench->gpu.stream;
        stage->nruns = 0;
        for (int i = -1; i < bench->repeat; i++) {
                float ms;
                if (prepare != NULL)
                        KC_TRY(prepare(bench, ctx, err));
                KC_TRY(KC_CUDA(cudaDeviceSynchronize()));
                KC_TRY(KC_CUDA(cudaEventRecord(bench->begin, stream)));
                KC_TRY(run(bench, ctx, err));
                KC_TRY(KC_CUDA(cudaEventRecord(bench->end, stream)));
                KC_TRY(KC_CUDA(cudaEventSynchronize(bench->end)));
                KC_TRY(KC_CUDA(cudaEventElapsedTime(&ms, bench->begin, bench->end)));
                if (i >= 0)
                        stage->ms[stage->nruns++] = ms;
        }
out:
        return status;
}

double stage_median_ms(const struct stage *stage)
{
        float sorted[STAGE_MAX_REPEAT];
        std::copy(stage->ms, stage->ms + stage->nruns, sorted);
        std::sort(sorted, sorted + stage->nruns);
        int middle = stage->nruns / 2;
        return stage->nruns % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

static void print_bytes(const struct bench *bench, const struct stage *stage)
{
        double rate = (double)stage->nbytes / stage_median_ms(stage);
        if (stage->nbytes == 0)
                return;
        printf("\"bytes\": %" PRIu64 ", \"gb_per_s\": %.1f, ", stage->nbytes, rate * 1e-6);
        if (bench->copy_rate > 0 && !stage->over_bus)
                printf("\"bandwidth_share\": %.4f, ", rate / bench->copy_rate);
}

void stage_print(const struct bench *bench, const struct stage *stage)
{
        double ms = stage_median_ms(stage);
        printf("{\"stage\": \"%s\", \"table\": \"%s\", \"k\": %d, \"n\": %" PRIu64
               ", \"unit\": \"%s\", \"median_ms\": %.4f, \"g_per_s\": %.3f, ",
               stage->name, stage->table, stage->k, stage->n, stage->unit, ms,
               (double)stage->n / ms * 1e-6);
        print_bytes(bench, stage);
        printf("\"gpu\": \"%s\", \"genome\": %" PRIu64 ", \"reads\": %" PRIu64 ", \"ms\": [",
               bench->device_name, bench->reads.genome_nbases, bench->reads.nreads);
        for (int i = 0; i < stage->nruns; i++)
                printf("%s%.4f", i > 0 ? ", " : "", stage->ms[i]);
        printf("]}\n");
        fflush(stdout);
}
