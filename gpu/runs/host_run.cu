/*
 * Runs of chunks: append pairs from the device, and read any part of a run back.
 */
#include "gpu/runs/host_internal.cuh"

#include <cstdlib>

void kc_host_run_free(struct kc_host_store *store, struct kc_host_run *run)
{
        for (size_t i = 0; i < run->nchunks; i++)
                kc_host_give_chunk(store, &run->chunks[i]);
        kc_host_store_note(store, run->cap * sizeof *run->chunks, 0);
        free(run->chunks);
        *run = {};
}

/* Append a chunk to the run, which will need `wanted` more, this one included. */
static enum kc_status add_chunk(struct kc_host_store *store, struct kc_host_run *run, size_t wanted,
                                struct kc_error *err)
{
        if (run->nchunks == run->cap) {
                size_t cap = run->cap ? 2 * run->cap : 16;
                void *chunks = realloc(run->chunks, cap * sizeof *run->chunks);
                if (chunks == NULL)
                        return kc_fail(err, KC_ENOMEM, "out of memory");
                run->chunks = (struct kc_host_chunk *)chunks;
                kc_host_store_note(store, run->cap * sizeof *run->chunks,
                                   cap * sizeof *run->chunks);
                run->cap = cap;
        }
        enum kc_status status = kc_host_take_chunk(store, &run->chunks[run->nchunks], wanted, err);
        if (status == KC_OK)
                run->nchunks++;
        return status;
}

namespace
{

/* Contiguous pairs: within one chunk and, if it is in the file, at most what a stage holds. */
struct host_piece {
        struct kc_host_chunk chunk;
        size_t at, n; /* in the chunk */
        size_t kmer_nbytes;
        struct kc_host_stage *stage; /* if the chunk is in the file */
};

} // namespace

static struct host_piece piece_at(const struct kc_host_store *store, const struct kc_host_run *run,
                                  size_t from, size_t n)
{
        struct host_piece piece = {};
        piece.chunk = run->chunks[from / store->chunk_npairs];
        piece.kmer_nbytes = store->pair_nbytes - sizeof(uint32_t);
        piece.at = from % store->chunk_npairs;
        size_t cap = store->chunk_npairs - piece.at;
        size_t stage_npairs = KC_HOST_STAGE_NBYTES / store->pair_nbytes;
        if (piece.chunk.memory == NULL && cap > stage_npairs)
                cap = stage_npairs;
        piece.n = n < cap ? n : cap;
        return piece;
}

/* Where a piece's k-mers and counts are in pinned memory: in the chunk or in the stage. */
static uint8_t *piece_kmers(const struct host_piece *piece)
{
        return piece->stage ? piece->stage->memory
                            : piece->chunk.memory + piece->at * piece->kmer_nbytes;
}

static uint8_t *piece_counts(const struct kc_host_store *store, const struct host_piece *piece)
{
        return piece->stage ? piece->stage->memory + piece->n * piece->kmer_nbytes
                            : piece->chunk.memory + store->chunk_npairs * piece->kmer_nbytes +
                                      piece->at * sizeof(uint32_t);
}

static uint64_t kmers_offset(const struct host_piece *piece)
{
        return piece->chunk.offset + piece->at * piece->kmer_nbytes;
}

static uint64_t counts_offset(const struct kc_host_store *store, const struct host_piece *piece)
{
        return piece->chunk.offset + store->chunk_npairs * piece->kmer_nbytes +
               piece->at * sizeof(uint32_t);
}

/* Write the stage to the file, once the device has filled it. */
static enum kc_status write_piece(struct kc_host_store *store, const struct host_piece *piece,
                                  struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(KC_CUDA(cudaEventSynchronize(piece->stage->free)));
        KC_TRY(kc_temp_file_write(store->tmp_dir, store->fd, piece_kmers(piece),
                                  piece->n * piece->kmer_nbytes, kmers_offset(piece), err));
        KC_TRY(kc_temp_file_write(store->tmp_dir, store->fd, piece_counts(store, piece),
                                  piece->n * sizeof(uint32_t), counts_offset(store, piece), err));
        store->written_nbytes += piece->n * store->pair_nbytes;
out:
        return status;
}

static enum kc_status read_piece(struct kc_host_store *store, const struct host_piece *piece,
                                 struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(kc_temp_file_read(store->tmp_dir, store->fd, piece_kmers(piece),
                                 piece->n * piece->kmer_nbytes, kmers_offset(piece), err));
        KC_TRY(kc_temp_file_read(store->tmp_dir, store->fd, piece_counts(store, piece),
                                 piece->n * sizeof(uint32_t), counts_offset(store, piece), err));
out:
        return status;
}

/* Copy between device memory and the piece, in either direction. */
static enum kc_status copy_piece(struct kc_host_store *store, const struct host_piece *piece,
                                 bool to_device, void *kmers, void *counts, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        cudaStream_t stream = to_device ? store->gpu->upload : store->gpu->download;
        enum cudaMemcpyKind kind = to_device ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
        const struct {
                void *device, *host;
                size_t nbytes;
        } parts[] = { { kmers, piece_kmers(piece), piece->n * piece->kmer_nbytes },
                      { counts, piece_counts(store, piece), piece->n * sizeof(uint32_t) } };
        for (const auto &part : parts)
                KC_TRY(KC_CUDA(cudaMemcpyAsync(to_device ? part.device : part.host,
                                               to_device ? part.host : part.device, part.nbytes,
                                               kind, stream)));
        if (piece->stage != NULL)
                KC_TRY(KC_CUDA(cudaEventRecord(piece->stage->free, stream)));
out:
        return status;
}

/* ---- from the device ---- */

/* Each piece is written to the file while the next one is copied from the device. */
template <class Key>
static enum kc_status append_pieces(struct kc_host_store *store, struct kc_host_run *run,
                                    const struct kc_gpu_run<Key> *pairs, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct host_piece piece, before = {};
        for (size_t done = 0; done < pairs->n; done += piece.n) {
                size_t left = pairs->n - done;
                KC_TRY(kc_host_store_check(store, err));
                if (run->n == run->nchunks * store->chunk_npairs)
                        KC_TRY(add_chunk(store, run, left / store->chunk_npairs + 1, err));
                piece = piece_at(store, run, run->n, left);
                if (piece.chunk.memory == NULL)
                        KC_TRY(kc_host_store_stage(store, &piece.stage, err));
                KC_TRY(copy_piece(store, &piece, false, pairs->kmers + done, pairs->counts + done,
                                  err));
                run->n += piece.n;
                if (before.stage != NULL)
                        KC_TRY(write_piece(store, &before, err));
                before = piece;
        }
        if (before.stage != NULL)
                KC_TRY(write_piece(store, &before, err));
out:
        return status;
}

template <class Key>
enum kc_status kc_host_run_append(struct kc_host_store *store, struct kc_host_run *run,
                                  const struct kc_gpu_run<Key> *pairs, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(KC_CUDA(cudaStreamSynchronize(store->gpu->stream)));
        KC_TRY(append_pieces(store, run, pairs, err));
out:
        cudaError_t code = cudaStreamSynchronize(store->gpu->download);
        return status != KC_OK ? status : KC_CUDA(code);
}

/* ---- to the device ---- */

template <class Key>
enum kc_status kc_host_run_read(struct kc_host_store *store, const struct kc_host_run *run,
                                size_t from, size_t n, Key *kmers, uint32_t *counts,
                                struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct host_piece piece;
        for (size_t done = 0; done < n; done += piece.n) {
                piece = piece_at(store, run, from + done, n - done);
                if (piece.chunk.memory == NULL) {
                        KC_TRY(kc_host_store_stage(store, &piece.stage, err));
                        KC_TRY(read_piece(store, &piece, err));
                }
                KC_TRY(copy_piece(store, &piece, true, kmers + done, counts + done, err));
        }
out:
        return status;
}

#define INSTANTIATE(Key) \
        template enum kc_status kc_host_run_append(struct kc_host_store *, struct kc_host_run *, \
                                                   const struct kc_gpu_run<Key> *, \
                                                   struct kc_error *); \
        template enum kc_status kc_host_run_read(struct kc_host_store *, \
                                                 const struct kc_host_run *, size_t, size_t, \
                                                 Key *, uint32_t *, struct kc_error *);
KC_GPU_KEYS(INSTANTIATE)
