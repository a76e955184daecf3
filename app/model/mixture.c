#include "app/model/mixture.h"
#include "app/model/binomial.h"

#include <string.h>

void mixture_init(struct mixture *m, int ploidy, int k)
{
        alleles_init(&m->alleles, ploidy);
        m->k = k;
        m->coverage = MIXTURE_RATES + m->alleles.nrates;
        m->bias = m->coverage + 1;
        m->length = m->coverage + 2;
        m->nparameters = m->coverage + 3;
}

double mixture_heterozygosity(const struct mixture *m, const double *parameters)
{
        double sum = 0;
        for (int i = 0; i < m->alleles.nrates; i++)
                sum += parameters[MIXTURE_RATES + i];
        return sum;
}

void mixture_find_components(const struct mixture *m, const double *parameters,
                             struct components *c)
{
        const double coverage = parameters[m->coverage], bias = parameters[m->bias];
        if (c->coverage == coverage && c->bias == bias)
                return;
        for (int i = 0; i < m->alleles.ncopies; i++)
                binomial_probabilities(c->x, c->n, coverage * (i + 1), bias,
                                       c->p + c->n * (size_t)i, NULL, NULL);
        c->coverage = coverage;
        c->bias = bias;
}

static void add_up(double length, const double *share, int ncopies, const struct components *c,
                   double *f)
{
        for (int i = 0; i < ncopies; i++) {
                const double *p = c->p + c->n * (size_t)i;
                for (size_t row = 0; row < c->n; row++)
                        f[row] += length * share[i] * p[row];
        }
}

void mixture_predict(const struct mixture *m, const double *parameters, const struct components *c,
                     double *f)
{
        double share[ALLELES_MAX_COPIES];
        memset(f, 0, c->n * sizeof *f);
        if (alleles_share(&m->alleles, m->k, parameters[MIXTURE_REPEATS],
                          parameters + MIXTURE_RATES, share, NULL))
                add_up(parameters[m->length], share, m->alleles.ncopies, c, f);
}

void mixture_predict_unique(const struct mixture *m, const double *parameters,
                            const struct components *c, double *f)
{
        double share[ALLELES_MAX_PLOIDY];
        memset(f, 0, c->n * sizeof *f);
        if (alleles_unique_share(&m->alleles, m->k, parameters[MIXTURE_REPEATS],
                                 parameters + MIXTURE_RATES, share))
                add_up(parameters[m->length], share, m->alleles.ploidy, c, f);
}
