/*
 * The histogram that is fitted, and the choice of its rows (app/model/fitting.h).
 */
#include "app/model/fitting.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum {
        MOST_PEAK = 20000,
        MOST_ROWS = 8000, /* are fitted, unless the peak is beyond them */
        FREQUENT = 50,    /* times the peak: more are k-mers of organelles, adapters, ... */
};

/* The histogram without the rows of counts that no .kc file can hold. */
static struct histogram leave_out_far(const struct histogram *h)
{
        struct histogram near = *h;
        while (near.nrows > 0 && near.rows[near.nrows - 1].count > UINT32_MAX)
                near.nrows--;
        return near;
}

static struct landscape survey(const struct histogram *h)
{
        return h->nrows > 0 ? landscape_survey(h) : (struct landscape){ .has_peak = false };
}

/* Whether the last row stands for all greater counts, too: it has many more k-mers than the rows
 * before it lead one to expect, and the difference cannot be chance. K-mers that overlap mostly
 * have the same count, so only every k-th one is independent of the others. */
static bool ends_with_rest(const struct histogram *h, uint64_t valley)
{
        enum { SURE = 4, TIMES = 3 };
        const struct kc_histogram_row last = h->rows[h->nrows - 1];
        if (last.count <= valley + 1)
                return false;
        const uint64_t width = last.count / 8 + 1;
        const uint64_t first = last.count - width > valley ? last.count - width : valley;
        const double before =
                (double)landscape_sum(h, first, last.count - 1) / (double)(last.count - first);
        const double number = (double)last.ndistinct;
        return number > TIMES * before + SURE * sqrt(h->k * (number + 1));
}

/* The count where x * y is largest, from the valley on: first over several rows, so that a single
 * row, such as that of one k-mer that is very frequent, is not the peak; then near that count. */
static uint64_t find_mode(const struct histogram *h, uint64_t valley)
{
        const uint64_t about = landscape_mode(h, valley);
        uint64_t mode = valley;
        double most = -1;
        for (size_t i = 0; i < h->nrows; i++) {
                const uint64_t x = h->rows[i].count;
                const double value = (double)x * (double)h->rows[i].ndistinct;
                if (x >= valley && x >= about / 2 && x <= 2 * about && value > most) {
                        most = value;
                        mode = x;
                }
        }
        return mode;
}

/* Room for what a fit needs, with some to spare: for each row, the prediction, the derivatives for
 * each parameter, and for each number of copies the distribution and its two derivatives. */
static size_t scratch_size(size_t nrows)
{
        return (4 + 3 * (size_t)ALLELES_MAX_COPIES + MIXTURE_MAX_PARAMETERS) * nrows;
}

static void fill(struct spectrum *s, const struct histogram *h)
{
        for (size_t i = 0; i <= s->n; i++)
                s->x[i] = (double)i;
        for (size_t i = 0; i < h->nrows; i++) {
                const double number = (double)h->rows[i].count * (double)h->rows[i].ndistinct;
                s->nkmers += number;
                if (h->rows[i].count / FREQUENT >= s->peak)
                        s->frequent_nkmers += number;
                if (h->rows[i].count <= s->n)
                        s->y[h->rows[i].count] = (double)h->rows[i].ndistinct;
        }
}

enum kc_status spectrum_open(struct spectrum *s, const struct histogram *h, uint64_t min_count,
                             struct kc_error *err)
{
        struct histogram near = leave_out_far(h);
        struct landscape land = survey(&near);
        uint64_t rest = 0;
        if (land.has_peak && ends_with_rest(&near, land.valley)) {
                rest = near.rows[--near.nrows].count;
                land = survey(&near);
        }
        if (!land.has_peak)
                return kc_fail(err, KC_EINPUT,
                               "the histogram has no peak beyond the errors: there are too few "
                               "reads, or they do not come from one genome");
        *s = (struct spectrum){ .k = h->k, .valley = land.valley, .min_count = min_count };
        s->rest = rest;
        s->peak = find_mode(&near, land.valley);
        if (s->peak > MOST_PEAK)
                return kc_fail(err, KC_EINPUT,
                               "the histogram has its peak at a count of %" PRIu64
                               ": model fits only peaks up to %d",
                               s->peak, MOST_PEAK);
        s->last = 3 * s->peak;
        if (s->rest > 0 && s->last >= s->rest)
                s->last = s->rest - 1;
        if (s->last - s->valley >= MOST_ROWS && s->valley + MOST_ROWS > s->peak)
                s->last = s->valley + MOST_ROWS - 1;
        s->n = (size_t)s->last;
        s->x = calloc(2 * (s->n + 1) + scratch_size(s->n + 1), sizeof *s->x);
        if (s->x == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory while a model is fitted");
        s->y = s->x + s->n + 1;
        s->scratch = s->y + s->n + 1;
        fill(s, h);
        return KC_OK;
}

void spectrum_free(struct spectrum *s)
{
        free(s->x);
        *s = (struct spectrum){ 0 };
}
