#include "cpu/arena.h"

#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
        SLAB_NBYTES = 2 << 20, /* a huge page */
        STOCK_BUNCHES = 4 * SLAB_NBYTES / (KC_ARENA_BUNCH * KC_CHUNK_NBYTES),
};

/* Free chunks of a worker; once they make two bunches, one goes to the shared list. */
struct kc_arena_worker {
        struct kc_arena_chunk *free;
        size_t nfree;
        char padding[48]; /* a cache line each */
};

enum kc_status kc_arena_init(struct kc_arena *arena, size_t nchunks, int nworkers,
                             struct kc_error *err)
{
        memset(arena, 0, sizeof *arena);
        arena->nbytes = (nchunks * KC_CHUNK_NBYTES + SLAB_NBYTES - 1) / SLAB_NBYTES * SLAB_NBYTES;
        arena->workers = calloc((size_t)nworkers, sizeof *arena->workers);
        if (arena->workers == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        /* One extra slab, so that the first one can begin at a huge page boundary. */
        void *base = mmap(NULL, arena->nbytes + SLAB_NBYTES, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (base == MAP_FAILED) {
                free(arena->workers);
                return kc_fail_remedy(err, KC_ENOMEM, KC_REMEDY_LESS_MEMORY,
                                      "cannot reserve %zu MiB of memory: that is more than this "
                                      "machine or the limit on address space (ulimit -v) allows",
                                      arena->nbytes >> 20);
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

/* The shared list links bunches through `data` of each bunch's first chunk. */
static struct kc_arena_chunk **bunch_link(struct kc_arena_chunk *bunch)
{
        return (struct kc_arena_chunk **)(void *)bunch->data;
}

static void push_bunch(struct kc_arena *arena, struct kc_arena_chunk *bunch)
{
        pthread_mutex_lock(&arena->lock);
        *bunch_link(bunch) = arena->shared;
        arena->shared = bunch;
        arena->nshared++;
        pthread_mutex_unlock(&arena->lock);
}

static struct kc_arena_chunk *pop_bunch(struct kc_arena *arena)
{
        pthread_mutex_lock(&arena->lock);
        struct kc_arena_chunk *bunch = arena->shared;
        if (bunch) {
                arena->shared = *bunch_link(bunch);
                arena->nshared--;
        }
        pthread_mutex_unlock(&arena->lock);
        return bunch;
}

/* Cut a new slab into bunches: return the first, share the others. NULL if the arena is used up. */
static struct kc_arena_chunk *cut_slab(struct kc_arena *arena)
{
        size_t offset = atomic_fetch_add(&arena->used_nbytes, SLAB_NBYTES);
        if (offset >= arena->nbytes) {
                atomic_fetch_sub(&arena->used_nbytes, SLAB_NBYTES);
                return NULL;
        }
        uintptr_t first = ((uintptr_t)arena->base + SLAB_NBYTES - 1) / SLAB_NBYTES * SLAB_NBYTES;
        struct kc_arena_chunk *chunks = (struct kc_arena_chunk *)(first + offset);
        size_t n = SLAB_NBYTES / KC_CHUNK_NBYTES;
        for (size_t i = 0; i < n; i++)
                chunks[i].next = (i + 1) % KC_ARENA_BUNCH ? &chunks[i + 1] : NULL;
        for (size_t i = KC_ARENA_BUNCH; i < n; i += KC_ARENA_BUNCH)
                push_bunch(arena, &chunks[i]);
        return chunks;
}

static struct kc_arena_chunk *take_bunch(struct kc_arena *arena)
{
        for (;;) {
                struct kc_arena_chunk *bunch = pop_bunch(arena);
                if (bunch)
                        return bunch;
                /* Not under the lock: the kernel clears the page, which threads can do in parallel.
                 */
                atomic_fetch_add(&arena->ncutting, 1);
                bunch = cut_slab(arena);
                bool others_cutting = atomic_fetch_sub(&arena->ncutting, 1) > 1;
                if (bunch)
                        return bunch;
                /* If another thread is cutting a slab, its bunches will be shared soon, or are
                 * already. */
                if (!others_cutting)
                        return pop_bunch(arena);
                sched_yield();
        }
}

struct kc_arena_chunk *kc_arena_take(struct kc_arena *arena, int worker)
{
        struct kc_arena_worker *w = &arena->workers[worker];
        if (w->free == NULL) {
                w->free = take_bunch(arena);
                if (w->free == NULL)
                        return NULL;
                w->nfree = KC_ARENA_BUNCH;
        }
        struct kc_arena_chunk *chunk = w->free;
        w->free = chunk->next;
        w->nfree--;
        return chunk;
}

void kc_arena_stock(struct kc_arena *arena)
{
        pthread_mutex_lock(&arena->lock);
        const bool stocked = arena->nshared >= STOCK_BUNCHES;
        pthread_mutex_unlock(&arena->lock);
        if (stocked)
                return;
        atomic_fetch_add(&arena->ncutting, 1);
        struct kc_arena_chunk *bunch = cut_slab(arena);
        if (bunch != NULL)
                push_bunch(arena, bunch);
        atomic_fetch_sub(&arena->ncutting, 1);
}

static void pass_on_bunch(struct kc_arena *arena, struct kc_arena_worker *w)
{
        struct kc_arena_chunk *bunch = w->free, *last = bunch;
        for (int i = 1; i < KC_ARENA_BUNCH; i++)
                last = last->next;
        w->free = last->next;
        w->nfree -= KC_ARENA_BUNCH;
        last->next = NULL;
        push_bunch(arena, bunch);
}

size_t kc_arena_give(struct kc_arena *arena, int worker, struct kc_arena_chunk *chunks)
{
        struct kc_arena_worker *w = &arena->workers[worker];
        size_t n = 0;
        for (; chunks; n++) {
                struct kc_arena_chunk *next = chunks->next;
                chunks->next = w->free;
                w->free = chunks;
                w->nfree++;
                chunks = next;
                if (w->nfree == KC_ARENA_HOARD)
                        pass_on_bunch(arena, w);
        }
        return n;
}
