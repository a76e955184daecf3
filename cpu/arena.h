/*
 * Memory for millions of small lists: chunks of equal size, cut from one mapping of bounded size
 * and recycled by the threads that free them. The mapping asks for huge pages: threads write to
 * thousands of lists at once, and page faults and TLB misses would cost more than the writing.
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
        KC_ARENA_BUNCH = 64,                 /* chunks that pass between threads together */
        KC_ARENA_HOARD = 2 * KC_ARENA_BUNCH, /* free chunks that a worker may keep to itself */
};

/* nbytes and data are adjacent, so that one write puts a chunk into a file. */
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
        atomic_size_t used_nbytes; /* cut into slabs so far */
        atomic_int ncutting;       /* threads that may be about to add a slab to shared */
        pthread_mutex_t lock;      /* guards shared and nshared */
        /* bunches of free chunks, each bunch linked through its first chunk */
        struct kc_arena_chunk *shared;
        size_t nshared; /* bunches */
        struct kc_arena_worker *workers;
};

/* Map room for at least nchunks chunks, for nworkers threads. KC_ENOMEM. Pages take memory only
 * once their chunks are used. */
enum kc_status kc_arena_init(struct kc_arena *arena, size_t nchunks, int nworkers,
                             struct kc_error *err);
void kc_arena_free(struct kc_arena *arena);

/*
 * A chunk for this worker, contents undefined. NULL if there is none; that cannot happen while all
 * workers together hold no more than nchunks - nworkers * KC_ARENA_HOARD. One thread per worker.
 */
struct kc_arena_chunk *kc_arena_take(struct kc_arena *arena, int worker);

/*
 * Cut a slab if few chunks are shared, so that another thread will not have to: the kernel clears
 * the slab's memory during this call. Does nothing if the arena is used up. Any thread may call
 * this.
 */
void kc_arena_stock(struct kc_arena *arena);

/* Give back a chain of chunks linked through next, which ends with NULL; NULL is fine. Returns the
 * number of chunks. */
size_t kc_arena_give(struct kc_arena *arena, int worker, struct kc_arena_chunk *chunks);

#endif
