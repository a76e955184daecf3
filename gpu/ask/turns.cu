/*
 * Turns over a table (gpu/ask/turns.cuh). In each:
 *
 *      ranges of the table ──▶ map, until it is full
 *      all kept batches ──▶ k-mers ──▶ counts of those that the map has ──▶ kept batches
 *
 * A k-mer is in one range at most. So the count of a window is the largest that a turn has found,
 * and it does no harm to repeat a turn: if there is too little memory for a turn, all of them are
 * repeated, with smaller maps.
 */
#include "gpu/ask/turns.cuh"

#include "gpu/ask/load.cuh"
#include "gpu/ask/rounds.cuh"

#include <cstdlib>

enum : uint32_t {
        NSLOTS = 2, /* batches on the device: one is copied while another one is looked up */
        SHARE = 8,  /* of the device's memory, one part in SHARE is for these, and one for ranges */
        THREADS = 256,
};

namespace
{

/* A batch on the device. */
struct turn_slot {
        cudaStream_t stream;
        cudaEvent_t uploaded, found;
        struct kc_ask_arrays device;
        uint32_t *before; /* [rounds.caps.nbases] the counts of earlier turns */
};

template <class Key> struct turns {
        struct kc_gpu_ask_table table;
        struct kc_gpu_ask_options options;
        struct kc_ask_rounds rounds;
        struct kc_gpu gpu;
        struct turn_slot slots[NSLOTS];
        Key *kmers;     /* [rounds.caps.nbases] device */
        uint64_t share; /* of the table, one part in `share` should fit into a map */
        struct kc_ask_map<Key> map;
        struct kc_ask_map_options map_options;
        uint64_t nput; /* into the map */
};

} // namespace

/* ---- a turn ---- */

static __global__ void larger_kernel(uint32_t *counts, const uint32_t *before, uint32_t n)
{
        const uint32_t i = blockIdx.x * THREADS + threadIdx.x;
        if (i < n && before[i] > counts[i])
                counts[i] = before[i];
}

/* Look up the k-mers of a batch in the map. The work is queued. */
template <class Key>
static enum kc_status look_up(struct turns<Key> *e, struct turn_slot *slot,
                              struct kc_ask_kept *kept, struct kc_error *err)
{
        enum kc_status status;
        const struct kc_ask_sizes *sizes = &kept->sizes;
        const struct kc_ask_arrays *device = &slot->device;
        cudaStream_t stream = e->gpu.stream;
        const uint32_t n = sizes->nwindows;
        KC_TRY(kc_ask_upload(slot->stream, device, &kept->host, sizes, err));
        if (kept->has_counts)
                KC_TRY(kc_ask_copy(slot->before, kept->host.counts, n, cudaMemcpyHostToDevice,
                                   slot->stream, err));
        KC_TRY(KC_CUDA(cudaEventRecord(slot->uploaded, slot->stream)));
        KC_TRY(KC_CUDA(cudaStreamWaitEvent(stream, slot->uploaded, 0)));
        KC_TRY(kc_ask_make_kmers(stream, device, sizes, e->table.k, e->options.stranded, e->kmers,
                                 err));
        KC_TRY(kc_ask_map_find(&e->map, stream, (const Key *)e->kmers, device->counts, n, err));
        if (kept->has_counts)
                larger_kernel<<<kc_ceil_div(n, THREADS), THREADS, 0, stream>>>(device->counts,
                                                                               slot->before, n);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(KC_CUDA(cudaEventRecord(slot->found, stream)));
        KC_TRY(KC_CUDA(cudaStreamWaitEvent(slot->stream, slot->found, 0)));
        KC_TRY(kc_ask_copy(kept->host.counts, device->counts, n, cudaMemcpyDeviceToHost,
                           slot->stream, err));
        kept->has_counts = true;
out:
        return status;
}

/* Look all kept batches up in the map, and close it. */
template <class Key> static enum kc_status end_turn(struct turns<Key> *e, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        size_t nbatches = 0;
        struct kc_ask_kept_at at = {};
        while (kc_ask_kept_next(&e->rounds, &at) != NULL)
                KC_TRY(look_up(e, &e->slots[nbatches++ % NSLOTS], at.kept, err));
        for (struct turn_slot &slot : e->slots)
                KC_TRY(KC_CUDA(cudaStreamSynchronize(slot.stream)));
        kc_ask_map_close(&e->map);
        e->nput = 0;
out:
        return status;
}

template <class Key>
static enum kc_status put(void *ctx, Key *kmers, uint32_t *counts, size_t n, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct turns<Key> *e = (struct turns<Key> *)ctx;
        if (e->nput + n > e->map_options.npairs) {
                KC_TRY(end_turn(e, err));
                KC_TRY(kc_ask_map_open(&e->map, &e->gpu, &e->map_options, err));
        }
        KC_TRY(kc_ask_map_put(&e->map, kmers, counts, n, err));
        e->nput += n;
out:
        return status;
}

/* ---- answering ---- */

/* Whether smaller maps are possible. */
template <class Key> static bool shrink(struct turns<Key> *e)
{
        e->share += (e->share + 1) / 2;
        return e->map_options.npairs > e->map_options.most_at_once;
}

/* Open the largest map that leaves so many bytes of memory free, or, if they are more than a share
 * of it, that share: then joining may turn out to need more, and smaller maps follow. */
template <class Key>
static enum kc_status open_map(void *ctx, uint64_t most_at_once, size_t nbytes,
                               struct kc_error *err)
{
        struct turns<Key> *e = (struct turns<Key> *)ctx;
        struct kc_error failure;
        enum kc_status status;
        char *left = NULL;
        if (nbytes > e->gpu.limit_nbytes / SHARE)
                nbytes = e->gpu.limit_nbytes / SHARE;
        KC_TRY(kc_gpu_new(&e->gpu, &left, nbytes, err));
        do {
                const uint64_t most = e->table.npairs / e->share + 1;
                e->map_options = { e->options.map, e->table.k,
                                   most > most_at_once ? most : most_at_once, most_at_once };
                failure = {};
                status = kc_ask_map_open(&e->map, &e->gpu, &e->map_options, &failure);
        } while (status == KC_ENOMEM && shrink(e));
        kc_gpu_delete(&e->gpu, left, nbytes);
        if (status != KC_OK)
                return kc_fail_as(err, &failure);
        e->nput = 0;
out:
        return status;
}

template <class Key>
static enum kc_status take_turns(void *ctx, const struct kc_join_source *source,
                                 struct kc_join_totals *totals, struct kc_error *err)
{
        struct turns<Key> *e = (struct turns<Key> *)ctx;
        const struct kc_ask_taker<Key> taker = {
                e, open_map<Key>, put<Key>
        };
        enum kc_status status;
        KC_TRY(kc_ask_load_by(&taker, &e->gpu, source, e->rounds.setup.nthreads, totals, err));
        KC_TRY(end_turn(e, err));
out:
        for (struct turn_slot &slot : e->slots)
                (void)cudaStreamSynchronize(slot.stream); /* after a failure */
        (void)cudaStreamSynchronize(e->gpu.stream);
        kc_ask_map_close(&e->map);
        return status;
}

template <class Key> static enum kc_status answer(void *ctx, struct kc_error *err)
{
        struct turns<Key> *e = (struct turns<Key> *)ctx;
        const struct kc_gpu_ask_reader reader = { e, take_turns<Key> };
        struct kc_error failure;
        enum kc_status status;
        KC_TRY(KC_CUDA(cudaSetDevice(e->gpu.device)));
        do {
                failure = {};
                status = e->table.read(e->table.ctx, &reader, &failure);
        } while (status == KC_ENOMEM && shrink(e));
        if (status != KC_OK)
                return kc_fail_as(err, &failure);
out:
        return status;
}

/* ---- opening and closing ---- */

template <class Key> static void close_slot(struct turns<Key> *e, struct turn_slot *slot)
{
        kc_ask_device_free(&e->gpu, &slot->device, &e->rounds.caps);
        kc_gpu_delete(&e->gpu, slot->before, e->rounds.caps.nbases);
        kc_gpu_event_free(slot->uploaded);
        kc_gpu_event_free(slot->found);
        if (slot->stream != NULL)
                (void)cudaStreamDestroy(slot->stream);
}

template <class Key> static void close(void *ctx)
{
        struct turns<Key> *e = (struct turns<Key> *)ctx;
        if (e->gpu.pool != NULL)
                (void)cudaSetDevice(e->gpu.device);
        kc_ask_rounds_close(&e->rounds);
        for (struct turn_slot &slot : e->slots)
                close_slot(e, &slot);
        kc_gpu_delete(&e->gpu, e->kmers, e->rounds.caps.nbases);
        kc_gpu_close(&e->gpu);
        free(e);
}

template <class Key>
static enum kc_status open_slot(struct turns<Key> *e, struct turn_slot *slot, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(KC_CUDA(cudaStreamCreateWithFlags(&slot->stream, cudaStreamNonBlocking)));
        KC_TRY(kc_gpu_event_new(&slot->uploaded, err));
        KC_TRY(kc_gpu_event_new(&slot->found, err));
        KC_TRY(kc_ask_device_new(&e->gpu, &slot->device, &e->rounds.caps, err));
        KC_TRY(kc_gpu_new(&e->gpu, &slot->before, e->rounds.caps.nbases, err));
out:
        return status;
}

template <class Key>
static enum kc_status open_turns(struct turns<Key> *e, const struct kc_ask_setup *setup,
                                 struct kc_error *err)
{
        enum kc_status status;
        const struct kc_ask_engine engine = { e, answer<Key>, close<Key> };
        const size_t nbytes = NSLOTS * 10 + sizeof(Key); /* for a base */
        KC_TRY(kc_gpu_wake(e->options.devices[0], err));
        KC_TRY(kc_gpu_open(&e->gpu, e->options.devices[0], e->options.memory_nbytes, err));
        KC_TRY(kc_ask_rounds_open(&e->rounds, &engine, setup, e->table.k, e->options.devices[0],
                                  e->options.batch_nbases, nbytes, e->gpu.limit_nbytes / SHARE,
                                  err));
        KC_TRY(kc_gpu_new(&e->gpu, &e->kmers, e->rounds.caps.nbases, err));
        for (struct turn_slot &slot : e->slots)
                KC_TRY(open_slot(e, &slot, err));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(e->gpu.stream))); /* all streams may use it now */
out:
        return status;
}

template <class Key>
static enum kc_status open_with(struct kc_asker *asker, const struct kc_gpu_ask_table *table,
                                const struct kc_gpu_ask_options *options,
                                const struct kc_ask_setup *setup, struct kc_error *err)
{
        struct turns<Key> *e = (struct turns<Key> *)calloc(1, sizeof *e);
        if (e == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        e->table = *table;
        e->options = *options;
        e->share = 1;
        const enum kc_status status = open_turns(e, setup, err);
        if (status != KC_OK) {
                close<Key>(e);
                return status;
        }
        *asker = kc_ask_rounds_asker(&e->rounds);
        return KC_OK;
}

enum kc_status kc_ask_turns_open(struct kc_asker *asker, const struct kc_gpu_ask_table *table,
                                 const struct kc_gpu_ask_options *options,
                                 const struct kc_ask_setup *setup, struct kc_error *err)
{
        return table->k <= 32 ? open_with<kc_key64>(asker, table, options, setup, err)
                              : open_with<kc_key128>(asker, table, options, setup, err);
}
