/*
 * Least squares with bounds, by MINPACK (the library cminpack), and the errors of the parameters.
 *
 * Bounds are kept as R's minpack.lm keeps them: a parameter that leaves its range is put back to
 * the nearest value in it before the function is computed.
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
        double tolerance;  /* relative, of the sum of squares and of the parameters */
        /* Compute the residuals, [nrows]. */
        void (*residuals)(void *context, const double *parameters, double *residuals);
        /* Their derivatives, [nparameters][nrows]; NULL: they are found by differences. */
        void (*slopes)(void *context, const double *parameters, double *slopes);
        void *context;
};

/* Whether this program was built with cminpack. */
bool least_squares_exist(void);

/* Change the parameters until the sum of squares is least. It may be that of a local minimum, or of
 * the last round. KC_ENOMEM. */
enum kc_status least_squares_fit(const struct least_squares *problem, double *parameters,
                                 struct kc_error *err);

/*
 * The inverse of slopes * slopes', for the errors of the parameters.
 *   slopes   [n][nrows], overwritten
 *   inverse  out, [n][n]
 * Returns false if a parameter is, but for a part in 10 million, a combination of those before it.
 */
bool least_squares_invert(double *slopes, size_t n, size_t nrows, double *inverse);

#endif
