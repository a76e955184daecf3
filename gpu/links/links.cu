#include "gpu/links/links.cuh"

#include "base/parallel.h"
#include "gpu/device/link.cuh"

#include <algorithm>

static const size_t PINNED_NBYTES = (size_t)2 << 20;

/* ---- opening ---- */

enum kc_status kc_links_use(const struct kc_links *links, int member, struct kc_error *err)
{
        return KC_CUDA(cudaSetDevice(links->gpus[member].device));
}

static enum kc_status open_member(struct kc_links *links, const int *devices, int member,
                                  const struct kc_links_options *options, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu *gpu = &links->gpus[member];
        const size_t nsharers = (size_t)std::count(devices, devices + links->n, devices[member]);
        struct kc_gpu_set users = {};
        for (int i = 0; i < links->n && !options->staged; i++)
                kc_gpu_set_add(&users, devices[i]);
        KC_TRY(kc_gpu_open(gpu, devices[member], 0, users, err));
        gpu->bound_nbytes /= nsharers;
        if (options->limit_nbytes != 0)
                gpu->bound_nbytes = std::min(gpu->bound_nbytes, options->limit_nbytes);
        gpu->limit_nbytes = gpu->bound_nbytes;
        KC_TRY(kc_gpu_event_new(&links->ready[member], err));
out:
        return status;
}

static enum kc_status stage_new(struct kc_links *links, int from, int to, struct kc_error *err)
{
        enum kc_status status;
        struct kc_lane *lane = &links->lanes[from][to];
        KC_TRY(kc_links_use(links, from, err));
        for (int i = 0; i < KC_LINKS_NPINNED; i++) {
                KC_TRY(KC_CUDA(
                        cudaHostAlloc(&lane->pinned[i], PINNED_NBYTES, cudaHostAllocDefault)));
                KC_TRY(kc_gpu_event_new(&lane->full[i], err));
        }
        KC_TRY(kc_links_use(links, to, err));
        KC_TRY(KC_CUDA(cudaStreamCreateWithFlags(&lane->in, cudaStreamNonBlocking)));
        for (int i = 0; i < KC_LINKS_NPINNED; i++)
                KC_TRY(kc_gpu_event_new(&lane->empty[i], err));
out:
        return status;
}

static enum kc_status lane_new(struct kc_links *links, int from, int to, struct kc_error *err)
{
        enum kc_status status;
        struct kc_lane *lane = &links->lanes[from][to];
        KC_TRY(kc_links_use(links, from, err));
        KC_TRY(KC_CUDA(cudaStreamCreateWithFlags(&lane->out, cudaStreamNonBlocking)));
        if (!links->reach[from][to])
                KC_TRY(stage_new(links, from, to, err));
        KC_TRY(kc_gpu_event_new(&lane->done, err)); /* on the device whose stream copies last */
out:
        return status;
}

static enum kc_status open_all(struct kc_links *links, const int *devices,
                               const struct kc_links_options *options, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (int i = 0; i < links->n; i++)
                KC_TRY(open_member(links, devices, i, options, err));
        for (int i = 0; i < links->n; i++)
                for (int j = 0; j < links->n; j++) {
                        links->reach[i][j] =
                                i == j || (!options->staged &&
                                           kc_gpu_reaches(&links->gpus[i], &links->gpus[j]));
                        KC_TRY(lane_new(links, i, j, err));
                }
        KC_TRY(kc_links_use(links, 0, err));
out:
        return status;
}

enum kc_status kc_links_open(struct kc_links *links, const int *devices, int n,
                             const struct kc_links_options *options, struct kc_error *err)
{
        const struct kc_links_options defaults = {};
        *links = {};
        if (n < 1 || n > KC_GPU_MAX_DEVICES)
                return kc_fail(err, KC_EUSAGE,
                               "%d devices are given; between 1 and %d can be used together", n,
                               KC_GPU_MAX_DEVICES);
        links->n = n;
        return open_all(links, devices, options != NULL ? options : &defaults, err);
}

/* A zeroed lane is fine. */
static void lane_free(struct kc_lane *lane)
{
        if (lane->out != NULL)
                (void)cudaStreamDestroy(lane->out);
        if (lane->in != NULL)
                (void)cudaStreamDestroy(lane->in);
        kc_gpu_event_free(lane->done);
        for (int i = 0; i < KC_LINKS_NPINNED; i++) {
                if (lane->pinned[i] != NULL)
                        (void)cudaFreeHost(lane->pinned[i]);
                kc_gpu_event_free(lane->full[i]);
                kc_gpu_event_free(lane->empty[i]);
        }
}

enum kc_status kc_links_settle(const struct kc_links *links, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (int i = 0; i < links->n; i++) {
                KC_TRY(kc_links_use(links, i, err));
                KC_TRY(KC_CUDA(cudaDeviceSynchronize()));
        }
        KC_TRY(kc_links_use(links, 0, err));
out:
        return status;
}

void kc_links_close(struct kc_links *links)
{
        struct kc_error ignored = {}; /* as in kc_gpu_close */
        if (links->n == 0)
                return;
        (void)kc_links_settle(links, &ignored);
        for (int i = 0; i < links->n; i++)
                for (int j = 0; j < links->n; j++)
                        lane_free(&links->lanes[i][j]);
        for (int i = links->n - 1; i >= 0; i--) {
                kc_gpu_event_free(links->ready[i]);
                (void)kc_links_use(links, i, &ignored);
                kc_gpu_close(&links->gpus[i]);
        }
        *links = {};
        (void)cudaGetLastError();
}

/* ---- copying ---- */

static enum kc_status copy_directly(struct kc_links *links, const struct kc_links_copy *copy,
                                    struct kc_error *err)
{
        return KC_CUDA(cudaMemcpyPeerAsync(copy->target, links->gpus[copy->to].device, copy->source,
                                           links->gpus[copy->from].device, copy->nbytes,
                                           links->lanes[copy->from][copy->to].out));
}

/* Copy one piece through pinned buffer number i, once the previous piece has left that buffer. */
static enum kc_status stage_piece(struct kc_links *links, const struct kc_links_copy *piece, int i,
                                  struct kc_error *err)
{
        enum kc_status status;
        struct kc_lane *lane = &links->lanes[piece->from][piece->to];
        KC_TRY(kc_links_use(links, piece->from, err));
        KC_TRY(KC_CUDA(cudaStreamWaitEvent(lane->out, lane->empty[i], 0)));
        KC_TRY(KC_CUDA(cudaMemcpyAsync(lane->pinned[i], piece->source, piece->nbytes,
                                       cudaMemcpyDeviceToHost, lane->out)));
        KC_TRY(KC_CUDA(cudaEventRecord(lane->full[i], lane->out)));
        KC_TRY(kc_links_use(links, piece->to, err));
        KC_TRY(KC_CUDA(cudaStreamWaitEvent(lane->in, lane->full[i], 0)));
        KC_TRY(KC_CUDA(cudaMemcpyAsync(piece->target, lane->pinned[i], piece->nbytes,
                                       cudaMemcpyHostToDevice, lane->in)));
        KC_TRY(KC_CUDA(cudaEventRecord(lane->empty[i], lane->in)));
out:
        return status;
}

static enum kc_status copy_by_host(struct kc_links *links, const struct kc_links_copy *copy,
                                   struct kc_error *err)
{
        enum kc_status status = KC_OK;
        int i = 0;
        for (size_t at = 0; at < copy->nbytes; at += PINNED_NBYTES, i ^= 1) {
                struct kc_links_copy piece = *copy;
                piece.source = (const char *)copy->source + at;
                piece.target = (char *)copy->target + at;
                piece.nbytes = std::min(PINNED_NBYTES, copy->nbytes - at);
                KC_TRY(stage_piece(links, &piece, i, err));
        }
out:
        return status;
}

/* Make what is enqueued on a lane from now on wait for what its members were doing. */
static enum kc_status begin_lane(struct kc_links *links, int from, int to, struct kc_error *err)
{
        enum kc_status status;
        const struct kc_lane *lane = &links->lanes[from][to];
        for (int member : { from, to }) {
                KC_TRY(KC_CUDA(cudaStreamWaitEvent(lane->out, links->ready[member], 0)));
                if (lane->in != NULL)
                        KC_TRY(KC_CUDA(cudaStreamWaitEvent(lane->in, links->ready[member], 0)));
        }
out:
        return status;
}

/* Make what is enqueued on the members' streams from now on wait for what their lane is doing. */
static enum kc_status end_lane(struct kc_links *links, int from, int to, struct kc_error *err)
{
        enum kc_status status;
        const struct kc_lane *lane = &links->lanes[from][to];
        KC_TRY(kc_links_use(links, lane->in != NULL ? to : from, err));
        KC_TRY(KC_CUDA(cudaEventRecord(lane->done, lane->in != NULL ? lane->in : lane->out)));
        for (int member : { from, to })
                KC_TRY(KC_CUDA(cudaStreamWaitEvent(links->gpus[member].stream, lane->done, 0)));
out:
        return status;
}

static enum kc_status exchange(struct kc_links *links, const struct kc_links_copy *copies, int n,
                               struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (int i = 0; i < links->n; i++) {
                KC_TRY(kc_links_use(links, i, err));
                KC_TRY(KC_CUDA(cudaEventRecord(links->ready[i], links->gpus[i].stream)));
        }
        for (int i = 0; i < n; i++) {
                const struct kc_links_copy *copy = &copies[i];
                if (copy->nbytes == 0)
                        continue;
                KC_TRY(begin_lane(links, copy->from, copy->to, err));
                KC_TRY(links->reach[copy->from][copy->to] ? copy_directly(links, copy, err)
                                                          : copy_by_host(links, copy, err));
        }
        for (int i = 0; i < n; i++)
                if (copies[i].nbytes != 0)
                        KC_TRY(end_lane(links, copies[i].from, copies[i].to, err));
        KC_TRY(kc_links_use(links, 0, err));
out:
        return status;
}

enum kc_status kc_links_exchange(struct kc_links *links, const struct kc_links_copy *copies, int n,
                                 struct kc_error *err)
{
        struct kc_error ignored = {}; /* the failure of the exchange is reported */
        enum kc_status status = exchange(links, copies, n, err);
        if (status != KC_OK)
                (void)kc_links_settle(links, &ignored);
        return status;
}

/* ---- all members ---- */

enum kc_status kc_links_in_turn(struct kc_links *links,
                                enum kc_status (*run)(void *ctx, int member, struct kc_error *err),
                                void *ctx, struct kc_error *err)
{
        struct kc_error ignored = {}; /* the device of member 0 was current on this thread */
        enum kc_status status = KC_OK;
        for (int i = 0; i < links->n; i++) {
                KC_TRY(kc_links_use(links, i, err));
                KC_TRY(run(ctx, i, err));
        }
out:
        (void)kc_links_use(links, 0, &ignored);
        return status;
}

namespace
{

struct calls {
        struct kc_links *links;
        enum kc_status (*run)(void *ctx, int member, struct kc_error *err);
        void *ctx;
};

} // namespace

static enum kc_status call(void *ctx, int member, struct kc_error *err)
{
        const struct calls *calls = (const struct calls *)ctx;
        enum kc_status status = kc_links_use(calls->links, member, err);
        return status == KC_OK ? calls->run(calls->ctx, member, err) : status;
}

enum kc_status kc_links_parallel(struct kc_links *links,
                                 enum kc_status (*run)(void *ctx, int member, struct kc_error *err),
                                 void *ctx, struct kc_error *err)
{
        struct kc_error ignored = {}; /* the device of member 0 was current on this thread */
        struct calls calls = { links, run, ctx };
        enum kc_status status = kc_parallel(links->n, call, NULL, &calls, err);
        (void)kc_links_use(links, 0, &ignored);
        return status;
}
