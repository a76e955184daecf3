/*
 * Looking up in a table that is spread over devices (gpu/ask/spread.cuh).
 *
 *      device 0   a kept batch ──▶ k-mers ──┐             ┌──▶ map 0 ──▶ counts ──▶ the batch
 *      device 1   another one  ──▶ k-mers ──┼──▶ owners ──┼──▶ map 1 ──▶ counts ──▶ the batch
 *      device 2   another one  ──▶ k-mers ──┘             └──▶ map 2 ──▶ counts ──▶ the batch
 *
 * The first device also reads the table: it decodes and joins ranges, and hands the pairs to their
 * owners.
 */
#include "gpu/ask/spread.cuh"

#include "gpu/ask/load.cuh"
#include "gpu/ask/rounds.cuh"
#include "gpu/maps/warpdrive/several.cuh"

#include <cstdlib>

enum {
        SHARE = 8, /* of a device's memory, one part in SHARE is for batches, and one for ranges and
                      for k-mers on their way */
};

namespace
{

/* A batch on a device. */
template <class Key> struct station {
        struct kc_ask_arrays device;
        Key *kmers;               /* [rounds.caps.nbases] */
        struct kc_ask_kept *kept; /* NULL: there are no more */
};

template <class Layout> struct spread {
        struct kc_gpu_ask_table table;
        struct kc_gpu_ask_options options;
        struct kc_ask_rounds rounds;
        struct kc_links links;
        kc_wd_several<Layout> *maps;
        struct station<typename Layout::key> stations[KC_GPU_MAX_DEVICES];
};

} // namespace

/* ---- looking up ---- */

/* Make the k-mers of a member's batch. */
template <class Layout> static enum kc_status prepare(void *ctx, int member, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct spread<Layout> *e = (struct spread<Layout> *)ctx;
        const auto *station = &e->stations[member];
        cudaStream_t stream = e->links.gpus[member].stream;
        if (station->kept == NULL)
                return KC_OK;
        const struct kc_ask_sizes *sizes = &station->kept->sizes;
        KC_TRY(kc_ask_upload(stream, &station->device, &station->kept->host, sizes, err));
        KC_TRY(kc_ask_make_kmers(stream, &station->device, sizes, e->table.k, e->options.stranded,
                                 station->kmers, err));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(stream)));
out:
        return status;
}

/* Copy the counts of a member's batch to the host. */
template <class Layout> static enum kc_status finish(void *ctx, int member, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct spread<Layout> *e = (struct spread<Layout> *)ctx;
        const auto *station = &e->stations[member];
        cudaStream_t stream = e->links.gpus[member].stream;
        if (station->kept == NULL)
                return KC_OK;
        KC_TRY(kc_ask_copy(station->kept->host.counts, station->device.counts,
                           station->kept->sizes.nwindows, cudaMemcpyDeviceToHost, stream, err));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(stream)));
out:
        return status;
}

/* Look the batches of all members up. */
template <class Layout>
static enum kc_status look_up(struct spread<Layout> *e, struct kc_error *err)
{
        enum kc_status status;
        kc_wd_share<typename Layout::key> shares[KC_GPU_MAX_DEVICES] = {};
        uint32_t *counts[KC_GPU_MAX_DEVICES];
        KC_TRY(kc_links_parallel(&e->links, prepare<Layout>, e, err));
        for (int i = 0; i < e->links.n; i++) {
                const auto *station = &e->stations[i];
                shares[i].keys = station->kmers;
                shares[i].n = station->kept != NULL ? station->kept->sizes.nwindows : 0;
                counts[i] = station->device.counts;
        }
        KC_TRY(kc_wd_several_retrieve(e->maps, shares, counts, KC_WD_ABSENT, NULL, err));
        KC_TRY(kc_links_parallel(&e->links, finish<Layout>, e, err));
out:
        return status;
}

template <class Layout> static enum kc_status answer(void *ctx, struct kc_error *err)
{
        enum kc_status status;
        struct spread<Layout> *e = (struct spread<Layout> *)ctx;
        struct kc_ask_kept_at at = {};
        KC_TRY(kc_links_use(&e->links, 0, err));
        for (;;) {
                for (int i = 0; i < e->links.n; i++)
                        e->stations[i].kept = kc_ask_kept_next(&e->rounds, &at);
                if (e->stations[0].kept == NULL)
                        break;
                KC_TRY(look_up(e, err));
        }
out:
        return status;
}

/* ---- loading ---- */

/* Make the maps. Meanwhile a share of each member's memory is taken, so that it stays free. */
template <class Layout>
static enum kc_status open_maps(void *ctx, uint64_t, size_t, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct spread<Layout> *e = (struct spread<Layout> *)ctx;
        char *left[KC_GPU_MAX_DEVICES] = {};
        struct kc_wd_options options = {};
        options.capacity = kc_ask_warpdrive_slots<Layout>(e->table.npairs);
        options.key_bits = 2 * e->table.k;
        for (int i = 0; i < e->links.n; i++) {
                struct kc_gpu *gpu = &e->links.gpus[i];
                KC_TRY(kc_gpu_new(gpu, &left[i], gpu->limit_nbytes / SHARE, err));
        }
        KC_TRY(kc_wd_several_new(&e->maps, &e->links, KC_WD_WRITTEN, &options, err));
        e->maps->combining = KC_WD_COMBINE_NEVER; /* all keys differ */
out:
        for (int i = 0; i < e->links.n; i++) {
                struct kc_gpu *gpu = &e->links.gpus[i];
                kc_gpu_delete(gpu, left[i], gpu->limit_nbytes / SHARE);
        }
        return status;
}

/* Pass pairs from the first member to their owners. */
template <class Layout>
static enum kc_status put(void *ctx, typename Layout::key *kmers, uint32_t *counts, size_t n,
                          struct kc_error *err)
{
        struct spread<Layout> *e = (struct spread<Layout> *)ctx;
        kc_wd_share<typename Layout::key> shares[KC_GPU_MAX_DEVICES] = {};
        shares[0] = { kmers, counts, n };
        return kc_wd_several_put(e->maps, shares, KC_WD_ADD, NULL, err);
}

template <class Layout>
static enum kc_status load(void *ctx, const struct kc_join_source *source,
                           struct kc_join_totals *totals, struct kc_error *err)
{
        struct spread<Layout> *e = (struct spread<Layout> *)ctx;
        const struct kc_ask_taker<typename Layout::key> taker = {
                e, open_maps<Layout>, put<Layout>
        };
        return kc_ask_load_by(&taker, &e->links.gpus[0], source, e->rounds.setup.nthreads, totals,
                              err);
}

/* ---- opening and closing ---- */

template <class Layout> static void close(void *ctx)
{
        struct spread<Layout> *e = (struct spread<Layout> *)ctx;
        struct kc_error ignored = {};
        if (e->links.n > 0)
                (void)kc_links_settle(&e->links, &ignored); /* after a failure */
        kc_wd_several_free(e->maps);
        for (int i = 0; i < e->links.n; i++) {
                kc_ask_device_free(&e->links.gpus[i], &e->stations[i].device, &e->rounds.caps);
                kc_gpu_delete(&e->links.gpus[i], e->stations[i].kmers, e->rounds.caps.nbases);
        }
        kc_ask_rounds_close(&e->rounds);
        kc_links_close(&e->links);
        free(e);
}

template <class Layout>
static enum kc_status open_station(void *ctx, int member, struct kc_error *err)
{
        enum kc_status status;
        struct spread<Layout> *e = (struct spread<Layout> *)ctx;
        struct kc_gpu *gpu = &e->links.gpus[member];
        auto *station = &e->stations[member];
        KC_TRY(kc_ask_device_new(gpu, &station->device, &e->rounds.caps, err));
        KC_TRY(kc_gpu_new(gpu, &station->kmers, e->rounds.caps.nbases, err));
out:
        return status;
}

template <class Layout>
static enum kc_status open_links(struct spread<Layout> *e, const struct kc_ask_setup *setup,
                                 struct kc_error *err)
{
        enum kc_status status;
        const struct kc_gpu_ask_options *o = &e->options;
        const struct kc_ask_engine engine = { e, answer<Layout>, close<Layout> };
        const struct kc_links_options options = { o->memory_nbytes, false };
        const size_t nbytes = 10 + sizeof(typename Layout::key); /* for a base */
        size_t least = SIZE_MAX;
        for (int i = 0; i < o->ndevices; i++)
                KC_TRY(kc_gpu_wake(o->devices[i], err));
        KC_TRY(kc_links_open(&e->links, o->devices, o->ndevices, &options, err));
        for (int i = 0; i < e->links.n; i++)
                least = e->links.gpus[i].limit_nbytes < least ? e->links.gpus[i].limit_nbytes
                                                              : least;
        KC_TRY(kc_ask_rounds_open(&e->rounds, &engine, setup, e->table.k, o->devices[0],
                                  o->batch_nbases, nbytes, least / SHARE, err));
        KC_TRY(kc_links_in_turn(&e->links, open_station<Layout>, e, err));
out:
        return status;
}

template <class Layout>
static enum kc_status open_with(struct kc_asker *asker, const struct kc_gpu_ask_table *table,
                                const struct kc_gpu_ask_options *options,
                                const struct kc_ask_setup *setup, struct kc_error *err)
{
        enum kc_status status;
        struct spread<Layout> *e = (struct spread<Layout> *)calloc(1, sizeof *e);
        if (e == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        const struct kc_gpu_ask_reader reader = { e, load<Layout> };
        e->table = *table;
        e->options = *options;
        KC_TRY(open_links(e, setup, err));
        KC_TRY(table->read(table->ctx, &reader, err));
        *asker = kc_ask_rounds_asker(&e->rounds);
        e = NULL;
out:
        if (e != NULL)
                close<Layout>(e);
        return status;
}

enum kc_status kc_ask_spread_open(struct kc_asker *asker, const struct kc_gpu_ask_table *table,
                                  const struct kc_gpu_ask_options *options,
                                  const struct kc_ask_setup *setup, struct kc_error *err)
{
        struct kc_error failure = {};
        if (table->k > 32)
                return open_with<kc_wd_apart128>(asker, table, options, setup, err);
        enum kc_status status = open_with<kc_wd_words>(asker, table, options, setup, &failure);
        if (status == KC_EUSAGE) /* so few k-mers that words have no room for their counts */
                return open_with<kc_wd_near64>(asker, table, options, setup, err);
        return status == KC_OK ? KC_OK : kc_fail_as(err, &failure);
}
