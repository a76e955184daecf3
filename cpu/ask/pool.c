#include "cpu/ask/pool.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void kc_ask_pool_init(struct kc_ask_pool *pool, size_t chunk_nbytes, size_t slab_nbytes,
                      uint64_t limit_nbytes)
{
        *pool = (struct kc_ask_pool){ .chunk_nbytes = chunk_nbytes,
                                      .slab_nbytes = slab_nbytes,
                                      .limit_nbytes = limit_nbytes };
        pthread_mutex_init(&pool->lock, NULL);
}

void kc_ask_pool_free(struct kc_ask_pool *pool)
{
        while (pool->idle != NULL) {
                struct kc_ask_slab *slab = pool->idle;
                pool->idle = slab->next;
                munmap(slab->base, pool->slab_nbytes);
                free(slab);
        }
        pthread_mutex_destroy(&pool->lock);
}

static struct kc_ask_slab *map_slab(size_t nbytes)
{
        struct kc_ask_slab *slab = malloc(sizeof *slab);
        if (slab == NULL)
                return NULL;
        slab->base = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (slab->base == MAP_FAILED) {
                free(slab);
                return NULL;
        }
        /* Only for speed: small pages, all populated at once instead of by page faults. */
        (void)madvise(slab->base, nbytes, MADV_NOHUGEPAGE);
#ifdef MADV_POPULATE_WRITE
        (void)madvise(slab->base, nbytes, MADV_POPULATE_WRITE);
#endif
        return slab;
}

static struct kc_ask_slab *pop_idle(struct kc_ask_pool *pool)
{
        pthread_mutex_lock(&pool->lock);
        struct kc_ask_slab *slab = pool->idle;
        if (slab != NULL)
                pool->idle = slab->next;
        pthread_mutex_unlock(&pool->lock);
        return slab;
}

enum kc_status kc_ask_pool_grow(struct kc_ask_pool *pool, struct kc_ask_holder *holder,
                                struct kc_error *err)
{
        struct kc_ask_slab *slab = pop_idle(pool);
        if (slab == NULL)
                slab = map_slab(pool->slab_nbytes);
        if (slab == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for the k-mers of a block");
        atomic_fetch_add(&pool->held_nbytes, pool->slab_nbytes);
        slab->next = holder->slabs;
        holder->slabs = slab;
        holder->at = slab->base;
        holder->end = slab->base + pool->slab_nbytes;
        return KC_OK;
}

void kc_ask_release(struct kc_ask_pool *pool, struct kc_ask_holder *holder)
{
        uint64_t nbytes = 0;
        pthread_mutex_lock(&pool->lock);
        while (holder->slabs != NULL) {
                struct kc_ask_slab *slab = holder->slabs;
                holder->slabs = slab->next;
                slab->next = pool->idle;
                pool->idle = slab;
                nbytes += pool->slab_nbytes;
        }
        pthread_mutex_unlock(&pool->lock);
        atomic_fetch_sub(&pool->held_nbytes, nbytes);
        *holder = (struct kc_ask_holder){ 0 };
}

/* ---- streams ---- */

static size_t data_nbytes(const struct kc_ask_pool *pool)
{
        return pool->chunk_nbytes - sizeof(struct kc_ask_chunk);
}

static enum kc_status append_chunk(struct kc_ask_stream *stream, struct kc_ask_pool *pool,
                                   struct kc_ask_holder *holder, struct kc_error *err)
{
        struct kc_ask_chunk *chunk;
        enum kc_status status = kc_ask_take_chunk(pool, holder, &chunk, err);
        if (status != KC_OK)
                return status;
        if (stream->last == NULL)
                stream->first = chunk;
        else
                stream->last->next = chunk;
        stream->last = chunk;
        stream->nbytes = 0;
        return KC_OK;
}

enum kc_status kc_ask_stream_put(struct kc_ask_stream *stream, struct kc_ask_pool *pool,
                                 struct kc_ask_holder *holder, const void *bytes, size_t nbytes,
                                 struct kc_error *err)
{
        enum kc_status status = KC_OK;
        const uint8_t *from = bytes;
        while (nbytes > 0) {
                if (stream->last == NULL || stream->nbytes == data_nbytes(pool))
                        KC_TRY(append_chunk(stream, pool, holder, err));
                const size_t room = data_nbytes(pool) - stream->nbytes;
                const size_t n = nbytes < room ? nbytes : room;
                memcpy(stream->last->data + stream->nbytes, from, n);
                stream->nbytes += n;
                from += n;
                nbytes -= n;
        }
out:
        return status;
}

void kc_ask_stream_get(struct kc_ask_stream_reader *reader, const struct kc_ask_pool *pool,
                       void *bytes, size_t nbytes)
{
        uint8_t *to = bytes;
        while (nbytes > 0) {
                if (reader->at == data_nbytes(pool)) {
                        reader->chunk = reader->chunk->next;
                        reader->at = 0;
                }
                const size_t left = data_nbytes(pool) - reader->at;
                const size_t n = nbytes < left ? nbytes : left;
                memcpy(to, reader->chunk->data + reader->at, n);
                reader->at += n;
                to += n;
                nbytes -= n;
        }
}
