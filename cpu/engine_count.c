/* The second stage: the bins of a k become distinct k-mers with counts, in lists by prefix. */
#include "cpu/engine_internal.h"
#include "cpu/pair.h"
#include "kmer/kmer.h"

#include <stdlib.h>

enum {
        PAIRS_PER_LIST = 32768, /* so that a list is sorted in L2 */
        MAX_LISTS = 16384,
        KMERS_PER_DISTINCT = 4, /* an estimate, used only for the number of lists */
};

static bool any_wants_pairs(const struct cpu_engine *e)
{
        bool any = false;
        for (int i = 0; i < e->ncountings; i++)
                any |= kc_engine_wants_pairs(&e->countings[i]);
        return any;
}

size_t kc_engine_pairs_quota(const struct cpu_engine *e)
{
        if (!any_wants_pairs(e))
                return 0;
        return e->nchunks / 8 / kc_engine_nwriters(e);
}

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
        struct kc_counter_totals *counted = &kc_engine_current(e)->counted;
        pthread_mutex_lock(&e->lock);
        counted->ndistinct += totals->ndistinct;
        counted->nsaturated += totals->nsaturated;
        kc_run_add_dropped(&counted->dropped, &totals->dropped);
        pthread_mutex_unlock(&e->lock);
}

void kc_engine_add_sums(struct cpu_engine *e, const struct kc_counter_totals *sums)
{
        struct kc_counter_totals *counted = &kc_engine_current(e)->counted;
        pthread_mutex_lock(&e->lock);
        counted->ndistinct += sums->ndistinct;
        counted->nsaturated += sums->nsaturated;
        pthread_mutex_unlock(&e->lock);
}

static enum kc_status count_bins(struct cpu_engine *e, int worker, void *counter,
                                 struct kc_list_reader *reader, struct kc_error *err)
{
        struct counting *c = kc_engine_current(e);
        struct kc_counter_totals totals = { 0 };
        enum kc_status status = KC_OK;
        uint32_t i;
        while ((i = atomic_fetch_add(&e->next, 1)) < c->bins.nlists) {
                uint32_t bin = c->bin_order[i];
                KC_TRY(kc_engine_check(e, err));
                KC_TRY(c->width->count(counter, reader, bin, worker, &totals, err));
                atomic_fetch_add(&e->pool, kc_lists_drop(&c->bins, worker, bin));
                kc_job_advance(e->job, 1);
        }
        if (kc_engine_wants_pairs(c)) {
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
        const struct counting *c = kc_engine_current(e);
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

/* About how many pairs this rank has. */
static uint64_t expect_pairs(const struct cpu_engine *e, const struct counting *c)
{
        if (e->pairs != NULL)
                return e->pairs->expected_npairs;
        const struct kc_exchange *exchange = e->params->exchange;
        const uint64_t nranks = exchange != NULL ? (uint64_t)exchange->nranks : 1;
        return atomic_load(&c->nkmers) / KMERS_PER_DISTINCT / nranks;
}

/*
 * Number of lists for the pairs: enough that a list can be sorted in cache, and up to four times as
 * many if that makes each pair a byte shorter.
 */
static uint32_t pairs_lists(const struct cpu_engine *e, const struct counting *c)
{
        int k = c->k;
        uint64_t guess = expect_pairs(e, c) / PAIRS_PER_LIST * (uint64_t)kc_kmer_nwords(k);
        uint32_t most = k < 7 ? 1u << 2 * k : MAX_LISTS;
        uint32_t n = kc_engine_power_of_two(guess, most < MIN_BINS ? most : MIN_BINS, most);
        int bits = __builtin_ctz(n), more = 0;
        for (int i = 1; i <= 2 && more == 0; i++)
                if (n << i <= most && kc_pair_key_nbytes(k, bits + i) < kc_pair_key_nbytes(k, bits))
                        more = i;
        return kc_engine_fit_lists(e, n << more);
}

void kc_engine_release_lists(struct counting *c, struct kc_lists *lists)
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

enum kc_status kc_engine_init_pairs(struct cpu_engine *e, struct kc_error *err)
{
        struct counting *c = kc_engine_current(e);
        const struct kc_count_params *p = e->params;
        const uint32_t nlists = pairs_lists(e, c);
        const size_t held = kc_engine_pairs_quota(e) * kc_engine_nwriters(e) + held_by_bins(e);
        enum kc_status status;
        atomic_store(&e->pool, e->nchunks - held);
        c->setup.pairs = &c->pairs;
        c->setup.prefix_bits = __builtin_ctz(nlists);
        KC_TRY(kc_lists_init(&c->pairs, nlists, (int)kc_engine_nwriters(e), &e->arena,
                             kc_engine_pairs_quota(e), &e->pool, p->tmp_dir, err));
out:
        return status;
}

/* Add up the totals of all ranks. A sink that takes pairs receives only those of this rank, so the
 * numbers of dropped k-mers remain those of this rank, too. */
static enum kc_status sum_totals(struct cpu_engine *e, struct kc_error *err)
{
        struct counting *c = kc_engine_current(e);
        struct kc_counter_totals *counted = &c->counted;
        uint64_t values[] = { counted->ndistinct, counted->nsaturated, counted->dropped.ndistinct,
                              counted->dropped.nkmers };
        const enum kc_status status = kc_exchange_combine(
                e->params->exchange, KC_EXCHANGE_SUM, values, sizeof values / sizeof *values, err);
        counted->ndistinct = values[0];
        counted->nsaturated = values[1];
        if (!kc_engine_wants_pairs(c)) {
                counted->dropped.ndistinct = values[2];
                counted->dropped.nkmers = values[3];
        }
        return status;
}

enum kc_status kc_engine_count(struct cpu_engine *e, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct counting *c = kc_engine_current(e);
        kc_engine_begin_stage(e, KC_STAGE_COUNT, c->bins.nlists);
        if (kc_engine_wants_pairs(c))
                KC_TRY(kc_engine_init_pairs(e, err));
        KC_TRY(order_bins(c, err));
        KC_TRY(kc_parallel(e->params->nthreads, count_worker, kc_engine_stop, e, err));
        kc_engine_release_lists(c, &c->bins);
        c->nown = c->counted.ndistinct;
        if (e->params->exchange != NULL)
                KC_TRY(sum_totals(e, err));
out:
        return status;
}
