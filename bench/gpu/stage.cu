#include "bench/gpu/stage.cuh"
#include "gpu/gpu.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>

enum { REFUSED = 3, SKIPPED = 77 };

/* Code that the driver compiles from PTX is not that of a build for the device. */
static void need_machine_code(struct bench *bench, const char *program,
                              const struct kc_gpu_device *device)
{
        bench->jit = !device->compiled;
        if (!bench->jit || bench->may_jit)
                return;
        fprintf(stderr,
                "%s: refused: this build has no machine code for %s, so the driver would compile "
                "the kernels at the start; build with -DKCOUNT_CUDA_ARCHS=%d%d, or add -J to see "
                "results that are not kept\n",
                program, device->name, device->major, device->minor);
        exit(REFUSED);
}

void bench_need_device(struct bench *bench, const char *program, int device)
{
        struct kc_gpu_device devices[64];
        struct kc_error err = {};
        int n = 0;
        if (kc_gpu_devices(devices, 64, &n, &err) != KC_OK || device >= n) {
                fprintf(stderr, "%s: skipped: %s\n", program,
                        n > 0 ? "no such device" : err.message);
                exit(SKIPPED);
        }
        snprintf(bench->device_name, sizeof bench->device_name, "%s", devices[device].name);
        need_machine_code(bench, program, &devices[device]);
}

enum kc_status bench_open(struct bench *bench, int device, struct kc_gpu_set users,
                          struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(kc_gpu_open(&bench->gpu, device, 0, users, err));
        KC_TRY(KC_CUDA(cudaEventCreate(&bench->begin)));
        KC_TRY(KC_CUDA(cudaEventCreate(&bench->end)));
out:
        return status;
}

void bench_close(struct bench *bench)
{
        if (bench->begin != NULL)
                (void)cudaEventDestroy(bench->begin);
        if (bench->end != NULL)
                (void)cudaEventDestroy(bench->end);
        kc_gpu_close(&bench->gpu);
}

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
        printf("]%s}\n", bench->jit ? ", \"jit\": true" : "");
        fflush(stdout);
}
