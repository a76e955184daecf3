#include "gpu/host_run.cuh"

#include "kmer/parallel.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Also where the file system cannot open a file without a name. */
static int open_and_unlink(const char *folder)
{
        size_t cap = strlen(folder) + sizeof "/kcount.XXXXXX";
        char *path = (char *)malloc(cap);
        if (path == NULL)
                return -1;
        snprintf(path, cap, "%s/kcount.XXXXXX", folder);
        int fd = mkostemp(path, O_CLOEXEC);
        if (fd >= 0)
                (void)unlink(path);
        free(path);
        return fd;
}

enum kc_status kc_nameless_file(const char *folder, int *fd, struct kc_error *err)
{
        *fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        if (*fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL))
                *fd = open_and_unlink(folder);
        if (*fd < 0)
                return kc_fail(err, KC_EIO,
                               "cannot create a temporary file in %s: %s; choose another folder "
                               "with --tmp",
                               folder, strerror(errno));
        return KC_OK;
}

enum kc_status kc_nameless_write(const char *folder, int fd, const void *data, size_t nbytes,
                                 uint64_t offset, struct kc_error *err)
{
        const char *from = (const char *)data;
        while (nbytes > 0) {
                ssize_t n = pwrite(fd, from, nbytes, (off_t)offset);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return kc_fail(err, KC_EIO,
                                       "cannot write to a temporary file in %s: %s; choose another "
                                       "folder with --tmp",
                                       folder, n < 0 ? strerror(errno) : "nothing was written");
                from += n;
                offset += (uint64_t)n;
                nbytes -= (size_t)n;
        }
        return KC_OK;
}

enum kc_status kc_nameless_read(const char *folder, int fd, void *data, size_t nbytes,
                                uint64_t offset, struct kc_error *err)
{
        char *to = (char *)data;
        while (nbytes > 0) {
                ssize_t n = pread(fd, to, nbytes, (off_t)offset);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return kc_fail(err, KC_EIO, "cannot read a temporary file in %s: %s",
                                       folder, n < 0 ? strerror(errno) : "it has become shorter");
                to += n;
                offset += (uint64_t)n;
                nbytes -= (size_t)n;
        }
        return KC_OK;
}

/* A chunk begins with a page, of memory or of the file. */
enum { PAGE_NBYTES = 4096 };

static size_t round_up(size_t n, size_t unit)
{
        return (n + unit - 1) / unit * unit;
}

enum kc_status kc_host_store_open(struct kc_host_store *store, struct kc_gpu *gpu,
                                  const struct kc_host_store_setup *setup, struct kc_error *err)
{
        *store = {};
        store->gpu = gpu;
        store->chunk_npairs = setup->chunk_npairs;
        store->pair_nbytes = setup->pair_nbytes;
        store->chunk_nbytes = round_up(setup->chunk_npairs * setup->pair_nbytes, PAGE_NBYTES);
        store->nthreads = setup->nthreads > 1 ? setup->nthreads : 1;
        store->max_pinned_nbytes = setup->max_pinned_nbytes;
        store->fd = -1;
        store->tmp_dir = strdup(setup->tmp_dir);
        if (store->tmp_dir == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        return KC_OK;
}

/* One mapping, cut into pieces. */
struct kc_host_slab {
        struct kc_host_slab *next;
        uint8_t *mapping, *pieces; /* pieces begin with a huge page */
        size_t npieces, piece_nbytes;
        int nthreads;
};

enum { HUGE_PAGE_NBYTES = 2 << 20, MAX_SLAB_NBYTES = 256 << 20 };

static size_t slab_nbytes(const struct kc_host_slab *slab)
{
        return slab->npieces * slab->piece_nbytes;
}

static void free_slab(struct kc_host_slab *slab)
{
        if (slab->mapping != NULL)
                (void)munmap(slab->mapping, slab_nbytes(slab) + HUGE_PAGE_NBYTES);
        free(slab);
}

static enum kc_status touch_share(void *ctx, int worker, struct kc_error *)
{
        const struct kc_host_slab *slab = (const struct kc_host_slab *)ctx;
        size_t share = round_up(slab_nbytes(slab) / (size_t)slab->nthreads + 1, HUGE_PAGE_NBYTES);
        size_t begin = share * (size_t)worker;
        for (size_t i = begin; i < begin + share && i < slab_nbytes(slab); i += PAGE_NBYTES)
                slab->pieces[i] = 0;
        return KC_OK;
}

/* NULL if it cannot be had. */
static struct kc_host_slab *new_slab(size_t npieces, size_t piece_nbytes, int nthreads)
{
        struct kc_host_slab *slab = (struct kc_host_slab *)calloc(1, sizeof *slab);
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
        slab->pieces = (uint8_t *)round_up((uintptr_t)mapping, HUGE_PAGE_NBYTES);
        /* A kernel without huge pages works as well, only slower; so do fewer threads. */
        (void)madvise(slab->pieces, slab_nbytes(slab), MADV_HUGEPAGE);
        (void)kc_parallel(nthreads, touch_share, NULL, slab, NULL);
        if (cudaHostRegister(slab->pieces, slab_nbytes(slab), cudaHostRegisterDefault) ==
            cudaSuccess)
                return slab;
        (void)cudaGetLastError();
        free_slab(slab);
        return NULL;
}

static void free_slabs(struct kc_host_store *store)
{
        for (struct kc_host_slab *slab = store->slabs, *next; slab != NULL; slab = next) {
                next = slab->next;
                (void)cudaHostUnregister(slab->pieces);
                free_slab(slab);
        }
}

void kc_host_store_close(struct kc_host_store *store)
{
        if (store->tmp_dir == NULL)
                return;
        free_slabs(store);
        for (struct kc_host_stage &stage : store->stages) {
                if (stage.free != NULL)
                        (void)cudaEventDestroy(stage.free);
                if (stage.memory != NULL)
                        (void)cudaFreeHost(stage.memory);
        }
        if (store->fd >= 0)
                (void)close(store->fd);
        free(store->tmp_dir);
        *store = {};
        (void)cudaGetLastError();
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

static void give_pinned(struct kc_host_store *store, uint8_t *piece)
{
        *(void **)piece = store->free_pinned;
        store->free_pinned = piece;
}

/* More pinned memory, for `wanted` chunks at most. If it cannot be had, none is tried for again. */
static void add_slab(struct kc_host_store *store, size_t wanted)
{
        size_t left = (store->max_pinned_nbytes - store->pinned_nbytes) / store->chunk_nbytes;
        size_t n = MAX_SLAB_NBYTES / store->chunk_nbytes;
        n = n > wanted ? wanted : n > 0 ? n : 1;
        n = n > left ? left : n;
        if (n == 0)
                return;
        struct kc_host_slab *slab = new_slab(n, store->chunk_nbytes, store->nthreads);
        if (slab == NULL) {
                store->max_pinned_nbytes = store->pinned_nbytes;
                return;
        }
        slab->next = store->slabs;
        store->slabs = slab;
        store->pinned_nbytes += slab_nbytes(slab);
        for (size_t i = 0; i < n; i++)
                give_pinned(store, slab->pieces + i * store->chunk_nbytes);
}

/* NULL where there is no more pinned memory for chunks; the file serves as well. */
static uint8_t *take_pinned(struct kc_host_store *store, size_t wanted)
{
        if (store->free_pinned == NULL)
                add_slab(store, wanted);
        void *piece = store->free_pinned;
        if (piece != NULL)
                store->free_pinned = *(void **)piece;
        return (uint8_t *)piece;
}

static enum kc_status take_chunk(struct kc_host_store *store, struct kc_host_chunk *chunk,
                                 size_t wanted, struct kc_error *err)
{
        chunk->memory = take_pinned(store, wanted);
        chunk->offset = 0;
        if (chunk->memory != NULL)
                return KC_OK;
        if (store->fd < 0) {
                enum kc_status status = kc_nameless_file(store->tmp_dir, &store->fd, err);
                if (status != KC_OK)
                        return status;
        }
        chunk->offset = store->file_nbytes;
        store->file_nbytes += store->chunk_nbytes;
        return KC_OK;
}

/* The file's blocks go back to the file system, where it can take them. */
static void give_chunk(struct kc_host_store *store, const struct kc_host_chunk *chunk)
{
        if (chunk->memory != NULL)
                give_pinned(store, chunk->memory);
        else
                (void)fallocate(store->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                (off_t)chunk->offset, (off_t)store->chunk_nbytes);
}

void kc_host_run_free(struct kc_host_store *store, struct kc_host_run *run)
{
        for (size_t i = 0; i < run->nchunks; i++)
                give_chunk(store, &run->chunks[i]);
        free(run->chunks);
        *run = {};
}

/* The first of `wanted` chunks that the run will need. */
static enum kc_status add_chunk(struct kc_host_store *store, struct kc_host_run *run, size_t wanted,
                                struct kc_error *err)
{
        if (run->nchunks == run->cap) {
                size_t cap = run->cap ? 2 * run->cap : 16;
                void *chunks = realloc(run->chunks, cap * sizeof *run->chunks);
                if (chunks == NULL)
                        return kc_fail(err, KC_ENOMEM, "out of memory");
                run->chunks = (struct kc_host_chunk *)chunks;
                run->cap = cap;
        }
        enum kc_status status = take_chunk(store, &run->chunks[run->nchunks], wanted, err);
        if (status == KC_OK)
                run->nchunks++;
        return status;
}

/* Pairs that lie side by side: in one chunk, and in the file no more than a stage holds. */
struct piece {
        struct kc_host_chunk chunk;
        size_t at, n; /* in the chunk */
        size_t kmer_nbytes;
        struct kc_host_stage *stage; /* of a chunk in the file */
};

static struct piece piece_at(const struct kc_host_store *store, const struct kc_host_run *run,
                             size_t from, size_t n)
{
        struct piece piece = {};
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

/* Where a piece's k-mers and counts are in pinned memory, the chunk's or the stage's. */
static uint8_t *piece_kmers(const struct piece *piece)
{
        return piece->stage ? piece->stage->memory
                            : piece->chunk.memory + piece->at * piece->kmer_nbytes;
}

static uint8_t *piece_counts(const struct kc_host_store *store, const struct piece *piece)
{
        return piece->stage ? piece->stage->memory + piece->n * piece->kmer_nbytes
                            : piece->chunk.memory + store->chunk_npairs * piece->kmer_nbytes +
                                      piece->at * sizeof(uint32_t);
}

static uint64_t kmers_offset(const struct piece *piece)
{
        return piece->chunk.offset + piece->at * piece->kmer_nbytes;
}

static uint64_t counts_offset(const struct kc_host_store *store, const struct piece *piece)
{
        return piece->chunk.offset + store->chunk_npairs * piece->kmer_nbytes +
               piece->at * sizeof(uint32_t);
}

/* From the stage to the file, when the device has filled the stage. */
static enum kc_status write_piece(struct kc_host_store *store, const struct piece *piece,
                                  struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(KC_CUDA(cudaEventSynchronize(piece->stage->free)));
        KC_TRY(kc_nameless_write(store->tmp_dir, store->fd, piece_kmers(piece),
                                 piece->n * piece->kmer_nbytes, kmers_offset(piece), err));
        KC_TRY(kc_nameless_write(store->tmp_dir, store->fd, piece_counts(store, piece),
                                 piece->n * sizeof(uint32_t), counts_offset(store, piece), err));
        store->written_nbytes += piece->n * store->pair_nbytes;
out:
        return status;
}

static enum kc_status read_piece(struct kc_host_store *store, const struct piece *piece,
                                 struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(kc_nameless_read(store->tmp_dir, store->fd, piece_kmers(piece),
                                piece->n * piece->kmer_nbytes, kmers_offset(piece), err));
        KC_TRY(kc_nameless_read(store->tmp_dir, store->fd, piece_counts(store, piece),
                                piece->n * sizeof(uint32_t), counts_offset(store, piece), err));
out:
        return status;
}

template <class Key>
static enum kc_status download(struct kc_host_store *store, struct piece *piece, const Key *kmers,
                               const uint32_t *counts, struct kc_error *err)
{
        enum kc_status status;
        cudaStream_t stream = store->gpu->download;
        if (piece->chunk.memory == NULL)
                KC_TRY(kc_host_store_stage(store, &piece->stage, err));
        KC_TRY(KC_CUDA(cudaMemcpyAsync(piece_kmers(piece), kmers, piece->n * sizeof(Key),
                                       cudaMemcpyDeviceToHost, stream)));
        KC_TRY(KC_CUDA(cudaMemcpyAsync(piece_counts(store, piece), counts,
                                       piece->n * sizeof(uint32_t), cudaMemcpyDeviceToHost,
                                       stream)));
        if (piece->stage != NULL)
                KC_TRY(KC_CUDA(cudaEventRecord(piece->stage->free, stream)));
out:
        return status;
}

/* A piece is written to the file while the next one is on its way from the device. */
template <class Key>
static enum kc_status append_pieces(struct kc_host_store *store, struct kc_host_run *run,
                                    const struct kc_gpu_run<Key> *pairs, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct piece piece, before = {};
        for (size_t done = 0; done < pairs->n; done += piece.n) {
                size_t left = pairs->n - done;
                if (run->n == run->nchunks * store->chunk_npairs)
                        KC_TRY(add_chunk(store, run, left / store->chunk_npairs + 1, err));
                piece = piece_at(store, run, run->n, left);
                KC_TRY(download(store, &piece, pairs->kmers + done, pairs->counts + done, err));
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

/* To the device, through a stage where the piece is in the file. */
template <class Key>
static enum kc_status upload(struct kc_host_store *store, struct piece *piece, Key *kmers,
                             uint32_t *counts, struct kc_error *err)
{
        enum kc_status status;
        cudaStream_t stream = store->gpu->upload;
        if (piece->chunk.memory == NULL) {
                KC_TRY(kc_host_store_stage(store, &piece->stage, err));
                KC_TRY(read_piece(store, piece, err));
        }
        KC_TRY(KC_CUDA(cudaMemcpyAsync(kmers, piece_kmers(piece), piece->n * sizeof(Key),
                                       cudaMemcpyHostToDevice, stream)));
        KC_TRY(KC_CUDA(cudaMemcpyAsync(counts, piece_counts(store, piece),
                                       piece->n * sizeof(uint32_t), cudaMemcpyHostToDevice,
                                       stream)));
        if (piece->stage != NULL)
                KC_TRY(KC_CUDA(cudaEventRecord(piece->stage->free, stream)));
out:
        return status;
}

template <class Key>
enum kc_status kc_host_run_read(struct kc_host_store *store, const struct kc_host_run *run,
                                size_t from, size_t n, Key *kmers, uint32_t *counts,
                                struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct piece piece;
        for (size_t done = 0; done < n; done += piece.n) {
                piece = piece_at(store, run, from + done, n - done);
                KC_TRY(upload(store, &piece, kmers + done, counts + done, err));
        }
out:
        return status;
}

#define INSTANTIATE(Key) \
        template enum kc_status kc_host_run_append(struct kc_host_store *, struct kc_host_run *, \
                                                   const struct kc_gpu_run<Key> *, \
                                                   struct kc_error *); \
        template enum kc_status kc_host_run_read( \
                struct kc_host_store *, const struct kc_host_run *, size_t, size_t, Key *, \
                uint32_t *, struct kc_error *);
KC_GPU_KEYS(INSTANTIATE)
