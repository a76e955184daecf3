#include "app/model/least_squares.h"

#include <cminpack.h>
#include <float.h>
#include <stdlib.h>

bool least_squares_exist(void)
{
        return true;
}

struct search {
        const struct least_squares *problem;
        int nrounds;
};

enum { SHOW = 0, RESIDUALS = 1, STOP = -1 }; /* what MINPACK asks for; the answer that stops it */

/* Move the parameters to within their bounds. The cast is safe: the vector is MINPACK's own and not
 * const, and after the call, MINPACK goes on from the point that it then holds. */
static int keep_bounds(struct search *search, const double *parameters, int asked)
{
        const struct least_squares *problem = search->problem;
        double *mine = (double *)parameters;
        for (size_t i = 0; i < problem->nparameters; i++)
                if (mine[i] < problem->lower[i])
                        mine[i] = problem->lower[i];
                else if (mine[i] > problem->upper[i])
                        mine[i] = problem->upper[i];
        if (asked == SHOW) /* MINPACK asks for this once in each round */
                search->nrounds++;
        return search->nrounds >= problem->max_rounds ? STOP : 0;
}

static int by_differences(void *p, int nrows, int nparameters, const double *parameters,
                          double *residuals, int asked)
{
        struct search *search = p;
        const int answer = keep_bounds(search, parameters, asked);
        (void)nrows;
        (void)nparameters;
        if (asked != SHOW)
                search->problem->residuals(search->problem->context, parameters, residuals);
        return answer;
}

static int by_slopes(void *p, int nrows, int nparameters, const double *parameters,
                     double *residuals, double *slopes, int stride, int asked)
{
        struct search *search = p;
        const int answer = keep_bounds(search, parameters, asked);
        (void)nrows;
        (void)nparameters;
        (void)stride;
        if (asked == RESIDUALS)
                search->problem->residuals(search->problem->context, parameters, residuals);
        else if (asked != SHOW)
                search->problem->slopes(search->problem->context, parameters, slopes);
        return answer;
}

/* Run MINPACK. work: room for (2 + nparameters) * nrows numbers */
static void minimize(struct search *search, double *parameters, double *work)
{
        enum { MOST = LEAST_SQUARES_MAX_PARAMETERS };
        const struct least_squares *problem = search->problem;
        const int nrows = (int)problem->nrows, n = (int)problem->nparameters;
        const int max_calls = 100 * (n + 1);
        double diagonal[MOST], qtf[MOST], wa1[MOST], wa2[MOST], wa3[MOST];
        double *residuals = work, *wa4 = work + nrows, *slopes = wa4 + nrows;
        int ncalls, nslopes, pivots[MOST];
        if (problem->slopes == NULL)
                lmdif(by_differences, search, nrows, n, parameters, residuals, problem->tolerance,
                      problem->tolerance, 0, max_calls, 0, diagonal, 1, problem->first_step, 1,
                      &ncalls, slopes, nrows, pivots, qtf, wa1, wa2, wa3, wa4);
        else
                lmder(by_slopes, search, nrows, n, parameters, residuals, slopes, nrows,
                      problem->tolerance, problem->tolerance, 0, max_calls, diagonal, 1,
                      problem->first_step, 1, &ncalls, &nslopes, pivots, qtf, wa1, wa2, wa3, wa4);
}

enum kc_status least_squares_fit(const struct least_squares *problem, double *parameters,
                                 struct kc_error *err)
{
        struct search search = { .problem = problem };
        double *work = malloc((2 + problem->nparameters) * problem->nrows * sizeof *work);
        if (work == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory while a model is fitted");
        minimize(&search, parameters, work);
        free(work);
        return KC_OK;
}
