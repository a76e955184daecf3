#include "gpu/host/bytes.cuh"

#include "gpu/host/host_internal.cuh"

#include <cstdlib>

void kc_host_bytes_give_back(struct kc_host_store *store, struct kc_host_bytes *bytes, size_t end)
{
        while (bytes->ngiven < bytes->nchunks && (bytes->ngiven + 1) * store->chunk_nbytes <= end)
                kc_host_give_chunk(store, &bytes->chunks[bytes->ngiven++]);
}

void kc_host_bytes_free(struct kc_host_store *store, struct kc_host_bytes *bytes)
{
        kc_host_bytes_give_back(store, bytes, SIZE_MAX);
        kc_host_store_note(store, bytes->cap * sizeof *bytes->chunks, 0);
        free(bytes->chunks);
        *bytes = {};
}

/* Append a chunk; `wanted`: how many will be needed from now on, this one included. */
static enum kc_status add_chunk(struct kc_host_store *store, struct kc_host_bytes *bytes,
                                size_t wanted, struct kc_error *err)
{
        if (bytes->nchunks == bytes->cap) {
                const size_t cap = bytes->cap ? 2 * bytes->cap : 16;
                void *chunks = realloc(bytes->chunks, cap * sizeof *bytes->chunks);
                if (chunks == NULL)
                        return kc_fail(err, KC_ENOMEM, "out of memory");
                bytes->chunks = (struct kc_host_chunk *)chunks;
                kc_host_store_note(store, bytes->cap * sizeof *bytes->chunks,
                                   cap * sizeof *bytes->chunks);
                bytes->cap = cap;
        }
        enum kc_status status =
                kc_host_take_chunk(store, &bytes->chunks[bytes->nchunks], wanted, err);
        if (status == KC_OK)
                bytes->nchunks++;
        return status;
}

namespace
{

/* Contiguous bytes: within one chunk and, if it is in the file, at most what a stage holds. */
struct host_piece {
        struct kc_host_chunk chunk;
        size_t at, n;                /* in the chunk */
        struct kc_host_stage *stage; /* if the chunk is in the file */
};

} // namespace

static enum kc_status piece_at(struct kc_host_store *store, const struct kc_host_bytes *bytes,
                               size_t from, size_t n, struct host_piece *piece,
                               struct kc_error *err)
{
        *piece = { bytes->chunks[from / store->chunk_nbytes], from % store->chunk_nbytes, n, NULL };
        const bool in_file = piece->chunk.memory == NULL;
        size_t most = store->chunk_nbytes - piece->at;
        if (in_file && most > KC_HOST_STAGE_NBYTES)
                most = KC_HOST_STAGE_NBYTES;
        if (piece->n > most)
                piece->n = most;
        return in_file ? kc_host_store_stage(store, &piece->stage, err) : KC_OK;
}

/* Where the piece is in pinned memory: in the chunk or in the stage. */
static uint8_t *pinned_piece(const struct host_piece *piece)
{
        return piece->stage != NULL ? piece->stage->memory : piece->chunk.memory + piece->at;
}

/* The device no longer needs the stage once the work enqueued so far is done. */
static enum kc_status note_stage(const struct host_piece *piece, cudaStream_t stream,
                                 struct kc_error *err)
{
        return piece->stage != NULL ? KC_CUDA(cudaEventRecord(piece->stage->free, stream)) : KC_OK;
}

/* ---- from the device ---- */

/* Write the stage, if the piece has one, to the file once the device has filled it. */
static enum kc_status write_piece(struct kc_host_store *store, const struct host_piece *piece,
                                  struct kc_error *err)
{
        enum kc_status status;
        if (piece->stage == NULL)
                return KC_OK;
        KC_TRY(KC_CUDA(cudaEventSynchronize(piece->stage->free)));
        KC_TRY(kc_temp_file_write(store->tmp_dir, store->fd, piece->stage->memory, piece->n,
                                  piece->chunk.offset + piece->at, err));
        store->written_nbytes += piece->n;
out:
        return status;
}

/* Each piece is written to the file while the next one is copied from the device. */
enum kc_status kc_host_bytes_append(struct kc_host_store *store, struct kc_host_bytes *bytes,
                                    const void *from, size_t n, size_t expected,
                                    struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct host_piece piece, before = {};
        cudaStream_t stream = store->gpu->download;
        for (size_t done = 0; done < n; done += piece.n) {
                KC_TRY(kc_host_store_check(store, err));
                if (bytes->n == bytes->nchunks * store->chunk_nbytes)
                        KC_TRY(add_chunk(store, bytes, (expected - done) / store->chunk_nbytes + 1,
                                         err));
                KC_TRY(piece_at(store, bytes, bytes->n, n - done, &piece, err));
                KC_TRY(KC_CUDA(cudaMemcpyAsync(pinned_piece(&piece), (const uint8_t *)from + done,
                                               piece.n, cudaMemcpyDeviceToHost, stream)));
                KC_TRY(note_stage(&piece, stream, err));
                bytes->n += piece.n;
                KC_TRY(write_piece(store, &before, err));
                before = piece;
        }
        KC_TRY(write_piece(store, &before, err));
out:
        if (status != KC_OK)
                (void)cudaStreamSynchronize(stream); /* the caller may free the memory */
        return status;
}

/* ---- to the device ---- */

enum kc_status kc_host_bytes_read(struct kc_host_store *store, const struct kc_host_bytes *bytes,
                                  size_t at, size_t n, void *to, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct host_piece piece;
        cudaStream_t stream = store->gpu->upload;
        for (size_t done = 0; done < n; done += piece.n) {
                KC_TRY(piece_at(store, bytes, at + done, n - done, &piece, err));
                if (piece.stage != NULL)
                        KC_TRY(kc_temp_file_read(store->tmp_dir, store->fd, piece.stage->memory,
                                                 piece.n, piece.chunk.offset + piece.at, err));
                KC_TRY(KC_CUDA(cudaMemcpyAsync((uint8_t *)to + done, pinned_piece(&piece), piece.n,
                                               cudaMemcpyHostToDevice, stream)));
                KC_TRY(note_stage(&piece, stream, err));
        }
out:
        return status;
}
