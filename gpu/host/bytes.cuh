/*
 * A sequence of bytes from device memory, kept in the chunks of a host store: appended at the end,
 * and read back in any order.
 */
#ifndef KC_GPU_HOST_BYTES_CUH
#define KC_GPU_HOST_BYTES_CUH

#include "gpu/host/store.cuh"

struct kc_host_chunk {
        uint8_t *memory; /* NULL: the chunk is in the file */
        uint64_t offset; /* in the file */
};

/* A zeroed one is empty. */
struct kc_host_bytes {
        struct kc_host_chunk *chunks;
        size_t nchunks, cap;
        size_t ngiven; /* chunks, from the first on, that the store got back */
        size_t n;      /* bytes */
};

/*
 * Append n bytes of device memory, which must be complete. Returns with copies to pinned memory
 * queued on gpu->download; those to the file are done.
 *   expected  bytes that will be appended from now on, these included, as far as the caller knows
 * KC_EIO (with the folder's name), KC_ENOMEM, KC_EDEVICE, KC_ECANCELED.
 */
enum kc_status kc_host_bytes_append(struct kc_host_store *store, struct kc_host_bytes *bytes,
                                    const void *from, size_t n, size_t expected,
                                    struct kc_error *err);

/*
 * Copy n bytes, starting at byte `at`, to device memory. Returns with the copies queued on
 * gpu->upload; do not free or give the bytes back until they are done. KC_EIO, KC_ENOMEM,
 * KC_EDEVICE.
 */
enum kc_status kc_host_bytes_read(struct kc_host_store *store, const struct kc_host_bytes *bytes,
                                  size_t at, size_t n, void *to, struct kc_error *err);

/* Give chunks that end at or before byte `end` back to the store. They cannot be read any more. */
void kc_host_bytes_give_back(struct kc_host_store *store, struct kc_host_bytes *bytes, size_t end);

void kc_host_bytes_free(struct kc_host_store *store, struct kc_host_bytes *bytes);

#endif
