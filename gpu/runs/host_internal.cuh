/*
 * What the parts of a host store have of one another: pinned memory (host_pinned.cu), chunks there
 * or in the file (host_store.cu), runs of chunks (host_run.cu). Inside of host_run.
 */
#ifndef KC_GPU_RUNS_HOST_INTERNAL_CUH
#define KC_GPU_RUNS_HOST_INTERNAL_CUH

#include "gpu/runs/host_run.cuh"

/* A chunk begins with a page, of memory or of the file. */
enum { HOST_PAGE_NBYTES = 4096 };

/* A chunk's worth of pinned memory, one of `wanted` that will be needed. NULL where there is no
 * more of it for chunks; the file serves as well. */
uint8_t *kc_host_take_pinned(struct kc_host_store *store, size_t wanted);
void kc_host_give_pinned(struct kc_host_store *store, uint8_t *piece);
void kc_host_free_pinned(struct kc_host_store *store);

/* A chunk in pinned memory while there is such, else in the file. */
enum kc_status kc_host_take_chunk(struct kc_host_store *store, struct kc_host_chunk *chunk,
                                  size_t wanted, struct kc_error *err);
/* To be used again. The file's blocks go back to the file system meanwhile, where it can take
 * them. */
void kc_host_give_chunk(struct kc_host_store *store, const struct kc_host_chunk *chunk);

#endif
