#include "app/model/binomial.h"

#include <math.h>

/*
 * log(n!) minus Stirling's formula. This and deviance are the two parts in which the logarithm of a
 * probability is computed without cancellation: C. Loader, Fast and accurate computation of
 * binomial probabilities, 2000.
 */
static double stirling_error(double n)
{
        static const double log_sqrt_2pi = 0.91893853320467274178;
        const double square = n * n;
        int sign;
        if (n < 16)
                return n <= 0 ? 0 : lgamma_r(n + 1, &sign) - (n + 0.5) * log(n) + n - log_sqrt_2pi;
        return (1.0 / 12 - (1.0 / 360 - (1.0 / 1260 - 1.0 / 1680 / square) / square) / square) / n;
}

/* x * log(x / mean) - x + mean, given difference = x - mean */
static double deviance(double x, double difference)
{
        const double ratio = difference / (2 * x - difference);
        double sum = 0, power = ratio;
        if (fabs(ratio) > 0.1)
                return x * log(x / (x - difference)) - difference;
        for (int i = 3; i < 32; i += 2) { /* log(x / mean) is 2 atanh(ratio) */
                power *= ratio * ratio;
                sum += power / i;
        }
        return difference * ratio + 2 * x * sum;
}

static double log_poisson(double x, double mean)
{
        return -stirling_error(x) - deviance(x, x - mean) - 0.5 * log(2 * M_PI * x);
}

static double log_probability(double x, double mean, double bias)
{
        const double size = mean / bias, both = x + size;
        const double over = (x - mean) / (1 + bias); /* x - both * bias / (1 + bias) */
        if (x == 0)
                return bias > 0 ? -size * log1p(bias) : -mean;
        if (!(bias > 0) || isinf(size))
                return log_poisson(x, mean);
        return log(size / both) + stirling_error(both) - stirling_error(size) - stirling_error(x) -
               deviance(size, -over) - deviance(x, over) - 0.5 * log(2 * M_PI * size * (x / both));
}

double binomial_probability(double x, double mean, double bias)
{
        return exp(log_probability(x, mean, bias));
}

/* ---- many counts ---- */

enum { WIDEST_STEP = 16 }; /* between counts: for wider ones, the formula is as fast */

/* The first row whose count is the mode or more; the last row if there is none. */
static size_t find_mode(const double *x, size_t n, double mode)
{
        size_t low = 0, high = n - 1;
        while (low < high) {
                const size_t middle = (low + high) / 2;
                if (x[middle] < mode)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

/* Compute each row after `from` from the one before it. Once a row is practically 0, all later ones
 * are set to 0. */
static void walk_up(const double *x, size_t n, size_t from, double mean, double bias, double *p)
{
        const double scale = 1 / (1 + bias);
        size_t i = from + 1;
        for (; i < n && p[i - 1] > 1e-300; i++) {
                p[i] = p[i - 1];
                if (x[i] - x[i - 1] > WIDEST_STEP)
                        p[i] = binomial_probability(x[i], mean, bias);
                else
                        for (double at = x[i - 1]; at < x[i]; at++)
                                p[i] *= (mean + at * bias) * scale / (at + 1);
        }
        for (; i < n; i++)
                p[i] = 0;
}

static void walk_down(const double *x, size_t from, double mean, double bias, double *p)
{
        const double scale = 1 + bias;
        size_t i = from;
        for (; i > 0 && p[i] > 1e-300; i--) {
                p[i - 1] = p[i];
                if (x[i] - x[i - 1] > WIDEST_STEP)
                        p[i - 1] = binomial_probability(x[i - 1], mean, bias);
                else
                        for (double at = x[i]; at > x[i - 1]; at--)
                                p[i - 1] *= at * scale / (mean + (at - 1) * bias);
        }
        for (; i > 0; i--)
                p[i - 1] = 0;
}

/* The derivative of log(gamma(x)), x > 0. */
static double digamma(double x)
{
        double sum = 0;
        for (; x < 12; x++)
                sum -= 1 / x;
        const double square = 1 / (x * x);
        return sum + log(x) - 0.5 / x -
               square * (1.0 / 12 - square * (1.0 / 120 - square * (1.0 / 252 - square / 240)));
}

/* With s = mean / bias, the derivative of log p with respect to s is digamma(x + s) - digamma(s) -
 * log(1 + bias), and that with respect to bias, for fixed s, is (x / bias - s) / (1 + bias). */
static void find_slopes(const double *x, size_t n, double mean, double bias, const double *p,
                        double *by_mean, double *by_bias)
{
        const double size = mean / bias, fall = log1p(bias);
        double sum = digamma(x[0] + size) - digamma(size);
        for (size_t i = 0; i < n; i++) {
                if (i > 0 && x[i] - x[i - 1] > WIDEST_STEP)
                        sum = digamma(x[i] + size) - digamma(size);
                else if (i > 0)
                        for (double at = x[i - 1]; at < x[i]; at++)
                                sum += 1 / (at + size);
                by_mean[i] = p[i] * (sum - fall) / bias;
                by_bias[i] =
                        p[i] * ((x[i] / bias - size) / (1 + bias) - (sum - fall) * size / bias);
        }
}

void binomial_probabilities(const double *x, size_t n, double mean, double bias, double *p,
                            double *by_mean, double *by_bias)
{
        if (n == 0)
                return;
        const size_t from = find_mode(x, n, fmax(0, mean - bias));
        p[from] = mean > 0 ? binomial_probability(x[from], mean, bias) : 0;
        walk_up(x, n, from, mean, bias, p);
        walk_down(x, from, mean, bias, p);
        if (by_mean != NULL)
                find_slopes(x, n, mean, bias, p, by_mean, by_bias);
}
