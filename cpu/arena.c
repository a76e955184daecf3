#include "cpu/arena.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
        SLAB_NBYTES = 2 << 20, /* a huge page */
        BATCH = SLAB_NBYTES / KC_CHUNK_NBYTES,
};

/* A worker keeps at most two batches of free chunks; whole batches go to, and come from, the shared
 * list. */
struct kc_arena_worker {
        struct kc_chunk *free;
        size_t nfree;
        uint8_t *slab, *slab_end;
        char padding[32]; /* a cache line each */
};

enum kc_status kc_arena_init(struct kc_arena *arena, size_t nbytes, int nworkers,
                             struct kc_error *err)
{
        memset(arena, 0, sizeof *arena);
        arena->nbytes = (nbytes + SLAB_NBYTES - 1) / SLAB_NBYTES * SLAB_NBYTES;
        arena->workers = calloc((size_t)nworkers, sizeof *arena->workers);
        if (arena->workers == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        /* One slab more than asked for, so that the first one can begin at a huge page. */
        void *base = mmap(NULL, arena->nbytes + SLAB_NBYTES, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (base == MAP_FAILED) {
                free(arena->workers);
                return kc_fail(err, KC_ENOMEM, "cannot map %zu bytes of memory: %s", arena->nbytes,
                               strerror(errno));
        }
        /* A kernel without huge pages works as well, only slower. */
        (void)madvise(base, arena->nbytes + SLAB_NBYTES, MADV_HUGEPAGE);
        arena->base = base;
        pthread_mutex_init(&arena->lock, NULL);
        return KC_OK;
}

void kc_arena_free(struct kc_arena *arena)
{
        if (arena->base == NULL)
                return;
        munmap(arena->base, arena->nbytes + SLAB_NBYTES);
        pthread_mutex_destroy(&arena->lock);
        free(arena->workers);
        memset(arena, 0, sizeof *arena);
}

/* The shared list links batches through `data` of each batch's first chunk. */
static struct kc_chunk **batch_link(struct kc_chunk *batch)
{
        return (struct kc_chunk **)(void *)batch->data;
}

static struct kc_chunk *take_shared(struct kc_arena *arena)
{
        pthread_mutex_lock(&arena->lock);
        struct kc_chunk *batch = arena->shared;
        if (batch)
                arena->shared = *batch_link(batch);
        pthread_mutex_unlock(&arena->lock);
        return batch;
}

static uint8_t *take_slab(struct kc_arena *arena)
{
        size_t offset = atomic_fetch_add(&arena->used_nbytes, SLAB_NBYTES);
        if (offset >= arena->nbytes) {
                atomic_fetch_sub(&arena->used_nbytes, SLAB_NBYTES);
                return NULL;
        }
        uintptr_t first = ((uintptr_t)arena->base + SLAB_NBYTES - 1) / SLAB_NBYTES * SLAB_NBYTES;
        return (uint8_t *)first + offset;
}

struct kc_chunk *kc_arena_take(struct kc_arena *arena, int worker)
{
        struct kc_arena_worker *w = &arena->workers[worker];
        if (w->free == NULL && w->slab == w->slab_end) {
                w->free = take_shared(arena);
                if (w->free) {
                        w->nfree = BATCH;
                } else {
                        w->slab = take_slab(arena);
                        w->slab_end = w->slab ? w->slab + SLAB_NBYTES : NULL;
                }
        }
        if (w->free) {
                struct kc_chunk *chunk = w->free;
                w->free = chunk->next;
                w->nfree--;
                return chunk;
        }
        if (w->slab == NULL)
                return NULL;
        struct kc_chunk *chunk = (struct kc_chunk *)(void *)w->slab;
        w->slab += KC_CHUNK_NBYTES;
        return chunk;
}

static void give_batch(struct kc_arena *arena, struct kc_arena_worker *w)
{
        struct kc_chunk *batch = w->free, *last = batch;
        for (int i = 1; i < BATCH; i++)
                last = last->next;
        w->free = last->next;
        w->nfree -= BATCH;
        last->next = NULL;
        pthread_mutex_lock(&arena->lock);
        *batch_link(batch) = arena->shared;
        arena->shared = batch;
        pthread_mutex_unlock(&arena->lock);
}

void kc_arena_give(struct kc_arena *arena, int worker, struct kc_chunk *chunks)
{
        struct kc_arena_worker *w = &arena->workers[worker];
        while (chunks) {
                struct kc_chunk *next = chunks->next;
                chunks->next = w->free;
                w->free = chunks;
                w->nfree++;
                chunks = next;
                if (w->nfree == 2 * BATCH)
                        give_batch(arena, w);
        }
}
