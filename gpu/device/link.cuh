/*
 * Copies from one device's memory to another's: directly if the devices are peers, otherwise through
 * pinned host memory.
 */
#ifndef KC_GPU_DEVICE_LINK_CUH
#define KC_GPU_DEVICE_LINK_CUH

#include "gpu/device/context.cuh"

enum { KC_LINK_NSTAGES = 2 };

/* A zeroed one may be closed. */
struct kc_gpu_link {
        const struct kc_gpu *from, *to;
        bool is_direct;
        uint64_t nbytes; /* copied so far */
        /* if it is not direct: */
        cudaStream_t reading;                 /* of `from` */
        uint8_t *stages[KC_LINK_NSTAGES];     /* pinned */
        cudaEvent_t written[KC_LINK_NSTAGES]; /* `to` no longer needs the stage */
        int next_stage;
};

/* Both devices must be open; they may be the same one. `to` is the thread's current device from then
 * on. KC_EDEVICE, KC_ENOMEM. Close the link even after a failure, and before the devices. */
enum kc_status kc_gpu_link_open(struct kc_gpu_link *link, const struct kc_gpu *from,
                                const struct kc_gpu *to, struct kc_error *err);
void kc_gpu_link_close(struct kc_gpu_link *link);

/*
 * Copy n bytes of memory from the pool of `from`, which must be complete, to memory of `to`. Returns
 * with the copy, or the end of it, queued on the stream, which is one of `to`. KC_EDEVICE.
 */
enum kc_status kc_gpu_link_copy(struct kc_gpu_link *link, void *to, const void *from, size_t n,
                                cudaStream_t stream, struct kc_error *err);

#endif
