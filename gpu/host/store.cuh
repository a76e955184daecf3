/*
 * Storage on the host for what does not fit in device memory: chunks of pinned memory while the
 * store may pin more, otherwise regions of a nameless file.
 *
 * Allocating pinned memory is slow, so the store allocates it on demand and reuses it. Most of the
 * time goes into clearing pages, so the store uses huge pages, and several threads touch them
 * before they are pinned; cudaHostAlloc took ten times as long.
 */
#ifndef KC_GPU_HOST_STORE_CUH
#define KC_GPU_HOST_STORE_CUH

#include "base/temp_file.h"
#include "gpu/device/context.cuh"
#include "gpu/device/gate.h"

/* A buffer between the device and the file; two of them are used alternately. */
struct kc_host_stage {
        uint8_t *memory;  /* pinned */
        cudaEvent_t free; /* recorded when the device no longer needs it */
};

enum { KC_HOST_NSTAGES = 2, KC_HOST_STAGE_NBYTES = 4 << 20 };

struct kc_pinned_slab;

struct kc_host_store_setup {
        size_t chunk_nbytes;      /* of a chunk; rounded up to whole pages */
        size_t max_pinned_nbytes; /* limit for the chunks' pinned memory plus what
                                     kc_host_store_note reports; the stages are extra */
        const char *tmp_dir;      /* folder of the file, which is created on demand; copied */
        int nthreads;             /* threads that may be used for a short time */
        struct kc_gate *gate;     /* checked for cancellation during long work; may be NULL */
};

/* The storage of chunks. Set up by kc_host_store_open. Used by one thread at a time. */
struct kc_host_store {
        struct kc_gpu *gpu;
        struct kc_gate *gate;
        size_t chunk_nbytes;
        int nthreads;
        size_t pinned_nbytes, max_pinned_nbytes;
        size_t beside_nbytes;         /* host memory of the stored data other than chunks */
        struct kc_pinned_slab *slabs; /* the pinned memory */
        void *free_pinned; /* pieces not in use; each begins with a pointer to the next */
        char *tmp_dir;
        int fd; /* -1 until it is needed */
        uint64_t file_nbytes;
        uint64_t *free_offsets; /* [nfree] of unused chunks in the file */
        size_t nfree, free_cap;
        uint64_t written_nbytes;
        struct kc_host_stage stages[KC_HOST_NSTAGES];
        int next_stage;
};

/* KC_ENOMEM, KC_EDEVICE. Close the store even after a failure, and after freeing everything in it;
 * closing a zeroed store does nothing. */
enum kc_status kc_host_store_open(struct kc_host_store *store, struct kc_gpu *gpu,
                                  const struct kc_host_store_setup *setup, struct kc_error *err);
void kc_host_store_close(struct kc_host_store *store);

/* Open a store that reads what `source` has stored, for another device. While it is open, nothing
 * may be added to the source, or given back. KC_ENOMEM, KC_EIO. Close it even after a failure. */
enum kc_status kc_host_store_share(struct kc_host_store *store, struct kc_gpu *gpu,
                                   const struct kc_host_store *source, struct kc_error *err);

/* Report that host memory other than chunks went from `before` to `now` bytes; it counts against
 * max_pinned_nbytes. */
static inline void kc_host_store_note(struct kc_host_store *store, size_t before, size_t now)
{
        store->beside_nbytes += now - before;
}

/* How much may still be pinned. */
size_t kc_host_store_left(const struct kc_host_store *store);

/* KC_ECANCELED if long work should stop. */
static inline enum kc_status kc_host_store_check(struct kc_host_store *store, struct kc_error *err)
{
        return store->gate != NULL ? kc_gate_check(store->gate, err) : KC_OK;
}

/*
 * Wait for a free stage: KC_HOST_STAGE_NBYTES of memory that the device can read and write too. A
 * caller that uses it in a stream must record stage->free there. KC_ENOMEM, KC_EDEVICE.
 */
enum kc_status kc_host_store_stage(struct kc_host_store *store, struct kc_host_stage **stage,
                                   struct kc_error *err);

#endif
