#include "app/model/alleles.h"

#include <math.h>
#include <string.h>

enum { MAX_PATTERNS = ALLELES_MAX_PATTERNS };

static const char *const patterns_of[ALLELES_MAX_PLOIDY][MAX_PATTERNS + 1] = {
        { "A" },
        { "AA", "AB" },
        { "AAA", "AAB", "ABC" },
        { "AAAA", "AAAB", "AABB", "AABC", "ABCD" },
        { "AAAAA", "AAAAB", "AAABB", "AAABC", "AABBC", "AABCD", "ABCDE" },
        { "AAAAAA", "AAAAAB", "AAAABB", "AAABBB", "AAAABC", "AAABBC", "AABBCC", "AAABCD", "AABBCD",
          "AABCDE", "ABCDEF" },
};

static bool refines(const char *fine, const char *coarse)
{
        for (size_t i = 0; fine[i] != '\0'; i++)
                for (size_t j = 0; j < i; j++)
                        if (fine[i] == fine[j] && coarse[i] != coarse[j])
                                return false;
        return true;
}

static int count_letter(const char *pattern, char letter)
{
        int n = 0;
        for (; *pattern != '\0'; pattern++)
                n += *pattern == letter;
        return n;
}

void alleles_init(struct alleles *a, int ploidy)
{
        int n = 0;
        memset(a, 0, sizeof *a);
        a->ploidy = ploidy;
        a->ncopies = 2 * ploidy;
        a->patterns = patterns_of[ploidy - 1];
        for (; a->patterns[n] != NULL; n++) {
                for (int coarse = 0; coarse <= n; coarse++)
                        a->refines[n][coarse] = refines(a->patterns[n], a->patterns[coarse]);
                a->first[n] = count_letter(a->patterns[n], 'A');
                for (char letter = 'B'; letter < 'A' + ploidy; letter++)
                        a->nwith[n][count_letter(a->patterns[n], letter)]++;
                a->nwith[n][0] = 0;
        }
        a->nrates = n - 1;
}

/* The share of k-mers with each pattern, and its derivatives with respect to the rates. */
struct patterns {
        double share[MAX_PATTERNS];
        double slopes[MAX_PATTERNS][ALLELES_MAX_RATES];
};

/* base^k is the share of the k-mers whose k positions all have patterns that p refines, p included.
 * These are the k-mers whose own pattern p refines; those of other patterns are subtracted. */
static void find_patterns(const struct alleles *a, int k, const double *rates, struct patterns *out)
{
        for (int p = 0; p <= a->nrates; p++) {
                double base = 1;
                for (int r = 0; r < a->nrates; r++)
                        base -= a->refines[p][r + 1] ? 0 : rates[r];
                out->share[p] = pow(base, k);
                for (int r = 0; r < a->nrates; r++)
                        out->slopes[p][r] = a->refines[p][r + 1] ? 0 : -k * pow(base, k - 1);
                for (int coarse = 0; coarse < p; coarse++) {
                        if (!a->refines[p][coarse])
                                continue;
                        out->share[p] -= out->share[coarse];
                        for (int r = 0; r < a->nrates; r++)
                                out->slopes[p][r] -= out->slopes[coarse][r];
                }
        }
}

static bool are_valid(const struct alleles *a, double repeats, const double *rates)
{
        double equal = 1;
        for (int r = 0; r < a->nrates; r++)
                equal -= rates[r];
        return equal >= 0 && repeats <= 1;
}

static void find_unique(const struct alleles *a, const double *share, double *out)
{
        for (int p = 0; p <= a->nrates; p++) {
                out[a->first[p] - 1] += share[p];
                for (int n = 1; n <= a->ploidy; n++)
                        out[n - 1] += share[p] * a->nwith[p][n];
        }
}

/* In the two places of a doubled part, allele A is the same, and all other alleles differ. */
static void find_doubled(const struct alleles *a, const double *share, double *out)
{
        for (int p = 0; p <= a->nrates; p++) {
                for (int q = 0; q <= a->nrates; q++)
                        out[a->first[p] + a->first[q] - 1] += share[p] * share[q];
                for (int n = 1; n <= a->ploidy; n++)
                        out[n - 1] += 2 * share[p] * a->nwith[p][n];
        }
}

/* The derivative of find_doubled's result with respect to a rate. */
static void find_doubled_slope(const struct alleles *a, const double *share,
                               const double (*slopes)[ALLELES_MAX_RATES], int rate, double *out)
{
        for (int p = 0; p <= a->nrates; p++) {
                const double slope = slopes[p][rate];
                for (int q = 0; q <= a->nrates; q++)
                        out[a->first[p] + a->first[q] - 1] += 2 * slope * share[q];
                for (int n = 1; n <= a->ploidy; n++)
                        out[n - 1] += 2 * slope * a->nwith[p][n];
        }
}

static void find_slopes(const struct alleles *a, const struct patterns *patterns, double repeats,
                        const double *unique, const double *doubled,
                        double (*slopes)[ALLELES_MAX_COPIES])
{
        for (int i = 0; i < a->ncopies; i++)
                slopes[0][i] = doubled[i] - unique[i];
        for (int r = 0; r < a->nrates; r++) {
                double of_unique[ALLELES_MAX_COPIES] = { 0 },
                       of_doubled[ALLELES_MAX_COPIES] = { 0 };
                double column[MAX_PATTERNS];
                for (int p = 0; p <= a->nrates; p++)
                        column[p] = patterns->slopes[p][r];
                find_unique(a, column, of_unique);
                find_doubled_slope(a, patterns->share, patterns->slopes, r, of_doubled);
                for (int i = 0; i < a->ncopies; i++)
                        slopes[1 + r][i] = (1 - repeats) * of_unique[i] + repeats * of_doubled[i];
        }
}

bool alleles_share(const struct alleles *a, int k, double repeats, const double *rates,
                   double *share, double (*slopes)[ALLELES_MAX_COPIES])
{
        struct patterns patterns;
        double unique[ALLELES_MAX_COPIES] = { 0 }, doubled[ALLELES_MAX_COPIES] = { 0 };
        if (!are_valid(a, repeats, rates))
                return false;
        find_patterns(a, k, rates, &patterns);
        find_unique(a, patterns.share, unique);
        find_doubled(a, patterns.share, doubled);
        for (int i = 0; i < a->ncopies; i++)
                share[i] = (1 - repeats) * unique[i] + repeats * doubled[i];
        if (slopes != NULL)
                find_slopes(a, &patterns, repeats, unique, doubled, slopes);
        return true;
}

bool alleles_unique_share(const struct alleles *a, int k, double repeats, const double *rates,
                          double *share)
{
        struct patterns patterns;
        if (!are_valid(a, repeats, rates))
                return false;
        find_patterns(a, k, rates, &patterns);
        memset(share, 0, (size_t)a->ploidy * sizeof *share);
        find_unique(a, patterns.share, share);
        for (int i = 0; i < a->ploidy; i++)
                share[i] *= 1 - repeats;
        return true;
}
