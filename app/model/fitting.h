/*
 * The fit of one ploidy, for model.c.
 */
#ifndef APP_MODEL_FITTING_H
#define APP_MODEL_FITTING_H

#include "app/model/model.h"

/* The histogram by count, without gaps, and scratch for fits. Zero-initialise it. */
struct spectrum {
        int k;
        size_t n;      /* counts 1 to n, the last of which can be fitted */
        double *x, *y; /* [n + 1]: x[i] = i */
        double *scratch;
        double nkmers;
        uint64_t valley, peak, last; /* counts: of the fitted rows and the peak between them */
        uint64_t min_count;
};

/* KC_EINPUT if there is no peak; KC_ENOMEM. Free it with spectrum_free, also on failure. */
enum kc_status spectrum_open(struct spectrum *spectrum, const struct histogram *histogram,
                             uint64_t min_count, struct kc_error *err);
void spectrum_free(struct spectrum *spectrum);

/* The best fit of those that start at the peak's count over 1, 2, ... 2 * ploidy. KC_ENOMEM. */
enum kc_status fitting_find(const struct spectrum *spectrum, int ploidy, struct model_fit *fit,
                            struct kc_error *err);

/* The fit of rows from `first` on that starts at this coverage. KC_ENOMEM. */
enum kc_status fitting_find_from(const struct spectrum *spectrum, int ploidy, uint64_t first,
                                 double coverage, struct model_fit *fit, struct kc_error *err);

/* Set the intervals of a fit. KC_ENOMEM. */
enum kc_status fitting_find_intervals(const struct spectrum *spectrum, struct model_fit *fit,
                                      struct kc_error *err);

#endif
