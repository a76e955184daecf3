/*
 * Looking up in a table that is spread over devices (gpu/ask/spread.cuh).
 *
 *      device 0   flights ──▶ k-mers ──┐             ┌──▶ map 0 ──▶ counts ──▶ the flights
 *      device 1   flights ──▶ k-mers ──┼──▶ owners ──┼──▶ map 1 ──▶ counts ──▶ the flights
 *      device 2   flights ──▶ k-mers ──┘             └──▶ map 2 ──▶ counts ──▶ the flights
 *
 * The first device also reads the table: it decodes and joins ranges, and hands the pairs to their
 * owners.
 */
#include "gpu/ask/spread.cuh"

#include "gpu/ask/load.cuh"
#include "gpu/maps/warpdrive/several.cuh"

#include <algorithm>
#include <cstdlib>
#include <pthread.h>

/* ---- the maps ---- */

namespace
{

/* A map for several devices, whatever its layout. */
template <class Key> struct spread_functions {
        enum kc_status (*open)(void **map, struct kc_links *links, uint64_t npairs, int k,
                               struct kc_error *err);
        enum kc_status (*put)(void *map, const kc_wd_share<Key> *shares, struct kc_error *err);
        enum kc_status (*find)(void *map, const kc_wd_share<Key> *shares, uint32_t *const *counts,
                               struct kc_error *err);
        void (*close)(void *map);
};

template <class Layout> struct spread_map {
        typedef kc_wd_several<Layout> map;
        typedef kc_wd_share<typename Layout::key> share;

        static enum kc_status open(void **out, struct kc_links *links, uint64_t npairs, int k,
                                   struct kc_error *err)
        {
                struct kc_wd_options options = {};
                options.capacity = kc_ask_warpdrive_slots<Layout>(npairs);
                options.key_bits = 2 * k;
                const enum kc_status status =
                        kc_wd_several_new((map **)out, links, KC_WD_BY_PARTS, &options, err);
                if (status == KC_OK)
                        ((map *)*out)->combining = KC_WD_COMBINE_NEVER; /* all keys differ */
                return status;
        }

        static enum kc_status put(void *m, const share *shares, struct kc_error *err)
        {
                return kc_wd_several_put((map *)m, shares, KC_WD_ADD, NULL, err);
        }

        static enum kc_status find(void *m, const share *shares, uint32_t *const *counts,
                                   struct kc_error *err)
        {
                return kc_wd_several_retrieve((map *)m, shares, counts, KC_WD_ABSENT, NULL, err);
        }

        static void close(void *m)
        {
                kc_wd_several_free((map *)m);
        }
};

} // namespace

template <class Layout>
static struct spread_functions<typename Layout::key> spread_functions_of(void) {
        return { spread_map<Layout>::open, spread_map<Layout>::put, spread_map<Layout>::find,
                 spread_map<Layout>::close };
}

/* is_small: there are so few k-mers that words have no room for their counts. */
static struct spread_functions<kc_key64>
functions_for(bool is_small, kc_key64) {
        return is_small ? spread_functions_of<kc_wd_near64>() : spread_functions_of<kc_wd_words>();
}

static struct spread_functions<kc_key128>
functions_for(bool, kc_key128) {
        return spread_functions_of<kc_wd_apart128>();
}

namespace
{

        /* What a device looks up at a time. */
        template <class Key> struct station {
                Key *kmers;
                uint32_t *counts;                          /* [nwindows] device, like kmers */
                struct kc_ask_flight<Key> *started, **end; /* flights that wait for their look-up */
                struct kc_ask_flight<Key> *taken;          /* those that are looked up now */
        };

} // namespace

template <class Key> struct kc_ask_spread {
        const struct kc_gpu_ask_table *table; /* valid only while it is loaded */
        const struct kc_ask_rules *rules;
        struct kc_links links;
        struct spread_functions<Key> functions;
        void *map; /* NULL before it is loaded */
        struct station<Key> stations[KC_GPU_MAX_DEVICES];
        size_t nwindows;       /* of a station */
        pthread_mutex_t lock;  /* guards what follows, and started flights */
        pthread_cond_t landed; /* signalled when flights have landed */
        bool is_busy;          /* a thread looks up */
        struct kc_error failure;
};

/* ---- looking up ---- */

/* Make the k-mers of a device's flights, or if IS_FOUND, bring the answers to them to the host. */
template <class Key, bool IS_FOUND>
static enum kc_status pass(void *ctx, int device, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_ask_spread<Key> *s = (struct kc_ask_spread<Key> *)ctx;
        const struct station<Key> *station = &s->stations[device];
        cudaStream_t stream = s->links.gpus[device].stream;
        size_t at = 0;
        for (struct kc_ask_flight<Key> *f = station->taken; f != NULL; f = f->next) {
                KC_TRY(IS_FOUND ? kc_ask_flight_end(f, stream, station->counts + at, s->rules, err)
                                : kc_ask_flight_begin(f, stream, station->kmers + at, s->rules,
                                                      err));
                at += f->sizes.nwindows;
        }
        if (IS_FOUND)
                KC_TRY(KC_CUDA(cudaStreamSynchronize(stream)));
out:
        return status;
}

/* Look up the flights that all stations have taken. */
template <class Key>
static enum kc_status look_up(struct kc_ask_spread<Key> *s, struct kc_error *err)
{
        enum kc_status status;
        kc_wd_share<Key> shares[KC_GPU_MAX_DEVICES] = {};
        uint32_t *counts[KC_GPU_MAX_DEVICES];
        KC_TRY(kc_links_parallel(&s->links, pass<Key, false>, s, err));
        for (int i = 0; i < s->links.n; i++) {
                const struct station<Key> *station = &s->stations[i];
                shares[i].keys = station->kmers;
                for (struct kc_ask_flight<Key> *f = station->taken; f != NULL; f = f->next)
                        shares[i].n += f->sizes.nwindows;
                counts[i] = station->counts;
        }
        KC_TRY(s->functions.find(s->map, shares, counts, err));
        KC_TRY(kc_links_parallel(&s->links, pass<Key, true>, s, err));
out:
        return status;
}

/* Take the flights that have waited longest, as many as fit into the station. */
template <class Key> static void take_started(struct station<Key> *station, size_t nwindows)
{
        struct kc_ask_flight<Key> **end = &station->taken;
        while (station->started != NULL && station->started->sizes.nwindows <= nwindows) {
                nwindows -= station->started->sizes.nwindows;
                *end = station->started;
                end = &station->started->next;
                station->started = station->started->next;
        }
        *end = NULL;
        if (station->started == NULL)
                station->end = &station->started;
}

template <class Key> static void land_taken(struct station<Key> *station)
{
        for (struct kc_ask_flight<Key> *f = station->taken; f != NULL; f = f->next)
                f->is_started = false;
        station->taken = NULL;
}

/* Look flights up. Called under the lock, which is released during the look-up. */
template <class Key> static void look_up_some(struct kc_ask_spread<Key> *s)
{
        struct kc_error failure = {};
        s->is_busy = true;
        for (int i = 0; i < s->links.n; i++)
                take_started(&s->stations[i], s->nwindows);
        pthread_mutex_unlock(&s->lock);
        (void)look_up(s, &failure);
        pthread_mutex_lock(&s->lock);
        for (int i = 0; i < s->links.n; i++)
                land_taken(&s->stations[i]);
        s->failure = failure;
        s->is_busy = false;
        pthread_cond_broadcast(&s->landed);
}

template <class Key>
void kc_ask_spread_start(struct kc_ask_spread<Key> *s, int device,
                         struct kc_ask_flight<Key> *flight)
{
        struct station<Key> *station = &s->stations[device];
        pthread_mutex_lock(&s->lock);
        flight->is_started = true;
        flight->next = NULL;
        *station->end = flight;
        station->end = &flight->next;
        pthread_mutex_unlock(&s->lock);
}

template <class Key>
enum kc_status kc_ask_spread_wait(struct kc_ask_spread<Key> *s, struct kc_ask_flight<Key> *flight,
                                  struct kc_error *err)
{
        pthread_mutex_lock(&s->lock);
        while (flight->is_started && s->failure.status == KC_OK)
                if (s->is_busy)
                        pthread_cond_wait(&s->landed, &s->lock);
                else
                        look_up_some(s);
        const struct kc_error failure = s->failure;
        pthread_mutex_unlock(&s->lock);
        return failure.status == KC_OK ? KC_OK : kc_fail_as(err, &failure);
}

/* ---- loading ---- */

/* Make the maps. Meanwhile a share of each device's memory is held back, which is then free for
 * ranges and for k-mers on their way. */
template <class Key>
static enum kc_status open_maps(void *ctx, uint64_t, size_t, struct kc_error *err)
{
        struct kc_ask_spread<Key> *s = (struct kc_ask_spread<Key> *)ctx;
        char *left[KC_GPU_MAX_DEVICES] = {};
        struct kc_error failure = {};
        enum kc_status status = KC_OK;
        for (int i = 0; i < s->links.n; i++) {
                struct kc_gpu *gpu = &s->links.gpus[i];
                KC_TRY(kc_gpu_new(gpu, &left[i], gpu->limit_nbytes / KC_ASK_SHARE, err));
        }
        for (const bool is_small : { false, true }) {
                failure = {};
                s->functions = functions_for(is_small, Key());
                status = s->functions.open(&s->map, &s->links, s->table->npairs, s->table->k,
                                           &failure);
                if (status != KC_EUSAGE)
                        break;
        }
        if (status != KC_OK)
                status = kc_fail_as(err, &failure);
out:
        for (int i = 0; i < s->links.n; i++) {
                struct kc_gpu *gpu = &s->links.gpus[i];
                kc_gpu_delete(gpu, left[i], gpu->limit_nbytes / KC_ASK_SHARE);
        }
        return status;
}

/* Pass pairs from the first device to their owners. */
template <class Key>
static enum kc_status put(void *ctx, Key *kmers, uint32_t *counts, size_t n, struct kc_error *err)
{
        struct kc_ask_spread<Key> *s = (struct kc_ask_spread<Key> *)ctx;
        kc_wd_share<Key> shares[KC_GPU_MAX_DEVICES] = {};
        shares[0] = { kmers, counts, n };
        return s->functions.put(s->map, shares, err);
}

template <class Key>
static enum kc_status load(void *ctx, const struct kc_join_source *source,
                           struct kc_join_totals *totals, struct kc_error *err)
{
        struct kc_ask_spread<Key> *s = (struct kc_ask_spread<Key> *)ctx;
        const struct kc_ask_taker<Key> taker = {
                s, s->rules->setup.job, open_maps<Key>, put<Key>
        };
        return kc_ask_load_by(&taker, &s->links.gpus[0], source, s->rules->setup.nthreads, totals,
                              err);
}

/* Of the share for batches, half is for the stations and half for flights. */
template <class Key>
static enum kc_status open_stations(struct kc_ask_spread<Key> *s, size_t nflights,
                                    struct kc_error *err)
{
        const size_t nbases = s->rules->caps.nbases;
        size_t most = nflights * nbases;
        enum kc_status status = KC_OK;
        for (int i = 0; i < s->links.n; i++)
                most = std::min(most, s->links.gpus[i].limit_nbytes / KC_ASK_SHARE / 2 /
                                              (sizeof(Key) + sizeof(uint32_t)));
        s->nwindows = std::max(most, nbases);
        for (int i = 0; i < s->links.n; i++) {
                struct kc_gpu *gpu = &s->links.gpus[i];
                KC_TRY(kc_gpu_new(gpu, &s->stations[i].kmers, s->nwindows, err));
                KC_TRY(kc_gpu_new(gpu, &s->stations[i].counts, s->nwindows, err));
        }
out:
        return status;
}

template <class Key>
enum kc_status kc_ask_spread_load(struct kc_ask_spread<Key> *s,
                                  const struct kc_gpu_ask_table *table,
                                  const struct kc_ask_rules *rules, size_t nflights,
                                  struct kc_error *err)
{
        const struct kc_gpu_ask_reader reader = { s, load<Key> };
        enum kc_status status;
        s->table = table;
        s->rules = rules;
        KC_TRY(open_stations(s, nflights, err));
        KC_TRY(kc_links_use(&s->links, 0, err));
        KC_TRY(table->read(table->ctx, &reader, err));
        KC_TRY(kc_links_settle(&s->links, err));
out:
        return status;
}

/* ---- opening and closing ---- */

template <class Key> struct kc_gpu *kc_ask_spread_gpu(struct kc_ask_spread<Key> *s, int device)
{
        return &s->links.gpus[device];
}

template <class Key> void kc_ask_spread_close(struct kc_ask_spread<Key> *s)
{
        struct kc_error ignored = {};
        if (s == NULL)
                return;
        if (s->links.n > 0)
                (void)kc_links_settle(&s->links, &ignored); /* after a failure */
        if (s->map != NULL)
                s->functions.close(s->map);
        for (int i = 0; i < s->links.n; i++) {
                kc_gpu_delete(&s->links.gpus[i], s->stations[i].kmers, s->nwindows);
                kc_gpu_delete(&s->links.gpus[i], s->stations[i].counts, s->nwindows);
        }
        kc_links_close(&s->links);
        pthread_cond_destroy(&s->landed);
        pthread_mutex_destroy(&s->lock);
        free(s);
}

template <class Key>
enum kc_status kc_ask_spread_open(struct kc_ask_spread<Key> **spread,
                                  const struct kc_gpu_ask_options *options, struct kc_error *err)
{
        const struct kc_links_options links = { options->memory_nbytes, false };
        enum kc_status status = KC_OK;
        struct kc_ask_spread<Key> *s = (struct kc_ask_spread<Key> *)calloc(1, sizeof *s);
        *spread = NULL;
        if (s == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        pthread_mutex_init(&s->lock, NULL);
        pthread_cond_init(&s->landed, NULL);
        for (struct station<Key> &station : s->stations)
                station.end = &station.started;
        for (int i = 0; i < options->ndevices; i++)
                KC_TRY(kc_gpu_wake(options->devices[i], err));
        KC_TRY(kc_links_open(&s->links, options->devices, options->ndevices, &links, err));
        *spread = s;
        s = NULL;
out:
        kc_ask_spread_close(s);
        return status;
}

#define INSTANTIATE(Key) \
        template enum kc_status kc_ask_spread_open(struct kc_ask_spread<Key> **, \
                                                   const struct kc_gpu_ask_options *, \
                                                   struct kc_error *); \
        template void kc_ask_spread_close(struct kc_ask_spread<Key> *); \
        template struct kc_gpu *kc_ask_spread_gpu(struct kc_ask_spread<Key> *, int); \
        template enum kc_status kc_ask_spread_load( \
                struct kc_ask_spread<Key> *, const struct kc_gpu_ask_table *, \
                const struct kc_ask_rules *, size_t, struct kc_error *); \
        template void kc_ask_spread_start(struct kc_ask_spread<Key> *, int, \
                                          struct kc_ask_flight<Key> *); \
        template enum kc_status kc_ask_spread_wait( \
                struct kc_ask_spread<Key> *, struct kc_ask_flight<Key> *, struct kc_error *);
KC_GPU_INTEGER_KEYS(INSTANTIATE)
