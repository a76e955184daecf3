/*
 * The negative binomial distribution of counts: mean m, variance m * (1 + bias). With bias 0, it is
 * the Poisson distribution.
 */
#ifndef APP_MODEL_BINOMIAL_H
#define APP_MODEL_BINOMIAL_H

#include <stddef.h>

/* The probability of count x; x >= 0, mean > 0, bias >= 0. */
double binomial_probability(double x, double mean, double bias);

/*
 * The probabilities of many counts.
 *   x        [n], whole numbers from 0, ascending
 *   p        out, [n]: all 0 if the mean is 0
 *   by_mean  out, [n], or NULL: derivatives with respect to the mean; bias must not be 0 then
 *   by_bias  out, [n]; NULL if by_mean is
 */
void binomial_probabilities(const double *x, size_t n, double mean, double bias, double *p,
                            double *by_mean, double *by_bias);

#endif
