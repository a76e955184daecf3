#include "gpu/kept/kept.cuh"

#include "gpu/host/bytes.cuh"
#include "gpu/kept/pack.cuh"

#include <algorithm>
#include <cstdlib>

namespace
{

struct kept_chunk {
        unsigned char *device; /* words, marks, groups, padding; NULL: not on this device */
        struct kc_host_bytes host;
        const unsigned char *source; /* on the source's device; NULL: on the host, or no source */
        struct kept_origin *origin;  /* NULL: no source */
        size_t nbytes, nwords, nmarks;
        uint32_t nspans;
};

/* A source, as seen by the device that uses its chunks. */
struct kept_origin {
        struct kc_gpu_link *link;   /* NULL: on the same device */
        struct kc_host_store store; /* reads from the source's */
};

/* Device memory for a chunk that is copied there for a pass. */
struct kept_slot {
        unsigned char *memory;      /* [largest_nbytes] */
        struct kc_gpu_chunk *chunk; /* device [1] */
        cudaEvent_t copied, used;   /* used: the device no longer needs it */
        uint32_t ngroups;
};

enum {
        NSLOTS = 2,
        PADDING_NBYTES = 64,  /* lanes without a span read on past the last base */
        NCOPIES_CHUNKS = 128, /* chunks set aside for copies of bases: at least 4 GiB */
};

} // namespace

struct kc_gpu_kept {
        struct kc_gpu *gpu;
        struct kept_origin *origins; /* [norigins] of shared chunks */
        int norigins;
        struct kc_superkmer_setup superkmers[KC_KEPT_MAX_KS]; /* [nks] */
        int nks;
        size_t max_device_nbytes;
        struct kc_host_store store; /* of its own chunks */
        struct kept_chunk *chunks;  /* [nchunks] */
        size_t nchunks, cap, nhost;
        size_t device_nbytes, host_nbytes, largest_nbytes; /* largest: of those on the host */
        struct kc_packer packer;
        unsigned char *packed; /* device [packed_nbytes]: a chunk before its place is chosen */
        size_t packed_nbytes;
        struct kc_load *loads;           /* device [nks][KC_NLOADS] */
        uint64_t *nkmers;                /* device [nks] */
        uint32_t max_chunks;             /* that can have positions */
        struct kc_gpu_chunk *table;      /* device [max_chunks] */
        struct kc_gpu_chunk *host_table; /* [max_chunks] */
        struct kept_slot slots[NSLOTS];
        size_t next;    /* of the chunks on the host: the next to copy */
        size_t ncopied; /* in this pass */
        size_t ntaken;  /* in this pass */
};

/* ---- life ---- */

static enum kc_status give_chunk(void *ctx, bool *gave, struct kc_error *err);

/* Pieces are small enough that little of the last one is wasted. */
static size_t piece_nbytes(const struct kc_gpu_kept_setup *setup)
{
        size_t nbytes = (size_t)2 << 20;
        while (nbytes > (size_t)64 << 10 && nbytes * 16 > setup->host_nbytes)
                nbytes /= 2;
        return nbytes;
}

static size_t chunk_nbytes(size_t nwords, size_t nmarks, size_t ngroups)
{
        return nwords * sizeof(uint64_t) + nmarks * sizeof(struct kc_mark) +
               ngroups * sizeof(struct kc_span_group) + PADDING_NBYTES;
}

/* With a single k, there are no marks. */
static size_t largest_chunk_nbytes(uint64_t max_nbases, size_t max_nspans, int nks)
{
        const size_t nmarks = nks > 1 ? 2 * max_nspans : 0;
        return chunk_nbytes(max_nbases / 32 + 1, nmarks, max_nspans / KC_GROUP_NSPANS + 1);
}

size_t kc_gpu_kept_nbytes(uint64_t max_nbases, size_t max_nspans, int nks)
{
        const size_t scratch = 1 << 20;
        return largest_chunk_nbytes(max_nbases, max_nspans, nks) + max_nspans * sizeof(uint64_t) +
               (size_t)nks * KC_NLOADS * sizeof(struct kc_load) +
               kc_record_max_chunks(KC_RECORD_MAX_POSITION_BITS) * sizeof(struct kc_gpu_chunk) +
               scratch;
}

/* Allocate the loads and the numbers of k-mers, all zero. */
static enum kc_status make_loads(struct kc_gpu_kept *kept, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu *gpu = kept->gpu;
        const size_t nks = (size_t)kept->nks, nloads = nks * KC_NLOADS;
        KC_TRY(kc_gpu_new(gpu, &kept->loads, nloads, err));
        KC_TRY(kc_gpu_new(gpu, &kept->nkmers, nks, err));
        KC_TRY(KC_CUDA(cudaMemsetAsync(kept->loads, 0, nloads * sizeof *kept->loads, gpu->stream)));
        KC_TRY(KC_CUDA(cudaMemsetAsync(kept->nkmers, 0, nks * sizeof *kept->nkmers, gpu->stream)));
out:
        return status;
}

/* Allocate the tables of chunks. */
static enum kc_status make_tables(struct kc_gpu_kept *kept, uint32_t max_chunks,
                                  struct kc_error *err)
{
        kept->max_chunks = max_chunks;
        kept->host_table = (struct kc_gpu_chunk *)calloc(max_chunks, sizeof *kept->host_table);
        return kept->host_table != NULL ? kc_gpu_new(kept->gpu, &kept->table, max_chunks, err)
                                        : kc_fail(err, KC_ENOMEM, "out of memory");
}

/* Most chunks that are kept on the device. */
static size_t most_on_device(const struct kc_gpu_kept *kept)
{
        return kept->max_chunks - NCOPIES_CHUNKS;
}

enum kc_status kc_gpu_kept_new(struct kc_gpu_kept **out, struct kc_gpu *gpu,
                               const struct kc_gpu_kept_setup *setup, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_kept *kept = (struct kc_gpu_kept *)calloc(1, sizeof *kept);
        *out = NULL;
        if (kept == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        struct kc_host_store_setup store = {};
        store.chunk_nbytes = piece_nbytes(setup);
        store.max_pinned_nbytes = setup->host_nbytes;
        store.tmp_dir = setup->tmp_dir;
        store.nthreads = setup->nthreads;
        store.gate = setup->gate;
        kept->gpu = gpu;
        kept->superkmers[kept->nks++] = setup->superkmers;
        for (int i = 0; i < setup->nothers; i++)
                kept->superkmers[kept->nks++] = setup->others[i];
        kept->max_device_nbytes = setup->device_nbytes;
        KC_TRY(kc_host_store_open(&kept->store, gpu, &store, err));
        kept->packed_nbytes = largest_chunk_nbytes(setup->max_nbases, setup->max_nspans, kept->nks);
        KC_TRY(kc_packer_new(&kept->packer, gpu, setup->max_nspans, err));
        KC_TRY(kc_gpu_new(gpu, &kept->packed, kept->packed_nbytes, err));
        KC_TRY(make_tables(kept, kc_record_max_chunks(setup->superkmers.form.position_bits), err));
        KC_TRY(make_loads(kept, err));
        gpu->spare = { kept, give_chunk };
        *out = kept;
        kept = NULL;
out:
        kc_gpu_kept_free(kept);
        return status;
}

static void free_slot(struct kc_gpu_kept *kept, struct kept_slot *slot)
{
        kc_gpu_delete(kept->gpu, slot->memory, kept->largest_nbytes);
        kc_gpu_delete(kept->gpu, slot->chunk, 1);
        if (slot->copied != NULL)
                (void)cudaEventDestroy(slot->copied);
        if (slot->used != NULL)
                (void)cudaEventDestroy(slot->used);
        *slot = {};
}

static void free_slots(struct kc_gpu_kept *kept)
{
        (void)cudaStreamSynchronize(kept->gpu->upload); /* no copy may be under way */
        for (struct kept_slot &slot : kept->slots)
                free_slot(kept, &slot);
}

/* Whether the chunk's device memory is the source's own. */
static bool is_borrowed(const struct kept_chunk *chunk)
{
        return chunk->origin != NULL && chunk->origin->link == NULL;
}

static void free_chunk(struct kc_gpu_kept *kept, struct kept_chunk *chunk)
{
        if (!is_borrowed(chunk))
                kc_gpu_delete(kept->gpu, chunk->device, chunk->nbytes);
        if (chunk->origin == NULL)
                kc_host_bytes_free(&kept->store, &chunk->host);
}

void kc_gpu_kept_free(struct kc_gpu_kept *kept)
{
        if (kept == NULL)
                return;
        kc_gpu_kept_end(kept);
        kc_gpu_kept_settle(kept);
        free_slots(kept);
        for (size_t i = 0; i < kept->nchunks; i++)
                free_chunk(kept, &kept->chunks[i]);
        for (int i = 0; i < kept->norigins; i++)
                kc_host_store_close(&kept->origins[i].store);
        free(kept->origins);
        kc_gpu_delete(kept->gpu, kept->loads, (size_t)kept->nks * KC_NLOADS);
        kc_gpu_delete(kept->gpu, kept->nkmers, (size_t)kept->nks);
        kc_gpu_delete(kept->gpu, kept->table, kept->max_chunks);
        free(kept->host_table);
        kc_host_store_close(&kept->store);
        free(kept->chunks);
        free(kept);
}

void kc_gpu_kept_end(struct kc_gpu_kept *kept)
{
        kc_packer_free(&kept->packer, kept->gpu);
        kc_gpu_delete(kept->gpu, kept->packed, kept->packed_nbytes);
        kept->packed = NULL;
}

void kc_gpu_kept_settle(struct kc_gpu_kept *kept)
{
        if (kept->gpu->spare.ctx == kept)
                (void)kc_gpu_take_spare(kept->gpu);
}

void kc_gpu_kept_unsettle(struct kc_gpu_kept *kept)
{
        free_slots(kept); /* chunks that move may be larger */
        kept->gpu->spare = { kept, give_chunk };
}

/* ---- putting ---- */

static struct kc_packed parts_of(const struct kept_chunk *chunk, unsigned char *memory)
{
        struct kc_packed parts;
        parts.words = (uint64_t *)memory;
        parts.marks = (struct kc_mark *)(parts.words + chunk->nwords);
        parts.groups = (struct kc_span_group *)(parts.marks + chunk->nmarks);
        return parts;
}

static struct kc_gpu_chunk view_of(const struct kept_chunk *chunk, unsigned char *memory)
{
        const struct kc_packed parts = parts_of(chunk, memory);
        struct kc_gpu_chunk view = {};
        view.words = parts.words;
        view.groups = parts.groups;
        view.nspans = chunk->nspans;
        view.marks = parts.marks;
        view.nmarks = (uint32_t)chunk->nmarks;
        return view;
}

static uint32_t ngroups_of(const struct kept_chunk *chunk)
{
        return (chunk->nspans + KC_GROUP_NSPANS - 1) / KC_GROUP_NSPANS;
}

/* Copy the chunk from device memory to the host. */
static enum kc_status keep_on_host(struct kc_gpu_kept *kept, struct kept_chunk *chunk,
                                   const unsigned char *from, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(KC_CUDA(cudaStreamSynchronize(kept->gpu->stream)));
        KC_TRY(kc_host_bytes_append(&kept->store, &chunk->host, from, chunk->nbytes, chunk->nbytes,
                                    err));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(kept->gpu->download)));
        kept->host_nbytes += chunk->nbytes;
        kept->nhost++;
        if (chunk->nbytes > kept->largest_nbytes)
                kept->largest_nbytes = chunk->nbytes;
out:
        return status;
}

/* Move the newest chunk on the device to the host. */
static enum kc_status give_chunk(void *ctx, bool *gave, struct kc_error *err)
{
        struct kc_gpu_kept *kept = (struct kc_gpu_kept *)ctx;
        enum kc_status status = KC_OK;
        size_t i = kept->nchunks;
        while (i > 0 && kept->chunks[i - 1].device == NULL)
                i--;
        *gave = i > 0;
        if (i == 0)
                return KC_OK;
        struct kept_chunk *chunk = &kept->chunks[i - 1];
        KC_TRY(keep_on_host(kept, chunk, chunk->device, err));
        kc_gpu_delete(kept->gpu, chunk->device, chunk->nbytes);
        chunk->device = NULL;
        kept->device_nbytes -= chunk->nbytes;
out:
        return status;
}

enum kc_status kc_gpu_kept_give(struct kc_gpu_kept *kept, bool *gave, struct kc_error *err)
{
        return give_chunk(kept, gave, err);
}

enum kc_status kc_gpu_kept_leave_device(struct kc_gpu_kept *kept, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        bool gave = true;
        while (gave && kc_host_store_left(&kept->store) >= kept->largest_nbytes)
                KC_TRY(give_chunk(kept, &gave, err));
out:
        return status;
}

/* Append an empty chunk. */
static enum kc_status add_chunk(struct kc_gpu_kept *kept, struct kc_error *err)
{
        if (kept->nchunks == kept->cap) {
                const size_t cap = kept->cap ? 2 * kept->cap : 64;
                void *chunks = realloc(kept->chunks, cap * sizeof *kept->chunks);
                if (chunks == NULL)
                        return kc_fail(err, KC_ENOMEM, "out of memory");
                kept->chunks = (struct kept_chunk *)chunks;
                kept->cap = cap;
        }
        kept->chunks[kept->nchunks++] = {};
        return KC_OK;
}

/* Make a table of one chunk on the device. */
static enum kc_status show_one(const struct kept_chunk *chunk, unsigned char *memory,
                               struct kc_gpu_chunk *table, cudaStream_t stream,
                               struct kc_error *err)
{
        const struct kc_gpu_chunk view = view_of(chunk, memory);
        return KC_CUDA(cudaMemcpyAsync(table, &view, sizeof view, cudaMemcpyHostToDevice, stream));
}

/* Keep the packed chunk on the device (*done) unless there is no room for it. */
static enum kc_status keep_on_device(struct kc_gpu_kept *kept, struct kept_chunk *chunk, bool *done,
                                     struct kc_error *err)
{
        struct kc_gpu *gpu = kept->gpu;
        struct kc_error refusal = {};
        *done = false;
        if (kept->device_nbytes + chunk->nbytes > kept->max_device_nbytes ||
            kept->nchunks - kept->nhost > most_on_device(kept))
                return KC_OK;
        struct kc_gpu_spare spare = kc_gpu_take_spare(gpu);
        enum kc_status status = kc_gpu_new(gpu, &chunk->device, chunk->nbytes, &refusal);
        gpu->spare = spare;
        if (status == KC_ENOMEM)
                return KC_OK;
        if (status != KC_OK)
                return kc_fail_as(err, &refusal);
        *done = true;
        kept->device_nbytes += chunk->nbytes;
        return KC_CUDA(cudaMemcpyAsync(chunk->device, kept->packed, chunk->nbytes,
                                       cudaMemcpyDeviceToDevice, gpu->stream));
}

/* Add the packed chunk to the loads of each k, and to the numbers of k-mers. */
static enum kc_status add_loads(struct kc_gpu_kept *kept, const struct kept_chunk *chunk,
                                struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu *gpu = kept->gpu;
        const struct kc_gpu_chunks one = { kept->table, 1, ngroups_of(chunk) };
        KC_TRY(show_one(chunk, kept->packed, kept->table, gpu->stream, err));
        for (int i = 0; i < kept->nks; i++) {
                const struct kc_superkmer_setup *superkmers = &kept->superkmers[i];
                KC_TRY(kc_superkmer_sample(gpu, superkmers, &one, kept->loads + i * KC_NLOADS,
                                           err));
                if (kept->nks > 1)
                        KC_TRY(kc_superkmer_count(gpu, superkmers, &one, kept->nkmers + i, err));
        }
out:
        return status;
}

enum kc_status kc_gpu_kept_put(struct kc_gpu_kept *kept, const struct kc_gpu_reads *reads,
                               struct kc_error *err)
{
        enum kc_status status;
        struct kept_chunk *chunk;
        struct kc_packed packed;
        bool on_device;
        KC_TRY(add_chunk(kept, err));
        chunk = &kept->chunks[kept->nchunks - 1];
        chunk->nwords = kc_pack_nwords(reads);
        chunk->nmarks = reads->nmarks;
        chunk->nspans = (uint32_t)reads->nspans;
        chunk->nbytes = chunk_nbytes(chunk->nwords, chunk->nmarks, ngroups_of(chunk));
        packed = parts_of(chunk, kept->packed);
        KC_TRY(kc_pack_reads(&kept->packer, kept->gpu, reads, kept->superkmers[0].span_k, &packed,
                             err));
        KC_TRY(add_loads(kept, chunk, err));
        KC_TRY(keep_on_device(kept, chunk, &on_device, err));
        if (!on_device)
                KC_TRY(keep_on_host(kept, chunk, kept->packed, err));
out:
        return status;
}

enum kc_status kc_gpu_kept_loads(struct kc_gpu_kept *kept, int number, struct kc_load *loads,
                                 struct kc_error *err)
{
        return kc_gpu_read(kept->gpu, loads, kept->loads + number * KC_NLOADS, KC_NLOADS, err);
}

enum kc_status kc_gpu_kept_nkmers(struct kc_gpu_kept *kept, int number, uint64_t *nkmers,
                                  struct kc_error *err)
{
        return kc_gpu_read(kept->gpu, nkmers, kept->nkmers + number, 1, err);
}

struct kc_gpu_kept_where kc_gpu_kept_where(const struct kc_gpu_kept *kept)
{
        const size_t file = kept->store.written_nbytes;
        return { kept->device_nbytes, kept->host_nbytes - file, file };
}

size_t kc_gpu_kept_pinned_nbytes(const struct kc_gpu_kept *kept)
{
        return kept->store.pinned_nbytes;
}

/* ---- sharing ---- */

/* Make room for the sources and all their chunks. */
static enum kc_status make_lists(struct kc_gpu_kept *kept, const struct kc_gpu_kept_source *sources,
                                 int nsources, struct kc_error *err)
{
        size_t nchunks = 0;
        for (int i = 0; i < nsources; i++)
                nchunks += sources[i].kept->nchunks;
        kept->chunks = (struct kept_chunk *)calloc(nchunks + 1, sizeof *kept->chunks);
        kept->origins = (struct kept_origin *)calloc((size_t)nsources, sizeof *kept->origins);
        return kept->chunks != NULL && kept->origins != NULL
                       ? KC_OK
                       : kc_fail(err, KC_ENOMEM, "out of memory");
}

/* Append the source's chunks. Those that are on this device stay there. */
static enum kc_status list_chunks(struct kc_gpu_kept *kept, const struct kc_gpu_kept_source *source,
                                  struct kc_error *err)
{
        const struct kc_gpu_kept *from = source->kept;
        struct kept_origin *origin = &kept->origins[kept->norigins++];
        origin->link = source->link;
        for (size_t i = 0; i < from->nchunks; i++) {
                struct kept_chunk *chunk = &kept->chunks[kept->nchunks++];
                *chunk = from->chunks[i];
                chunk->origin = origin;
                chunk->source = chunk->device;
                if (origin->link != NULL)
                        chunk->device = NULL;
                if (chunk->device != NULL)
                        continue;
                kept->nhost++;
                kept->largest_nbytes = std::max(kept->largest_nbytes, chunk->nbytes);
        }
        return kc_host_store_share(&origin->store, kept->gpu, &from->store, err);
}

/* Take copies of chunks off this device again. */
static void leave_chunks(struct kc_gpu_kept *kept)
{
        for (size_t i = 0; i < kept->nchunks; i++) {
                struct kept_chunk *chunk = &kept->chunks[i];
                if (chunk->device == NULL || is_borrowed(chunk))
                        continue;
                kc_gpu_delete(kept->gpu, chunk->device, chunk->nbytes);
                chunk->device = NULL;
                kept->nhost++;
        }
}

/* Make the chunks on the sources' devices chunks of this device, too. KC_ENOMEM if it has no room
 * for one of them. */
static enum kc_status fetch_chunks(struct kc_gpu_kept *kept, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        cudaStream_t stream = kept->gpu->stream;
        for (size_t i = 0; i < kept->nchunks; i++) {
                struct kept_chunk *chunk = &kept->chunks[i];
                if (chunk->source == NULL || chunk->device != NULL)
                        continue;
                KC_TRY(kc_gpu_new(kept->gpu, &chunk->device, chunk->nbytes, err));
                kept->nhost--;
                KC_TRY(kc_gpu_link_copy(chunk->origin->link, chunk->device, chunk->source,
                                        chunk->nbytes, stream, err));
        }
        KC_TRY(KC_CUDA(cudaStreamSynchronize(stream)));
out:
        return status;
}

/* If some chunks must be copied in each pass, it is best to copy all: passes are then larger. */
static enum kc_status fetch_if_fit(struct kc_gpu_kept *kept, struct kc_error *err)
{
        struct kc_error refusal = {};
        const enum kc_status status = fetch_chunks(kept, &refusal);
        if (status == KC_ENOMEM)
                leave_chunks(kept);
        return status == KC_OK || status == KC_ENOMEM ? KC_OK : kc_fail_as(err, &refusal);
}

/* Whether this device can hold all chunks. */
static bool can_fetch(const struct kc_gpu_kept *kept, size_t device_nbytes)
{
        size_t nbytes = 0;
        for (size_t i = 0; i < kept->nchunks; i++) {
                if (kept->chunks[i].source == NULL)
                        return false;
                nbytes += kept->chunks[i].nbytes;
        }
        return nbytes <= device_nbytes && kept->nchunks <= most_on_device(kept);
}

enum kc_status kc_gpu_kept_join(struct kc_gpu_kept **out, struct kc_gpu *gpu,
                                const struct kc_gpu_kept_source *sources, int nsources,
                                size_t device_nbytes, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_kept *kept = (struct kc_gpu_kept *)calloc(1, sizeof *kept);
        *out = NULL;
        if (kept == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        kept->gpu = gpu;
        KC_TRY(make_tables(kept, sources->kept->max_chunks, err));
        KC_TRY(make_lists(kept, sources, nsources, err));
        for (int i = 0; i < nsources; i++)
                KC_TRY(list_chunks(kept, &sources[i], err));
        if (can_fetch(kept, device_nbytes))
                KC_TRY(fetch_if_fit(kept, err));
        *out = kept;
        kept = NULL;
out:
        kc_gpu_kept_free(kept);
        return status;
}

/* ---- passes ---- */

size_t kc_gpu_kept_pass_nbytes(const struct kc_gpu_kept *kept)
{
        const size_t table = 512; /* of a slot */
        return kept->nhost > 0 ? NSLOTS * (kept->largest_nbytes + table) : 0;
}

uint32_t kc_gpu_kept_free_chunks(const struct kc_gpu_kept *kept)
{
        return (uint32_t)(kept->max_chunks - (kept->nchunks - kept->nhost));
}

static enum kc_status make_slot(struct kc_gpu_kept *kept, struct kept_slot *slot,
                                struct kc_error *err)
{
        enum kc_status status;
        if (slot->used != NULL)
                return KC_OK;
        KC_TRY(kc_gpu_new(kept->gpu, &slot->memory, kept->largest_nbytes, err));
        KC_TRY(kc_gpu_new(kept->gpu, &slot->chunk, 1, err));
        KC_TRY(kc_gpu_event_new(&slot->copied, err));
        KC_TRY(kc_gpu_event_new(&slot->used, err));
out:
        return status;
}

/* The chunks on the device, then the copies. Returns the number of entries. */
static uint32_t fill_table(const struct kc_gpu_kept *kept, const uint64_t *copies,
                           size_t ncopies_words, struct kc_gpu_chunk *table, uint32_t *ngroups)
{
        uint32_t n = 0;
        *ngroups = 0;
        for (size_t i = 0; i < kept->nchunks; i++) {
                const struct kept_chunk *chunk = &kept->chunks[i];
                if (chunk->device == NULL)
                        continue;
                table[n] = view_of(chunk, chunk->device);
                table[n++].first_group = *ngroups;
                *ngroups += ngroups_of(chunk);
        }
        for (size_t at = 0; at < ncopies_words; at += KC_CHUNK_NWORDS)
                table[n++] = { copies + at, NULL, 0, UINT32_MAX, NULL, 0 };
        return n;
}

enum kc_status kc_gpu_kept_begin(struct kc_gpu_kept *kept, const uint64_t *copies,
                                 size_t ncopies_words, struct kc_gpu_chunks *all,
                                 uint64_t *copies_position, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        kept->next = kept->ncopied = kept->ntaken = 0;
        *all = { kept->table, 0, 0 };
        all->n = fill_table(kept, copies, ncopies_words, kept->host_table, &all->ngroups);
        *copies_position = (uint64_t)(kept->nchunks - kept->nhost) << KC_CHUNK_BITS;
        KC_TRY(KC_CUDA(cudaMemcpyAsync(kept->table, kept->host_table, all->n * sizeof *kept->table,
                                       cudaMemcpyHostToDevice, kept->gpu->stream)));
        for (struct kept_slot &slot : kept->slots)
                if (kept->nhost > 0)
                        KC_TRY(make_slot(kept, &slot, err));
        /* Slots are allocated in the order of gpu->stream, but written in that of gpu->upload. */
        KC_TRY(KC_CUDA(cudaStreamSynchronize(kept->gpu->stream)));
out:
        return status;
}

/* Start copying the next chunk, if there is one, to its slot. */
static enum kc_status copy_next(struct kc_gpu_kept *kept, struct kc_error *err)
{
        enum kc_status status;
        cudaStream_t upload = kept->gpu->upload;
        struct kept_slot *slot = &kept->slots[kept->ncopied % NSLOTS];
        if (kept->ncopied == kept->nhost)
                return KC_OK;
        while (kept->chunks[kept->next].device != NULL)
                kept->next++;
        const struct kept_chunk *chunk = &kept->chunks[kept->next++];
        struct kc_host_store *store = chunk->origin != NULL ? &chunk->origin->store : &kept->store;
        slot->ngroups = ngroups_of(chunk);
        KC_TRY(kc_host_store_check(store, err));
        KC_TRY(KC_CUDA(cudaStreamWaitEvent(upload, slot->used, 0)));
        if (chunk->source != NULL)
                KC_TRY(kc_gpu_link_copy(chunk->origin->link, slot->memory, chunk->source,
                                        chunk->nbytes, upload, err));
        else
                KC_TRY(kc_host_bytes_read(store, &chunk->host, 0, chunk->nbytes, slot->memory,
                                          err));
        KC_TRY(show_one(chunk, slot->memory, slot->chunk, upload, err));
        KC_TRY(KC_CUDA(cudaEventRecord(slot->copied, upload)));
        kept->ncopied++;
out:
        return status;
}

/* The chunk given out before this call is no longer in use once the work enqueued so far is
 * done. */
enum kc_status kc_gpu_kept_next(struct kc_gpu_kept *kept, struct kc_gpu_chunks *one,
                                struct kc_error *err)
{
        enum kc_status status = KC_OK;
        cudaStream_t stream = kept->gpu->stream;
        *one = {};
        if (kept->ntaken > 0)
                KC_TRY(KC_CUDA(
                        cudaEventRecord(kept->slots[(kept->ntaken - 1) % NSLOTS].used, stream)));
        while (kept->ncopied < kept->nhost && kept->ncopied < kept->ntaken + NSLOTS)
                KC_TRY(copy_next(kept, err));
        if (kept->ntaken < kept->ncopied) {
                const struct kept_slot *slot = &kept->slots[kept->ntaken++ % NSLOTS];
                KC_TRY(KC_CUDA(cudaStreamWaitEvent(stream, slot->copied, 0)));
                *one = { slot->chunk, 1, slot->ngroups };
        }
out:
        return status;
}
