/*
 * Pinned memory for chunks: slabs of huge pages, touched by several threads before they are pinned.
 */
#include "base/parallel.h"
#include "gpu/host/host_internal.cuh"

#include <cstdlib>
#include <sys/mman.h>

/* One mapping, cut into pieces. */
struct kc_pinned_slab {
        struct kc_pinned_slab *next;
        uint8_t *mapping, *pieces; /* pieces start at a huge page boundary */
        size_t npieces, piece_nbytes;
        int nthreads;
};

enum { HUGE_PAGE_NBYTES = 2 << 20, MAX_SLAB_NBYTES = 256 << 20 };

static size_t slab_nbytes(const struct kc_pinned_slab *slab)
{
        return slab->npieces * slab->piece_nbytes;
}

static void free_slab(struct kc_pinned_slab *slab)
{
        if (slab->mapping != NULL)
                (void)munmap(slab->mapping, slab_nbytes(slab) + HUGE_PAGE_NBYTES);
        free(slab);
}

static enum kc_status touch_part(void *ctx, int worker, struct kc_error *)
{
        const struct kc_pinned_slab *slab = (const struct kc_pinned_slab *)ctx;
        size_t nbytes =
                kc_round_up(slab_nbytes(slab) / (size_t)slab->nthreads + 1, HUGE_PAGE_NBYTES);
        size_t begin = nbytes * (size_t)worker;
        for (size_t i = begin; i < begin + nbytes && i < slab_nbytes(slab); i += HOST_PAGE_NBYTES)
                slab->pieces[i] = 0;
        return KC_OK;
}

/* NULL if it cannot be allocated. */
static struct kc_pinned_slab *new_slab(size_t npieces, size_t piece_nbytes, int nthreads)
{
        struct kc_pinned_slab *slab = (struct kc_pinned_slab *)calloc(1, sizeof *slab);
        if (slab == NULL)
                return NULL;
        slab->npieces = npieces;
        slab->piece_nbytes = piece_nbytes;
        slab->nthreads = nthreads;
        void *mapping = mmap(NULL, slab_nbytes(slab) + HUGE_PAGE_NBYTES, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (mapping == MAP_FAILED) {
                free_slab(slab);
                return NULL;
        }
        slab->mapping = (uint8_t *)mapping;
        slab->pieces = (uint8_t *)kc_round_up((uintptr_t)mapping, HUGE_PAGE_NBYTES);
        /* Failure is harmless: without huge pages, or with fewer threads, it is only slower. */
        (void)madvise(slab->pieces, slab_nbytes(slab), MADV_HUGEPAGE);
        (void)kc_parallel(nthreads, touch_part, NULL, slab, NULL);
        /* portable: several devices may read it */
        if (cudaHostRegister(slab->pieces, slab_nbytes(slab), cudaHostRegisterPortable) ==
            cudaSuccess)
                return slab;
        (void)cudaGetLastError();
        free_slab(slab);
        return NULL;
}

void kc_host_free_pinned(struct kc_host_store *store)
{
        for (struct kc_pinned_slab *slab = store->slabs, *next; slab != NULL; slab = next) {
                next = slab->next;
                (void)cudaHostUnregister(slab->pieces);
                free_slab(slab);
        }
}

void kc_host_give_pinned(struct kc_host_store *store, uint8_t *piece)
{
        *(void **)piece = store->free_pinned;
        store->free_pinned = piece;
}

/* Runs whose chunks are in the file still need memory for their fences and the places of their
 * blocks: 1/32 is set aside for that, enough for about ten times as many pairs as are pinned. */
size_t kc_host_store_left(const struct kc_host_store *store)
{
        size_t beside = store->max_pinned_nbytes / 32;
        if (beside < store->beside_nbytes)
                beside = store->beside_nbytes;
        size_t taken = store->pinned_nbytes + beside;
        return taken < store->max_pinned_nbytes ? store->max_pinned_nbytes - taken : 0;
}

/* Pin more memory, for at most `wanted` chunks. If that fails, it is not tried again. */
static void add_slab(struct kc_host_store *store, size_t wanted)
{
        size_t left = kc_host_store_left(store) / store->chunk_nbytes;
        size_t n = MAX_SLAB_NBYTES / store->chunk_nbytes;
        n = n > wanted ? wanted : n > 0 ? n : 1;
        n = n > left ? left : n;
        if (n == 0)
                return;
        struct kc_pinned_slab *slab = new_slab(n, store->chunk_nbytes, store->nthreads);
        if (slab == NULL) {
                store->max_pinned_nbytes = store->pinned_nbytes;
                return;
        }
        slab->next = store->slabs;
        store->slabs = slab;
        store->pinned_nbytes += slab_nbytes(slab);
        for (size_t i = 0; i < n; i++)
                kc_host_give_pinned(store, slab->pieces + i * store->chunk_nbytes);
}

uint8_t *kc_host_take_pinned(struct kc_host_store *store, size_t wanted)
{
        if (store->free_pinned == NULL)
                add_slab(store, wanted);
        void *piece = store->free_pinned;
        if (piece != NULL)
                store->free_pinned = *(void **)piece;
        return (uint8_t *)piece;
}
