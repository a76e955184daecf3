/*
 * Private to gpu/host, what its source files share: pinned memory (pinned.cu), chunks in it or in
 * the file (store.cu), bytes in chunks (bytes.cu).
 */
#ifndef KC_GPU_HOST_HOST_INTERNAL_CUH
#define KC_GPU_HOST_HOST_INTERNAL_CUH

#include "gpu/host/bytes.cuh"

/* Each chunk begins at a page boundary, in memory or in the file. */
enum { HOST_PAGE_NBYTES = 4096 };

/* Take pinned memory for one chunk; `wanted` is how many the caller will need in all. NULL if no
 * more may or can be pinned; use the file then. */
uint8_t *kc_host_take_pinned(struct kc_host_store *store, size_t wanted);
void kc_host_give_pinned(struct kc_host_store *store, uint8_t *piece);
void kc_host_free_pinned(struct kc_host_store *store);

/* Take a chunk: in pinned memory if there is any left, otherwise in the file. KC_EIO, KC_ENOMEM. */
enum kc_status kc_host_take_chunk(struct kc_host_store *store, struct kc_host_chunk *chunk,
                                  size_t wanted, struct kc_error *err);
/* Return a chunk for reuse. For a chunk in the file, its disk blocks are released until then if the
 * file system supports that. */
void kc_host_give_chunk(struct kc_host_store *store, const struct kc_host_chunk *chunk);

#endif
