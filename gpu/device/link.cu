#include "gpu/device/link.cuh"

#include <algorithm>

static const size_t STAGE_NBYTES = (size_t)2 << 20;

/* A stream or event belongs to the device that is current when it is created. */
static enum kc_status make_stages(struct kc_gpu_link *link, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(KC_CUDA(cudaSetDevice(link->from->device)));
        KC_TRY(KC_CUDA(cudaStreamCreateWithFlags(&link->reading, cudaStreamNonBlocking)));
        for (int i = 0; i < KC_LINK_NSTAGES; i++) {
                KC_TRY(KC_CUDA(cudaHostAlloc((void **)&link->stages[i], STAGE_NBYTES,
                                             cudaHostAllocDefault)));
                KC_TRY(kc_gpu_event_new(&link->full[i], err));
        }
        KC_TRY(KC_CUDA(cudaSetDevice(link->to->device)));
        for (cudaEvent_t &event : link->empty)
                KC_TRY(kc_gpu_event_new(&event, err));
out:
        return status;
}

static enum kc_status open_link(struct kc_gpu_link *link, const struct kc_gpu *from,
                                const struct kc_gpu *to, bool is_direct, struct kc_error *err)
{
        enum kc_status status;
        *link = {};
        link->from = from;
        link->to = to;
        link->is_direct = is_direct;
        if (!is_direct)
                KC_TRY(make_stages(link, err));
        KC_TRY(KC_CUDA(cudaSetDevice(to->device)));
out:
        return status;
}

enum kc_status kc_gpu_link_open(struct kc_gpu_link *link, const struct kc_gpu *from,
                                const struct kc_gpu *to, struct kc_error *err)
{
        return open_link(link, from, to, kc_gpu_reaches(to, from), err);
}

enum kc_status kc_gpu_link_open_staged(struct kc_gpu_link *link, const struct kc_gpu *from,
                                       const struct kc_gpu *to, struct kc_error *err)
{
        return open_link(link, from, to, false, err);
}

void kc_gpu_link_close(struct kc_gpu_link *link)
{
        if (link->reading != NULL) {
                (void)cudaStreamSynchronize(link->reading);
                (void)cudaStreamDestroy(link->reading);
        }
        for (int i = 0; i < KC_LINK_NSTAGES; i++) {
                if (link->empty[i] != NULL)
                        (void)cudaEventSynchronize(link->empty[i]);
                kc_gpu_event_free(link->full[i]);
                kc_gpu_event_free(link->empty[i]);
                (void)cudaFreeHost(link->stages[i]);
        }
        *link = {};
}

enum kc_status kc_gpu_link_wait(struct kc_gpu_link *link, cudaEvent_t event, struct kc_error *err)
{
        return link->is_direct ? KC_OK : KC_CUDA(cudaStreamWaitEvent(link->reading, event, 0));
}

/* Copy one piece through a stage, once the piece before it has left that stage. The memory of a
 * pool may be copied only while a device that has access to it is current, whatever the stream. */
static enum kc_status copy_piece(struct kc_gpu_link *link, int stage, uint8_t *to,
                                 const uint8_t *from, size_t n, cudaStream_t stream,
                                 struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(KC_CUDA(cudaSetDevice(link->from->device)));
        KC_TRY(KC_CUDA(cudaStreamWaitEvent(link->reading, link->empty[stage], 0)));
        KC_TRY(KC_CUDA(cudaMemcpyAsync(link->stages[stage], from, n, cudaMemcpyDeviceToHost,
                                       link->reading)));
        KC_TRY(KC_CUDA(cudaEventRecord(link->full[stage], link->reading)));
        KC_TRY(KC_CUDA(cudaSetDevice(link->to->device)));
        KC_TRY(KC_CUDA(cudaStreamWaitEvent(stream, link->full[stage], 0)));
        KC_TRY(KC_CUDA(
                cudaMemcpyAsync(to, link->stages[stage], n, cudaMemcpyHostToDevice, stream)));
        KC_TRY(KC_CUDA(cudaEventRecord(link->empty[stage], stream)));
out:
        return status;
}

/* While one stage is filled, the other one is copied to `to`. */
static enum kc_status copy_staged(struct kc_gpu_link *link, uint8_t *to, const uint8_t *from,
                                  size_t n, cudaStream_t stream, struct kc_error *err)
{
        enum kc_status status;
        int current = link->to->device;
        KC_TRY(KC_CUDA(cudaGetDevice(&current)));
        for (size_t at = 0; at < n; at += STAGE_NBYTES) {
                KC_TRY(copy_piece(link, link->next_stage, to + at, from + at,
                                  std::min(n - at, STAGE_NBYTES), stream, err));
                link->next_stage = (link->next_stage + 1) % KC_LINK_NSTAGES;
        }
out:
        (void)cudaSetDevice(current);
        return status;
}

enum kc_status kc_gpu_link_copy(struct kc_gpu_link *link, void *to, const void *from, size_t n,
                                cudaStream_t stream, struct kc_error *err)
{
        link->nbytes += n;
        if (link->is_direct)
                return KC_CUDA(cudaMemcpyPeerAsync(to, link->to->device, from, link->from->device,
                                                   n, stream));
        return copy_staged(link, (uint8_t *)to, (const uint8_t *)from, n, stream, err);
}
