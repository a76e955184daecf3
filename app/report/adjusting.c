#include "app/report/adjusting.h"

#include "app/model/binomial.h"

#include <math.h>

struct adjusting adjusting_of(const struct model_fit *fit)
{
        const struct mixture *m = &fit->mixture;
        const double *parameters = fit->parameters;
        struct adjusting a = { .ploidy = fit->ploidy,
                               .coverage = parameters[m->coverage],
                               .bias = parameters[m->bias],
                               .error_rate = fit->error_rate.value };
        double share[ALLELES_MAX_COPIES] = { 0 }, sum = 0;
        alleles_share(&m->alleles, m->k, parameters[MIXTURE_REPEATS], parameters + MIXTURE_RATES,
                      share, NULL);
        for (int i = 0; i < m->alleles.ncopies; i++)
                sum += share[i];
        for (int i = 0; i < a.ploidy; i++)
                a.shares[i] = sum > 0 ? share[i] / sum : 0;
        return a;
}

double adjusting_unseen(const struct adjusting *a, uint64_t nkmers)
{
        double unseen = 0;
        for (int i = 0; i < a->ploidy; i++)
                unseen += (double)nkmers * a->shares[i] *
                          binomial_probability(0, (i + 1) * a->coverage, a->bias);
        return unseen;
}

double adjusting_chance(const struct adjusting *a)
{
        const double e = a->error_rate;
        return -expm1(-a->ploidy * a->coverage * (e / 3) / (1 - e));
}

struct quality adjusting_quality(const struct adjusting *a, struct quality_counts counts, int k)
{
        const double wrong = (double)counts.nabsent - adjusting_unseen(a, counts.nkmers);
        const double nabsent = wrong > 0 ? wrong / (1 - adjusting_chance(a)) : 0;
        return quality_estimate(nabsent, counts.nkmers, k);
}
