/*
 * Memory for a round: chunks of equal size, for lists of k-mers and for streams of what is read
 * back in order. A thread takes slabs and cuts chunks from them without a lock; at the end of a
 * round it gives its slabs back, to be used again: memory that is touched for the first time costs
 * more than the work on it, and with huge pages most of all.
 */
#ifndef KC_CPU_ASK_POOL_H
#define KC_CPU_ASK_POOL_H

#include "base/status.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
        KC_ASK_LINE_NBYTES = 64, /* of the cache; the head of a chunk is one */
        KC_ASK_MIN_CHUNK_NBYTES = 128,
        KC_ASK_MAX_CHUNK_NBYTES = 4096,
};

/* Aligned to its size. */
struct kc_ask_chunk {
        struct kc_ask_chunk *next;
        uint8_t unused[KC_ASK_LINE_NBYTES - sizeof(void *)];
        uint8_t data[];
};

struct kc_ask_slab {
        struct kc_ask_slab *next;
        uint8_t *base;
};

struct kc_ask_pool {
        size_t chunk_nbytes, slab_nbytes;
        uint64_t limit_nbytes; /* a round is full when that much is held */
        atomic_uint_least64_t held_nbytes;
        pthread_mutex_t lock; /* guards idle */
        struct kc_ask_slab *idle;
};

/* What one thread holds. Zero-initialise. */
struct kc_ask_holder {
        struct kc_ask_slab *slabs;
        uint8_t *at, *end; /* of the newest one, where the next chunk is cut */
};

/* slab_nbytes is a multiple of the largest chunk and of a page. */
void kc_ask_pool_init(struct kc_ask_pool *pool, size_t chunk_nbytes, size_t slab_nbytes,
                      uint64_t limit_nbytes);
/* Call it after all holders have released their slabs. The pool must have been initialised. */
void kc_ask_pool_free(struct kc_ask_pool *pool);

/* Take another slab. The limit is not enforced here: blocks that are being added must find room.
 * KC_ENOMEM. */
enum kc_status kc_ask_pool_grow(struct kc_ask_pool *pool, struct kc_ask_holder *holder,
                                struct kc_error *err);

/* Give all slabs back. */
void kc_ask_release(struct kc_ask_pool *pool, struct kc_ask_holder *holder);

static inline bool kc_ask_pool_is_full(struct kc_ask_pool *pool)
{
        return atomic_load_explicit(&pool->held_nbytes, memory_order_relaxed) >= pool->limit_nbytes;
}

/* A chunk, which is the last one of its chain for now. KC_ENOMEM. */
static inline enum kc_status kc_ask_take_chunk(struct kc_ask_pool *pool,
                                               struct kc_ask_holder *holder,
                                               struct kc_ask_chunk **chunk, struct kc_error *err)
{
        if (holder->at == holder->end) {
                enum kc_status status = kc_ask_pool_grow(pool, holder, err);
                if (status != KC_OK)
                        return status;
        }
        *chunk = (struct kc_ask_chunk *)holder->at;
        (*chunk)->next = NULL;
        holder->at += pool->chunk_nbytes;
        return KC_OK;
}

/* ---- streams: bytes in chunks, read back in the order in which they were written ---- */

/* Zero-initialise; its chunks are released with its holder. */
struct kc_ask_stream {
        struct kc_ask_chunk *first, *last;
        size_t nbytes; /* in the last one */
};

struct kc_ask_stream_reader {
        const struct kc_ask_chunk *chunk;
        size_t at;
};

static inline struct kc_ask_stream_reader kc_ask_stream_begin(const struct kc_ask_stream *stream)
{
        return (struct kc_ask_stream_reader){ .chunk = stream->first };
}

/* Append bytes. KC_ENOMEM. */
enum kc_status kc_ask_stream_put(struct kc_ask_stream *stream, struct kc_ask_pool *pool,
                                 struct kc_ask_holder *holder, const void *bytes, size_t nbytes,
                                 struct kc_error *err);

/* Read bytes that have been written. */
void kc_ask_stream_get(struct kc_ask_stream_reader *reader, const struct kc_ask_pool *pool,
                       void *bytes, size_t nbytes);

#endif
