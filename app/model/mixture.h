/*
 * The counts that a model predicts: a mixture of negative binomials, one for each number of copies.
 */
#ifndef APP_MODEL_MIXTURE_H
#define APP_MODEL_MIXTURE_H

#include "app/model/alleles.h"

#include <stddef.h>

/* The parameters, in order: repeats, rates, coverage of one copy, bias, length of one haplotype. */
enum { MIXTURE_REPEATS, MIXTURE_RATES, MIXTURE_MAX_PARAMETERS = ALLELES_MAX_RATES + 4 };

struct mixture {
        struct alleles alleles;
        int k;
        int nparameters, coverage, bias, length; /* the places of the last three */
};

void mixture_init(struct mixture *mixture, int ploidy, int k);

/* The sum of the rates: the share of positions where haplotypes differ. */
double mixture_heterozygosity(const struct mixture *mixture, const double *parameters);

/*
 * The distributions of the counts of k-mers with 1, 2, ... copies.
 *   x                 [n]: the counts, whole numbers from 1, ascending
 *   p                 [2 * ploidy][n]; depends only on coverage and bias
 *   by_mean, by_bias  [2 * ploidy][n], or both NULL: derivatives of p with respect to mean and bias
 */
struct components {
        const double *x;
        size_t n;
        double coverage, bias;
        double *p, *by_mean, *by_bias;
};

/* Compute the distributions, unless they are already those of these parameters. The caller sets x,
 * n and the pointers, and a negative bias at first. */
void mixture_find_components(const struct mixture *mixture, const double *parameters,
                             struct components *components);

/*
 * Predict the number of distinct k-mers with each count.
 *   components  of these parameters
 *   f           out, [n]: all 0 if parameters are out of range
 */
void mixture_predict(const struct mixture *mixture, const double *parameters,
                     const struct components *components, double *f);

/*
 * The derivatives of the prediction.
 *   components  of these parameters, with derivatives
 *   f           the prediction
 *   slopes      out, [nparameters][n]
 */
void mixture_find_slopes(const struct mixture *mixture, const double *parameters,
                         const struct components *components, const double *f, double *slopes);

/* As mixture_predict, for the part of the genome that occurs only once. */
void mixture_predict_unique(const struct mixture *mixture, const double *parameters,
                            const struct components *components, double *f);

#endif
