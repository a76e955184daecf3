/*
 * Runs that the device's memory does not hold: in pinned host memory, or in a file without a name.
 *
 * A run is a row of chunks, each with room for the same number of pairs,
 *
 *      | k-mer, k-mer, ...            | count, count, ... |
 *
 * and each in one piece of pinned memory while the store may take such, else at a place of its own
 * in the file. Pinned memory is slow to get: it is taken as it is needed and used again. Most of
 * the time goes into the clearing of pages, so they are huge, and touched by several threads before
 * they are pinned; cudaHostAlloc took ten times as long.
 */
#ifndef KC_GPU_RUNS_HOST_RUN_CUH
#define KC_GPU_RUNS_HOST_RUN_CUH

#include "base/temp_file.h"
#include "gpu/device/gate.h"
#include "gpu/device/run.cuh"

/* What passes between the device and the file: two of these, by turns. */
struct kc_host_stage {
        uint8_t *memory;  /* pinned */
        cudaEvent_t free; /* the device needs it no longer */
};

enum { KC_HOST_NSTAGES = 2, KC_HOST_STAGE_NBYTES = 4 << 20 };

struct kc_host_slab;

struct kc_host_store_setup {
        size_t chunk_npairs;      /* pairs of a chunk */
        size_t pair_nbytes;       /* kc_gpu_run_nbytes<Key>(1) */
        size_t max_pinned_nbytes; /* bound on the chunks' pinned memory and on what is noted with
                                     kc_host_store_note; the stages come on top */
        const char *tmp_dir;      /* folder of the file, which is created when it is needed */
        int nthreads;             /* that may be used for a moment */
        struct kc_gate *gate;     /* asked in long work whether to go on; NULL: go on */
};

/* Where chunks are. Set up by kc_host_store_open. */
struct kc_host_store {
        struct kc_gpu *gpu;
        struct kc_gate *gate;
        size_t chunk_npairs, pair_nbytes, chunk_nbytes;
        int nthreads;
        size_t pinned_nbytes, max_pinned_nbytes;
        size_t beside_nbytes;       /* what runs take beside chunks */
        struct kc_host_slab *slabs; /* the pinned memory */
        void *free_pinned;          /* pieces not in use; each begins with a pointer to the next */
        char *tmp_dir;
        int fd; /* -1 until it is needed */
        uint64_t file_nbytes;
        uint64_t *free_offsets; /* [nfree] of chunks in the file that are not in use */
        size_t nfree, free_cap;
        uint64_t written_nbytes;
        struct kc_host_stage stages[KC_HOST_NSTAGES];
        int next_stage;
};

/* Close it in any case, after all runs in it; a zeroed store is closed at no cost. */
enum kc_status kc_host_store_open(struct kc_host_store *store, struct kc_gpu *gpu,
                                  const struct kc_host_store_setup *setup, struct kc_error *err);
void kc_host_store_close(struct kc_host_store *store);

/* Host memory that a run takes beside its chunks has become more (or less), so chunks get less. */
static inline void kc_host_store_note(struct kc_host_store *store, size_t before, size_t now)
{
        store->beside_nbytes += now - before;
}

/* KC_ECANCELED where long work is not to go on. */
static inline enum kc_status kc_host_store_check(struct kc_host_store *store, struct kc_error *err)
{
        return store->gate != NULL ? kc_gate_check(store->gate, err) : KC_OK;
}

/*
 * A stage that nothing is using any more. KC_HOST_STAGE_NBYTES of memory that the device can read
 * and write too; whoever uses it in a stream records stage->free there.
 */
enum kc_status kc_host_store_stage(struct kc_host_store *store, struct kc_host_stage **stage,
                                   struct kc_error *err);

struct kc_host_chunk {
        uint8_t *memory; /* NULL: in the file */
        uint64_t offset; /* there */
};

/* Zeroed, it is an empty run. */
struct kc_host_run {
        struct kc_host_chunk *chunks;
        size_t nchunks, cap;
        size_t n; /* pairs */
};

/*
 * Put the pairs of a device run behind those that are there; they must be complete in gpu->stream.
 * Returns when the device run is no longer needed. KC_EIO (with the folder's name), KC_ENOMEM,
 * KC_EDEVICE.
 */
template <class Key>
enum kc_status kc_host_run_append(struct kc_host_store *store, struct kc_host_run *run,
                                  const struct kc_gpu_run<Key> *pairs, struct kc_error *err);

/*
 * Read n pairs from `from` on into device memory. Returns with the work on gpu->upload; the run
 * must stay until it is done.
 */
template <class Key>
enum kc_status kc_host_run_read(struct kc_host_store *store, const struct kc_host_run *run,
                                size_t from, size_t n, Key *kmers, uint32_t *counts,
                                struct kc_error *err);

void kc_host_run_free(struct kc_host_store *store, struct kc_host_run *run);

#endif
