#include "app/library/window_tally.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MIN_CAPACITY = 256 };

static int compare_counts(const void *a, const void *b)
{
        const struct kc_window_tally_entry *x = a, *y = b;
        return (x->count > y->count) - (x->count < y->count);
}

/* Sort the large counts, and leave one entry for each. */
static void sort_large(struct kc_window_tally *t)
{
        size_t n = 0;
        if (t->nlarge == 0)
                return;
        qsort(t->large, t->nlarge, sizeof *t->large, compare_counts);
        for (size_t i = 1; i < t->nlarge; i++)
                if (t->large[i].count == t->large[n].count)
                        t->large[n].n += t->large[i].n;
                else
                        t->large[++n] = t->large[i];
        t->nlarge = n + 1;
}

/* Sorting pays only if it leaves room for many more entries. */
static enum kc_status make_room(struct kc_window_tally *t, struct kc_error *err)
{
        sort_large(t);
        if (t->nlarge < t->capacity / 2)
                return KC_OK;
        const size_t capacity = t->capacity > 0 ? 2 * t->capacity : MIN_CAPACITY;
        struct kc_window_tally_entry *larger = realloc(t->large, capacity * sizeof *larger);
        if (larger == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for %zu different counts", t->nlarge);
        t->large = larger;
        t->capacity = capacity;
        return KC_OK;
}

/* Neighbours often have the same count. */
static enum kc_status add_large(struct kc_window_tally *t, uint32_t count, uint64_t n,
                                struct kc_error *err)
{
        enum kc_status status = KC_OK;
        if (t->nlarge > 0 && t->large[t->nlarge - 1].count == count) {
                t->large[t->nlarge - 1].n += n;
                return KC_OK;
        }
        if (t->nlarge == t->capacity)
                KC_TRY(make_room(t, err));
        t->large[t->nlarge++] = (struct kc_window_tally_entry){ count, n };
out:
        return status;
}

enum kc_status kc_window_tally_add_equal(struct kc_window_tally *tally, uint32_t count, uint64_t n,
                                         struct kc_error *err)
{
        tally->n += n;
        if (count >= KC_WINDOW_TALLY_NSMALL)
                return add_large(tally, count, n, err);
        tally->small[count] += n;
        tally->nsmall = count < tally->nsmall ? tally->nsmall : count + 1;
        return KC_OK;
}

enum kc_status kc_window_tally_add(struct kc_window_tally *tally, const uint32_t *counts, size_t n,
                                   struct kc_error *err)
{
        uint32_t nsmall = tally->nsmall;
        enum kc_status status = KC_OK;
        for (size_t i = 0; i < n; i++) {
                const uint32_t count = counts[i];
                if (count < KC_WINDOW_TALLY_NSMALL) {
                        tally->small[count]++;
                        nsmall = count < nsmall ? nsmall : count + 1;
                } else {
                        KC_TRY(add_large(tally, count, 1, err));
                }
        }
        tally->n += n;
out:
        tally->nsmall = nsmall;
        return status;
}

enum kc_status kc_window_tally_join(struct kc_window_tally *tally,
                                    const struct kc_window_tally *other, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (uint32_t count = 0; count < other->nsmall; count++)
                tally->small[count] += other->small[count];
        if (tally->nsmall < other->nsmall)
                tally->nsmall = other->nsmall;
        for (size_t i = 0; i < other->nlarge; i++)
                KC_TRY(add_large(tally, other->large[i].count, other->large[i].n, err));
        tally->n += other->n;
out:
        return status;
}

/* Two neighbours among the sorted counts: that of this rank, and the next, if there is one. */
static void find_neighbours(const struct kc_window_tally *t, uint64_t rank, uint32_t found[2])
{
        uint64_t nbefore = 0;
        int nfound = 0;
        for (uint32_t count = 0; count < t->nsmall && nfound < 2; count++) {
                nbefore += t->small[count];
                while (nfound < 2 && nbefore > rank + (uint64_t)nfound)
                        found[nfound++] = count;
        }
        for (size_t i = 0; i < t->nlarge && nfound < 2; i++) {
                nbefore += t->large[i].n;
                while (nfound < 2 && nbefore > rank + (uint64_t)nfound)
                        found[nfound++] = t->large[i].count;
        }
}

void kc_window_tally_quartiles(struct kc_window_tally *tally,
                               uint64_t quarters[KC_WINDOW_TALLY_NQUARTILES])
{
        sort_large(tally);
        for (uint64_t q = 1; q <= KC_WINDOW_TALLY_NQUARTILES; q++) {
                const uint64_t place = (tally->n - 1) * q, beyond = place % 4;
                uint32_t x[2] = { 0 };
                find_neighbours(tally, place / 4, x);
                quarters[q - 1] = (4 - beyond) * x[0] + beyond * x[1];
        }
}

size_t kc_window_tally_list(struct kc_window_tally *tally, uint32_t least,
                            struct kc_window_tally_entry *entries)
{
        size_t n = 0;
        sort_large(tally);
        for (uint32_t count = least; count < tally->nsmall; count++) {
                entries[n] = (struct kc_window_tally_entry){ count, tally->small[count] };
                n += tally->small[count] > 0;
        }
        for (size_t i = 0; i < tally->nlarge; i++)
                if (tally->large[i].count >= least)
                        entries[n++] = tally->large[i];
        return n;
}

static void add_to_summary(struct kc_ask_summary *s, uint32_t count, uint64_t n, uint32_t min_count,
                           uint32_t max_count)
{
        if (n == 0)
                return;
        s->nvalid += n;
        s->nfound += count >= min_count && count <= max_count ? n : 0;
        s->sum += n * count;
        s->min = count < s->min ? count : s->min;
        s->max = count > s->max ? count : s->max;
}

struct kc_ask_summary kc_window_tally_summary(const struct kc_window_tally *tally,
                                              uint32_t min_count, uint32_t max_count)
{
        struct kc_ask_summary s = KC_ASK_NOTHING;
        for (uint32_t count = 0; count < tally->nsmall; count++)
                add_to_summary(&s, count, tally->small[count], min_count, max_count);
        for (size_t i = 0; i < tally->nlarge; i++)
                add_to_summary(&s, tally->large[i].count, tally->large[i].n, min_count, max_count);
        return s;
}

void kc_window_tally_clear(struct kc_window_tally *tally)
{
        memset(tally->small, 0, tally->nsmall * sizeof *tally->small);
        tally->nsmall = 0;
        tally->nlarge = 0;
        tally->n = 0;
}

void kc_window_tally_free(struct kc_window_tally *tally)
{
        free(tally->large);
}
