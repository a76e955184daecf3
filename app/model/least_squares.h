/*
 * Least squares with bounds, by MINPACK (the library cminpack), and the errors of the parameters.
 *
 * Bounds work as in R's minpack.lm: a parameter that leaves its range is moved back to the nearest
 * bound before the function is computed.
 */
#ifndef APP_MODEL_LEAST_SQUARES_H
#define APP_MODEL_LEAST_SQUARES_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

enum { LEAST_SQUARES_MAX_PARAMETERS = 16 };

struct least_squares {
        size_t nrows, nparameters;
        const double *lower, *upper; /* [nparameters] */
        int max_rounds;
        double first_step; /* MINPACK's factor, from 0.1 to 100 */
        double tolerance;  /* relative, for the sum of squares and for the parameters */
        /* Compute the residuals, [nrows]. */
        void (*residuals)(void *context, const double *parameters, double *residuals);
        /* Compute their derivatives, [nparameters][nrows]. NULL: MINPACK takes differences. */
        void (*slopes)(void *context, const double *parameters, double *slopes);
        void *context;
};

/* Whether this program was built with cminpack. */
bool least_squares_exist(void);

/* Change the parameters, from the values that they have, to minimize the sum of squares. The result
 * may be a local minimum, or where the search was after the last round. KC_ENOMEM. */
enum kc_status least_squares_fit(const struct least_squares *problem, double *parameters,
                                 struct kc_error *err);

/*
 * Find the inverse of slopes * slopes', for the errors of the parameters.
 *   slopes   [n][nrows], overwritten
 *   inverse  out, [n][n]
 * Returns false if the slopes of a parameter are, to within one part in 10 million, a linear
 * combination of those before them.
 */
bool least_squares_invert(double *slopes, size_t n, size_t nrows, double *inverse);

#endif
