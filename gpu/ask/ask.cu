/*
 * The asker on a device (gpu/ask.h). It is prompt: threads have nothing in common but the table,
 * which is only read, so nothing is locked, unless the table is spread.
 *
 *      letters ──▶ a batch in pinned memory                            add     gpu/ask/filling.cuh
 *      a batch that is full enough ──▶ device: bases ──▶ k-mers
 *          ──▶ counts ──▶ summaries ──▶ pinned memory                  flight  gpu/ask/flight.cuh
 *      summaries, and counts if wanted ──▶ the block that asked        take
 *
 * Each thread has two flights: while one is under way, the other is packed. A block's sequences may
 * be in several of them, and a flight may have those of several blocks. If there are several
 * devices, each has a copy of the table and answers its own threads. If the copies do not fit, the
 * table is spread over the devices, which look up flights of all threads together
 * (gpu/ask/spread.cuh), or it passes through the first one in turns (gpu/ask/turns.cuh).
 */
#include "gpu/ask.h"

#include "base/parallel.h"
#include "gpu/ask/flight.cuh"
#include "gpu/ask/load.cuh"
#include "gpu/ask/sequence.cuh"
#include "gpu/ask/spread.cuh"
#include "gpu/ask/turns.cuh"

#include <cstdlib>
#include <cstring>

enum : uint32_t {
        NFLIGHTS = 2, /* of a thread */
        /* The most bases of a batch: what is packed should still be in the cache when its answers
         * are taken. If the table is spread, batches are exchanged, and should be longer. */
        MOST_NBASES = 1 << 19,
        SPREAD_NBASES = 1 << 20,
        DEPTH = 3, /* about as many blocks as two batches hold; likewise if the table is spread */
        SPREAD_DEPTH = 4,
};

namespace
{

struct asked_sequence {
        struct kc_ask_summary summary; /* of the parts that have been answered */
        struct kc_ask_noted noted;
        uint64_t counts_at, stretches_at;
};

/* A block that was added, with its answers. */
struct block {
        struct block *next;
        uint64_t nflights; /* how many flights of the thread must have landed for its answers */
        struct kc_ask_array<struct asked_sequence> sequences;
        struct kc_ask_array<uint32_t> counts;
        struct kc_ask_array<struct kc_ask_stretch> stretches;
};

/* Where the answers to a part go. */
struct goal {
        struct asked_sequence *sequence;
        uint32_t *counts; /* NULL if they are not wanted */
};

template <class Key> struct engine;

/* A device, with the whole table unless it is spread. */
template <class Key> struct replica {
        struct kc_gpu own, *gpu; /* the second: &own, or the device in the spread table */
        struct kc_ask_map<Key> table;
        struct engine<Key> *engine;
};

template <class Key> struct asking_thread {
        struct replica<Key> *on;
        struct kc_ask_flight<Key> flights[NFLIGHTS];
        struct goal *goals[NFLIGHTS]; /* [caps.nparts] */
        uint64_t nstarted, nlanded;   /* flight number i is flights[i % NFLIGHTS] */
        struct block *first, **end;   /* added, and not taken yet */
        struct block *unused;         /* the first of them may just have been taken */
};

template <class Key> struct engine {
        struct kc_ask_rules rules;
        /* These two are valid only while the engine is being opened. */
        const struct kc_gpu_ask_table *source;
        const struct kc_gpu_ask_options *options;
        struct replica<Key> replicas[KC_GPU_MAX_DEVICES];
        int nreplicas;
        struct kc_ask_spread<Key> *spread;  /* NULL: each device has a copy of the table */
        struct asking_thread<Key> *threads; /* [rules.setup.nthreads] */
};

} // namespace

/* ---- memory ---- */

/* How many flights a device has. */
template <class Key> static uint64_t nflights_of(const struct engine<Key> *e)
{
        return (uint64_t)(e->rules.setup.nthreads + e->nreplicas - 1) / e->nreplicas * NFLIGHTS;
}

/* At most half of the host's memory is for batches, and the rest for answers. */
template <class Key> static void plan_memory(struct engine<Key> *e, uint32_t batch_nbases)
{
        const uint64_t nthreads = (unsigned)e->rules.setup.nthreads;
        uint64_t least = UINT64_MAX;
        for (int i = 0; i < e->nreplicas; i++)
                least = e->replicas[i].gpu->limit_nbytes < least ? e->replicas[i].gpu->limit_nbytes
                                                                 : least;
        kc_ask_flight_plan(&e->rules, batch_nbases, e->spread != NULL ? SPREAD_NBASES : MOST_NBASES,
                           sizeof(Key), e->rules.setup.memory_nbytes / 2 / (nthreads * NFLIGHTS),
                           least / KC_ASK_SHARE / (e->spread != NULL ? 2 : 1) / nflights_of(e));
}

template <class Key>
static enum kc_status open_thread(struct engine<Key> *e, struct asking_thread<Key> *t,
                                  struct kc_error *err)
{
        enum kc_status status;
        t->end = &t->first;
        KC_TRY(KC_CUDA(cudaSetDevice(t->on->gpu->device)));
        for (uint32_t i = 0; i < NFLIGHTS; i++) {
                t->goals[i] = (struct goal *)calloc(e->rules.caps.nparts, sizeof *t->goals[i]);
                if (t->goals[i] == NULL)
                        return kc_fail(err, KC_ENOMEM, "out of memory");
                KC_TRY(kc_ask_flight_open(&t->flights[i], t->on->gpu, &e->rules, err));
        }
out:
        return status;
}

static void free_blocks(struct block *block)
{
        while (block != NULL) {
                struct block *next = block->next;
                free(block->sequences.items);
                free(block->counts.items);
                free(block->stretches.items);
                free(block);
                block = next;
        }
}

template <class Key> static void close_thread(struct engine<Key> *e, struct asking_thread<Key> *t)
{
        for (uint32_t i = 0; i < NFLIGHTS; i++) {
                kc_ask_flight_close(&t->flights[i], t->on->gpu, &e->rules);
                free(t->goals[i]);
        }
        free_blocks(t->first);
        free_blocks(t->unused);
}

/* ---- flights ---- */

/* The flight that is packed. */
template <class Key> static struct kc_ask_flight<Key> *packed_flight(struct asking_thread<Key> *t) {
        return &t->flights[t->nstarted % NFLIGHTS];
}

template <class Key>
static enum kc_status start(const struct engine<Key> *e, struct asking_thread<Key> *t,
                            struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_ask_flight<Key> *flight = packed_flight(t);
        if (e->spread != NULL) {
                kc_ask_spread_start(e->spread, (int)(t->on - e->replicas), flight);
        } else {
                KC_TRY(KC_CUDA(cudaSetDevice(t->on->gpu->device))); /* it is per thread */
                KC_TRY(kc_ask_flight_start(flight, &t->on->table, &e->rules, err));
        }
        t->nstarted++;
out:
        return status;
}

/* Wait for the first flight that is under way, and hand its answers out. */
template <class Key> static enum kc_status land(struct asking_thread<Key> *t, struct kc_error *err)
{
        const uint32_t slot = t->nlanded % NFLIGHTS;
        struct kc_ask_flight<Key> *flight = &t->flights[slot];
        const struct kc_ask_arrays *host = &flight->host;
        const struct goal *goals = t->goals[slot];
        enum kc_status status;
        KC_TRY(t->on->engine->spread != NULL
                       ? kc_ask_spread_wait(t->on->engine->spread, flight, err)
                       : kc_ask_flight_wait(flight, err));
        for (uint32_t i = 0; i < flight->sizes.nparts; i++) {
                const struct kc_ask_part part = host->parts[i];
                kc_ask_add_part(&goals[i].sequence->summary, part.n, &host->summaries[i]);
                if (goals[i].counts != NULL)
                        memcpy(goals[i].counts, host->counts + part.first,
                               part.n * sizeof *goals[i].counts);
        }
        flight->sizes = {};
        t->nlanded++;
out:
        return status;
}

/* ---- adding ---- */

/* Fill in windows of a piece of the last sequence. Returns how many; 0: the batch is full. */
template <class Key>
static uint32_t fill_some(const struct engine<Key> *e, struct asking_thread<Key> *t,
                          struct block *block, const struct kc_ask_walk *piece, uint32_t from)
{
        struct kc_ask_flight<Key> *flight = packed_flight(t);
        struct asked_sequence *sequence = &block->sequences.items[block->sequences.n - 1];
        struct goal *goals = t->goals[t->nstarted % NFLIGHTS];
        const uint32_t nparts = flight->sizes.nparts;
        const bool continues = nparts > 0 && goals[nparts - 1].sequence == sequence;
        const uint32_t nfilled = kc_ask_fill(&flight->host, &flight->sizes, &e->rules.caps,
                                             e->rules.k, continues, piece, from);
        if (flight->sizes.nparts > nparts) {
                uint32_t *counts = block->counts.items;
                goals[nparts] = { sequence, counts != NULL ? counts + block->counts.n : NULL };
        }
        if (nfilled > 0)
                block->nflights = t->nstarted + 1;
        block->counts.n += nfilled;
        return nfilled;
}

template <class Key>
static enum kc_status add_piece(const struct engine<Key> *e, struct asking_thread<Key> *t,
                                struct block *block, const struct kc_ask_walk *piece,
                                struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (uint32_t from = 0; from < piece->n;) {
                if (t->nstarted - t->nlanded == NFLIGHTS)
                        KC_TRY(land(t, err));
                const uint32_t nfilled = fill_some(e, t, block, piece, from);
                if (nfilled == 0)
                        KC_TRY(start(e, t, err));
                from += nfilled;
        }
out:
        return status;
}

/* There is room for it in the block's arrays. */
static void begin_sequence(struct block *block, uint32_t nwindows)
{
        struct asked_sequence *sequence = &block->sequences.items[block->sequences.n++];
        *sequence = {};
        sequence->summary.min = UINT32_MAX;
        sequence->noted.nwindows = nwindows;
        sequence->counts_at = block->counts.n;
        sequence->stretches_at = block->stretches.n;
}

template <class Key>
static enum kc_status add_sequence(const struct engine<Key> *e, struct asking_thread<Key> *t,
                                   struct block *block, const struct kc_ask_sequence *from,
                                   struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_ask_walk walk;
        begin_sequence(block, kc_ask_nwindows(from, e->rules.k));
        kc_ask_walk_begin(&walk, from, e->rules.k);
        while (kc_ask_walk_next(&walk)) {
                KC_TRY(kc_ask_note(&block->sequences.items[block->sequences.n - 1].noted,
                                   e->rules.setup.wants_counts ? &block->stretches : NULL, &walk,
                                   err));
                KC_TRY(add_piece(e, t, block, &walk, err));
        }
out:
        return status;
}

/* A block without sequences, with room for those that are given and for their counts. */
template <class Key>
static enum kc_status new_block(const struct engine<Key> *e, struct asking_thread<Key> *t,
                                const struct kc_ask_sequence *sequences, size_t n,
                                struct kc_error *err)
{
        size_t ncounts = 0;
        enum kc_status status;
        struct block *block = t->unused;
        if (block == NULL && (block = (struct block *)calloc(1, sizeof *block)) == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        t->unused = block->next;
        block->next = NULL;
        *t->end = block;
        t->end = &block->next;
        block->nflights = 0;
        block->sequences.n = block->counts.n = block->stretches.n = 0;
        for (size_t i = 0; i < n && e->rules.setup.wants_counts; i++)
                ncounts += kc_ask_nwindows(&sequences[i], e->rules.k);
        KC_TRY(kc_ask_reserve(&block->sequences, n, err));
        KC_TRY(kc_ask_reserve(&block->counts, ncounts, err));
out:
        return status;
}

template <class Key>
static enum kc_status add(void *ctx, int thread, const struct kc_ask_sequence *sequences, size_t n,
                          bool *, struct kc_error *err)
{
        struct engine<Key> *e = (struct engine<Key> *)ctx;
        struct asking_thread<Key> *t = &e->threads[thread];
        struct block **to = t->end;
        enum kc_status status;
        KC_TRY(new_block(e, t, sequences, n, err));
        for (size_t i = 0; i < n; i++)
                KC_TRY(add_sequence(e, t, *to, &sequences[i], err));
        if (t->nstarted - t->nlanded < NFLIGHTS &&
            packed_flight(t)->sizes.nbases >= e->rules.caps.nbases / 2)
                KC_TRY(start(e, t, err));
out:
        return status;
}

/* ---- taking ---- */

template <class Key>
static enum kc_status take(void *ctx, int thread, struct kc_ask_answer *answers, size_t n,
                           struct kc_error *err)
{
        struct engine<Key> *e = (struct engine<Key> *)ctx;
        struct asking_thread<Key> *t = &e->threads[thread];
        struct block *block = t->first;
        enum kc_status status = KC_OK;
        if (t->nstarted < block->nflights)
                KC_TRY(start(e, t, err));
        while (t->nlanded < block->nflights)
                KC_TRY(land(t, err));
        for (size_t i = 0; i < n; i++) {
                const struct asked_sequence *from = &block->sequences.items[i];
                answers[i] = {};
                answers[i].summary = from->summary;
                kc_ask_end_parts(&answers[i].summary, &from->noted);
                if (!e->rules.setup.wants_counts)
                        continue;
                answers[i].counts = block->counts.items + from->counts_at;
                answers[i].stretches = block->stretches.items + from->stretches_at;
                answers[i].nstretches = from->noted.nstretches;
        }
        t->first = block->next;
        if (t->first == NULL)
                t->end = &t->first;
        block->next = t->unused;
        t->unused = block;
out:
        return status;
}

/* ---- opening and closing ---- */

template <class Key> static void close(void *ctx)
{
        struct engine<Key> *e = (struct engine<Key> *)ctx;
        for (struct replica<Key> &r : e->replicas)
                if (r.gpu != NULL && r.gpu->pool != NULL) {
                        (void)cudaSetDevice(r.gpu->device);
                        (void)cudaDeviceSynchronize(); /* flights may be under way */
                }
        for (int i = 0; e->threads != NULL && i < e->rules.setup.nthreads; i++)
                close_thread(e, &e->threads[i]);
        free(e->threads);
        for (struct replica<Key> &r : e->replicas) {
                if (r.own.pool != NULL)
                        (void)cudaSetDevice(r.own.device);
                kc_ask_map_close(&r.table);
                kc_gpu_close(&r.own);
        }
        kc_ask_spread_close(e->spread);
        free(e);
}

/* Each replica is opened, and loaded, by a thread of its own. */
template <class Key> static enum kc_status open_replica(void *ctx, int number, struct kc_error *err)
{
        struct engine<Key> *e = (struct engine<Key> *)ctx;
        const struct kc_gpu_ask_options *options = e->options;
        struct replica<Key> *r = &e->replicas[number];
        enum kc_status status;
        KC_TRY(kc_gpu_wake(options->devices[number], err));
        KC_TRY(kc_gpu_open(&r->own, options->devices[number], options->memory_nbytes, err));
out:
        return status;
}

template <class Key>
static enum kc_status join_runs(void *ctx, const struct kc_join_source *source,
                                struct kc_join_totals *totals, struct kc_error *err)
{
        struct replica<Key> *r = (struct replica<Key> *)ctx;
        const struct engine<Key> *e = r->engine;
        const int nreaders = e->rules.setup.nthreads / e->nreplicas;
        return kc_ask_load(&r->table, r->gpu, source, e->options->map, nreaders, e->rules.setup.job,
                           totals, err);
}

template <class Key> static enum kc_status load_replica(void *ctx, int number, struct kc_error *err)
{
        struct engine<Key> *e = (struct engine<Key> *)ctx;
        struct replica<Key> *r = &e->replicas[number];
        const struct kc_gpu_ask_reader reader = { r, join_runs<Key> };
        enum kc_status status;
        KC_TRY(KC_CUDA(cudaSetDevice(r->gpu->device)));
        KC_TRY(e->source->read(e->source->ctx, &reader, err));
out:
        return status;
}

template <class Key> static enum kc_status open_threads(struct engine<Key> *e, struct kc_error *err)
{
        const int n = e->rules.setup.nthreads;
        enum kc_status status;
        e->threads = (struct asking_thread<Key> *)calloc((size_t)n, sizeof *e->threads);
        if (e->threads == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        for (int i = 0; i < n; i++)
                e->threads[i].on = &e->replicas[i % e->nreplicas];
        for (int i = 0; i < n; i++)
                KC_TRY(open_thread(e, &e->threads[i], err));
        for (int i = 0; i < e->nreplicas; i++) /* all streams may use the memory then */
                KC_TRY(KC_CUDA(cudaStreamSynchronize(e->replicas[i].gpu->stream)));
out:
        return status;
}

template <class Key> static enum kc_status open_devices(struct engine<Key> *e, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(kc_gpu_find(e->options->devices, e->options->ndevices, err));
        e->rules.shared = e->options->spread;
        if (e->options->spread)
                KC_TRY(kc_ask_spread_open(&e->spread, e->options, err));
        for (int i = 0; i < e->nreplicas; i++) {
                struct replica<Key> *r = &e->replicas[i];
                r->engine = e;
                r->gpu = e->spread != NULL ? kc_ask_spread_gpu(e->spread, i) : &r->own;
        }
        if (e->spread == NULL)
                KC_TRY(kc_parallel(e->nreplicas, open_replica<Key>, NULL, e, err));
out:
        return status;
}

template <class Key> static enum kc_status open_engine(struct engine<Key> *e, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(open_devices(e, err));
        plan_memory(e, e->options->batch_nbases);
        KC_TRY(open_threads(e, err));
        KC_TRY(e->spread != NULL
                       ? kc_ask_spread_load(e->spread, e->source, &e->rules, nflights_of(e), err)
                       : kc_parallel(e->nreplicas, load_replica<Key>, NULL, e, err));
out:
        return status;
}

template <class Key>
static enum kc_status open_with(struct kc_asker *asker, const struct kc_gpu_ask_table *table,
                                const struct kc_gpu_ask_options *options,
                                const struct kc_ask_setup *setup, struct kc_error *err)
{
        struct engine<Key> *e = (struct engine<Key> *)calloc(1, sizeof *e);
        if (e == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        e->rules.setup = *setup;
        e->rules.k = table->k;
        e->rules.stranded = options->stranded;
        e->source = table;
        e->options = options;
        e->nreplicas = options->spread || options->ndevices < setup->nthreads ? options->ndevices
                                                                              : setup->nthreads;
        const uint32_t depth = options->spread ? SPREAD_DEPTH : DEPTH;
        const enum kc_status status = open_engine(e, err);
        if (status == KC_OK)
                *asker = { e, depth, 0, add<Key>, NULL, take<Key>, close<Key> };
        else
                close<Key>(e);
        return status;
}

/* Each device holds all k-mers, or a part of them. */
static enum kc_status open_whole(struct kc_asker *asker, const struct kc_gpu_ask_table *table,
                                 const struct kc_gpu_ask_options *options,
                                 const struct kc_ask_setup *setup, struct kc_error *err)
{
        return table->k <= 32 ? open_with<kc_key64>(asker, table, options, setup, err)
                              : open_with<kc_key128>(asker, table, options, setup, err);
}

enum kc_status kc_gpu_ask_open(struct kc_asker *asker, const struct kc_gpu_ask_table *table,
                               const struct kc_gpu_ask_options *options,
                               const struct kc_ask_setup *setup, enum kc_gpu_ask_way *way,
                               struct kc_error *err)
{
        const bool can_spread =
                options->ndevices > 1 && options->map == KC_GPU_MAP_WARPDRIVE && !options->spread;
        struct kc_gpu_ask_options spread = *options;
        enum kc_status status = kc_ask_check_map(options->map, table->k, err);
        struct kc_error failure = {};
        *asker = {};
        spread.spread = true;
        if (status != KC_OK)
                return status;
        if (options->spread && options->map != KC_GPU_MAP_WARPDRIVE)
                return kc_fail(err, KC_EUSAGE, "the map %s cannot be spread over several devices",
                               kc_gpu_map_name(options->map));
        *way = options->spread ? KC_GPU_ASK_SPREAD : KC_GPU_ASK_WHOLE;
        status = open_whole(asker, table, options, setup, &failure);
        if (status == KC_ENOMEM && can_spread) {
                *way = KC_GPU_ASK_SPREAD;
                failure = {};
                status = open_whole(asker, table, &spread, setup, &failure);
        }
        if (status == KC_ENOMEM) {
                *way = KC_GPU_ASK_TURNS;
                return kc_ask_turns_open(asker, table, options, setup, err);
        }
        return status == KC_OK ? KC_OK : kc_fail_as(err, &failure);
}
