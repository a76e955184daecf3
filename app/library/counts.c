/* Open counts: info, histogram and ranges of similar size. */
#include "app/library/library.h"
#include "app/library/machine.h"
#include "app/library/working.h"

#include <stdlib.h>
#include <string.h>

enum kcount_status kcount_open(struct kcount_counts **counts, const char *path,
                               struct kcount_error **error)
{
        struct kc_error err = { 0 };
        struct kc_store *store = NULL;
        enum kc_status status;
        KC_TRY(kc_store_open(&store, path, &err));
        KC_TRY(kc_library_counts_new(counts, store, &err));
        return KCOUNT_OK;
out:
        kc_store_close(store);
        return kc_library_failed_on(&err, path, error);
}

enum kc_status kc_library_counts_new(struct kcount_counts **counts, struct kc_store *store,
                                     struct kc_error *err)
{
        struct kcount_counts *c = calloc(1, sizeof *c);
        if (c == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for counts");
        c->store = store;
        kc_store_get_info(store, &c->info);
        c->k = c->info.k;
        c->nwords = kc_kmer_nwords(c->k);
        *counts = c;
        return KC_OK;
}

struct kc_store *kc_library_store(const struct kcount_counts *counts)
{
        return counts->store;
}

void kcount_detach(struct kcount_counts *counts)
{
        kc_store_detach(counts->store);
}

void kcount_close(struct kcount_counts *counts)
{
        if (counts == NULL)
                return;
        kc_store_close(counts->store);
        free(counts);
}

const struct kc_error *kc_library_warning(const struct kcount_counts *counts)
{
        return kc_store_warning(counts->store);
}

const char *kcount_warning(const struct kcount_counts *counts)
{
        const struct kc_error *warning = kc_library_warning(counts);
        return warning != NULL ? warning->message : counts->notice;
}

/* Whether counts outside some bounds were dropped, here or in an input. */
static bool has_bounds(const struct kc_store_info *stored)
{
        return stored->min_count > 1 || stored->max_count_kept < UINT32_MAX || stored->mixed != 0;
}

struct kcount_info kc_library_describe(const struct kc_store_info *stored)
{
        return (struct kcount_info){
                .size = sizeof(struct kcount_info),
                .k = stored->k,
                .stranded = stored->stranded,
                .hpc = stored->hpc,
                .ndistinct = stored->ndistinct,
                .nunique = stored->nunique,
                .max_count = stored->max_count,
                .total = stored->sum,
                .nreads = stored->nreads,
                .nbases = stored->nbases,
                .nkmers = stored->nkmers,
                .ndropped_distinct = stored->ndropped_distinct,
                .ndropped_kmers = stored->ndropped_kmers,
                .kept_min_count = stored->min_count,
                .kept_max_count = stored->max_count_kept,
                .exact = stored->nruns == 1 && stored->ntombstone_runs == 0,
                .nbytes = stored->file_nbytes,
                .nruns = stored->nruns,
                .nsaturated = stored->nsaturated,
                .lacks_dropped = has_bounds(stored) && stored->ndropped_distinct > 0,
                .lacks_others = stored->only_checksum != 0,
        };
}

void kc_library_put_info(const struct kc_store_info *stored, struct kcount_info *info)
{
        struct kcount_info all = kc_library_describe(stored);
        all.size = info->size;
        memcpy(info, &all, info->size < sizeof all ? info->size : sizeof all);
}

void kcount_get_info(const struct kcount_counts *counts, struct kcount_info *info)
{
        kc_library_put_info(&counts->info, info);
}

enum kc_status kc_library_rows(const struct kc_histogram_row *stored, size_t n, uint32_t min_count,
                               uint32_t max_count, struct kcount_row **rows, size_t *nrows,
                               struct kc_error *err)
{
        struct kcount_row *out = malloc((n + 1) * sizeof *out);
        size_t nout = 0;
        if (out == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for a histogram");
        for (size_t i = 0; i < n; i++)
                if (stored[i].count >= min_count && stored[i].count <= max_count)
                        out[nout++] = (struct kcount_row){ stored[i].count, stored[i].ndistinct };
        *rows = out;
        *nrows = nout;
        return KC_OK;
}

struct histogram_call {
        struct kcount_histogram_options options;
        struct kc_store *store;
        struct kc_histogram_row *rows;
        size_t nrows;
        struct kc_job job;
};

/* ctx: a struct histogram_call. */
static enum kc_status work(void *ctx, struct kc_error *err)
{
        struct histogram_call *c = ctx;
        return kc_store_histogram(c->store, kc_machine_nthreads((uint64_t)c->options.nthreads),
                                  &c->job, &c->rows, &c->nrows, err);
}

enum kcount_status kcount_histogram(struct kcount_counts *counts,
                                    const struct kcount_histogram_options *options,
                                    struct kcount_row **rows, size_t *nrows,
                                    struct kcount_error **error)
{
        struct histogram_call c = { .options = KCOUNT_HISTOGRAM_OPTIONS_INIT,
                                    .store = counts->store };
        struct kc_error err = { 0 };
        enum kc_status status;
        KC_TRY(kc_library_take_options(&c.options, sizeof c.options, &c.options.nthreads, options,
                                       "KCOUNT_HISTOGRAM_OPTIONS_INIT", &err));
        const struct kc_working working = {
                &c, work, &c.job, NULL, c.options.progress, c.options.progress_ctx
        };
        KC_TRY(kc_working_run_stage(&working, "merging", &err));
        status = kc_library_rows(c.rows, c.nrows, 0, UINT32_MAX, rows, nrows, &err);
out:
        free(c.rows);
        return status == KC_OK ? KCOUNT_OK : kc_library_failed(&err, error);
}

enum kcount_status kcount_split(struct kcount_counts *counts, size_t nparts, uint64_t **bounds,
                                size_t *nbounds, struct kcount_error **error)
{
        enum { MAX_PARTS = 1 << 20 };
        struct kc_error err = { 0 };
        if (nparts > MAX_PARTS)
                nparts = MAX_PARTS;
        if (kc_store_split(counts->store, NULL, NULL, nparts, bounds, nbounds, &err) != KC_OK)
                return kc_library_failed(&err, error);
        kc_library_turn_words(*bounds, counts->nwords, *nbounds, *bounds);
        return KCOUNT_OK;
}

void kcount_free(void *memory)
{
        free(memory);
}
