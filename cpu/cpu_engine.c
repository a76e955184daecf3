/*
 * Three stages, each run by all threads:
 *
 *      batches ──▶ super-k-mers in bins by minimizer                               partition
 *      bins    ──▶ distinct k-mers with counts, filtered, in lists by prefix       count
 *      lists   ──▶ sorted parts of the run                                         order
 *
 * Several k are counted from the same batches: each has bins of its own, and is counted and ordered
 * in turn.
 *
 * A sink that wants only counts gets those of each bin as soon as it is counted; then there are no
 * lists of pairs, and nothing to order.
 *
 * Existing pairs (kc_cpu_order) go straight to the lists by prefix, and only the last stage
 * follows.
 *
 * Only the first and the last stage touch all data in memory; counting stays in cache.
 */
#include "cpu/cpu_engine.h"

#include "base/clock.h"
#include "base/parallel.h"
#include "cpu/pair.h"
#include "cpu/superkmer.h"
#include "cpu/width.h"
#include "kmer/joint_run.h"
#include "kmer/kmer.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

enum {
        BATCH_WORDS = 16 << 10, /* half a million bases: fits in L2 with all other hot data */
        BATCH_SEGMENTS = 16 << 10,
        BATCH_PAIRS = 4 << 10,
        BASES_PER_BIN = 400000, /* for one-word keys: so that a bin's table fits in L2 */
        PAIRS_PER_LIST = 32768, /* likewise, so that a list is sorted in L2 */
        MIN_BINS = 64,
        USUAL_BINS = 4096, /* if the input's size is unknown */
        MAX_BINS = 16384,
        MAX_LISTS = 16384,
        KMERS_PER_DISTINCT = 4,   /* an estimate, used only for the number of lists */
        MIN_CHUNKS = 64,          /* for each thread's lists, however small the memory */
        HEADS_NBYTES = 12,        /* per chunk, for list arrays beside chunks: see lists_that_fit */
        BUFFERS_NBYTES = 1 << 20, /* per thread: batch, buffers to read lists and write blocks, and
                                      the small arrays of its tables */
        SCRATCH_NBYTES = 12 << 20, /* wanted per thread for tables and sorting: with less, bins
                                      often take several passes */
};

/* What is counted with one k. */
struct counting {
        int k;
        const struct kc_run_sink *sink;
        const struct kc_width *width;
        struct kc_width_setup setup;
        struct kc_lists bins, pairs;
        uint32_t *bin_order; /* bins, largest first */
        uint32_t stripe;     /* in which lists of pairs are dealt to the ranks */
        uint64_t *starts;    /* [pairs.nlists + 1] pairs before each list, of all ranks; or NULL */
        atomic_uint_fast64_t nkmers;
        struct kc_counter_totals counted; /* in the end, by all ranks */
        uint64_t nown;                    /* distinct k-mers that this rank has counted */
        uint64_t spilled_nbytes;          /* by lists that are released already */
};

struct cpu_engine {
        const struct kc_count_params *params;
        const struct kc_batch_source *source;
        const struct kc_pair_source *pairs; /* to order pairs instead of counting; or NULL */
        struct kc_job *job;
        struct kc_arena arena;
        size_t nchunks;             /* of the arena, which lists may hold */
        atomic_size_t pool;         /* of these, free for lists beyond quotas */
        struct counting *countings; /* [ncountings] */
        int ncountings;
        int current;      /* the one that is being counted or ordered */
        atomic_uint next; /* the next bin or list to take */
        atomic_bool failed;
        struct kc_joint_run *joint;  /* to which all ranks order; or NULL */
        atomic_uint_fast64_t npairs; /* taken from pairs */
        pthread_mutex_t lock; /* guards counted while bins are counted or lists are ordered */
};

static void on_failure(void *ctx)
{
        struct cpu_engine *e = ctx;
        atomic_store(&e->failed, true);
        for (int i = 0; i < e->ncountings; i++)
                e->countings[i].sink->cancel(e->countings[i].sink->ctx);
        if (e->joint != NULL)
                kc_joint_run_cancel(e->joint);
}

static struct counting *current(const struct cpu_engine *e)
{
        return &e->countings[e->current];
}

static enum kc_status check_canceled(const struct cpu_engine *e, struct kc_error *err)
{
        if (kc_job_is_canceled(e->job) || atomic_load_explicit(&e->failed, memory_order_relaxed))
                return kc_fail(err, KC_ECANCELED, "canceled");
        return KC_OK;
}

static void begin_stage(struct cpu_engine *e, enum kc_stage stage, uint64_t total)
{
        atomic_store(&e->next, 0);
        kc_job_begin_stage(e->job, kc_stage_of(e->current, stage), total);
}

static uint32_t power_of_two_above(uint64_t n, uint32_t low, uint32_t high)
{
        uint32_t power = low;
        while (power < high && power < n)
                power *= 2;
        return power;
}

/* Threads that append to lists: workers, and the exchange's, which appends what others send. */
static size_t nwriters(const struct cpu_engine *e)
{
        return (size_t)e->params->nthreads + (e->params->exchange != NULL);
}

/* Halve `most` until one chunk per list and thread takes at most a quarter of the memory, or of an
 * equal share of it for each k. */
static uint32_t lists_that_fit(const struct cpu_engine *e, uint32_t most)
{
        const size_t nheads = nwriters(e) * (size_t)e->ncountings;
        while (most > 2 && most * nheads * 4 > e->nchunks)
                most /= 2;
        return most;
}

static bool wants_pairs(const struct counting *c)
{
        return c->setup.counts == NULL;
}

static bool any_wants_pairs(const struct cpu_engine *e)
{
        bool any = false;
        for (int i = 0; i < e->ncountings; i++)
                any |= wants_pairs(&e->countings[i]);
        return any;
}

/*
 * Bins may take all memory except an eighth, which is reserved for pairs. So a thread that stores a
 * pair always finds room, or has chunks of its own to spill, whatever other threads hold.
 */
static size_t pairs_quota(const struct cpu_engine *e)
{
        if (!any_wants_pairs(e))
                return 0;
        return e->nchunks / 8 / nwriters(e);
}

/* Of a thread. */
static size_t chunks_for_bins(const struct cpu_engine *e)
{
        return e->nchunks / nwriters(e) - pairs_quota(e);
}

/* Several k do not need equal shares: they have quotas of half of that, and a pool. */
static size_t bins_quota(const struct cpu_engine *e)
{
        const size_t n = (size_t)e->ncountings;
        return n == 1 ? chunks_for_bins(e) : chunks_for_bins(e) / (2 * n);
}

/* ---- with other ranks ---- */

/* All ranks must have the same number of lists: the smallest that any of them has memory for. */
static enum kc_status agree_on_lists(const struct cpu_engine *e, uint32_t *nlists,
                                     struct kc_error *err)
{
        uint64_t least = *nlists;
        if (e->params->exchange == NULL)
                return KC_OK;
        const enum kc_status status = kc_exchange_least(e->params->exchange, &least, 1, err);
        *nlists = (uint32_t)least;
        return status;
}

/*
 * Ranks order stripes of lists in turn, and rank 0 writes these one after the other. So that threads
 * need not wait for each other after every list, a stripe has some; so that what the other ranks
 * have ready fits in their queues (kmer/joint_run.h), it is at most about half a MiB.
 */
static enum kc_status agree_on_stripe(struct cpu_engine *e, uint32_t nlists, struct kc_error *err)
{
        enum { STRIPE_PAIRS = 1 << 16, MAX_STRIPE = 16 };
        struct counting *c = current(e);
        const struct kc_exchange *exchange = e->params->exchange;
        if (exchange == NULL)
                return KC_OK;
        const uint64_t nlocal = atomic_load(&c->nkmers) / KMERS_PER_DISTINCT;
        const uint64_t npairs = nlocal * (uint64_t)exchange->nranks;
        uint64_t stripe = MAX_STRIPE;
        while (stripe > 1 && npairs / nlists * stripe > STRIPE_PAIRS)
                stripe /= 2;
        const enum kc_status status = kc_exchange_least(exchange, &stripe, 1, err);
        c->stripe = (uint32_t)stripe;
        return status;
}

/* Run the workers; meanwhile, take what other ranks send. */
static enum kc_status run_phase(struct cpu_engine *e,
                                enum kc_status (*run)(void *ctx, int worker, struct kc_error *err),
                                enum kc_status (*take)(void *ctx, uint32_t list,
                                                       const uint8_t *data, size_t nbytes,
                                                       struct kc_error *err),
                                struct kc_error *err)
{
        const struct kc_exchange *exchange = e->params->exchange;
        const struct kc_exchange_taker taker = { .ctx = e, .take = take };
        enum kc_status status;
        if (exchange != NULL)
                KC_TRY(exchange->begin(exchange->ctx, &taker, err));
        KC_TRY(kc_parallel(e->params->nthreads, run, on_failure, e, err));
        if (exchange != NULL)
                KC_TRY(exchange->end(exchange->ctx, err));
out:
        return status;
}

/* ---- partition ---- */

static enum kc_status scan(struct cpu_engine *e, int worker, const struct kc_batch *batch,
                           struct kc_superkmer_scanner **scanners, uint64_t *nkmers,
                           struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (int i = 0; i < e->ncountings; i++)
                KC_TRY(kc_superkmer_scan(scanners[i], batch, &e->countings[i].bins, worker,
                                         &nkmers[i], err));
out:
        return status;
}

static enum kc_status partition_batches(struct cpu_engine *e, int worker, struct kc_batch *batch,
                                        struct kc_superkmer_scanner **scanners,
                                        struct kc_error *err)
{
        enum kc_status status = KC_OK;
        uint64_t *nkmers = calloc((size_t)e->ncountings, sizeof *nkmers);
        if (nkmers == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        for (;;) {
                KC_TRY(check_canceled(e, err));
                KC_TRY(e->source->next(e->source->ctx, worker, batch, err));
                if (batch->nsegments == 0)
                        break;
                KC_TRY(scan(e, worker, batch, scanners, nkmers, err));
        }
        for (int i = 0; i < e->ncountings; i++) {
                KC_TRY(kc_lists_seal(&e->countings[i].bins, worker, err));
                atomic_fetch_add(&e->countings[i].nkmers, nkmers[i]);
        }
out:
        free(nkmers);
        return status;
}

/* scanners: out [ncountings] */
static enum kc_status make_scanners(const struct cpu_engine *e,
                                    struct kc_superkmer_scanner **scanners, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (int i = 0; i < e->ncountings; i++)
                KC_TRY(kc_superkmer_scanner_new(&scanners[i], e->countings[i].k,
                                                e->countings[i].bins.nlists, err));
out:
        return status;
}

static enum kc_status partition_worker(void *ctx, int worker, struct kc_error *err)
{
        struct cpu_engine *e = ctx;
        struct kc_superkmer_scanner **scanners =
                calloc((size_t)e->ncountings, sizeof(struct kc_superkmer_scanner *));
        struct kc_batch batch = { .words_cap = BATCH_WORDS, .segments_cap = BATCH_SEGMENTS };
        enum kc_status status = KC_OK;
        batch.words = calloc(BATCH_WORDS + KC_BATCH_PADDING, sizeof *batch.words);
        batch.segments = malloc(BATCH_SEGMENTS * sizeof *batch.segments);
        if (batch.words == NULL || batch.segments == NULL || scanners == NULL)
                status = kc_fail(err, KC_ENOMEM, "out of memory for a sequence batch");
        if (status == KC_OK)
                status = make_scanners(e, scanners, err);
        if (status == KC_OK)
                status = partition_batches(e, worker, &batch, scanners, err);
        for (int i = 0; scanners != NULL && i < e->ncountings; i++)
                kc_superkmer_scanner_free(scanners[i]);
        free(scanners);
        free(batch.words);
        free(batch.segments);
        return status;
}

static uint32_t bins_lists(const struct cpu_engine *e, const struct counting *c)
{
        const struct kc_count_params *p = e->params;
        uint64_t nbases = p->expected_nbases, nwords = (uint64_t)kc_kmer_nwords(c->k);
        uint32_t nbins =
                nbases ? power_of_two_above(nbases * nwords / BASES_PER_BIN, MIN_BINS, MAX_BINS)
                       : USUAL_BINS;
        return lists_that_fit(e, nbins);
}

static enum kc_status init_bins(struct cpu_engine *e, struct counting *c, struct kc_error *err)
{
        const struct kc_count_params *p = e->params;
        enum kc_status status;
        uint32_t nbins = bins_lists(e, c);
        KC_TRY(agree_on_lists(e, &nbins, err));
        KC_TRY(kc_lists_init(&c->bins, nbins, (int)nwriters(e), &e->arena, bins_quota(e),
                             e->ncountings == 1 ? NULL : &e->pool, p->tmp_dir, err));
        if (p->exchange != NULL)
                kc_lists_connect(&c->bins,
                                 &(struct kc_lists_outlet){ .exchange = p->exchange,
                                                            .stripe = 1,
                                                            .first = (uint32_t)(c - e->countings) *
                                                                     MAX_BINS });
out:
        return status;
}

/* From other ranks. */
static enum kc_status take_superkmers(void *ctx, uint32_t list, const uint8_t *data, size_t nbytes,
                                      struct kc_error *err)
{
        struct cpu_engine *e = ctx;
        return kc_lists_take(&e->countings[list / MAX_BINS].bins, e->params->nthreads,
                             list % MAX_BINS, data, nbytes, err);
}

/* The k-mers that all ranks have read. */
static enum kc_status sum_kmers(struct cpu_engine *e, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (int i = 0; i < e->ncountings && status == KC_OK; i++) {
                uint64_t nkmers = atomic_load(&e->countings[i].nkmers);
                status = kc_exchange_sum(e->params->exchange, &nkmers, 1, err);
                atomic_store(&e->countings[i].nkmers, nkmers);
        }
        return status;
}

static enum kc_status partition(struct cpu_engine *e, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        const size_t n = (size_t)e->ncountings;
        atomic_store(&e->pool, nwriters(e) * (chunks_for_bins(e) - n * bins_quota(e)));
        for (int i = 0; i < e->ncountings; i++)
                KC_TRY(init_bins(e, &e->countings[i], err));
        KC_TRY(run_phase(e, partition_worker, take_superkmers, err));
        if (e->params->exchange != NULL) {
                for (int i = 0; i < e->ncountings; i++)
                        KC_TRY(kc_lists_seal(&e->countings[i].bins, e->params->nthreads, err));
                KC_TRY(sum_kmers(e, err));
        }
out:
        return status;
}

/* ---- count ---- */

struct sized_bin {
        uint64_t size;
        uint32_t bin;
};

static int larger_first(const void *a, const void *b)
{
        const struct sized_bin *x = a, *y = b;
        if (x->size != y->size)
                return x->size < y->size ? 1 : -1;
        return x->bin < y->bin ? -1 : 1;
}

/* The unit in which sizes of bins are compared: twice the average bin if any were spilled. Then
 * most bins compare equal and are counted in the order of their numbers, which frees disk space bit
 * by bit. */
static uint64_t size_unit(const struct counting *c)
{
        const uint64_t spilled = kc_lists_spilled_nbytes(&c->bins);
        uint64_t nbytes = 0;
        for (uint32_t i = 0; i < c->bins.nlists; i++)
                nbytes += kc_lists_nbytes(&c->bins, i);
        return spilled > 0 ? 2 * nbytes / c->bins.nlists + 1 : 1;
}

/* Largest bins first, so that the threads finish together. */
static enum kc_status order_bins(struct counting *c, struct kc_error *err)
{
        const uint64_t unit = size_unit(c);
        uint32_t n = c->bins.nlists;
        struct sized_bin *sized = malloc(n * sizeof *sized);
        c->bin_order = malloc(n * sizeof *c->bin_order);
        if (sized == NULL || c->bin_order == NULL) {
                free(sized);
                return kc_fail(err, KC_ENOMEM, "out of memory");
        }
        for (uint32_t i = 0; i < n; i++)
                sized[i] = (struct sized_bin){ kc_lists_nbytes(&c->bins, i) / unit, i };
        qsort(sized, n, sizeof *sized, larger_first);
        for (uint32_t i = 0; i < n; i++)
                c->bin_order[i] = sized[i].bin;
        free(sized);
        return KC_OK;
}

static void add_totals(struct cpu_engine *e, const struct kc_counter_totals *totals)
{
        struct kc_counter_totals *counted = &current(e)->counted;
        pthread_mutex_lock(&e->lock);
        counted->ndistinct += totals->ndistinct;
        counted->nsaturated += totals->nsaturated;
        kc_run_add_dropped(&counted->dropped, &totals->dropped);
        pthread_mutex_unlock(&e->lock);
}

/* Leaves counted.dropped alone, which other threads may be reading: sorters report what they drop
 * to the sink. */
static void add_sums(struct cpu_engine *e, const struct kc_counter_totals *sums)
{
        struct kc_counter_totals *counted = &current(e)->counted;
        pthread_mutex_lock(&e->lock);
        counted->ndistinct += sums->ndistinct;
        counted->nsaturated += sums->nsaturated;
        pthread_mutex_unlock(&e->lock);
}

static enum kc_status count_bins(struct cpu_engine *e, int worker, void *counter,
                                 struct kc_list_reader *reader, struct kc_error *err)
{
        struct counting *c = current(e);
        struct kc_counter_totals totals = { 0 };
        enum kc_status status = KC_OK;
        uint32_t i;
        while ((i = atomic_fetch_add(&e->next, 1)) < c->bins.nlists) {
                uint32_t bin = c->bin_order[i];
                KC_TRY(check_canceled(e, err));
                KC_TRY(c->width->count(counter, reader, bin, worker, &totals, err));
                atomic_fetch_add(&e->pool, kc_lists_drop(&c->bins, worker, bin));
                kc_job_advance(e->job, 1);
        }
        if (wants_pairs(c)) {
                KC_TRY(c->width->flush(counter, worker, err));
                KC_TRY(kc_lists_seal(&c->pairs, worker, err));
        }
        add_totals(e, &totals);
out:
        return status;
}

static enum kc_status count_worker(void *ctx, int worker, struct kc_error *err)
{
        struct cpu_engine *e = ctx;
        const struct counting *c = current(e);
        struct kc_list_reader reader;
        void *counter = NULL;
        kc_list_reader_init(&reader, &c->bins);
        enum kc_status status = c->width->counter_new(&counter, &c->setup, err);
        if (status == KC_OK)
                status = count_bins(e, worker, counter, &reader, err);
        c->width->counter_free(counter);
        kc_list_reader_free(&reader);
        return status;
}

/*
 * Number of lists for the pairs: enough that a list can be sorted in cache, and up to four times as
 * many if that makes each pair a byte shorter.
 */
static uint32_t pairs_lists(const struct cpu_engine *e, const struct counting *c)
{
        int k = c->k;
        uint64_t npairs = e->pairs != NULL ? e->pairs->expected_npairs
                                           : atomic_load(&c->nkmers) / KMERS_PER_DISTINCT;
        uint64_t guess = npairs / PAIRS_PER_LIST * (uint64_t)kc_kmer_nwords(k);
        uint32_t most = k < 7 ? 1u << 2 * k : MAX_LISTS;
        uint32_t n = power_of_two_above(guess, most < MIN_BINS ? most : MIN_BINS, most);
        int bits = __builtin_ctz(n), more = 0;
        for (int i = 1; i <= 2 && more == 0; i++)
                if (n << i <= most && kc_pair_key_nbytes(k, bits + i) < kc_pair_key_nbytes(k, bits))
                        more = i;
        return lists_that_fit(e, n << more);
}

/* Free lists that have been read, and their files. */
static void release_lists(struct counting *c, struct kc_lists *lists)
{
        c->spilled_nbytes += kc_lists_spilled_nbytes(lists);
        kc_lists_free(lists);
}

/* Chunks in bins, of this k and those that come after it. */
static size_t held_by_bins(const struct cpu_engine *e)
{
        size_t held = 0;
        for (int i = e->current; i < e->ncountings; i++)
                for (int worker = 0; worker < e->countings[i].bins.nworkers; worker++)
                        held += e->countings[i].bins.workers[worker].nchunks;
        return held;
}

static enum kc_status init_pairs(struct cpu_engine *e, struct kc_error *err)
{
        struct counting *c = current(e);
        const struct kc_count_params *p = e->params;
        uint32_t nlists = pairs_lists(e, c);
        const size_t held = pairs_quota(e) * nwriters(e) + held_by_bins(e);
        enum kc_status status;
        KC_TRY(agree_on_lists(e, &nlists, err));
        KC_TRY(agree_on_stripe(e, nlists, err));
        atomic_store(&e->pool, e->nchunks - held);
        c->setup.pairs = &c->pairs;
        c->setup.prefix_bits = __builtin_ctz(nlists);
        KC_TRY(kc_lists_init(&c->pairs, nlists, (int)nwriters(e), &e->arena, pairs_quota(e),
                             &e->pool, p->tmp_dir, err));
        if (p->exchange != NULL)
                kc_lists_connect(&c->pairs, &(struct kc_lists_outlet){ .exchange = p->exchange,
                                                                       .stripe = c->stripe });
out:
        return status;
}

static enum kc_status take_counted(void *ctx, uint32_t list, const uint8_t *data, size_t nbytes,
                                   struct kc_error *err)
{
        struct cpu_engine *e = ctx;
        return kc_lists_take(&current(e)->pairs, e->params->nthreads, list, data, nbytes, err);
}

/* What all ranks have counted. */
static enum kc_status sum_totals(struct cpu_engine *e, struct kc_error *err)
{
        struct kc_counter_totals *counted = &current(e)->counted;
        uint64_t values[] = { counted->ndistinct, counted->nsaturated, counted->dropped.ndistinct,
                              counted->dropped.nkmers, counted->dropped.nunique };
        const enum kc_status status =
                kc_exchange_sum(e->params->exchange, values, sizeof values / sizeof *values, err);
        *counted = (struct kc_counter_totals){
                .ndistinct = values[0],
                .nsaturated = values[1],
                .dropped = { .ndistinct = values[2], .nkmers = values[3], .nunique = values[4] },
        };
        return status;
}

static enum kc_status count(struct cpu_engine *e, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct counting *c = current(e);
        begin_stage(e, KC_STAGE_COUNT, c->bins.nlists);
        if (wants_pairs(c))
                KC_TRY(init_pairs(e, err));
        KC_TRY(order_bins(c, err));
        KC_TRY(run_phase(e, count_worker, take_counted, err));
        release_lists(c, &c->bins);
        c->nown = c->counted.ndistinct;
        if (e->params->exchange != NULL) {
                if (wants_pairs(c))
                        KC_TRY(kc_lists_seal(&c->pairs, e->params->nthreads, err));
                KC_TRY(sum_totals(e, err));
        }
out:
        return status;
}

/* ---- order ---- */

/* Report what all bins have dropped, in a call for part 0 without pairs. */
static enum kc_status report_dropped(const struct counting *c, struct kc_error *err)
{
        const struct kc_run_pairs nothing = { .part = 0, .dropped = c->counted.dropped };
        return c->sink->put(c->sink->ctx, &nothing, err);
}

/* Take the next list, of those that this rank owns. */
static bool next_list(struct cpu_engine *e, uint32_t *list)
{
        const struct kc_exchange *exchange = e->params->exchange;
        *list = atomic_fetch_add(&e->next, 1);
        if (exchange != NULL)
                *list = (uint32_t)kc_exchange_own(exchange, *list, current(e)->stripe);
        return *list < current(e)->pairs.nlists;
}

static enum kc_status sort_lists(struct cpu_engine *e, int worker, void *sorter,
                                 struct kc_list_reader *reader, struct kc_error *err)
{
        struct counting *c = current(e);
        const struct kc_run_sink sink = e->joint != NULL ? kc_joint_run_sink(e->joint) : *c->sink;
        enum kc_status status = KC_OK;
        uint32_t list;
        while (next_list(e, &list)) {
                KC_TRY(check_canceled(e, err));
                if (list == 0)
                        KC_TRY(report_dropped(c, err));
                KC_TRY(c->width->sort(sorter, reader, list, &sink, err));
                kc_lists_drop(&c->pairs, worker, list);
                kc_job_advance(e->job, 1);
        }
out:
        return status;
}

static enum kc_status order_worker(void *ctx, int worker, struct kc_error *err)
{
        struct cpu_engine *e = ctx;
        const struct counting *c = current(e);
        struct kc_counter_totals sums = { 0 };
        if (worker == e->params->nthreads) /* rank 0's, for the others' lists */
                return kc_joint_run_feed(e->joint, err);
        struct kc_width_setup setup = c->setup;
        struct kc_list_reader reader;
        void *sorter = NULL;
        setup.sums = e->pairs != NULL ? &sums : NULL;
        kc_list_reader_init(&reader, &c->pairs);
        enum kc_status status = c->width->sorter_new(&sorter, &setup, err);
        if (status == KC_OK)
                status = sort_lists(e, worker, sorter, &reader, err);
        if (e->pairs != NULL)
                add_sums(e, &sums);
        c->width->sorter_free(sorter);
        kc_list_reader_free(&reader);
        return status;
}

/* ---- order with other ranks ---- */

/* The pairs of a list, which are counted one after the other, because their sizes differ. */
static enum kc_status count_pairs(struct kc_list_reader *reader, uint32_t list, size_t key_nbytes,
                                  uint64_t *npairs, struct kc_error *err)
{
        const uint8_t *data;
        size_t nbytes;
        enum kc_status status;
        *npairs = 0;
        kc_list_rewind(reader, list);
        while ((status = kc_list_next(reader, &data, &nbytes, err)) == KC_OK && nbytes > 0)
                for (size_t at = 0; at < nbytes; ++*npairs) {
                        uint32_t count;
                        at += key_nbytes;
                        at += kc_pair_get_count(data + at, &count);
                }
        return status;
}

static enum kc_status count_lists_worker(void *ctx, int worker, struct kc_error *err)
{
        struct cpu_engine *e = ctx;
        struct counting *c = current(e);
        const size_t key_nbytes = kc_pair_key_nbytes(c->k, c->setup.prefix_bits);
        enum kc_status status = KC_OK;
        struct kc_list_reader reader;
        uint32_t list;
        (void)worker;
        kc_list_reader_init(&reader, &c->pairs);
        while (status == KC_OK && next_list(e, &list))
                status = count_pairs(&reader, list, key_nbytes, &c->starts[list + 1], err);
        kc_list_reader_free(&reader);
        return status;
}

/* Where each list begins in the run of all ranks. */
static enum kc_status place_lists(struct cpu_engine *e, struct kc_error *err)
{
        struct counting *c = current(e);
        const size_t n = c->pairs.nlists;
        enum kc_status status;
        c->starts = calloc(n + 1, sizeof *c->starts);
        if (c->starts == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        atomic_store(&e->next, 0);
        KC_TRY(kc_parallel(e->params->nthreads, count_lists_worker, on_failure, e, err));
        KC_TRY(kc_exchange_sum(e->params->exchange, c->starts, n + 1, err));
        for (size_t i = 1; i <= n; i++)
                c->starts[i] += c->starts[i - 1];
out:
        return status;
}

static enum kc_status order_together(struct cpu_engine *e, struct kc_error *err)
{
        struct counting *c = current(e);
        const struct kc_exchange *exchange = e->params->exchange;
        const int nworkers = e->params->nthreads + (exchange->rank == 0 && exchange->nranks > 1);
        enum kc_status status;
        KC_TRY(place_lists(e, err));
        const struct kc_joint_run_setup setup = { .exchange = exchange,
                                                  .sink = c->sink,
                                                  .nwords = kc_kmer_nwords(c->k),
                                                  .nparts = c->pairs.nlists,
                                                  .stripe = c->stripe,
                                                  .starts = c->starts };
        KC_TRY(kc_joint_run_new(&e->joint, &setup, err));
        const struct kc_exchange_taker taker = kc_joint_run_taker(e->joint);
        atomic_store(&e->next, 0);
        KC_TRY(exchange->begin(exchange->ctx, &taker, err));
        KC_TRY(kc_parallel(nworkers, order_worker, on_failure, e, err));
        KC_TRY(exchange->end(exchange->ctx, err));
out:
        if (status != KC_OK)
                exchange->fail(exchange->ctx); /* no call of the taker after this */
        kc_joint_run_free(e->joint);
        e->joint = NULL;
        return status;
}

static enum kc_status order(struct cpu_engine *e, struct kc_error *err)
{
        begin_stage(e, KC_STAGE_ORDER, current(e)->pairs.nlists);
        if (e->params->exchange != NULL)
                return order_together(e, err);
        return kc_parallel(e->params->nthreads, order_worker, on_failure, e, err);
}

/* ---- existing pairs ---- */

/* The sum cannot wrap around before a thread sees it above the limit, which is far below 2^64. */
static enum kc_status add_counts(struct cpu_engine *e, const struct kc_pair_batch *batch,
                                 struct kc_error *err)
{
        uint64_t sum = 0;
        for (size_t i = 0; i < batch->n; i++)
                sum += batch->counts[i];
        atomic_fetch_add(&e->npairs, batch->n);
        if (atomic_fetch_add(&current(e)->nkmers, sum) + sum <= KC_MAX_PAIRS_SUM)
                return KC_OK;
        return kc_fail(err, KC_EINPUT, "the counts add up to more than %" PRIu64, KC_MAX_PAIRS_SUM);
}

static enum kc_status take_batches(struct cpu_engine *e, int worker, void *counter,
                                   struct kc_pair_batch *batch, struct kc_error *err)
{
        struct counting *c = current(e);
        enum kc_status status;
        for (;;) {
                KC_TRY(check_canceled(e, err));
                KC_TRY(e->pairs->next(e->pairs->ctx, worker, batch, err));
                if (batch->n == 0)
                        break;
                KC_TRY(add_counts(e, batch, err));
                KC_TRY(c->width->collect(counter, batch->kmers, batch->counts, batch->n, worker,
                                         err));
                kc_job_advance(e->job, batch->n);
        }
        KC_TRY(c->width->flush(counter, worker, err));
        KC_TRY(kc_lists_seal(&c->pairs, worker, err));
out:
        return status;
}

static enum kc_status take_worker(void *ctx, int worker, struct kc_error *err)
{
        struct cpu_engine *e = ctx;
        const struct counting *c = current(e);
        struct kc_pair_batch batch = { .cap = BATCH_PAIRS };
        void *counter = NULL;
        enum kc_status status;
        batch.kmers = malloc(BATCH_PAIRS * sizeof *batch.kmers * (size_t)kc_kmer_nwords(c->k));
        batch.counts = malloc(BATCH_PAIRS * sizeof *batch.counts);
        if (batch.kmers == NULL || batch.counts == NULL)
                status = kc_fail(err, KC_ENOMEM, "out of memory for a batch of k-mers");
        else
                status = c->width->counter_new(&counter, &c->setup, err);
        if (status == KC_OK)
                status = take_batches(e, worker, counter, &batch, err);
        c->width->counter_free(counter);
        free(batch.kmers);
        free(batch.counts);
        return status;
}

static enum kc_status take_pairs(struct cpu_engine *e, struct kc_error *err)
{
        enum kc_status status;
        begin_stage(e, KC_STAGE_PARTITION, e->pairs->expected_npairs);
        KC_TRY(init_pairs(e, err));
        KC_TRY(kc_parallel(e->params->nthreads, take_worker, on_failure, e, err));
out:
        return status;
}

/* ---- all of it ---- */

static enum kc_status timed(enum kc_status (*stage)(struct cpu_engine *, struct kc_error *),
                            struct cpu_engine *e, double *seconds, struct kc_error *err)
{
        const double start = kc_clock_seconds();
        const enum kc_status status = stage(e, err);
        *seconds = kc_clock_seconds() - start;
        return status;
}

static void free_counting(struct counting *c)
{
        free(c->bin_order);
        free(c->starts);
        c->bin_order = NULL;
        c->starts = NULL;
        kc_lists_free(&c->bins);
        kc_lists_free(&c->pairs);
}

static void set_totals(struct counting *c, struct kc_count_totals *totals)
{
        totals->nkmers = c->nkmers;
        totals->ndistinct = c->counted.ndistinct;
        totals->nsaturated = c->counted.nsaturated;
        totals->nown = c->nown;
        release_lists(c, &c->pairs);
        totals->spilled_nbytes = c->spilled_nbytes;
}

/* From the bins of the current k to its run. The space that its lists took is then free for the
 * next one. */
static enum kc_status finish(struct cpu_engine *e, struct kc_count_totals *totals,
                             struct kc_error *err)
{
        enum kc_status status;
        struct counting *c = current(e);
        KC_TRY(timed(count, e, &totals->stage_seconds[KC_STAGE_COUNT], err));
        if (wants_pairs(c))
                KC_TRY(timed(order, e, &totals->stage_seconds[KC_STAGE_ORDER], err));
        set_totals(c, totals);
out:
        return status;
}

static enum kc_status order_pairs(struct cpu_engine *e, struct kc_count_totals *totals,
                                  struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(timed(take_pairs, e, &totals->stage_seconds[KC_STAGE_PARTITION], err));
        KC_TRY(timed(order, e, &totals->stage_seconds[KC_STAGE_ORDER], err));
        set_totals(current(e), totals);
out:
        return status;
}

static enum kc_status run_stages(struct cpu_engine *e, struct kc_count_task *tasks,
                                 struct kc_error *err)
{
        enum kc_status status;
        double read;
        if (e->pairs != NULL)
                return order_pairs(e, &tasks[0].totals, err);
        KC_TRY(timed(partition, e, &read, err));
        for (e->current = 0; e->current < e->ncountings; e->current++) {
                tasks[e->current].totals.stage_seconds[KC_STAGE_PARTITION] = read;
                KC_TRY(finish(e, &tasks[e->current].totals, err));
        }
out:
        return status;
}

uint64_t kc_cpu_scratch_nbytes(uint64_t memory_nbytes, int nthreads)
{
        uint64_t scratch = (uint64_t)nthreads * SCRATCH_NBYTES;
        if (scratch > memory_nbytes / 2)
                scratch = memory_nbytes / 2;
        return scratch < memory_nbytes / 8 ? memory_nbytes / 8 : scratch;
}

/* Memory that is not scratch is for lists, except for the buffers that threads have in all
 * stages. Returns the memory for tables of a thread. */
static size_t share_memory(struct cpu_engine *e)
{
        size_t nthreads = (size_t)e->params->nthreads, all = e->params->memory_nbytes;
        size_t scratch = kc_cpu_scratch_nbytes(all, e->params->nthreads);
        size_t lists = all - scratch, buffers = nthreads * BUFFERS_NBYTES;
        size_t least = nwriters(e) * (MIN_CHUNKS * (size_t)e->ncountings + KC_ARENA_HOARD);
        lists -= buffers < lists / 2 ? buffers : lists / 2;
        e->nchunks = lists / (KC_CHUNK_NBYTES + HEADS_NBYTES);
        if (e->nchunks < least)
                e->nchunks = least;
        return scratch / nthreads;
}

static enum kc_status make_countings(struct cpu_engine *e, struct kc_count_task *tasks, int n,
                                     size_t scratch_nbytes, struct kc_error *err)
{
        e->countings = calloc((size_t)n, sizeof *e->countings);
        if (e->countings == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        for (int i = 0; i < n; i++) {
                struct counting *c = &e->countings[i];
                const struct kc_run_sink *sink = tasks[i].sink;
                tasks[i].totals = (struct kc_count_totals){ 0 };
                c->k = tasks[i].k;
                c->sink = sink;
                c->width = kc_width(kc_kmer_nwords(c->k));
                c->setup = (struct kc_width_setup){ .k = c->k,
                                                    .stranded = e->params->stranded,
                                                    .scratch_nbytes = scratch_nbytes,
                                                    .filter = sink->filter,
                                                    .counts = sink->put_counts ? sink : NULL };
        }
        return KC_OK;
}

static enum kc_status check_tasks(const struct kc_count_params *params,
                                  const struct kc_count_task *tasks, int n, struct kc_error *err)
{
        bool sound = params->nthreads >= 1 && n >= 1;
        for (int i = 0; i < n; i++)
                sound &= tasks[i].k >= 1 && tasks[i].k <= KC_MAX_K;
        return sound ? KC_OK : kc_fail(err, KC_EUSAGE, "k must be between 1 and %d", KC_MAX_K);
}

/* e: the caller sets params, job, and either source or pairs; the rest is 0. */
static enum kc_status run_engine(struct cpu_engine *e, struct kc_count_task *tasks, int ntasks,
                                 struct kc_error *err)
{
        const struct kc_count_params *params = e->params;
        enum kc_status status;
        pthread_mutex_init(&e->lock, NULL);
        KC_TRY(check_tasks(params, tasks, ntasks, err));
        e->ncountings = ntasks;
        const size_t scratch_nbytes = share_memory(e);
        KC_TRY(make_countings(e, tasks, ntasks, scratch_nbytes, err));
        KC_TRY(kc_arena_init(&e->arena, e->nchunks, (int)nwriters(e), err));
        e->nchunks -= nwriters(e) * KC_ARENA_HOARD;
        KC_TRY(run_stages(e, tasks, err));
out:
        if (status != KC_OK && params->exchange != NULL)
                params->exchange->fail(params->exchange->ctx);
        for (int i = 0; e->countings != NULL && i < ntasks; i++)
                free_counting(&e->countings[i]);
        free(e->countings);
        kc_arena_free(&e->arena);
        pthread_mutex_destroy(&e->lock);
        return status;
}

enum kc_status kc_cpu_count_all(const struct kc_count_params *params,
                                const struct kc_batch_source *source, struct kc_count_task *tasks,
                                int ntasks, struct kc_job *job, struct kc_error *err)
{
        struct cpu_engine e = { .params = params, .source = source, .job = job };
        return run_engine(&e, tasks, ntasks, err);
}

enum kc_status kc_cpu_count(const struct kc_count_params *params,
                            const struct kc_batch_source *source, const struct kc_run_sink *sink,
                            struct kc_job *job, struct kc_count_totals *totals,
                            struct kc_error *err)
{
        struct kc_count_task task = { .k = params->k, .sink = sink };
        const enum kc_status status = kc_cpu_count_all(params, source, &task, 1, job, err);
        *totals = task.totals;
        return status;
}

enum kc_status kc_cpu_order(const struct kc_count_params *params,
                            const struct kc_pair_source *source, const struct kc_run_sink *sink,
                            struct kc_job *job, struct kc_count_totals *totals, uint64_t *npairs,
                            struct kc_error *err)
{
        struct kc_count_task task = { .k = params->k, .sink = sink };
        struct cpu_engine e = { .params = params, .pairs = source, .job = job };
        const enum kc_status status = run_engine(&e, &task, 1, err);
        *totals = task.totals;
        *npairs = e.npairs;
        return status;
}
