#include "app/report/quality.h"

#include <math.h>

/* ---- the Poisson distribution ---- */

/* x^a e^-x / gamma(a + 1) */
static double leading_term(double a, double x)
{
        return exp(a * log(x) - x - lgamma(a + 1));
}

/* The incomplete gamma function P(a, x), for x < a + 1: its series. */
static double gamma_series(double a, double x)
{
        double term = 1, sum = 1;
        for (double i = 1; term > sum * 1e-17; i++) {
                term *= x / (a + i);
                sum += term;
        }
        return sum * leading_term(a, x);
}

/* 1 - P(a, x), for x >= a + 1: its continued fraction, from the top (Lentz). */
static double gamma_fraction(double a, double x)
{
        const double tiny = 1e-300;
        double b = x + 1 - a, c = 1 / tiny, d = 1 / b, h = d, change = 0;
        for (double i = 1; fabs(change - 1) > 1e-16 && i < 1e7; i++) {
                const double numerator = -i * (i - a);
                b += 2;
                d = numerator * d + b;
                d = 1 / (fabs(d) < tiny ? tiny : d);
                c = b + numerator / c;
                c = fabs(c) < tiny ? tiny : c;
                change = c * d;
                h *= change;
        }
        return h * a * leading_term(a, x);
}

/* The chance that a Poisson variable of mean x is at least a. */
static double chance_of_at_least(double a, double x)
{
        if (x <= 0)
                return 0;
        return x < a + 1 ? gamma_series(a, x) : 1 - gamma_fraction(a, x);
}

/* The mean with which a Poisson variable is at least a with this chance: Newton's steps, unless
 * they leave the interval that is known to have it. */
static double mean_for(double a, double chance)
{
        enum { MOST_STEPS = 200 };
        double low = 0, high = a + 10 * sqrt(a) + 20, x = a;
        for (int i = 0; i < MOST_STEPS && low < high; i++) {
                const double miss = chance_of_at_least(a, x) - chance;
                const double slope = leading_term(a, x) * a / x;
                double next = x - miss / slope;
                *(miss < 0 ? &low : &high) = x;
                if (!(next > low && next < high))
                        next = low + (high - low) / 2;
                if (fabs(next - x) <= x * 1e-15)
                        return next;
                x = next;
        }
        return x;
}

void quality_poisson_limits(double n, double *low, double *high)
{
        static const double none_seen = 3; /* e^-3 is 5% */
        *low = n > 0 ? mean_for(n, 0.025) : 0;
        *high = n > 0 ? mean_for(n + 1, 0.975) : none_seen;
}

/* ---- QV ---- */

/* E, if so many k-mers are absent. Not all can be: that would be no assembly of these reads. */
static double error_of(double nabsent, double nkmers, int k)
{
        const double most = nkmers > 2 ? nkmers - 1 : nkmers / 2;
        return -expm1(log1p(-(nabsent < most ? nabsent : most) / nkmers) / k);
}

static double value_of(double error)
{
        return error > 0 ? -10 * log10(error) : INFINITY;
}

struct quality quality_estimate(double nabsent, uint64_t nkmers, int k)
{
        struct quality q = { .counts = { .nkmers = nkmers, .nabsent = (uint64_t)(nabsent + 0.5) } };
        const double n = (double)nkmers;
        double low, high;
        if (nkmers == 0)
                return q;
        quality_poisson_limits(nabsent / k, &low, &high);
        q.error = error_of(nabsent, n, k);
        q.value = value_of(q.error);
        q.low = value_of(error_of(high * k, n, k));
        q.high = nabsent < k ? INFINITY : value_of(error_of(low * k, n, k));
        return q;
}

struct quality quality_of(struct quality_counts counts, int k)
{
        return quality_estimate((double)counts.nabsent, counts.nkmers, k);
}

void quality_as_merqury(struct quality_counts counts, int k, double *error, double *value)
{
        const double share = (double)counts.nabsent / (double)counts.nkmers;
        *error = 1 - pow(1 - share, 1.0 / k);
        *value = -10 * log(*error) / log(10);
}
