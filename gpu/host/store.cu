/*
 * The storage of chunks, in pinned memory or the file, and the stages between device and file.
 */
#include "gpu/host/host_internal.cuh"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

enum kc_status kc_host_store_open(struct kc_host_store *store, struct kc_gpu *gpu,
                                  const struct kc_host_store_setup *setup, struct kc_error *err)
{
        *store = {};
        store->gpu = gpu;
        store->gate = setup->gate;
        store->chunk_nbytes = kc_round_up(setup->chunk_nbytes, HOST_PAGE_NBYTES);
        store->nthreads = setup->nthreads > 1 ? setup->nthreads : 1;
        store->max_pinned_nbytes = setup->max_pinned_nbytes;
        store->fd = -1;
        store->tmp_dir = strdup(setup->tmp_dir);
        if (store->tmp_dir == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        return KC_OK;
}

void kc_host_store_close(struct kc_host_store *store)
{
        if (store->tmp_dir == NULL)
                return;
        kc_host_free_pinned(store);
        for (struct kc_host_stage &stage : store->stages) {
                if (stage.free != NULL)
                        (void)cudaEventDestroy(stage.free);
                if (stage.memory != NULL)
                        (void)cudaFreeHost(stage.memory);
        }
        if (store->fd >= 0)
                (void)close(store->fd);
        free(store->free_offsets);
        free(store->tmp_dir);
        *store = {};
        (void)cudaGetLastError();
}

enum kc_status kc_host_store_share(struct kc_host_store *store, struct kc_gpu *gpu,
                                   const struct kc_host_store *source, struct kc_error *err)
{
        struct kc_host_store_setup setup = {};
        setup.chunk_nbytes = source->chunk_nbytes;
        setup.tmp_dir = source->tmp_dir;
        setup.gate = source->gate;
        enum kc_status status = kc_host_store_open(store, gpu, &setup, err);
        if (status != KC_OK || source->fd < 0)
                return status;
        store->fd = dup(source->fd);
        if (store->fd < 0)
                return kc_fail(err, KC_EIO, "cannot read temporary files in %s: %s",
                               source->tmp_dir, strerror(errno));
        return KC_OK;
}

enum kc_status kc_host_store_stage(struct kc_host_store *store, struct kc_host_stage **out,
                                   struct kc_error *err)
{
        enum kc_status status;
        struct kc_host_stage *stage = &store->stages[store->next_stage];
        if (stage->memory == NULL)
                KC_TRY(KC_CUDA(cudaHostAlloc((void **)&stage->memory, KC_HOST_STAGE_NBYTES,
                                             cudaHostAllocDefault)));
        if (stage->free == NULL)
                KC_TRY(KC_CUDA(cudaEventCreateWithFlags(&stage->free, cudaEventDisableTiming)));
        KC_TRY(KC_CUDA(cudaEventSynchronize(stage->free)));
        store->next_stage = (store->next_stage + 1) % KC_HOST_NSTAGES;
        *out = stage;
out:
        return status;
}

enum kc_status kc_host_take_chunk(struct kc_host_store *store, struct kc_host_chunk *chunk,
                                  size_t wanted, struct kc_error *err)
{
        chunk->memory = kc_host_take_pinned(store, wanted);
        chunk->offset = 0;
        if (chunk->memory != NULL)
                return KC_OK;
        if (store->fd < 0) {
                enum kc_status status = kc_temp_file_open(store->tmp_dir, &store->fd, err);
                if (status != KC_OK)
                        return status;
        }
        if (store->nfree > 0) {
                chunk->offset = store->free_offsets[--store->nfree];
                return KC_OK;
        }
        chunk->offset = store->file_nbytes;
        store->file_nbytes += store->chunk_nbytes;
        return KC_OK;
}

/* If there is no memory to remember the place, it is lost, and the file grows instead. */
static void give_place(struct kc_host_store *store, uint64_t offset)
{
        kc_temp_file_punch(store->fd, offset, store->chunk_nbytes);
        if (store->nfree == store->free_cap) {
                size_t cap = store->free_cap ? 2 * store->free_cap : 64;
                void *offsets = realloc(store->free_offsets, cap * sizeof *store->free_offsets);
                if (offsets == NULL)
                        return;
                store->free_offsets = (uint64_t *)offsets;
                store->free_cap = cap;
        }
        store->free_offsets[store->nfree++] = offset;
}

void kc_host_give_chunk(struct kc_host_store *store, const struct kc_host_chunk *chunk)
{
        if (chunk->memory != NULL)
                kc_host_give_pinned(store, chunk->memory);
        else
                give_place(store, chunk->offset);
}
