/*
 * The fit of GenomeScope 2, with its model, starting values, rounds and rules, which finds the same
 * numbers.
 */
#ifndef APP_MODEL_GENOMESCOPE_H
#define APP_MODEL_GENOMESCOPE_H

#include "app/hist/landscape.h"
#include "app/model/alleles.h"
#include "app/model/range.h"

struct genomescope {
        bool converged; /* if false, the other fields are undefined */
        struct alleles alleles;
        struct model_range rates[ALLELES_MAX_RATES], heterozygosity, repeats, coverage;
        struct model_range haploid, repeated, unique; /* lengths */
        double bias, fit_all, fit_full, error_rate;
};

enum { GENOMESCOPE_MIN_ROWS = 17 };

/*
 * Fit the model for this ploidy, 1 to ALLELES_MAX_PLOIDY. The last row of the histogram is not
 * fitted, and is only used for the lengths and the error rate. KC_OK also if the fit does not
 * converge; KC_EINPUT if there are fewer than GENOMESCOPE_MIN_ROWS rows; KC_ENOMEM.
 */
enum kc_status genomescope_fit(const struct histogram *histogram, int ploidy,
                               struct genomescope *result, struct kc_error *err);

#endif
