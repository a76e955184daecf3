/*
 * Runs that do not fit in device memory: kept in pinned host memory, or in an unlinked file.
 *
 * A run is a sequence of chunks, each with room for the same number of pairs,
 *
 *      | k-mer, k-mer, ...            | count, count, ... |
 *
 * and each is one piece of pinned memory while the store may pin more, otherwise a region of the
 * file. Allocating pinned memory is slow, so the store allocates it on demand and reuses it. Most of
 * the time goes into clearing pages, so the store uses huge pages, and several threads touch them
 * before they are pinned; cudaHostAlloc took ten times as long.
 */
#ifndef KC_GPU_RUNS_HOST_RUN_CUH
#define KC_GPU_RUNS_HOST_RUN_CUH

#include "base/temp_file.h"
#include "gpu/device/gate.h"
#include "gpu/device/run.cuh"

/* A buffer between the device and the file; two of them are used alternately. */
struct kc_host_stage {
        uint8_t *memory;  /* pinned */
        cudaEvent_t free; /* recorded when the device no longer needs it */
};

enum { KC_HOST_NSTAGES = 2, KC_HOST_STAGE_NBYTES = 4 << 20 };

struct kc_host_slab;

struct kc_host_store_setup {
        size_t chunk_npairs;      /* pairs of a chunk */
        size_t pair_nbytes;       /* kc_gpu_run_nbytes<Key>(1) */
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
        size_t chunk_npairs, pair_nbytes, chunk_nbytes;
        int nthreads;
        size_t pinned_nbytes, max_pinned_nbytes;
        size_t beside_nbytes;       /* host memory of runs other than chunks */
        struct kc_host_slab *slabs; /* the pinned memory */
        void *free_pinned;          /* pieces not in use; each begins with a pointer to the next */
        char *tmp_dir;
        int fd; /* -1 until it is needed */
        uint64_t file_nbytes;
        uint64_t *free_offsets; /* [nfree] of unused chunks in the file */
        size_t nfree, free_cap;
        uint64_t written_nbytes;
        struct kc_host_stage stages[KC_HOST_NSTAGES];
        int next_stage;
};

/* KC_ENOMEM, KC_EDEVICE. Close the store even after a failure, and after freeing all runs in it;
 * closing a zeroed store does nothing. */
enum kc_status kc_host_store_open(struct kc_host_store *store, struct kc_gpu *gpu,
                                  const struct kc_host_store_setup *setup, struct kc_error *err);
void kc_host_store_close(struct kc_host_store *store);

/* Report that host memory of a run other than its chunks went from `before` to `now` bytes; it
 * counts against max_pinned_nbytes. */
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

struct kc_host_chunk {
        uint8_t *memory; /* NULL: the chunk is in the file */
        uint64_t offset; /* in the file */
};

/* A zeroed one is an empty run. */
struct kc_host_run {
        struct kc_host_chunk *chunks;
        size_t nchunks, cap;
        size_t n; /* pairs */
};

/*
 * Append the pairs of a device run, which must be complete in gpu->stream. Returns when the device
 * run is no longer needed. KC_EIO (with the folder's name), KC_ENOMEM, KC_EDEVICE, KC_ECANCELED.
 */
template <class Key>
enum kc_status kc_host_run_append(struct kc_host_store *store, struct kc_host_run *run,
                                  const struct kc_gpu_run<Key> *pairs, struct kc_error *err);

/*
 * Read n pairs, starting at pair `from`, into device memory. Returns with the work queued on
 * gpu->upload; the run must not be freed until it is done. KC_EIO, KC_ENOMEM, KC_EDEVICE.
 */
template <class Key>
enum kc_status kc_host_run_read(struct kc_host_store *store, const struct kc_host_run *run,
                                size_t from, size_t n, Key *kmers, uint32_t *counts,
                                struct kc_error *err);

void kc_host_run_free(struct kc_host_store *store, struct kc_host_run *run);

#endif
