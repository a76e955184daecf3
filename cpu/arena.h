/*
 * Memory for millions of small lists: equal chunks cut from one mapping of bounded size, recycled
 * by the threads that free them. The mapping asks for huge pages: lists are written at thousands of
 * places at once, and page faults and TLB misses would cost more than the writing.
 */
#ifndef KC_ARENA_H
#define KC_ARENA_H

#include "base/status.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum {
        KC_CHUNK_NBYTES = 4096,
        KC_CHUNK_DATA_NBYTES = KC_CHUNK_NBYTES - 16,
        KC_ARENA_BATCH = 64, /* chunks that pass between threads in one go */
        KC_ARENA_HOARD =
                2 * KC_ARENA_BATCH, /* free chunks that a worker may keep from the others */
};

/* nbytes and data are adjacent, so that a chunk is written to a file as one piece. */
struct kc_arena_chunk {
        struct kc_arena_chunk *next;
        uint32_t unused;
        uint32_t nbytes; /* of data, set when the chunk is full or its list is sealed */
        uint8_t data[KC_CHUNK_DATA_NBYTES];
};

struct kc_arena_worker;

struct kc_arena {
        uint8_t *base;
        size_t nbytes;
        atomic_size_t used_nbytes; /* handed out as slabs so far */
        atomic_int ncutting;       /* threads that are about to add a slab to shared */
        pthread_mutex_t lock;      /* guards shared */
        struct kc_arena_chunk
                *shared; /* batches of free chunks, each batch linked through its first chunk */
        struct kc_arena_worker *workers;
};

/* Map room for nchunks chunks. One arena serves nworkers threads. */
enum kc_status kc_arena_init(struct kc_arena *arena, size_t nchunks, int nworkers,
                             struct kc_error *err);
void kc_arena_free(struct kc_arena *arena);

/*
 * A chunk for this worker, contents undefined. NULL if there is none: never as long as all workers
 * together hold no more than nchunks - nworkers * KC_ARENA_HOARD.
 */
struct kc_arena_chunk *kc_arena_take(struct kc_arena *arena, int worker);

/* Give chunks back, linked through next, last one's next NULL; NULL is fine. Returns how many there
 * were. */
size_t kc_arena_give(struct kc_arena *arena, int worker, struct kc_arena_chunk *chunks);

#endif
