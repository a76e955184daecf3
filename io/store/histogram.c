#include "io/histogram.h"

#include "io/store/tally.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The tally of one call at a time; kept for later calls from any thread. */
struct pooled_tally {
        struct pooled_tally *next_idle, *next_made;
        struct kc_tally tally;
};

struct kc_histogram {
        pthread_mutex_t lock; /* guards all below */
        bool canceled;
        struct pooled_tally *idle, *made;
};

static enum kc_status no_memory(struct kc_error *err)
{
        return kc_fail(err, KC_ENOMEM, "out of memory for the histogram of counts");
}

enum kc_status kc_histogram_new(struct kc_histogram **histogram, struct kc_error *err)
{
        struct kc_histogram *h = calloc(1, sizeof *h);
        if (h == NULL)
                return no_memory(err);
        pthread_mutex_init(&h->lock, NULL);
        *histogram = h;
        return KC_OK;
}

void kc_histogram_free(struct kc_histogram *h)
{
        if (h == NULL)
                return;
        while (h->made != NULL) {
                struct pooled_tally *pooled = h->made;
                h->made = pooled->next_made;
                kc_tally_free(&pooled->tally);
                free(pooled);
        }
        pthread_mutex_destroy(&h->lock);
        free(h);
}

/* ---- the sink ---- */

/* An idle tally or a new one; lock held. */
static struct pooled_tally *find_tally(struct kc_histogram *h)
{
        struct pooled_tally *pooled = h->idle;
        if (pooled != NULL) {
                h->idle = pooled->next_idle;
        } else if ((pooled = calloc(1, sizeof *pooled)) != NULL) {
                pooled->next_made = h->made;
                h->made = pooled;
        }
        return pooled;
}

static enum kc_status take_tally(struct kc_histogram *h, struct pooled_tally **pooled,
                                 struct kc_error *err)
{
        enum kc_status status = KC_OK;
        pthread_mutex_lock(&h->lock);
        *pooled = h->canceled ? NULL : find_tally(h);
        if (*pooled == NULL)
                status = h->canceled ? kc_fail(err, KC_ECANCELED, "canceled") : no_memory(err);
        pthread_mutex_unlock(&h->lock);
        return status;
}

static void give_tally(struct kc_histogram *h, struct pooled_tally *pooled)
{
        pthread_mutex_lock(&h->lock);
        pooled->next_idle = h->idle;
        h->idle = pooled;
        pthread_mutex_unlock(&h->lock);
}

static enum kc_status put_counts(void *ctx, const struct kc_run_counts *in, struct kc_error *err)
{
        struct pooled_tally *pooled;
        enum kc_status status = take_tally(ctx, &pooled, err);
        if (status != KC_OK)
                return status;
        if (in->rows != NULL)
                kc_tally_add_rows(&pooled->tally, in->rows);
        status = kc_tally_add(&pooled->tally, in->counts, in->n, err);
        give_tally(ctx, pooled);
        return status;
}

static enum kc_status put(void *ctx, const struct kc_run_pairs *pairs, struct kc_error *err)
{
        return put_counts(ctx, &(struct kc_run_counts){ .counts = pairs->counts, .n = pairs->n },
                          err);
}

static void cancel(void *ctx)
{
        struct kc_histogram *h = ctx;
        pthread_mutex_lock(&h->lock);
        h->canceled = true;
        pthread_mutex_unlock(&h->lock);
}

struct kc_run_sink kc_histogram_sink(struct kc_histogram *histogram)
{
        return (struct kc_run_sink){ .ctx = histogram,
                                     .filter = { 1, UINT32_MAX },
                                     .put = put,
                                     .put_counts = put_counts,
                                     .cancel = cancel };
}

/* ---- the rows ---- */

static enum kc_status add_row(struct kc_histogram *h, const struct kc_histogram_row *row,
                              struct kc_error *err)
{
        enum { COPIES = 512 };
        uint32_t counts[COPIES];
        enum kc_status status = KC_OK;
        for (int i = 0; i < COPIES; i++)
                counts[i] = (uint32_t)row->count;
        for (uint64_t left = row->ndistinct; left > 0 && status == KC_OK;) {
                const size_t n = left < COPIES ? (size_t)left : COPIES;
                status = put_counts(h, &(struct kc_run_counts){ .counts = counts, .n = n }, err);
                left -= n;
        }
        return status;
}

enum kc_status kc_histogram_add(struct kc_histogram *h, const struct kc_histogram_row *rows,
                                size_t n, struct kc_error *err)
{
        uint64_t small[KC_RUN_NROWS] = { 0 };
        enum kc_status status = KC_OK;
        for (size_t i = 0; i < n && status == KC_OK; i++)
                if (rows[i].count < KC_RUN_NROWS)
                        small[rows[i].count] += rows[i].ndistinct;
                else
                        status = add_row(h, &rows[i], err);
        if (status == KC_OK)
                status = put_counts(h, &(struct kc_run_counts){ .rows = small }, err);
        return status;
}

/* Add up what all calls have counted, except counts of 0, which stand for no k-mer. */
static enum kc_status collect(struct kc_histogram *h, struct kc_tally *total, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (struct pooled_tally *pooled = h->made; pooled != NULL; pooled = pooled->next_made)
                KC_TRY(kc_tally_merge(total, &pooled->tally, err));
        for (int lane = 0; lane < KC_TALLY_NLANES; lane++)
                total->small[lane][0] = 0;
out:
        return status;
}

enum kc_status kc_histogram_rows(struct kc_histogram *h, const struct kc_count_totals *totals,
                                 struct kc_histogram_row **rows, size_t *nrows,
                                 struct kc_error *err)
{
        static const char name[] = "the histogram";
        enum kc_status status;
        struct kc_histogram_row *found = NULL;
        size_t n;
        uint64_t ndistinct, sum;
        struct kc_tally *total = calloc(1, sizeof *total);
        if (total == NULL)
                return no_memory(err);
        KC_TRY(collect(h, total, err));
        KC_TRY(kc_tally_rows(total, &found, &n, err));
        kc_rows_totals(found, n, &ndistinct, &sum);
        if (totals != NULL) {
                KC_TRY(kc_check_ndistinct(name, totals->ndistinct - totals->nother_distinct,
                                          ndistinct, err));
                KC_TRY(kc_check_sum(name, sum, totals->nother_kmers, totals->nsaturated,
                                    totals->nkmers, err));
        }
        *rows = found;
        *nrows = n;
        found = NULL;
out:
        free(found);
        kc_tally_free(total);
        free(total);
        return status;
}
