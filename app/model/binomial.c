#include "app/model/binomial.h"

#include <math.h>
#include <stdbool.h>

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

enum {
        WIDEST_STEP = 31, /* between counts: for wider ones, the formula is as fast */
        MOST_RATIOS = 64, /* found at a time */
};

static const double least = 1e-300; /* what is less than this is practically 0 */

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

/* How many steps in a row, from row i on or back from row i, are equal. At most MOST_RATIOS. */
static size_t count_steps_after(const double *x, size_t n, size_t i)
{
        size_t m = 1;
        while (m < MOST_RATIOS && i + m + 1 < n && x[i + m + 1] - x[i + m] == x[i + 1] - x[i])
                m++;
        return m;
}

static size_t count_steps_before(const double *x, size_t i)
{
        size_t m = 1;
        while (m < MOST_RATIOS && m < i && x[i - m] - x[i - m - 1] == x[i] - x[i - 1])
                m++;
        return m;
}

/* Whether a row is computed from the one before or after it, `step` away. The products of
 * find_ratios do not overflow then. */
static bool is_near(double x, double step, double bias)
{
        return step <= WIDEST_STEP && x * (1 + bias) < 1e9;
}

/*
 * For each of n rows at equal distances, the factor that turns its probability into that of the row
 * after it: the product of (mean + at * bias) / (1 + bias) / (at + 1) over the counts of one step.
 * If `inverse`, one divided by that. Numerators and denominators are multiplied separately, for one
 * division, and the loops over rows can use vectors.
 */
static void find_ratios(const double *x, size_t n, double step, double mean, double bias,
                        bool inverse, double *ratios)
{
        const double scale = inverse ? 1 : 1 / (1 + bias), other = inverse ? 1 + bias : 1;
        double down[MOST_RATIOS], up[MOST_RATIOS];
        for (size_t i = 0; i < n; i++)
                up[i] = down[i] = 1;
        for (double more = 0; more < step; more++)
                for (size_t i = 0; i < n; i++) {
                        up[i] *= (mean + (x[i] + more) * bias) * scale;
                        down[i] *= (x[i] + more + 1) * other;
                }
        for (size_t i = 0; i < n; i++)
                ratios[i] = inverse ? down[i] / up[i] : up[i] / down[i];
}

/* Compute each row after `from` from the one before it. Once a row is practically 0, all later ones
 * are set to 0. */
static void walk_up(const double *x, size_t n, size_t from, double mean, double bias, double *p)
{
        double ratios[MOST_RATIOS];
        size_t i = from;
        while (i + 1 < n && p[i] > least) {
                const double step = x[i + 1] - x[i];
                if (!is_near(x[i + 1], step, bias)) {
                        i++;
                        p[i] = binomial_probability(x[i], mean, bias);
                        continue;
                }
                const size_t nsteps = count_steps_after(x, n, i);
                find_ratios(x + i, nsteps, step, mean, bias, false, ratios);
                for (size_t j = 0; j < nsteps; j++, i++)
                        p[i + 1] = p[i] > least ? p[i] * ratios[j] : 0;
        }
        for (i++; i < n; i++)
                p[i] = 0;
}

static void walk_down(const double *x, size_t from, double mean, double bias, double *p)
{
        double ratios[MOST_RATIOS];
        size_t i = from;
        while (i > 0 && p[i] > least) {
                const double step = x[i] - x[i - 1];
                if (!is_near(x[i], step, bias)) {
                        i--;
                        p[i] = binomial_probability(x[i], mean, bias);
                        continue;
                }
                const size_t nsteps = count_steps_before(x, i);
                find_ratios(x + i - nsteps, nsteps, step, mean, bias, true, ratios);
                for (size_t j = nsteps; j-- > 0; i--)
                        p[i - 1] = p[i] > least ? p[i] * ratios[j] : 0;
        }
        while (i > 0)
                p[--i] = 0;
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

/* The sum of 1 / (first + i) for i < n. If n is much less than first, by a series about the middle
 * of the terms: only even powers of their distances from it remain. */
static double sum_inverses(double first, double n)
{
        const double middle = first + (n - 1) / 2, square = n * n;
        double sum = 0;
        if (n > 1 && 32 * n < middle) {
                const double inverse = 1 / middle, small = inverse * inverse * (square - 1) / 12;
                return n * inverse * (1 + small * (1 + inverse * inverse * (3 * square - 7) / 20));
        }
        for (double i = 0; i < n; i++)
                sum += 1 / (first + i);
        return sum;
}

/* With s = mean / bias, the derivative of log p with respect to s is digamma(x + s) - digamma(s) -
 * log(1 + bias), and that with respect to bias, for fixed s, is (x / bias - s) / (1 + bias). The
 * second loop can use vectors. */
static void find_slopes(const double *x, size_t n, double mean, double bias, const double *p,
                        double *by_mean, double *by_bias)
{
        const double size = mean / bias, fall = log1p(bias);
        double sum = digamma(x[0] + size) - digamma(size);
        by_mean[0] = sum;
        for (size_t i = 1; i < n; i++) {
                const double step = x[i] - x[i - 1];
                sum = step > WIDEST_STEP ? digamma(x[i] + size) - digamma(size)
                                         : sum + sum_inverses(x[i - 1] + size, step);
                by_mean[i] = sum;
        }
        for (size_t i = 0; i < n; i++) {
                const double rise = by_mean[i] - fall;
                by_mean[i] = p[i] * rise / bias;
                by_bias[i] = p[i] * ((x[i] / bias - size) / (1 + bias) - rise * size / bias);
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
