/*
 * The histogram as it is fitted, and the fit of one ploidy to it, for model.c.
 */
#ifndef APP_MODEL_FITTING_H
#define APP_MODEL_FITTING_H

#include "app/model/model.h"

/* The histogram by count, without gaps, and scratch for fits. Zero-initialise it. */
struct spectrum {
        int k;
        size_t n;      /* the largest count that is fitted */
        double *x, *y; /* [n + 1]: x[i] = i; y[i]: distinct k-mers with count i */
        double *scratch;
        double nkmers;               /* counts of all k-mers, summed */
        double frequent_nkmers;      /* those far beyond the peak: probably not the genome's */
        uint64_t valley, peak, last; /* counts: first fitted row, peak, last fitted row */
        uint64_t min_count;          /* k-mers with a smaller count are missing */
        uint64_t rest;               /* the last row stands for this count and all greater; 0: no */
};

/* KC_EINPUT if there is no peak, or if its count is too large; KC_ENOMEM. Free the spectrum with
 * spectrum_free, also on failure. */
enum kc_status spectrum_open(struct spectrum *spectrum, const struct histogram *histogram,
                             uint64_t min_count, struct kc_error *err);
void spectrum_free(struct spectrum *spectrum);

/* The best of the fits that start with a coverage of the peak's count divided by 1, 2, ...
 * 2 * ploidy. KC_ENOMEM. */
enum kc_status fitting_find(const struct spectrum *spectrum, int ploidy, struct model_fit *fit,
                            struct kc_error *err);

/* The fit of the rows from `first` on that starts with this coverage. KC_ENOMEM. */
enum kc_status fitting_find_from(const struct spectrum *spectrum, int ploidy, uint64_t first,
                                 double coverage, struct model_fit *fit, struct kc_error *err);

/* Set the intervals of a fit. KC_ENOMEM. */
enum kc_status fitting_find_intervals(const struct spectrum *spectrum, struct model_fit *fit,
                                      struct kc_error *err);

/* After the intervals: this many bases of the size are not the genome's. The size itself, which is
 * that of all k-mers, stays. */
void fitting_leave_out(struct model_fit *fit, double length);

#endif
