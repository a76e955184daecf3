#include "bench/gpu/stages.cuh"

#include <algorithm>
#include <cstring>

enum { BUS_NBYTES = 256 << 20 };

/* Copy nbytes in pieces, as an engine with buffers of that size uses the bus. */
struct copy {
        char *to, *from;
        size_t nbytes, piece_nbytes;
        cudaMemcpyKind kind;
};

static enum kc_status run_copy(struct bench *bench, void *ctx, struct kc_error *err)
{
        const struct copy *copy = (const struct copy *)ctx;
        enum kc_status status = KC_OK;
        for (size_t at = 0; at < copy->nbytes; at += copy->piece_nbytes)
                KC_TRY(KC_CUDA(cudaMemcpyAsync(copy->to + at, copy->from + at,
                                               std::min(copy->piece_nbytes, copy->nbytes - at),
                                               copy->kind, bench->gpu.stream)));
out:
        return status;
}

/* Far more than fits in the L2, but at most a sixteenth of the memory. */
static size_t inside_nbytes(const struct bench *bench)
{
        size_t wanted = std::max((size_t)2 << 30, 4 * bench->gpu.l2_nbytes);
        return std::min(wanted, kc_gpu_room(&bench->gpu) / 16) / 256 * 256;
}

enum kc_status bench_copy_inside(struct bench *bench, size_t most_nbytes, struct stage *stage,
                                 struct kc_error *err)
{
        enum kc_status status;
        size_t nbytes = std::min(most_nbytes, inside_nbytes(bench));
        struct copy copy = { NULL, NULL, nbytes, nbytes, cudaMemcpyDeviceToDevice };
        *stage = stage_of("copy", "bytes", 0, nbytes);
        KC_TRY(kc_gpu_new(&bench->gpu, &copy.from, nbytes, err));
        KC_TRY(kc_gpu_new(&bench->gpu, &copy.to, nbytes, err));
        KC_TRY(KC_CUDA(cudaMemsetAsync(copy.from, 1, nbytes, bench->gpu.stream)));
        stage->nbytes = 2 * nbytes;
        KC_TRY(stage_time(bench, stage, NULL, run_copy, &copy, err));
        bench->copy_rate = (double)stage->nbytes / stage_median_ms(stage);
out:
        kc_gpu_delete(&bench->gpu, copy.to, nbytes);
        kc_gpu_delete(&bench->gpu, copy.from, nbytes);
        return status;
}

static enum kc_status copy_over_bus(struct bench *bench, const char *name, struct copy *copy,
                                    struct kc_error *err)
{
        enum kc_status status;
        struct stage stage = stage_of(name, "bytes", 0, copy->nbytes);
        stage.nbytes = copy->nbytes;
        stage.over_bus = true;
        KC_TRY(stage_time(bench, &stage, NULL, run_copy, copy, err));
        stage_print(bench, &stage);
out:
        return status;
}

static enum kc_status copies_over_bus(struct bench *bench, char *device, char *host,
                                      struct kc_error *err)
{
        static const struct {
                const char *up, *down;
                size_t piece_nbytes;
        } sizes[] = { { "up 1 MiB", "down 1 MiB", 1 << 20 },
                      { "up 4 MiB", "down 4 MiB", 4 << 20 },
                      { "up 32 MiB", "down 32 MiB", 32 << 20 } };
        enum kc_status status = KC_OK;
        for (const auto &size : sizes) {
                struct copy up = { device, host, BUS_NBYTES, size.piece_nbytes,
                                   cudaMemcpyHostToDevice };
                struct copy down = { host, device, BUS_NBYTES, size.piece_nbytes,
                                     cudaMemcpyDeviceToHost };
                KC_TRY(copy_over_bus(bench, size.up, &up, err));
                KC_TRY(copy_over_bus(bench, size.down, &down, err));
        }
out:
        return status;
}

enum kc_status bench_copies(struct bench *bench, struct kc_error *err)
{
        enum kc_status status;
        struct stage inside;
        char *device = NULL;
        void *host = NULL;
        KC_TRY(bench_copy_inside(bench, SIZE_MAX, &inside, err));
        stage_print(bench, &inside);
        KC_TRY(kc_gpu_new(&bench->gpu, &device, BUS_NBYTES, err));
        KC_TRY(KC_CUDA(cudaMallocHost(&host, BUS_NBYTES)));
        memset(host, 1, BUS_NBYTES);
        KC_TRY(copies_over_bus(bench, device, (char *)host, err));
out:
        (void)cudaFreeHost(host);
        kc_gpu_delete(&bench->gpu, device, BUS_NBYTES);
        return status;
}
