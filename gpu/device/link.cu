#include "gpu/device/link.cuh"

enum { STAGE_NBYTES = 4 << 20 };

/* A stream or event belongs to the device that is current when it is created: the stream to `from`,
 * the events to `to`. */
static enum kc_status make_stages(struct kc_gpu_link *link, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(KC_CUDA(cudaSetDevice(link->from->device)));
        KC_TRY(KC_CUDA(cudaStreamCreateWithFlags(&link->reading, cudaStreamNonBlocking)));
        KC_TRY(KC_CUDA(cudaSetDevice(link->to->device)));
        for (int i = 0; i < KC_LINK_NSTAGES; i++) {
                KC_TRY(KC_CUDA(cudaHostAlloc((void **)&link->stages[i], STAGE_NBYTES,
                                             cudaHostAllocDefault)));
                KC_TRY(kc_gpu_event_new(&link->written[i], err));
        }
out:
        return status;
}

enum kc_status kc_gpu_link_open(struct kc_gpu_link *link, const struct kc_gpu *from,
                                const struct kc_gpu *to, struct kc_error *err)
{
        enum kc_status status;
        *link = {};
        link->from = from;
        link->to = to;
        link->is_direct = kc_gpu_reaches(to, from);
        if (!link->is_direct)
                KC_TRY(make_stages(link, err));
        KC_TRY(KC_CUDA(cudaSetDevice(to->device)));
out:
        return status;
}

void kc_gpu_link_close(struct kc_gpu_link *link)
{
        if (link->reading != NULL) {
                (void)cudaStreamSynchronize(link->reading);
                (void)cudaStreamDestroy(link->reading);
        }
        for (int i = 0; i < KC_LINK_NSTAGES; i++) {
                if (link->written[i] != NULL) {
                        (void)cudaEventSynchronize(link->written[i]);
                        (void)cudaEventDestroy(link->written[i]);
                }
                (void)cudaFreeHost(link->stages[i]);
        }
        *link = {};
}

/* The device of `from` fills one stage while the other stage is copied to `to`. */
static enum kc_status copy_staged(struct kc_gpu_link *link, uint8_t *to, const uint8_t *from,
                                  size_t n, cudaStream_t stream, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (size_t at = 0, piece; at < n; at += piece) {
                const int i = link->next_stage;
                piece = n - at < STAGE_NBYTES ? n - at : STAGE_NBYTES;
                KC_TRY(KC_CUDA(cudaEventSynchronize(link->written[i])));
                KC_TRY(KC_CUDA(cudaMemcpyAsync(link->stages[i], from + at, piece,
                                               cudaMemcpyDeviceToHost, link->reading)));
                KC_TRY(KC_CUDA(cudaStreamSynchronize(link->reading)));
                KC_TRY(KC_CUDA(cudaMemcpyAsync(to + at, link->stages[i], piece,
                                               cudaMemcpyHostToDevice, stream)));
                KC_TRY(KC_CUDA(cudaEventRecord(link->written[i], stream)));
                link->next_stage = (i + 1) % KC_LINK_NSTAGES;
        }
out:
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
