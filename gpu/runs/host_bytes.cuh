/*
 * Moves device memory to a host store as it is: to pinned memory, or to the store's file. The store
 * must be opened with pairs of one byte.
 */
#ifndef KC_GPU_RUNS_HOST_BYTES_CUH
#define KC_GPU_RUNS_HOST_BYTES_CUH

#include "gpu/runs/host_run.cuh"

/* A zeroed one is empty. */
struct kc_host_bytes {
        struct kc_host_chunk *chunks;
        size_t nchunks, n;
};

/* Copy n bytes from the device, after the work enqueued on gpu->stream so far; returns when they are
 * on the host. After a failure, `bytes` can only be freed. KC_EIO (with the folder's name),
 * KC_ENOMEM, KC_EDEVICE, KC_ECANCELED. */
enum kc_status kc_host_bytes_write(struct kc_host_store *store, struct kc_host_bytes *bytes,
                                   const void *from, size_t n, struct kc_error *err);

/* Copy all bytes to the device. Returns once the copies are enqueued on gpu->upload; do not free
 * the bytes until they are done. KC_EIO, KC_ENOMEM, KC_EDEVICE. */
enum kc_status kc_host_bytes_read(struct kc_host_store *store, const struct kc_host_bytes *bytes,
                                  void *to, struct kc_error *err);

void kc_host_bytes_free(struct kc_host_store *store, struct kc_host_bytes *bytes);

#endif
