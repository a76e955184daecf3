#include "app/report/chance.h"

#include "app/model/binomial.h"

#include <math.h>

/* The share of counts over 1.5 times the depth. */
static double share_above(double depth, double bias)
{
        static const double negligible = 1e-12;
        double sum = 0, p = 1;
        for (double x = floor(1.5 * depth) + 1; p > negligible * sum; x++) {
                p = binomial_probability(x, depth, bias);
                sum += p;
        }
        return sum;
}

uint64_t chance_windows(const struct chance *c)
{
        const double ndraws = (double)c->nwindows / c->nspan;
        if (!(c->depth > 0) || !(c->nspan >= 1) || !(ndraws > 1))
                return 0;
        const double n = c->nspan * log(ndraws) / -log(share_above(c->depth, c->bias));
        return (uint64_t)fmin(n, CHANCE_MOST_WINDOWS);
}
