#include "gpu/runs/host_bytes.cuh"

#include "gpu/runs/host_internal.cuh"

#include <cstdlib>

/* How many of the bytes are in chunk i. */
static size_t piece_nbytes(const struct kc_host_store *store, const struct kc_host_bytes *bytes,
                           size_t i)
{
        const size_t left = bytes->n - i * store->chunk_npairs;
        return left < store->chunk_npairs ? left : store->chunk_npairs;
}

/* Write through a stage, as much at a time as it holds. */
static enum kc_status write_to_file(struct kc_host_store *store, const struct kc_host_chunk *chunk,
                                    const uint8_t *from, size_t n, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_host_stage *stage;
        cudaStream_t stream = store->gpu->download;
        for (size_t at = 0, piece; at < n; at += piece) {
                piece = n - at < KC_HOST_STAGE_NBYTES ? n - at : (size_t)KC_HOST_STAGE_NBYTES;
                KC_TRY(kc_host_store_stage(store, &stage, err));
                KC_TRY(KC_CUDA(cudaMemcpyAsync(stage->memory, from + at, piece,
                                               cudaMemcpyDeviceToHost, stream)));
                KC_TRY(KC_CUDA(cudaStreamSynchronize(stream)));
                KC_TRY(kc_temp_file_write(store->tmp_dir, store->fd, stage->memory, piece,
                                          chunk->offset + at, err));
        }
        store->written_nbytes += n;
out:
        return status;
}

enum kc_status kc_host_bytes_write(struct kc_host_store *store, struct kc_host_bytes *bytes,
                                   const void *from, size_t n, struct kc_error *err)
{
        enum kc_status status;
        const uint8_t *at = (const uint8_t *)from;
        const size_t nchunks = (n + store->chunk_npairs - 1) / store->chunk_npairs;
        *bytes = {};
        bytes->n = n;
        bytes->chunks = (struct kc_host_chunk *)calloc(nchunks, sizeof *bytes->chunks);
        if (bytes->chunks == NULL && nchunks > 0)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        KC_TRY(KC_CUDA(cudaStreamSynchronize(store->gpu->stream)));
        for (size_t i = 0; i < nchunks; i++, at += store->chunk_npairs) {
                struct kc_host_chunk *chunk = &bytes->chunks[i];
                const size_t piece = piece_nbytes(store, bytes, i);
                KC_TRY(kc_host_store_check(store, err));
                KC_TRY(kc_host_take_chunk(store, chunk, nchunks - i, err));
                bytes->nchunks++;
                if (chunk->memory == NULL)
                        KC_TRY(write_to_file(store, chunk, at, piece, err));
                else
                        KC_TRY(KC_CUDA(cudaMemcpyAsync(chunk->memory, at, piece,
                                                       cudaMemcpyDeviceToHost,
                                                       store->gpu->download)));
        }
out:
        cudaError_t code = cudaStreamSynchronize(store->gpu->download);
        return status != KC_OK ? status : KC_CUDA(code);
}

static enum kc_status read_from_file(struct kc_host_store *store, const struct kc_host_chunk *chunk,
                                     uint8_t *to, size_t n, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_host_stage *stage;
        cudaStream_t stream = store->gpu->upload;
        for (size_t at = 0, piece; at < n; at += piece) {
                piece = n - at < KC_HOST_STAGE_NBYTES ? n - at : (size_t)KC_HOST_STAGE_NBYTES;
                KC_TRY(kc_host_store_stage(store, &stage, err));
                KC_TRY(kc_temp_file_read(store->tmp_dir, store->fd, stage->memory, piece,
                                         chunk->offset + at, err));
                KC_TRY(KC_CUDA(cudaMemcpyAsync(to + at, stage->memory, piece,
                                               cudaMemcpyHostToDevice, stream)));
                KC_TRY(KC_CUDA(cudaEventRecord(stage->free, stream)));
        }
out:
        return status;
}

enum kc_status kc_host_bytes_read(struct kc_host_store *store, const struct kc_host_bytes *bytes,
                                  void *to, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        uint8_t *at = (uint8_t *)to;
        for (size_t i = 0; i < bytes->nchunks; i++, at += store->chunk_npairs) {
                const struct kc_host_chunk *chunk = &bytes->chunks[i];
                const size_t piece = piece_nbytes(store, bytes, i);
                if (chunk->memory == NULL)
                        KC_TRY(read_from_file(store, chunk, at, piece, err));
                else
                        KC_TRY(KC_CUDA(cudaMemcpyAsync(at, chunk->memory, piece,
                                                       cudaMemcpyHostToDevice,
                                                       store->gpu->upload)));
        }
out:
        return status;
}

void kc_host_bytes_free(struct kc_host_store *store, struct kc_host_bytes *bytes)
{
        for (size_t i = 0; i < bytes->nchunks; i++)
                kc_host_give_chunk(store, &bytes->chunks[i]);
        free(bytes->chunks);
        *bytes = {};
}
