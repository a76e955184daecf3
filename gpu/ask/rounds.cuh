/*
 * Asking in rounds (kmer/ask.h): the bases that were added wait in host memory until all counts of
 * their windows are known. For the askers that look up many batches at a time.
 *
 *      each thread:   letters ──▶ kept batches in pinned memory        add
 *      the engine:    kept batches ──▶ counts ──▶ kept batches         answer
 *      each thread:   counts ──▶ summaries                             take
 */
#ifndef KC_GPU_ASK_ROUNDS_CUH
#define KC_GPU_ASK_ROUNDS_CUH

#include "gpu/ask/filling.cuh"

#include <pthread.h>

/* A batch that waits for its counts. */
struct kc_ask_kept {
        struct kc_ask_kept *next;
        struct kc_ask_arrays host; /* without parts */
        struct kc_ask_sizes sizes; /* nwindows >= 1 */
        bool has_counts;           /* for the engine; false in a new batch */
};

/* What finds the counts. */
struct kc_ask_engine {
        void *ctx;
        enum kc_status (*answer)(void *ctx, struct kc_error *err);
        void (*close)(void *ctx);
};

struct kc_ask_waiting; /* of a thread */

struct kc_ask_rounds {
        struct kc_ask_engine engine;
        struct kc_ask_setup setup;
        int k, device;                   /* one of the engine's devices */
        struct kc_ask_sizes caps;        /* of batches */
        struct kc_ask_waiting *threads;  /* [setup.nthreads] */
        uint64_t nbegun, nanswered;      /* rounds; one is open if they differ */
        uint64_t kept_nbytes, most_kept; /* the first is atomic; the second is its bound */
        pthread_mutex_t lock;            /* of nbegun and unused */
        struct kc_ask_kept *unused;
};

/*
 * Prepare for rounds; to be closed even if this fails, and a zeroed one may be. KC_ENOMEM.
 *   engine        copied
 *   batch_nbases  the most bases of a batch; 0: chosen from the memory
 *   device_nbytes, room_nbytes
 *                 bytes of device memory that the engine takes for each base of a batch, and that
 *                 it may take
 */
enum kc_status kc_ask_rounds_open(struct kc_ask_rounds *rounds, const struct kc_ask_engine *engine,
                                  const struct kc_ask_setup *setup, int k, int device,
                                  uint32_t batch_nbases, size_t device_nbytes, size_t room_nbytes,
                                  struct kc_error *err);
void kc_ask_rounds_close(struct kc_ask_rounds *rounds);

/* The asker of these rounds. Close it instead of the rounds: it closes the engine, and that closes
 * the rounds. */
struct kc_asker kc_ask_rounds_asker(struct kc_ask_rounds *rounds);

/* For the engine, while it answers: the batches of all threads. Begin with a zeroed one. */
struct kc_ask_kept_at {
        int thread;
        struct kc_ask_kept *kept;
};

/* The next batch; NULL: there are no more. */
struct kc_ask_kept *kc_ask_kept_next(const struct kc_ask_rounds *rounds, struct kc_ask_kept_at *at);

#endif
