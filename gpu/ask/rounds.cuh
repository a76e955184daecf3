/*
 * Asking in rounds (kmer/ask.h): the bases that were added wait in ordinary memory until all counts
 * of their windows are known, in batches that are looked up several times, each time in another
 * part of the table.
 *
 *      each thread:   letters ──▶ a batch in pinned memory ──▶ kept batches      add
 *      the engine:    kept batches ──▶ answers, which are added to the others    begin ... end
 *      each thread:   answers to parts ──▶ summaries                             take
 */
#ifndef KC_GPU_ASK_ROUNDS_CUH
#define KC_GPU_ASK_ROUNDS_CUH

#include "gpu/ask/flight.cuh"

#include <pthread.h>

struct kc_ask_kept;    /* a batch that waits */
struct kc_ask_waiting; /* of a thread */

struct kc_ask_rounds {
        const struct kc_ask_rules *rules;
        struct kc_ask_waiting *threads;  /* [nthreads] */
        uint64_t kept_nbytes, most_kept; /* the first is atomic; the second is its bound */
        pthread_mutex_t lock;            /* guards what follows */
        bool is_open;                    /* a round has begun, and is not answered yet */
        int next_thread;                 /* whose batches follow when `next` is NULL */
        struct kc_ask_kept *next;        /* to be looked up */
};

/* Prepare for rounds. Close them even if this fails; zeroed ones may be closed, too. KC_ENOMEM.
 *   rules  of the engine; wants_marks is set */
enum kc_status kc_ask_rounds_open(struct kc_ask_rounds *rounds, const struct kc_ask_rules *rules,
                                  struct kc_error *err);
void kc_ask_rounds_close(struct kc_ask_rounds *rounds);

/* Where a thread packs a batch while it adds: the arrays are the engine's. */
void kc_ask_rounds_pack_at(struct kc_ask_rounds *rounds, int thread,
                           const struct kc_ask_arrays *host);

/* As in struct kc_asker. ctx: the rounds, or an engine that begins with them. */
enum kc_status kc_ask_rounds_add(void *ctx, int thread, const struct kc_ask_sequence *sequences,
                                 size_t n, bool *full, struct kc_error *err);
enum kc_status kc_ask_rounds_take(void *ctx, int thread, struct kc_ask_answer *answers, size_t n,
                                  struct kc_error *err);

/* ---- for the engine, when it answers ---- */

/* Begin to answer what all threads have added. KC_ENOMEM. */
enum kc_status kc_ask_rounds_begin(struct kc_ask_rounds *rounds, struct kc_error *err);

/* All batches have their answers. */
void kc_ask_rounds_end(struct kc_ask_rounds *rounds);

/* Go through all batches once more. all: forget the answers that they have. */
void kc_ask_rounds_rewind(struct kc_ask_rounds *rounds, bool all);

/* The next batch; NULL: there are no more. Several threads may call it at the same time. */
struct kc_ask_kept *kc_ask_rounds_next(struct kc_ask_rounds *rounds);

/* Copy a batch to where it is looked up from. */
void kc_ask_kept_copy(const struct kc_ask_kept *kept, const struct kc_ask_arrays *host,
                      struct kc_ask_sizes *sizes);

/* Add answers to those that a batch has. Each k-mer may be found at most once, and must have the
 * count 0 where it is not found. */
void kc_ask_kept_add(struct kc_ask_kept *kept, const struct kc_ask_rules *rules,
                     const struct kc_ask_arrays *host);

#endif
