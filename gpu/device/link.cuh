/*
 * Copies from one device's memory to another's: directly if the receiver reaches the sender's
 * memory (kc_gpu_reaches), otherwise through pinned host memory, piece by piece:
 *
 *      sender's memory ──▶ one of two stages ──▶ receiver's memory
 */
#ifndef KC_GPU_DEVICE_LINK_CUH
#define KC_GPU_DEVICE_LINK_CUH

#include "gpu/device/context.cuh"

enum { KC_LINK_NSTAGES = 2 };

/* A zeroed link may be closed. */
struct kc_gpu_link {
        const struct kc_gpu *from, *to;
        bool is_direct;
        uint64_t nbytes; /* copied so far */
        /* Only if the link is not direct: */
        cudaStream_t reading;               /* of `from` */
        uint8_t *stages[KC_LINK_NSTAGES];   /* pinned */
        cudaEvent_t full[KC_LINK_NSTAGES];  /* a piece is in the stage */
        cudaEvent_t empty[KC_LINK_NSTAGES]; /* and has been copied to `to` */
        int next_stage;
};

/*
 * Open a link. Both devices must be open; they may be the same device. On success, `to` is the
 * thread's current device. KC_EDEVICE, KC_ENOMEM. Close the link even after a failure, and before
 * the devices.
 */
enum kc_status kc_gpu_link_open(struct kc_gpu_link *link, const struct kc_gpu *from,
                                const struct kc_gpu *to, struct kc_error *err);
void kc_gpu_link_close(struct kc_gpu_link *link);

/* Likewise, but the link is not direct, even if it could be. */
enum kc_status kc_gpu_link_open_staged(struct kc_gpu_link *link, const struct kc_gpu *from,
                                       const struct kc_gpu *to, struct kc_error *err);

/* Make the copies that are enqueued from now on wait for the event before they read. Their stream
 * must wait for it, too. */
enum kc_status kc_gpu_link_wait(struct kc_gpu_link *link, cudaEvent_t event, struct kc_error *err);

/*
 * Enqueue a copy of n bytes from the pool of `from` to memory of `to`.
 *   from    the bytes must be complete, unless kc_gpu_link_wait makes the copy wait for them
 *   stream  of `to`, or if the link is direct, of either device. When it has reached this point,
 *           the copy is complete.
 * KC_EDEVICE.
 */
enum kc_status kc_gpu_link_copy(struct kc_gpu_link *link, void *to, const void *from, size_t n,
                                cudaStream_t stream, struct kc_error *err);

#endif
