/* The first stage: batches become super-k-mers in bins. */
#include "cpu/engine_internal.h"
#include "cpu/superkmer.h"
#include "kmer/kmer.h"

#include <stdlib.h>

enum {
        BATCH_WORDS = 16 << 10, /* half a million bases: fits in L2 with all other hot data */
        BATCH_SEGMENTS = 16 << 10,
        BASES_PER_BIN = 400000, /* for one-word keys: so that a bin's table fits in L2 */
        USUAL_BINS = 4096,      /* if the input's size is unknown */
        MAX_BINS = 16384,
};

/* How many chunks a thread may have for bins. */
static size_t chunks_for_bins(const struct cpu_engine *e)
{
        return e->nchunks / kc_engine_nwriters(e) - kc_engine_pairs_quota(e);
}

/* Several k do not need equal shares: they have quotas of half of that, and a pool. */
static size_t bins_quota(const struct cpu_engine *e)
{
        const size_t n = (size_t)e->ncountings;
        return n == 1 ? chunks_for_bins(e) : chunks_for_bins(e) / (2 * n);
}

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
                KC_TRY(kc_engine_check(e, err));
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
                nbases ? kc_engine_power_of_two(nbases * nwords / BASES_PER_BIN, MIN_BINS, MAX_BINS)
                       : USUAL_BINS;
        return kc_engine_fit_lists(e, nbins);
}

static enum kc_status init_bins(struct cpu_engine *e, struct counting *c, struct kc_error *err)
{
        const struct kc_count_params *p = e->params;
        enum kc_status status;
        uint64_t nbins = bins_lists(e, c);
        if (p->exchange != NULL) /* the smallest that any rank has memory for */
                KC_TRY(kc_exchange_combine(p->exchange, KC_EXCHANGE_LEAST, &nbins, 1, err));
        KC_TRY(kc_lists_init(&c->bins, (uint32_t)nbins, (int)kc_engine_nwriters(e), &e->arena,
                             bins_quota(e), e->ncountings == 1 ? NULL : &e->pool, p->tmp_dir, err));
        if (p->exchange != NULL)
                kc_lists_connect(&c->bins,
                                 &(struct kc_lists_outlet){ .exchange = p->exchange,
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
                status = kc_exchange_combine(e->params->exchange, KC_EXCHANGE_SUM, &nkmers, 1, err);
                atomic_store(&e->countings[i].nkmers, nkmers);
        }
        return status;
}

enum kc_status kc_engine_partition(struct cpu_engine *e, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        const size_t n = (size_t)e->ncountings;
        atomic_store(&e->pool, kc_engine_nwriters(e) * (chunks_for_bins(e) - n * bins_quota(e)));
        for (int i = 0; i < e->ncountings; i++)
                KC_TRY(init_bins(e, &e->countings[i], err));
        const struct kc_exchange *exchange = e->params->exchange;
        const struct kc_exchange_taker taker = { .ctx = e, .take = take_superkmers };
        if (exchange != NULL)
                KC_TRY(exchange->begin(exchange->ctx, &taker, err));
        KC_TRY(kc_parallel(e->params->nthreads, partition_worker, kc_engine_stop, e, err));
        if (exchange != NULL) {
                KC_TRY(exchange->end(exchange->ctx, NULL, err));
                for (int i = 0; i < e->ncountings; i++)
                        KC_TRY(kc_lists_seal(&e->countings[i].bins, e->params->nthreads, err));
                KC_TRY(sum_kmers(e, err));
        }
out:
        return status;
}
