#include "app/model/choice.h"

#include <math.h>
#include <stdlib.h>

static const double tie = 0.01, more_duplication = 0.1, most_heterozygosity = 0.1;
/* how far heterozygosities that are about the same may differ: a share of the larger, and a rate */
static const double same_share = 0.1, same_rate = 0.0002;

static int compare_explained(const void *a, const void *b)
{
        const double x = ((const struct model_fit *)a)->explained;
        const double y = ((const struct model_fit *)b)->explained;
        return (x < y) - (x > y);
}

/* The largest share of positions that occur twice with which a fit is plausible. */
static double find_limit(const struct model_fit *fits, int ntied)
{
        double least = 1;
        for (int i = 0; i < ntied; i++)
                least = fmin(least, fits[i].parameters[MIXTURE_REPEATS]);
        return least + more_duplication;
}

static bool is_better(const struct model_fit *fit, const struct model_fit *other)
{
        const double ours = fit->heterozygosity.value, theirs = other->heterozygosity.value;
        if (fabs(ours - theirs) > same_share * fmax(ours, theirs) + same_rate)
                return ours < theirs;
        return fit->ploidy < other->ploidy; /* equal pairs of haplotypes: the same model */
}

static int choose(const struct model_fit *fits, int ntied, double limit)
{
        int chosen = -1;
        for (int i = 0; i < ntied; i++)
                if (fits[i].parameters[MIXTURE_REPEATS] <= limit &&
                    (chosen < 0 || is_better(&fits[i], &fits[chosen])))
                        chosen = i;
        return chosen;
}

static int find_runner_up(const struct model_fit *fits, int ntied, double limit)
{
        for (int i = 1; i < ntied; i++)
                if (fits[i].parameters[MIXTURE_REPEATS] <= limit &&
                    fits[i].heterozygosity.value <= most_heterozygosity)
                        return i;
        return 0;
}

int choice_rank(struct model_fit *fits, int nfits)
{
        int ntied = 0;
        qsort(fits, (size_t)nfits, sizeof *fits, compare_explained);
        while (ntied < nfits && !(fits[0].explained - fits[ntied].explained > tie))
                ntied++;
        const double limit = find_limit(fits, ntied);
        const int chosen = choose(fits, ntied, limit);
        const struct model_fit first = fits[chosen];
        for (int i = chosen; i > 0; i--)
                fits[i] = fits[i - 1];
        fits[0] = first;
        return find_runner_up(fits, ntied, limit);
}
