#include "gpu/links/links.cuh"

#include "base/team.h"

#include <algorithm>

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
        for (int i = 0; i < links->n && !links->staged; i++)
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

static enum kc_status open_road(struct kc_links *links, int from, int to, struct kc_error *err)
{
        enum kc_status status;
        struct kc_links_road *road = &links->roads[from][to];
        KC_TRY((kc_links_reaches(links, to, from) ? kc_gpu_link_open : kc_gpu_link_open_staged)(
                &road->link, &links->gpus[from], &links->gpus[to], err));
        KC_TRY(kc_links_use(links, road->link.is_direct ? from : to, err));
        KC_TRY(KC_CUDA(cudaStreamCreateWithFlags(&road->stream, cudaStreamNonBlocking)));
        KC_TRY(kc_gpu_event_new(&road->done, err));
        for (cudaEvent_t &mark : road->marks)
                KC_TRY(kc_gpu_event_new(&mark, err));
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
                for (int j = 0; j < links->n; j++)
                        KC_TRY(open_road(links, i, j, err));
        KC_TRY(kc_links_use(links, 0, err));
        KC_TRY(kc_team_open(&links->team, links->n, err));
out:
        return status;
}

enum kc_status kc_links_open(struct kc_links *links, const int *devices, int n,
                             const struct kc_links_options *options, struct kc_error *err)
{
        static const struct kc_links_options defaults = {};
        *links = {};
        if (n < 1 || n > KC_GPU_MAX_DEVICES)
                return kc_fail(err, KC_EUSAGE,
                               "%d devices are given; between 1 and %d can be used together", n,
                               KC_GPU_MAX_DEVICES);
        if (options == NULL)
                options = &defaults;
        links->n = n;
        links->staged = options->staged;
        return open_all(links, devices, options, err);
}

/* A zeroed road is fine. */
static void close_road(struct kc_links_road *road)
{
        if (road->stream != NULL)
                (void)cudaStreamDestroy(road->stream);
        kc_gpu_event_free(road->done);
        for (cudaEvent_t mark : road->marks)
                kc_gpu_event_free(mark);
        kc_gpu_link_close(&road->link);
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
        kc_team_close(links->team);
        for (int i = 0; i < links->n; i++)
                for (int j = 0; j < links->n; j++)
                        close_road(&links->roads[i][j]);
        for (int i = links->n - 1; i >= 0; i--) {
                kc_gpu_event_free(links->ready[i]);
                (void)kc_links_use(links, i, &ignored);
                kc_gpu_close(&links->gpus[i]);
        }
        *links = {};
        (void)cudaGetLastError();
}

/* ---- copying ---- */

/* Make what is enqueued on a road from now on wait for what its members were doing. */
static enum kc_status begin_road(struct kc_links *links, int from, int to, struct kc_error *err)
{
        enum kc_status status;
        struct kc_links_road *road = &links->roads[from][to];
        KC_TRY(kc_gpu_link_wait(&road->link, links->ready[from], err));
        for (int member : { from, to })
                KC_TRY(KC_CUDA(cudaStreamWaitEvent(road->stream, links->ready[member], 0)));
out:
        return status;
}

/* Make what is enqueued on the members' streams from now on wait for what their road is doing. */
static enum kc_status end_road(struct kc_links *links, int from, int to, struct kc_error *err)
{
        enum kc_status status;
        const struct kc_links_road *road = &links->roads[from][to];
        KC_TRY(KC_CUDA(cudaEventRecord(road->done, road->stream)));
        for (int member : { from, to })
                KC_TRY(KC_CUDA(cudaStreamWaitEvent(links->gpus[member].stream, road->done, 0)));
out:
        return status;
}

static enum kc_status exchange(struct kc_links *links, const struct kc_links_copy *copies, int n,
                               struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (int i = 0; i < links->n; i++)
                KC_TRY(KC_CUDA(cudaEventRecord(links->ready[i], links->gpus[i].stream)));
        for (int i = 0; i < n; i++) {
                const struct kc_links_copy *copy = &copies[i];
                struct kc_links_road *road = &links->roads[copy->from][copy->to];
                if (copy->nbytes == 0)
                        continue;
                KC_TRY(begin_road(links, copy->from, copy->to, err));
                KC_TRY(kc_gpu_link_copy(&road->link, copy->target, copy->source, copy->nbytes,
                                        road->stream, err));
        }
        for (int i = 0; i < n; i++)
                if (copies[i].nbytes != 0)
                        KC_TRY(end_road(links, copies[i].from, copies[i].to, err));
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

enum kc_status kc_links_send(struct kc_links *links, const struct kc_links_copy *copy,
                             struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_links_road *road = &links->roads[copy->from][copy->to];
        cudaEvent_t ready = links->ready[copy->from];
        if (copy->nbytes == 0)
                return KC_OK;
        KC_TRY(KC_CUDA(cudaEventRecord(ready, links->gpus[copy->from].stream)));
        KC_TRY(kc_gpu_link_wait(&road->link, ready, err));
        KC_TRY(KC_CUDA(cudaStreamWaitEvent(road->stream, ready, 0)));
        KC_TRY(kc_gpu_link_copy(&road->link, copy->target, copy->source, copy->nbytes, road->stream,
                                err));
out:
        return status;
}

enum kc_status kc_links_mark(struct kc_links *links, int from, int to, int mark,
                             struct kc_error *err)
{
        const struct kc_links_road *road = &links->roads[from][to];
        return KC_CUDA(cudaEventRecord(road->marks[mark], road->stream));
}

enum kc_status kc_links_await(struct kc_links *links, int from, int to, int mark,
                              struct kc_error *err)
{
        return KC_CUDA(
                cudaStreamWaitEvent(links->gpus[to].stream, links->roads[from][to].marks[mark], 0));
}

enum kc_status kc_links_drain(struct kc_links *links, int from, int to, struct kc_error *err)
{
        return KC_CUDA(cudaStreamSynchronize(links->roads[from][to].stream));
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
        enum kc_status status = kc_team_run(links->team, call, &calls, err);
        (void)kc_links_use(links, 0, &ignored);
        return status;
}
