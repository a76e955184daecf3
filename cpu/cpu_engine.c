/*
 * Three stages, each run by all threads:
 *
 *      batches ──▶ super-k-mers in bins by minimizer                               partition
 *      bins    ──▶ distinct k-mers with counts, filtered, in lists by prefix       count
 *      lists   ──▶ sorted parts of the run                                         order
 *
 * A sink that wants only counts gets those of each bin as soon as it is counted; then there are no
 * lists of pairs, and nothing to order.
 *
 * Only the first and the last stage touch all data in memory; counting stays in cache.
 */
#include "cpu/cpu_engine.h"

#include "base/clock.h"
#include "base/parallel.h"
#include "cpu/pair.h"
#include "cpu/superkmer.h"
#include "cpu/width.h"
#include "kmer/kmer.h"

#include <pthread.h>
#include <stdlib.h>

enum {
        BATCH_WORDS = 16 << 10, /* half a million bases: fits in L2 with all other hot data */
        BATCH_SEGMENTS = 16 << 10,
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

struct cpu_engine {
        const struct kc_count_params *params;
        const struct kc_batch_source *source;
        const struct kc_run_sink *sink;
        struct kc_job *job;
        const struct kc_width *width;
        struct kc_width_setup setup;
        struct kc_arena arena;
        size_t nchunks;     /* of the arena, which lists may hold */
        atomic_size_t pool; /* of these, free for pairs beyond quotas */
        struct kc_lists bins, pairs;
        uint32_t *bin_order; /* bins, largest first */
        atomic_uint next;    /* the next bin or list to take */
        atomic_bool failed;
        atomic_uint_fast64_t nkmers;
        pthread_mutex_t lock; /* guards counted while bins are counted */
        struct kc_counter_totals counted;
        uint64_t spilled_nbytes; /* by lists that have been released */
};

static void on_failure(void *ctx)
{
        struct cpu_engine *e = ctx;
        atomic_store(&e->failed, true);
        e->sink->cancel(e->sink->ctx);
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
        kc_job_begin_stage(e->job, (int)stage, total);
}

static uint32_t power_of_two_above(uint64_t n, uint32_t low, uint32_t high)
{
        uint32_t power = low;
        while (power < high && power < n)
                power *= 2;
        return power;
}

/* Halve `most` until one chunk per list and thread takes at most a quarter of the memory. */
static uint32_t lists_that_fit(const struct cpu_engine *e, uint32_t most)
{
        while (most > 2 && (size_t)most * (size_t)e->params->nthreads * 4 > e->nchunks)
                most /= 2;
        return most;
}

static bool wants_pairs(const struct cpu_engine *e)
{
        return e->setup.counts == NULL;
}

/*
 * Bins may take all memory except an eighth, which is reserved for pairs. So a thread that stores a
 * pair always finds room, or has chunks of its own to spill, whatever other threads hold.
 */
static size_t pairs_quota(const struct cpu_engine *e)
{
        if (!wants_pairs(e))
                return 0;
        return e->nchunks / 8 / (size_t)e->params->nthreads;
}

static size_t bins_quota(const struct cpu_engine *e)
{
        return e->nchunks / (size_t)e->params->nthreads - pairs_quota(e);
}

/* ---- partition ---- */

static enum kc_status partition_batches(struct cpu_engine *e, int worker, struct kc_batch *batch,
                                        struct kc_superkmer_scanner *scanner, struct kc_error *err)
{
        uint64_t nkmers = 0;
        enum kc_status status = KC_OK;
        for (;;) {
                KC_TRY(check_canceled(e, err));
                KC_TRY(e->source->next(e->source->ctx, worker, batch, err));
                if (batch->nsegments == 0)
                        break;
                KC_TRY(kc_superkmer_scan(scanner, batch, &e->bins, worker, &nkmers, err));
        }
        kc_lists_seal(&e->bins, worker);
        atomic_fetch_add(&e->nkmers, nkmers);
out:
        return status;
}

static enum kc_status partition_worker(void *ctx, int worker, struct kc_error *err)
{
        struct cpu_engine *e = ctx;
        struct kc_superkmer_scanner *scanner = NULL;
        struct kc_batch batch = { .words_cap = BATCH_WORDS, .segments_cap = BATCH_SEGMENTS };
        enum kc_status status = KC_OK;
        batch.words = calloc(BATCH_WORDS + KC_BATCH_PADDING, sizeof *batch.words);
        batch.segments = malloc(BATCH_SEGMENTS * sizeof *batch.segments);
        if (batch.words == NULL || batch.segments == NULL)
                status = kc_fail(err, KC_ENOMEM, "out of memory for a sequence batch");
        if (status == KC_OK)
                status = kc_superkmer_scanner_new(&scanner, e->params->k, e->bins.nlists, err);
        if (status == KC_OK)
                status = partition_batches(e, worker, &batch, scanner, err);
        kc_superkmer_scanner_free(scanner);
        free(batch.words);
        free(batch.segments);
        return status;
}

static enum kc_status partition(struct cpu_engine *e, struct kc_error *err)
{
        uint64_t nbases = e->params->expected_nbases;
        uint64_t nwords = (uint64_t)kc_kmer_nwords(e->params->k);
        uint32_t nbins =
                nbases ? power_of_two_above(nbases * nwords / BASES_PER_BIN, MIN_BINS, MAX_BINS)
                       : USUAL_BINS;
        nbins = lists_that_fit(e, nbins);
        enum kc_status status = kc_lists_init(&e->bins, nbins, e->params->nthreads, &e->arena,
                                              bins_quota(e), NULL, e->params->tmp_dir, err);
        if (status != KC_OK)
                return status;
        return kc_parallel(e->params->nthreads, partition_worker, on_failure, e, err);
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
static uint64_t size_unit(const struct cpu_engine *e)
{
        const uint64_t spilled = kc_lists_spilled_nbytes(&e->bins);
        uint64_t nbytes = 0;
        for (uint32_t i = 0; i < e->bins.nlists; i++)
                nbytes += kc_lists_nbytes(&e->bins, i);
        return spilled > 0 ? 2 * nbytes / e->bins.nlists + 1 : 1;
}

/* Largest bins first, so that the threads finish together. */
static enum kc_status order_bins(struct cpu_engine *e, struct kc_error *err)
{
        const uint64_t unit = size_unit(e);
        uint32_t n = e->bins.nlists;
        struct sized_bin *sized = malloc(n * sizeof *sized);
        e->bin_order = malloc(n * sizeof *e->bin_order);
        if (sized == NULL || e->bin_order == NULL) {
                free(sized);
                return kc_fail(err, KC_ENOMEM, "out of memory");
        }
        for (uint32_t i = 0; i < n; i++)
                sized[i] = (struct sized_bin){ kc_lists_nbytes(&e->bins, i) / unit, i };
        qsort(sized, n, sizeof *sized, larger_first);
        for (uint32_t i = 0; i < n; i++)
                e->bin_order[i] = sized[i].bin;
        free(sized);
        return KC_OK;
}

static void add_totals(struct cpu_engine *e, const struct kc_counter_totals *totals)
{
        pthread_mutex_lock(&e->lock);
        e->counted.ndistinct += totals->ndistinct;
        e->counted.nsaturated += totals->nsaturated;
        kc_run_add_dropped(&e->counted.dropped, &totals->dropped);
        pthread_mutex_unlock(&e->lock);
}

static enum kc_status count_bins(struct cpu_engine *e, int worker, void *counter,
                                 struct kc_list_reader *reader, struct kc_error *err)
{
        struct kc_counter_totals totals = { 0 };
        enum kc_status status = KC_OK;
        uint32_t i;
        while ((i = atomic_fetch_add(&e->next, 1)) < e->bins.nlists) {
                uint32_t bin = e->bin_order[i];
                KC_TRY(check_canceled(e, err));
                KC_TRY(e->width->count(counter, reader, bin, worker, &totals, err));
                atomic_fetch_add(&e->pool, kc_lists_drop(&e->bins, worker, bin));
                kc_job_advance(e->job, 1);
        }
        if (wants_pairs(e)) {
                KC_TRY(e->width->flush(counter, worker, err));
                kc_lists_seal(&e->pairs, worker);
        }
        add_totals(e, &totals);
out:
        return status;
}

static enum kc_status count_worker(void *ctx, int worker, struct kc_error *err)
{
        struct cpu_engine *e = ctx;
        struct kc_list_reader reader;
        void *counter = NULL;
        kc_list_reader_init(&reader, &e->bins);
        enum kc_status status = e->width->counter_new(&counter, &e->setup, err);
        if (status == KC_OK)
                status = count_bins(e, worker, counter, &reader, err);
        e->width->counter_free(counter);
        kc_list_reader_free(&reader);
        return status;
}

/*
 * Number of lists for the pairs: enough that a list can be sorted in cache, and up to four times as
 * many if that makes each pair a byte shorter.
 */
static uint32_t pairs_lists(const struct cpu_engine *e)
{
        int k = e->params->k;
        uint64_t guess = atomic_load(&e->nkmers) / KMERS_PER_DISTINCT / PAIRS_PER_LIST *
                         (uint64_t)kc_kmer_nwords(k);
        uint32_t most = k < 7 ? 1u << 2 * k : MAX_LISTS;
        uint32_t n = power_of_two_above(guess, most < MIN_BINS ? most : MIN_BINS, most);
        int bits = __builtin_ctz(n), more = 0;
        for (int i = 1; i <= 2 && more == 0; i++)
                if (n << i <= most && kc_pair_key_nbytes(k, bits + i) < kc_pair_key_nbytes(k, bits))
                        more = i;
        return lists_that_fit(e, n << more);
}

/* Free lists that have been read, and their files. */
static void release_lists(struct cpu_engine *e, struct kc_lists *lists)
{
        e->spilled_nbytes += kc_lists_spilled_nbytes(lists);
        kc_lists_free(lists);
}

static enum kc_status init_pairs(struct cpu_engine *e, struct kc_error *err)
{
        const struct kc_count_params *p = e->params;
        const uint32_t nlists = pairs_lists(e);
        size_t held = pairs_quota(e) * (size_t)p->nthreads;
        for (int i = 0; i < p->nthreads; i++)
                held += e->bins.workers[i].nchunks;
        atomic_store(&e->pool, e->nchunks - held);
        e->setup.pairs = &e->pairs;
        e->setup.prefix_bits = __builtin_ctz(nlists);
        return kc_lists_init(&e->pairs, nlists, p->nthreads, &e->arena, pairs_quota(e), &e->pool,
                             p->tmp_dir, err);
}

static enum kc_status count(struct cpu_engine *e, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        begin_stage(e, KC_STAGE_COUNT, e->bins.nlists);
        if (wants_pairs(e))
                KC_TRY(init_pairs(e, err));
        KC_TRY(order_bins(e, err));
        KC_TRY(kc_parallel(e->params->nthreads, count_worker, on_failure, e, err));
        release_lists(e, &e->bins);
out:
        return status;
}

/* ---- order ---- */

/* Report what all bins have dropped, in a call for part 0 without pairs. */
static enum kc_status report_dropped(const struct cpu_engine *e, struct kc_error *err)
{
        const struct kc_run_pairs nothing = { .part = 0, .dropped = e->counted.dropped };
        return e->sink->put(e->sink->ctx, &nothing, err);
}

static enum kc_status sort_lists(struct cpu_engine *e, int worker, void *sorter,
                                 struct kc_list_reader *reader, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        uint32_t list;
        while ((list = atomic_fetch_add(&e->next, 1)) < e->pairs.nlists) {
                KC_TRY(check_canceled(e, err));
                if (list == 0)
                        KC_TRY(report_dropped(e, err));
                KC_TRY(e->width->sort(sorter, reader, list, e->sink, err));
                kc_lists_drop(&e->pairs, worker, list);
                kc_job_advance(e->job, 1);
        }
out:
        return status;
}

static enum kc_status order_worker(void *ctx, int worker, struct kc_error *err)
{
        struct cpu_engine *e = ctx;
        struct kc_list_reader reader;
        void *sorter = NULL;
        kc_list_reader_init(&reader, &e->pairs);
        enum kc_status status = e->width->sorter_new(&sorter, &e->setup, err);
        if (status == KC_OK)
                status = sort_lists(e, worker, sorter, &reader, err);
        e->width->sorter_free(sorter);
        kc_list_reader_free(&reader);
        return status;
}

static enum kc_status order(struct cpu_engine *e, struct kc_error *err)
{
        begin_stage(e, KC_STAGE_ORDER, e->pairs.nlists);
        return kc_parallel(e->params->nthreads, order_worker, on_failure, e, err);
}

/* ---- all of it ---- */

static enum kc_status run_stages(struct cpu_engine *e, struct kc_count_totals *totals,
                                 struct kc_error *err)
{
        enum kc_status (*const stages[KC_NSTAGES])(struct cpu_engine *,
                                                   struct kc_error *) = { partition, count, order };
        const int nstages = wants_pairs(e) ? KC_NSTAGES : KC_STAGE_ORDER;
        for (int i = 0; i < nstages; i++) {
                double start = kc_clock_seconds();
                enum kc_status status = stages[i](e, err);
                if (status != KC_OK)
                        return status;
                totals->stage_seconds[i] = kc_clock_seconds() - start;
        }
        totals->nkmers = e->nkmers;
        totals->ndistinct = e->counted.ndistinct;
        totals->nsaturated = e->counted.nsaturated;
        totals->spilled_nbytes = e->spilled_nbytes + kc_lists_spilled_nbytes(&e->pairs);
        return KC_OK;
}

uint64_t kc_cpu_scratch_nbytes(uint64_t memory_nbytes, int nthreads)
{
        uint64_t scratch = (uint64_t)nthreads * SCRATCH_NBYTES;
        if (scratch > memory_nbytes / 2)
                scratch = memory_nbytes / 2;
        return scratch < memory_nbytes / 8 ? memory_nbytes / 8 : scratch;
}

/* Memory that is not scratch is for lists, except for the buffers that threads have in all
 * stages. */
static void share_memory(struct cpu_engine *e)
{
        size_t nthreads = (size_t)e->params->nthreads, all = e->params->memory_nbytes;
        size_t scratch = kc_cpu_scratch_nbytes(all, e->params->nthreads);
        size_t lists = all - scratch, buffers = nthreads * BUFFERS_NBYTES;
        lists -= buffers < lists / 2 ? buffers : lists / 2;
        e->setup.scratch_nbytes = scratch / nthreads;
        e->nchunks = lists / (KC_CHUNK_NBYTES + HEADS_NBYTES);
        if (e->nchunks < nthreads * (MIN_CHUNKS + KC_ARENA_HOARD))
                e->nchunks = nthreads * (MIN_CHUNKS + KC_ARENA_HOARD);
}

enum kc_status kc_cpu_count(const struct kc_count_params *params,
                            const struct kc_batch_source *source, const struct kc_run_sink *sink,
                            struct kc_job *job, struct kc_count_totals *totals,
                            struct kc_error *err)
{
        if (params->k < 1 || params->k > KC_MAX_K || params->nthreads < 1)
                return kc_fail(err, KC_EUSAGE, "k must be between 1 and %d", KC_MAX_K);
        struct cpu_engine e = {
                .params = params,
                .source = source,
                .sink = sink,
                .job = job,
                .width = kc_width(kc_kmer_nwords(params->k)),
                .setup = { .k = params->k,
                           .stranded = params->stranded,
                           .filter = sink->filter,
                           .counts = sink->put_counts != NULL ? sink : NULL },
        };
        *totals = (struct kc_count_totals){ 0 };
        pthread_mutex_init(&e.lock, NULL);
        share_memory(&e);
        enum kc_status status = kc_arena_init(&e.arena, e.nchunks, params->nthreads, err);
        e.nchunks -= (size_t)params->nthreads * KC_ARENA_HOARD;
        if (status == KC_OK)
                status = run_stages(&e, totals, err);
        free(e.bin_order);
        kc_lists_free(&e.bins);
        kc_lists_free(&e.pairs);
        kc_arena_free(&e.arena);
        pthread_mutex_destroy(&e.lock);
        return status;
}
