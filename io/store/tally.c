#include "io/store/tally.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static struct kc_histogram_row *find_slot(const struct kc_tally *tally, uint64_t count)
{
        size_t i = count * UINT64_C(0x9e3779b97f4a7c15) >> 32 & (tally->big_cap - 1);
        while (tally->big[i].count != 0 && tally->big[i].count != count)
                i = (i + 1) & (tally->big_cap - 1);
        return &tally->big[i];
}

static bool grow(struct kc_tally *tally)
{
        struct kc_tally bigger = *tally;
        bigger.big_cap = tally->big_cap ? 2 * tally->big_cap : 1024;
        bigger.big = calloc(bigger.big_cap, sizeof *bigger.big);
        if (bigger.big == NULL)
                return false;
        for (size_t i = 0; i < tally->big_cap; i++)
                if (tally->big[i].count != 0)
                        *find_slot(&bigger, tally->big[i].count) = tally->big[i];
        free(tally->big);
        tally->big = bigger.big;
        tally->big_cap = bigger.big_cap;
        return true;
}

static enum kc_status add_big(struct kc_tally *tally, uint64_t count, uint64_t n,
                              struct kc_error *err)
{
        if (2 * tally->nbig >= tally->big_cap && !grow(tally))
                return kc_fail(err, KC_ENOMEM, "out of memory for the histogram of counts");
        struct kc_histogram_row *slot = find_slot(tally, count);
        tally->nbig += slot->count == 0;
        slot->count = count;
        slot->ndistinct += n;
        return KC_OK;
}

enum kc_status kc_tally_add(struct kc_tally *tally, const uint32_t *counts, size_t n,
                            struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (size_t i = 0; i < n && status == KC_OK; i++) {
                if (counts[i] < KC_TALLY_NSMALL)
                        tally->small[i % KC_TALLY_NLANES][counts[i]]++;
                else
                        status = add_big(tally, counts[i], 1, err);
        }
        return status;
}

void kc_tally_add_rows(struct kc_tally *tally, const uint64_t *rows)
{
        for (int c = 0; c < KC_TALLY_NSMALL; c++)
                tally->small[0][c] += rows[c];
}

enum kc_status kc_tally_merge(struct kc_tally *into, const struct kc_tally *from,
                              struct kc_error *err)
{
        for (int lane = 0; lane < KC_TALLY_NLANES; lane++)
                for (int c = 0; c < KC_TALLY_NSMALL; c++)
                        into->small[lane][c] += from->small[lane][c];
        enum kc_status status = KC_OK;
        for (size_t i = 0; i < from->big_cap && status == KC_OK; i++)
                if (from->big[i].count != 0)
                        status = add_big(into, from->big[i].count, from->big[i].ndistinct, err);
        return status;
}

static int compare_rows(const void *a, const void *b)
{
        const struct kc_histogram_row *x = a, *y = b;
        return (x->count > y->count) - (x->count < y->count);
}

enum kc_status kc_tally_rows(const struct kc_tally *tally, struct kc_histogram_row **rows,
                             size_t *nrows, struct kc_error *err)
{
        struct kc_histogram_row *out = malloc((KC_TALLY_NSMALL + tally->nbig) * sizeof *out);
        if (out == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for the histogram of counts");
        size_t n = 0;
        for (int c = 0; c < KC_TALLY_NSMALL; c++) {
                uint64_t ndistinct = 0;
                for (int lane = 0; lane < KC_TALLY_NLANES; lane++)
                        ndistinct += tally->small[lane][c];
                if (ndistinct != 0)
                        out[n++] = (struct kc_histogram_row){ (uint64_t)c, ndistinct };
        }
        for (size_t i = 0; i < tally->big_cap; i++)
                if (tally->big[i].count != 0)
                        out[n++] = tally->big[i];
        qsort(out, n, sizeof *out, compare_rows);
        *rows = out;
        *nrows = n;
        return KC_OK;
}

void kc_rows_totals(const struct kc_histogram_row *rows, size_t nrows, uint64_t *ndistinct,
                    uint64_t *sum)
{
        *ndistinct = *sum = 0;
        for (size_t i = 0; i < nrows; i++) {
                *ndistinct += rows[i].ndistinct;
                *sum += rows[i].count * rows[i].ndistinct;
        }
}

enum kc_status kc_check_ndistinct(const char *name, uint64_t ndistinct, uint64_t ntallied,
                                  struct kc_error *err)
{
        if (ndistinct == ntallied)
                return KC_OK;
        return kc_fail(err, KC_ECORRUPT,
                       "the counts for %s do not add up: %llu k-mers, but a sum of %llu; nothing "
                       "was written; please report this",
                       name, (unsigned long long)ndistinct, (unsigned long long)ntallied);
}

enum kc_status kc_check_sum(const char *name, uint64_t nkept, uint64_t ndropped,
                            uint64_t nsaturated, uint64_t nkmers, struct kc_error *err)
{
        if (nkept + ndropped + nsaturated == nkmers)
                return KC_OK;
        return kc_fail(err, KC_ECORRUPT,
                       "the counts for %s do not add up: %llu kept + %llu dropped + %llu saturated "
                       "is not %llu k-mers; nothing was written; please report this",
                       name, (unsigned long long)nkept, (unsigned long long)ndropped,
                       (unsigned long long)nsaturated, (unsigned long long)nkmers);
}

void kc_tally_free(struct kc_tally *tally)
{
        free(tally->big);
        tally->big = NULL;
        tally->big_cap = tally->nbig = 0;
}
