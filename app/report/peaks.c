#include "app/report/peaks.h"

#include <float.h>
#include <stdbool.h>
#include <stdlib.h>

/* The walk over the rows. Slopes are differences between neighbouring rows. */
struct peak_search {
        struct peaks *found;
        double previous, slope, bend; /* of the row before: k-mers; its slope; that minus the one
                                         before it */
        double nfirst;                /* k-mers of the first minimum */
        size_t nminima;
        bool looks_for_shoulder; /* after the first minimum, before the second */
        bool has_shoulder;       /* the peak of number `shoulder` is one */
        size_t shoulder;
};

static struct peak *last_peak(const struct peak_search *s)
{
        return &s->found->peaks[s->found->npeaks - 1];
}

static void add_peak(struct peak_search *s, uint64_t count, double nkmers)
{
        s->found->peaks[s->found->npeaks++] = (struct peak){ count, nkmers };
}

static void add_bound(struct peak_search *s, uint64_t count)
{
        s->found->bounds[s->found->nbounds++] = count;
}

static void drop_peak(struct peak_search *s, size_t number)
{
        struct peaks *p = s->found;
        for (size_t i = number + 1; i < p->npeaks; i++)
                p->peaks[i - 1] = p->peaks[i];
        p->npeaks--;
}

static void take_minimum(struct peak_search *s, uint64_t count)
{
        s->nminima++;
        s->looks_for_shoulder = s->nminima == 1;
        if (s->nminima == 1) {
                s->found->first_minimum = count;
                s->nfirst = s->previous;
                return;
        }
        if (s->has_shoulder)
                drop_peak(s, s->shoulder); /* the peak after it stands apart */
        s->has_shoulder = false;
        add_bound(s, count);
}

/* Maxima within five counts are one, the larger. */
static void take_maximum(struct peak_search *s, uint64_t count)
{
        enum { NEAR = 5 };
        struct peaks *p = s->found;
        if (s->has_shoulder && s->nminima == 1) {
                const uint64_t last = last_peak(s)->count;
                add_bound(s, last + (count - last) / 2);
                s->has_shoulder = false;
        }
        if (p->npeaks == 0 || last_peak(s)->count + NEAR > count + 1) {
                if (p->npeaks > 0 && last_peak(s)->nkmers >= s->previous)
                        return;
                if (p->npeaks > 0) {
                        p->npeaks--;
                        p->nbounds -= p->nbounds > 0;
                        s->has_shoulder = false;
                }
        }
        add_peak(s, count, s->previous);
}

/* Where the slope is about to fall less, a haploid peak may hide in the flank of another. */
static void look_for_shoulder(struct peak_search *s, const struct kc_histogram_row *row,
                              double slope, double bend)
{
        if (slope <= 0 || slope >= s->slope || bend * s->bend <= 0 || s->bend >= bend)
                return;
        s->shoulder = s->found->npeaks;
        s->has_shoulder = true;
        add_peak(s, row->count, (double)row->ndistinct);
}

/* Look at a row. False: everything below it is noise. */
static bool take_row(struct peak_search *s, const struct kc_histogram_row *row)
{
        const double n = (double)row->ndistinct;
        const double slope = n - s->previous, bend = slope - s->slope;
        struct peaks *p = s->found;
        if (slope * s->slope < 0 && slope > s->slope)
                take_minimum(s, row->count - 1);
        else if (slope * s->slope < 0)
                take_maximum(s, row->count - 1);
        else if (s->looks_for_shoulder && !s->has_shoulder)
                look_for_shoulder(s, row, slope, bend);
        if (n < s->nfirst) {
                add_bound(s, s->has_shoulder && p->npeaks == 2
                                     ? (p->peaks[0].count + p->peaks[1].count) / 2
                                     : row->count);
                return false;
        }
        s->previous = n;
        s->slope = slope;
        s->bend = bend;
        return true;
}

enum kc_status peaks_find(struct peaks *peaks, const struct kc_histogram_row *rows, size_t nrows,
                          struct kc_error *err)
{
        /* a row adds a peak at most, and two bounds */
        *peaks = (struct peaks){ .peaks = malloc((nrows + 1) * sizeof *peaks->peaks),
                                 .bounds = malloc((2 * nrows + 1) * sizeof *peaks->bounds) };
        struct peak_search s = { .found = peaks, .bend = DBL_MAX };
        if (peaks->peaks == NULL || peaks->bounds == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for the peaks of a histogram");
        if (nrows == 0)
                return KC_OK;
        s.previous = (double)rows[0].ndistinct;
        s.slope = s.previous - DBL_MAX; /* the first row is below what is before it */
        for (size_t i = 1; i < nrows && take_row(&s, &rows[i]); i++)
                ;
        return KC_OK;
}

void peaks_free(struct peaks *peaks)
{
        free(peaks->peaks);
        free(peaks->bounds);
}

uint64_t peaks_depth(const struct kc_histogram_row *rows, size_t nrows, uint64_t threshold)
{
        uint64_t depth = 0;
        double most = 0;
        for (size_t i = 0; i < nrows; i++) {
                const double n = (double)rows[i].count * (double)rows[i].ndistinct;
                if (rows[i].count <= threshold || n <= most)
                        continue;
                most = n;
                depth = rows[i].count;
        }
        return depth;
}
