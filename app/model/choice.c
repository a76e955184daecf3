#include "app/model/choice.h"

#include <math.h>
#include <stdlib.h>

static const double good = 0.9, tie = 0.01, more_duplication = 0.1, most_heterozygosity = 0.1;
/* how far heterozygosities that are about the same may differ: a share of the larger, and a rate */
static const double same_share = 0.1, same_rate = 0.0002;

static int compare_explained(const void *a, const void *b)
{
        const double x = ((const struct model_fit *)a)->explained;
        const double y = ((const struct model_fit *)b)->explained;
        return (x < y) - (x > y);
}

bool choice_is_good(const struct model_fit *fit)
{
        return fit->explained >= good;
}

bool choice_is_plausible(const struct model_fit *fit)
{
        return fit->rates <= most_heterozygosity;
}

/* What a fit must have to be chosen. */
struct needs {
        double explained, most_repeats, most_heterozygosity;
};

static bool has(const struct model_fit *fit, const struct needs *needs)
{
        return !(fit->explained < needs->explained) &&
               fit->parameters[MIXTURE_REPEATS] <= needs->most_repeats &&
               fit->rates <= needs->most_heterozygosity;
}

/* fits: by explained */
static struct needs find_needs(const struct model_fit *fits, int nfits)
{
        struct needs needs = { fits[0].explained - tie, INFINITY, INFINITY };
        double least = INFINITY;
        for (int i = nfits - 1; i >= 0; i--)
                if (choice_is_plausible(&fits[i]) && choice_is_good(&fits[i])) {
                        needs.explained = fits[i].explained - tie;
                        needs.most_heterozygosity = most_heterozygosity;
                }
        for (int i = 0; i < nfits; i++)
                if (has(&fits[i], &needs))
                        least = fmin(least, fits[i].parameters[MIXTURE_REPEATS]);
        needs.most_repeats = least + more_duplication;
        return needs;
}

static bool is_better(const struct model_fit *fit, const struct model_fit *other)
{
        const double ours = fit->rates, theirs = other->rates;
        if (fabs(ours - theirs) > same_share * fmax(ours, theirs) + same_rate)
                return ours < theirs;
        return fit->ploidy < other->ploidy; /* equal pairs of haplotypes: the same model */
}

static int choose(const struct model_fit *fits, int nfits, const struct needs *needs)
{
        int chosen = -1;
        for (int i = 0; i < nfits; i++)
                if (has(&fits[i], needs) && (chosen < 0 || is_better(&fits[i], &fits[chosen])))
                        chosen = i;
        return chosen < 0 ? 0 : chosen;
}

static int find_runner_up(const struct model_fit *fits, int nfits, const struct needs *needs)
{
        for (int i = 1; i < nfits; i++)
                if (has(&fits[i], needs) && choice_is_plausible(&fits[i]))
                        return i;
        return 0;
}

int choice_rank(struct model_fit *fits, int nfits)
{
        qsort(fits, (size_t)nfits, sizeof *fits, compare_explained);
        const struct needs needs = find_needs(fits, nfits);
        const int chosen = choose(fits, nfits, &needs);
        const struct model_fit first = fits[chosen];
        for (int i = chosen; i > 0; i--)
                fits[i] = fits[i - 1];
        fits[0] = first;
        return find_runner_up(fits, nfits, &needs);
}
