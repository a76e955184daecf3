/*
 * Turns over a table (gpu/ask/turns.cuh). In each:
 *
 *      ranges of the table ──▶ map, until it is full
 *      each thread: kept batches ──▶ flights (gpu/ask/flight.cuh) ──▶ answers to kept batches
 *
 * The k-mers of a map lie between two bounds, and nothing is looked up that lies outside them. A
 * k-mer is in one range at most, so the answers of all turns add up. If there is too little
 * memory for a turn, all of them are repeated, with smaller maps.
 */
#include "gpu/ask/turns.cuh"

#include "base/parallel.h"
#include "gpu/ask/load.cuh"
#include "gpu/ask/rounds.cuh"

#include <cstdlib>

enum : uint32_t {
        THREADS = 256,
        MOST_NBASES = 1 << 20, /* of a batch */
        NSTRANGERS = 1 << 12,  /* so many that threads do not all read the same few slots */
};

namespace
{

/* Between which k-mers those of a map lie. */
template <class Key> struct turn_bounds {
        Key first, last;
        Key strangers; /* the first of NSTRANGERS keys that lie outside the bounds */
        bool has_strangers;
};

template <class Key> struct turns {
        struct kc_ask_rounds rounds; /* the first member: see kc_ask_rounds_add */
        struct kc_gpu_ask_table table;
        struct kc_gpu_ask_options options;
        struct kc_ask_rules rules;
        struct kc_gpu gpu;
        struct kc_ask_flight<Key> *flights; /* [rules.setup.nthreads] */
        uint64_t share; /* of the table, one part in `share` should fit into a map */
        struct kc_ask_map<Key> map;
        struct kc_ask_map_options map_options;
        uint64_t nput; /* into the map */
        struct turn_bounds<Key> bounds;
};

} // namespace

/* ---- a turn ---- */

/* Replace each k-mer that the map cannot have by one of a few that it does not have either, whose
 * slots stay in the caches. */
template <class Key>
static __global__ void replace_kernel(Key *kmers, uint32_t n, struct turn_bounds<Key> bounds)
{
        const uint32_t i = blockIdx.x * THREADS + threadIdx.x;
        if (i < n && (kmers[i] < bounds.first || kmers[i] > bounds.last))
                kmers[i] = bounds.strangers + (uint32_t)kmers[i] % NSTRANGERS;
}

template <class Key>
static enum kc_status start(const struct turns<Key> *e, struct kc_ask_flight<Key> *flight,
                            struct kc_error *err)
{
        const uint32_t n = flight->sizes.nwindows;
        cudaStream_t stream = flight->stream;
        uint32_t *counts = flight->device.counts;
        enum kc_status status;
        KC_TRY(kc_ask_flight_begin(flight, stream, flight->kmers, &e->rules, err));
        if (e->bounds.has_strangers)
                replace_kernel<Key><<<kc_ceil_div(n, THREADS), THREADS, 0, stream>>>(flight->kmers,
                                                                                     n, e->bounds);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(kc_ask_map_find(&e->map, stream, (const Key *)flight->kmers, counts, n, err));
        KC_TRY(kc_ask_flight_end(flight, stream, counts, &e->rules, err));
out:
        return status;
}

/* One flight for each thread is enough: while it is under way, other threads copy. */
template <class Key> static enum kc_status look_up(void *ctx, int thread, struct kc_error *err)
{
        struct turns<Key> *e = (struct turns<Key> *)ctx;
        struct kc_ask_flight<Key> *flight = &e->flights[thread];
        enum kc_status status;
        KC_TRY(KC_CUDA(cudaSetDevice(e->gpu.device))); /* it is per thread */
        for (;;) {
                struct kc_ask_kept *kept = kc_ask_rounds_next(&e->rounds);
                if (kept == NULL)
                        break;
                kc_ask_kept_copy(kept, &flight->host, &flight->sizes);
                KC_TRY(start(e, flight, err));
                KC_TRY(kc_ask_flight_wait(flight, err));
                kc_ask_kept_add(kept, &e->rules, &flight->host);
        }
out:
        return status;
}

/* Find keys outside the bounds. There may be too few of them, above all for short k. */
template <class Key> static void find_strangers(struct turn_bounds<Key> *bounds, int k)
{
        const Key last = k == 4 * (int)sizeof(Key) ? ~(Key)0 : ((Key)1 << 2 * k) - 1;
        bounds->has_strangers = true;
        if (bounds->first >= NSTRANGERS)
                bounds->strangers = 0;
        else if (last - bounds->last >= NSTRANGERS)
                bounds->strangers = bounds->last + 1;
        else
                bounds->has_strangers = false;
}

/* Look all kept batches up in the map, and close it. */
template <class Key> static enum kc_status end_turn(struct turns<Key> *e, struct kc_error *err)
{
        enum kc_status status;
        kc_ask_rounds_rewind(&e->rounds, false);
        find_strangers(&e->bounds, e->table.k);
        KC_TRY(KC_CUDA(cudaStreamSynchronize(e->gpu.stream))); /* all k-mers are in the map */
        KC_TRY(kc_parallel(e->rules.setup.nthreads, look_up<Key>, NULL, e, err));
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
        if (e->nput == 0)
                KC_TRY(kc_gpu_read(&e->gpu, &e->bounds.first, kmers, 1, err));
        KC_TRY(kc_gpu_read(&e->gpu, &e->bounds.last, kmers + n - 1, 1, err));
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
        if (nbytes > e->gpu.limit_nbytes / KC_ASK_SHARE)
                nbytes = e->gpu.limit_nbytes / KC_ASK_SHARE;
        KC_TRY(kc_gpu_new(&e->gpu, &left, nbytes, err));
        e->map_options = { e->options.map, e->table.k, 0, most_at_once };
        do {
                uint64_t *npairs = &e->map_options.npairs;
                *npairs = e->table.npairs / e->share;
                /* a turn may end before its map is full, by less than a range */
                *npairs = *npairs < most_at_once ? most_at_once : *npairs + most_at_once;
                failure = {};
                status = kc_ask_map_open(&e->map, &e->gpu, &e->map_options, &failure);
        } while (status == KC_ENOMEM && shrink(e));
        kc_gpu_delete(&e->gpu, left, nbytes);
        if (status != KC_OK)
                return kc_fail_as(err, &failure);
        e->nput = 0;
        e->bounds = {};
out:
        return status;
}

template <class Key>
static enum kc_status take_turns(void *ctx, const struct kc_join_source *source,
                                 struct kc_join_totals *totals, struct kc_error *err)
{
        struct turns<Key> *e = (struct turns<Key> *)ctx;
        const struct kc_ask_taker<Key> taker = {
                e, e->rules.setup.job, open_map<Key>, put<Key>
        };
        enum kc_status status;
        kc_ask_rounds_rewind(&e->rounds, true);
        KC_TRY(kc_ask_load_by(&taker, &e->gpu, source, e->rules.setup.nthreads, totals, err));
        KC_TRY(end_turn(e, err));
out:
        for (int i = 0; i < e->rules.setup.nthreads; i++) /* after a failure */
                (void)cudaStreamSynchronize(e->flights[i].stream);
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
        KC_TRY(kc_ask_rounds_begin(&e->rounds, err));
        do {
                failure = {};
                status = e->table.read(e->table.ctx, &reader, &failure);
        } while (status == KC_ENOMEM && shrink(e));
        if (status != KC_OK)
                return kc_fail_as(err, &failure);
        kc_ask_rounds_end(&e->rounds);
out:
        return status;
}

/* ---- opening and closing ---- */

template <class Key> static void close(void *ctx)
{
        struct turns<Key> *e = (struct turns<Key> *)ctx;
        if (e->gpu.pool != NULL)
                (void)cudaSetDevice(e->gpu.device);
        kc_ask_rounds_close(&e->rounds);
        for (int i = 0; e->flights != NULL && i < e->rules.setup.nthreads; i++)
                kc_ask_flight_close(&e->flights[i], &e->gpu, &e->rules);
        free(e->flights);
        kc_gpu_close(&e->gpu);
        free(e);
}

template <class Key> static enum kc_status open_flights(struct turns<Key> *e, struct kc_error *err)
{
        const int n = e->rules.setup.nthreads;
        enum kc_status status = KC_OK;
        e->flights = (struct kc_ask_flight<Key> *)calloc((size_t)n, sizeof *e->flights);
        if (e->flights == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        for (int i = 0; i < n; i++) {
                KC_TRY(kc_ask_flight_open(&e->flights[i], &e->gpu, &e->rules, err));
                kc_ask_rounds_pack_at(&e->rounds, i, &e->flights[i].host);
        }
        KC_TRY(KC_CUDA(cudaStreamSynchronize(e->gpu.stream))); /* all streams may use it now */
out:
        return status;
}

/* At most a quarter of the host's memory is pinned; the rest is for kept batches. */
template <class Key> static enum kc_status open_turns(struct turns<Key> *e, struct kc_error *err)
{
        enum kc_status status;
        const uint64_t nthreads = (unsigned)e->rules.setup.nthreads;
        KC_TRY(kc_ask_rounds_open(&e->rounds, &e->rules, err));
        KC_TRY(kc_gpu_wake(e->options.devices[0], err));
        KC_TRY(kc_gpu_open(&e->gpu, e->options.devices[0], e->options.memory_nbytes, err));
        kc_ask_flight_plan(&e->rules, e->options.batch_nbases, MOST_NBASES, sizeof(Key),
                           e->rules.setup.memory_nbytes / 4 / nthreads,
                           e->gpu.limit_nbytes / KC_ASK_SHARE / nthreads);
        KC_TRY(open_flights(e, err));
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
        e->rules.k = table->k;
        e->rules.stranded = options->stranded;
        e->rules.wants_marks = true;
        e->rules.setup = *setup;
        e->share = 1;
        const enum kc_status status = open_turns(e, err);
        if (status == KC_OK)
                *asker = {
                        e, 0, 0, kc_ask_rounds_add, answer<Key>, kc_ask_rounds_take, close<Key>
                };
        else
                close<Key>(e);
        return status;
}

enum kc_status kc_ask_turns_open(struct kc_asker *asker, const struct kc_gpu_ask_table *table,
                                 const struct kc_gpu_ask_options *options,
                                 const struct kc_ask_setup *setup, struct kc_error *err)
{
        return table->k <= 32 ? open_with<kc_key64>(asker, table, options, setup, err)
                              : open_with<kc_key128>(asker, table, options, setup, err);
}
