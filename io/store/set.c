/*
 * Set operations: checks, the result's origin, and the merge into a sink.
 */
#include "io/store/part_buffer.h"
#include "io/store/parts.h"
#include "io/store/ranges.h"
#include "kmer/remedy.h"

#include <stdlib.h>
#include <string.h>

enum {
        MAX_FILES = 4096, /* limits of the marks and sums of a merge */
        MAX_RUNS = 1 << 16,
        MAX_NAMES = 1 << 20, /* names of inputs that are kept: they double whenever a file is merged
                            with itself */
};

/* ---- before ---- */

static const char *strands_name(const struct kc_store *store)
{
        return store->stranded ? "stranded" : "canonical";
}

static const char *hpc_name(const struct kc_store *store)
{
        return store->hpc ? "homopolymer-compressed" : "uncompressed";
}

static enum kc_status refuse_hpc(const struct kc_store *first, const struct kc_store *other,
                                 struct kc_error *err)
{
        return kc_fail(err, KC_EUSAGE, "%s holds k-mers of %s reads, but %s of %s ones",
                       first->path, hpc_name(first), other->path, hpc_name(other));
}

static enum kc_status check_alike(const struct kc_set *set, struct kc_error *err)
{
        const struct kc_store *first = set->stores[0];
        uint64_t nruns = first->nruns;
        for (size_t i = 1; i < set->nstores; i++) {
                const struct kc_store *store = set->stores[i];
                nruns += store->nruns;
                if (store->k != first->k)
                        return kc_fail(err, KC_EUSAGE, "%s has k = %d, but %s has k = %d",
                                       first->path, first->k, store->path, store->k);
                if (store->stranded != first->stranded)
                        return kc_fail_remedy(err, KC_EUSAGE, KC_REMEDY_SAME_STRANDS,
                                              "%s holds %s k-mers, but %s holds %s ones",
                                              first->path, strands_name(first), store->path,
                                              strands_name(store));
        }
        for (size_t i = 1; i < set->nstores; i++)
                if (set->stores[i]->hpc != first->hpc)
                        return refuse_hpc(first, set->stores[i], err);
                else if (set->stores[i]->only_checksum != first->only_checksum)
                        return kc_fail(err, KC_EUSAGE,
                                       "%s and %s do not hold counts of the same set of k-mers",
                                       first->path, set->stores[i]->path);
        if (set->nstores > MAX_FILES || nruns > MAX_RUNS)
                return kc_fail(
                        err, KC_EUSAGE,
                        "%zu files with %llu runs are too many at once; the most is %d files "
                        "with %d runs",
                        set->nstores, (unsigned long long)nruns, MAX_FILES, MAX_RUNS);
        return KC_OK;
}

enum kc_status kc_set_check(const struct kc_set *set, struct kc_error *err)
{
        if (set->operation == KC_SET_SUBTRACT && set->rule != KC_RULE_LEFT &&
            set->rule != KC_RULE_DIFFERENCE)
                return kc_fail(err, KC_EUSAGE,
                               "a subtraction gives the counts of the first file (left) or the "
                               "difference");
        return check_alike(set, err);
}

/* Narrow [min_count, max_count] to the bounds of the runs that are added up, as far as these hold
 * for sums; but never to an empty interval. */
static void narrow(const struct kc_set *set, struct kc_store_options *options)
{
        struct kc_bounds bounds = { 0 };
        for (size_t i = 0; i < set->nstores; i++)
                for (uint32_t r = 0; r < set->stores[i]->nruns; r++)
                        kc_bounds_add(&bounds, &set->stores[i]->runs[r]);
        if (bounds.nruns == 0)
                return;
        options->mixed = bounds.mixed;
        const uint32_t least = bounds.min_count;
        if (least > options->min_count)
                options->min_count = least < options->max_count ? least : options->max_count;
        if (bounds.nruns > 1) {
                if (bounds.max_count < UINT32_MAX)
                        options->mixed |= KC_MIXED_MAX; /* sums may be above it */
                return;
        }
        const uint32_t most = bounds.max_count;
        if (most < options->max_count)
                options->max_count = most > options->min_count ? most : options->min_count;
}

struct kc_store_options kc_set_options(const struct kc_set *set, uint32_t min_count,
                                       uint32_t max_count)
{
        struct kc_store_options options = { .k = set->stores[0]->k,
                                            .stranded = set->stores[0]->stranded,
                                            .hpc = set->stores[0]->hpc,
                                            .only_checksum = set->stores[0]->only_checksum,
                                            .min_count = min_count,
                                            .max_count = max_count };
        if (set->operation == KC_SET_UNION && set->rule == KC_RULE_SUM)
                narrow(set, &options); /* for other rules nothing is known */
        return options;
}

/* ---- the merge ---- */

struct feed {
        const struct kc_run_sink *sink;
        struct kc_part_buffer *buffers; /* [nbuffers] of the workers */
        int nbuffers;
};

static enum kc_status take(void *ctx, int worker, uint64_t part, bool last, const uint64_t *kmers,
                           const uint32_t *counts, size_t n, struct kc_error *err)
{
        struct feed *f = ctx;
        struct kc_part_buffer *b = &f->buffers[worker];
        if (last)
                return kc_part_buffer_end(b, f->sink, part, err);
        return kc_part_buffer_add(b, f->sink, part, kmers, counts, n, err);
}

static void cancel(void *ctx)
{
        struct feed *f = ctx;
        f->sink->cancel(f->sink->ctx);
}

uint64_t kc_set_thread_nbytes(const struct kc_set *set)
{
        enum { ENCODER_NBYTES = 3 << 19 };
        const int nwords = set->stores[0]->nwords;
        return kc_merge_nbytes(kc_set_nruns(set), nwords) + kc_part_buffer_nbytes(nwords) +
               ENCODER_NBYTES;
}

static enum kc_status new_buffers(struct feed *f, int n, int nwords, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        f->buffers = calloc((size_t)n, sizeof *f->buffers);
        if (f->buffers == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for merging files");
        f->nbuffers = n;
        for (int i = 0; i < n && status == KC_OK; i++)
                status = kc_part_buffer_init(&f->buffers[i], nwords, err);
        return status;
}

static void free_buffers(struct feed *f)
{
        for (int i = 0; i < f->nbuffers; i++)
                kc_part_buffer_free(&f->buffers[i]);
        free(f->buffers);
}

/* ---- the origin ---- */

static enum kc_status add_infos(const struct kc_set *set, struct kc_store_origin *origin,
                                const char ***names, struct kc_error *err)
{
        struct kc_store_info info;
        size_t n = 0;
        for (size_t i = 0; i < set->nstores; i++)
                n += set->stores[i]->nnames;
        n = n < MAX_NAMES ? n : MAX_NAMES;
        *names = malloc((n + 1) * sizeof **names);
        if (*names == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for the inputs' names");
        *origin = (struct kc_store_origin){ .names = *names };
        for (size_t i = 0; i < set->nstores; i++) {
                kc_store_get_info(set->stores[i], &info);
                for (size_t j = 0; j < info.nnames && origin->nnames < n; j++)
                        (*names)[origin->nnames++] = info.names[j];
                origin->nreads += info.nreads;
                origin->nbases += info.nbases;
                origin->nskipped += info.nskipped;
                origin->nlow_quality += info.nlow_quality;
                origin->nkmers += info.nkmers;
                origin->nsaturated += info.nsaturated;
                origin->ndropped_distinct += info.ndropped_distinct;
                origin->ndropped_kmers += info.ndropped_kmers;
        }
        return KC_OK;
}

/*
 * Add what the merge has left out. For sums, only tombstones take counts away, so the writer's
 * identity proves that no other was lost; for other rules, whatever was not given counts as
 * dropped.
 */
static enum kc_status add_totals(const struct kc_set *set, const struct kc_join_totals *t,
                                 struct kc_store_origin *origin, struct kc_error *err)
{
        const bool adds = set->operation == KC_SET_UNION && set->rule == KC_RULE_SUM;
        const enum kc_status status =
                kc_stores_check_read(set->stores, set->nstores, t->nread, err);
        if (status != KC_OK)
                return status;
        origin->nsaturated += t->nsaturated;
        origin->ndropped_distinct += t->ndropped_distinct;
        origin->ndropped_kmers += adds ? t->nremoved : t->nread - t->nkept - t->nsaturated;
        return KC_OK;
}

/* By threads of this machine. */
static enum kc_status merge(const struct kc_set *set, int nthreads, struct kc_job *job,
                            const struct kc_run_sink *sink, struct kc_join_totals *totals,
                            struct kc_error *err)
{
        enum kc_status status;
        struct feed feed = { .sink = sink };
        const struct kc_parts_taker taker = { .ctx = &feed, .take = take, .cancel = cancel };
        KC_TRY(new_buffers(&feed, nthreads, set->stores[0]->nwords, err));
        KC_TRY(kc_parts_merge(set, nthreads, job, &taker, totals, err));
out:
        free_buffers(&feed);
        return status;
}

static enum kc_status join(const struct kc_set *set, const struct kc_set_joiner *joiner,
                           const struct kc_run_sink *sink, struct kc_join_totals *totals,
                           struct kc_error *err)
{
        enum kc_status status;
        struct kc_set_ranges *ranges = NULL;
        KC_TRY(kc_set_ranges_open(&ranges, set, err));
        const struct kc_join_source source = kc_set_ranges_source(ranges);
        KC_TRY(joiner->join(joiner->ctx, &source, sink, totals, err));
out:
        kc_set_ranges_close(ranges);
        return status;
}

/* joiner: does the work unless NULL. */
static enum kc_status run(const struct kc_set *set, int nthreads, struct kc_job *job,
                          const struct kc_set_joiner *joiner, const struct kc_run_sink *sink,
                          struct kc_store_origin *origin, const char ***names, struct kc_error *err)
{
        enum kc_status status;
        struct kc_join_totals totals = { 0 };
        *names = NULL;
        KC_TRY(kc_set_check(set, err));
        KC_TRY(add_infos(set, origin, names, err));
        if (sink->expect != NULL && set->operation == KC_SET_UNION &&
            kc_run_keeps_all(&sink->filter))
                sink->expect(sink->ctx, kc_set_npairs(set) / 4 * 3); /* files share k-mers */
        if (joiner != NULL)
                KC_TRY(join(set, joiner, sink, &totals, err));
        else
                KC_TRY(merge(set, nthreads, job, sink, &totals, err));
        KC_TRY(add_totals(set, &totals, origin, err));
out:
        if (status != KC_OK) {
                free(*names);
                *names = NULL;
        }
        return status;
}

enum kc_status kc_set_run(const struct kc_set *set, int nthreads, struct kc_job *job,
                          const struct kc_run_sink *sink, struct kc_store_origin *origin,
                          const char ***names, struct kc_error *err)
{
        return run(set, nthreads, job, NULL, sink, origin, names, err);
}

enum kc_status kc_set_run_by(const struct kc_set *set, const struct kc_set_joiner *joiner,
                             const struct kc_run_sink *sink, struct kc_store_origin *origin,
                             const char ***names, struct kc_error *err)
{
        return run(set, 0, NULL, joiner, sink, origin, names, err);
}
