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
        for (int i = 0; i < m->alleles.ncopies; i++) {
                const size_t at = c->n * (size_t)i;
                binomial_probabilities(c->x, c->n, coverage * (i + 1), bias, c->p + at,
                                       c->by_mean != NULL ? c->by_mean + at : NULL,
                                       c->by_bias != NULL ? c->by_bias + at : NULL);
        }
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

/* slope += weight * column */
static void add_column(double *slope, double weight, const double *column, size_t n)
{
        for (size_t row = 0; row < n; row++)
                slope[row] += weight * column[row];
}

void mixture_find_slopes(const struct mixture *m, const double *parameters,
                         const struct components *c, const double *f, double *slopes)
{
        double share[ALLELES_MAX_COPIES];
        double by_rate[1 + ALLELES_MAX_RATES][ALLELES_MAX_COPIES];
        const double length = parameters[m->length];
        const size_t n = c->n;
        memset(slopes, 0, (size_t)m->nparameters * n * sizeof *slopes);
        if (!alleles_share(&m->alleles, m->k, parameters[MIXTURE_REPEATS],
                           parameters + MIXTURE_RATES, share, by_rate))
                return;
        for (int i = 0; i < m->alleles.ncopies; i++) {
                const size_t at = n * (size_t)i;
                for (int j = 0; j <= m->alleles.nrates; j++)
                        add_column(slopes + n * (size_t)j, length * by_rate[j][i], c->p + at, n);
                add_column(slopes + n * (size_t)m->coverage, length * share[i] * (i + 1),
                           c->by_mean + at, n);
                add_column(slopes + n * (size_t)m->bias, length * share[i], c->by_bias + at, n);
        }
        add_column(slopes + n * (size_t)m->length, 1 / length, f, n);
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
