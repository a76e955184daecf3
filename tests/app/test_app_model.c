/* model: the parts of the fit are compared with plain computations. */
#include "app/model/alleles.h"
#include "app/model/binomial.h"
#include "app/model/choice.h"
#include "app/model/fitting.h"
#include "app/model/groups.h"
#include "app/model/least_squares.h"
#include "app/model/mixture.h"
#include "app/model/model_report.h"
#include "app/model/table.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void assert_near(double got, double wanted, double tolerance)
{
        if (!(fabs(got - wanted) <= tolerance * fmax(1e-12, fabs(wanted))))
                fail_msg("%.17g is not %.17g", got, wanted);
}

/* ---- the negative binomial ---- */

/* From the definition, as a product. */
static double plain_probability(int x, double mean, double bias)
{
        const double size = mean / bias;
        double p = -size * log1p(bias);
        for (int i = 0; i < x; i++)
                p += log((size + i) / (i + 1) * bias / (1 + bias));
        return exp(p);
}

static void probabilities_are_those_of_the_definition(void **state)
{
        static const double means[] = { 0.3, 5, 40, 1200 }, biases[] = { 1e-3, 0.1, 0.5, 3, 20 };
        (void)state;
        for (size_t i = 0; i < sizeof means / sizeof *means; i++)
                for (size_t j = 0; j < sizeof biases / sizeof *biases; j++)
                        for (int x = 0; x < 3000; x += x < 60 ? 1 : 97) {
                                const double wanted = plain_probability(x, means[i], biases[j]);
                                if (wanted > 1e-280)
                                        assert_near(binomial_probability(x, means[i], biases[j]),
                                                    wanted, 1e-9);
                        }
}

static void without_bias_it_is_poisson(void **state)
{
        (void)state;
        for (int x = 0; x < 100; x++)
                assert_near(binomial_probability(x, 30, 0), exp(x * log(30) - 30 - lgamma(x + 1.0)),
                            1e-10);
        assert_near(binomial_probability(31, 30, 1e-12), binomial_probability(31, 30, 0), 1e-9);
}

/* For rows with narrow and wide gaps, below and above the mode. */
static void many_probabilities_are_those_of_one(void **state)
{
        enum { N = 700 };
        double x[N], p[N], by_mean[N], by_bias[N];
        (void)state;
        for (int i = 0; i < N; i++)
                x[i] = i < 300 ? i : i < 600 ? x[i - 1] + 1 + i % 5 : x[i - 1] * 1.03 + 40;
        for (int i = 0; i < N; i++)
                x[i] = floor(x[i]);
        for (double mean = 3; mean < 9000; mean *= 3) {
                const double bias = 0.7, step = 1e-5;
                binomial_probabilities(x, N, mean, bias, p, by_mean, by_bias);
                for (int i = 0; i < N; i++) {
                        const double wanted = binomial_probability(x[i], mean, bias);
                        if (wanted < 1e-200)
                                continue;
                        assert_near(p[i], wanted, 1e-9);
                        const double mean_slope =
                                (binomial_probability(x[i], mean * (1 + step), bias) -
                                 binomial_probability(x[i], mean * (1 - step), bias)) /
                                (2 * step * mean);
                        const double bias_slope = (binomial_probability(x[i], mean, bias + step) -
                                                   binomial_probability(x[i], mean, bias - step)) /
                                                  (2 * step);
                        assert_true(fabs(by_mean[i] - mean_slope) <=
                                    1e-4 * (fabs(mean_slope) + p[i]));
                        assert_true(fabs(by_bias[i] - bias_slope) <=
                                    1e-4 * (fabs(bias_slope) + p[i]));
                }
        }
}

/* As above, for the middles of equal bins, and for a bias with which products would overflow. */
static void probabilities_of_bins_are_those_of_one(void **state)
{
        enum { N = 1500 };
        static const double steps[] = { 1, 2, 7, 31, 32, 33 }, biases[] = { 0.5, 300, 1e7 };
        double x[N], p[N], by_mean[N], by_bias[N];
        (void)state;
        for (size_t j = 0; j < sizeof steps / sizeof *steps; j++)
                for (size_t l = 0; l < sizeof biases / sizeof *biases; l++) {
                        const double mean = 700 * steps[j], bias = biases[l], size = mean / bias;
                        for (int i = 0; i < N; i++)
                                x[i] = i * steps[j] + floor(steps[j] / 2);
                        binomial_probabilities(x, N, mean, bias, p, by_mean, by_bias);
                        double sum = -log1p(bias); /* of the derivative of log p, times bias */
                        for (int i = 0, at = 0; i < N; i++) {
                                const double wanted = binomial_probability(x[i], mean, bias);
                                for (; at < x[i]; at++)
                                        sum += 1 / (at + size);
                                assert_near(p[i], wanted, 1e-9);
                                assert_near(by_mean[i], p[i] * sum / bias, 1e-7);
                                assert_near(by_bias[i],
                                            p[i] * ((x[i] / bias - size) / (1 + bias) -
                                                    sum * size / bias),
                                            1e-6);
                        }
                }
}

/* ---- alleles ---- */

/* A walk through all ways in which k positions can have patterns, with their probabilities. */
struct walk {
        const struct alleles *alleles;
        const double *rates;
        double found[ALLELES_MAX_PLOIDY + 1]; /* [n]: k-mers in n haplotypes */
        int k;
};

/* labels: haplotypes that are equal so far have the same number */
static void walk(struct walk *w, int position, const int *labels, double chance)
{
        const int ploidy = w->alleles->ploidy;
        if (position == w->k) {
                for (int label = 0; label < 1 << 20; label++) {
                        int n = 0, seen = 0;
                        for (int i = 0; i < ploidy; i++) {
                                n += labels[i] == label;
                                seen += labels[i] > label;
                        }
                        if (n > 0)
                                w->found[n] += chance;
                        if (seen == 0)
                                return;
                }
        }
        for (int p = 0; p <= w->alleles->nrates; p++) {
                double rate = 1;
                int next[ALLELES_MAX_PLOIDY];
                for (int r = 0; p == 0 && r < w->alleles->nrates; r++)
                        rate -= w->rates[r];
                for (int i = 0; i < ploidy; i++)
                        next[i] = labels[i] * 6 + w->alleles->patterns[p][i] - 'A';
                walk(w, position + 1, next, chance * (p == 0 ? rate : w->rates[p - 1]));
        }
}

/* For k = 3 and each ploidy up to 4, with all genomes of three positions. */
static void shares_are_those_of_all_genomes(void **state)
{
        static const double rates[ALLELES_MAX_RATES] = { 0.11, 0.05, 0.07, 0.03 };
        (void)state;
        for (int ploidy = 1; ploidy <= 4; ploidy++) {
                struct alleles alleles;
                double share[ALLELES_MAX_PLOIDY];
                const int labels[ALLELES_MAX_PLOIDY] = { 0 };
                alleles_init(&alleles, ploidy);
                struct walk w = { .alleles = &alleles, .rates = rates, .k = 3 };
                walk(&w, 0, labels, 1);
                assert_true(alleles_unique_share(&alleles, 3, 0, rates, share));
                for (int n = 1; n <= ploidy; n++)
                        assert_near(share[n - 1], w.found[n], 1e-12);
        }
}

static void copies_add_up(void **state)
{
        double rates[ALLELES_MAX_RATES], share[ALLELES_MAX_COPIES];
        (void)state;
        for (int ploidy = 1; ploidy <= ALLELES_MAX_PLOIDY; ploidy++) {
                struct alleles alleles;
                double sum = 0;
                alleles_init(&alleles, ploidy);
                for (int i = 0; i < alleles.nrates; i++)
                        rates[i] = 0.002 * (i + 1);
                assert_true(alleles_share(&alleles, 21, 0.3, rates, share, NULL));
                for (int i = 0; i < alleles.ncopies; i++)
                        sum += (i + 1) * share[i];
                assert_near(sum, ploidy * (1 + 0.3), 1e-12);
        }
}

static void rates_out_of_range_are_refused(void **state)
{
        struct alleles alleles;
        double share[ALLELES_MAX_COPIES];
        (void)state;
        alleles_init(&alleles, 3);
        assert_false(alleles_share(&alleles, 21, 0.1, (const double[]){ 0.6, 0.5 }, share, NULL));
        assert_false(alleles_share(&alleles, 21, 1.1, (const double[]){ 0.1, 0.1 }, share, NULL));
        assert_true(alleles_share(&alleles, 21, 1, (const double[]){ 0.5, 0.5 }, share, NULL));
}

static void slopes_are_derivatives(void **state)
{
        (void)state;
        for (int ploidy = 1; ploidy <= ALLELES_MAX_PLOIDY; ploidy++) {
                struct alleles alleles;
                double at[1 + ALLELES_MAX_RATES] = { 0.2 }, share[ALLELES_MAX_COPIES];
                double slopes[1 + ALLELES_MAX_RATES][ALLELES_MAX_COPIES];
                alleles_init(&alleles, ploidy);
                for (int i = 0; i < alleles.nrates; i++)
                        at[1 + i] = 0.003 + 0.001 * i;
                assert_true(alleles_share(&alleles, 21, at[0], at + 1, share, slopes));
                for (int j = 0; j <= alleles.nrates; j++) {
                        const double step = 1e-7;
                        double above[ALLELES_MAX_COPIES], below[ALLELES_MAX_COPIES];
                        at[j] += step;
                        alleles_share(&alleles, 21, at[0], at + 1, above, NULL);
                        at[j] -= 2 * step;
                        alleles_share(&alleles, 21, at[0], at + 1, below, NULL);
                        at[j] += step;
                        for (int i = 0; i < alleles.ncopies; i++)
                                assert_true(fabs((above[i] - below[i]) / (2 * step) -
                                                 slopes[j][i]) < 1e-5);
                }
        }
}

/* ---- least squares ---- */

static void an_inverse_is_one(void **state)
{
        double slopes[] = { 1, 2, 3, 4, 2, 0, 1, 1, 0, 5, 1, 2 }, kept[12], inverse[9];
        (void)state;
        memcpy(kept, slopes, sizeof kept);
        assert_true(least_squares_invert(slopes, 3, 4, inverse));
        for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++) {
                        double sum = 0;
                        for (int at = 0; at < 3; at++)
                                for (int row = 0; row < 4; row++)
                                        sum += inverse[i * 3 + at] * kept[at * 4 + row] *
                                               kept[j * 4 + row];
                        assert_true(fabs(sum - (i == j)) < 1e-12);
                }
        memcpy(slopes, (const double[]){ 1, 2, 3, 4, 2, 4, 6, 8 }, 8 * sizeof *slopes);
        assert_false(least_squares_invert(slopes, 2, 4, inverse));
}

/* ---- the prediction and the choice ---- */

static void slopes_of_a_prediction_are_derivatives(void **state)
{
        enum { N = 60, MOST = MIXTURE_MAX_PARAMETERS };
        static double x[N], p[3][ALLELES_MAX_COPIES * N], f[N], slopes[MOST * N], up[N], down[N];
        (void)state;
        for (int i = 0; i < N; i++)
                x[i] = i + 2;
        for (int ploidy = 1; ploidy <= ALLELES_MAX_PLOIDY; ploidy++) {
                struct mixture m;
                struct components c = {
                        .x = x, .n = N, .bias = -1, .p = p[0], .by_mean = p[1], .by_bias = p[2]
                };
                double at[MOST] = { 0.15 };
                mixture_init(&m, ploidy, 21);
                for (int i = MIXTURE_RATES; i < m.coverage; i++)
                        at[i] = 0.002 + 0.001 * i;
                at[m.coverage] = 13;
                at[m.bias] = 0.6;
                at[m.length] = 1e6;
                mixture_find_components(&m, at, &c);
                mixture_predict(&m, at, &c, f);
                mixture_find_slopes(&m, at, &c, f, slopes);
                for (int j = 0; j < m.nparameters; j++) {
                        const double step = 1e-6 * at[j], kept = at[j];
                        at[j] = kept + step;
                        mixture_find_components(&m, at, &c);
                        mixture_predict(&m, at, &c, up);
                        at[j] = kept - step;
                        mixture_find_components(&m, at, &c);
                        mixture_predict(&m, at, &c, down);
                        at[j] = kept;
                        for (int i = 0; i < N; i++)
                                assert_true(
                                        fabs((up[i] - down[i]) / (2 * step) - slopes[j * N + i]) <=
                                        1e-4 * fabs(slopes[j * N + i]) + 1e-6 * f[i] / at[j]);
                }
        }
}

static struct model_fit fit_of(int ploidy, double explained, double heterozygosity, double repeats)
{
        struct model_fit fit = { .ploidy = ploidy, .explained = explained };
        fit.rates = fit.heterozygosity.value = heterozygosity;
        fit.parameters[MIXTURE_REPEATS] = repeats;
        return fit;
}

static void the_plausible_fit_is_chosen(void **state)
{
        (void)state;
        /* a tie: the lowest heterozygosity is chosen, and no other fit is plausible */
        struct model_fit diploid[] = { fit_of(1, 0.90, 0, 0.1), fit_of(4, 0.979, 0.15, 0.1),
                                       fit_of(2, 0.975, 0.01, 0.1) };
        assert_int_equal(choice_rank(diploid, 3), 0);
        assert_int_equal(diploid[0].ploidy, 2);
        assert_int_equal(diploid[1].ploidy, 4);
        assert_int_equal(diploid[2].ploidy, 1);
        /* no tie */
        struct model_fit tetraploid[] = { fit_of(2, 0.96, 0.01, 0.1), fit_of(4, 0.975, 0.02, 0.1) };
        assert_int_equal(choice_rank(tetraploid, 2), 0);
        assert_int_equal(tetraploid[0].ploidy, 4);
        /* alleles taken for repeats */
        struct model_fit doubled[] = { fit_of(1, 0.98, 0, 0.4), fit_of(2, 0.978, 0.03, 0.05) };
        assert_int_equal(choice_rank(doubled, 2), 0);
        assert_int_equal(doubled[0].ploidy, 2);
        /* the same heterozygosity: the lower ploidy wins, with a runner-up */
        struct model_fit pairs[] = { fit_of(4, 0.98, 0.0304, 0.1), fit_of(2, 0.979, 0.0305, 0.1) };
        assert_int_equal(choice_rank(pairs, 2), 1);
        assert_int_equal(pairs[0].ploidy, 2);
}

static void an_implausible_fit_needs_no_other_good_one(void **state)
{
        (void)state;
        /* over 10 % heterozygosity, it neither is chosen nor sets the tie */
        struct model_fit good[] = { fit_of(4, 0.98, 0.15, 0), fit_of(1, 0.89, 0, 0.1),
                                    fit_of(2, 0.92, 0.03, 0.1) };
        assert_int_equal(choice_rank(good, 3), 0);
        assert_int_equal(good[0].ploidy, 2);
        assert_int_equal(good[1].ploidy, 4);
        /* nor does its lack of repeats rule another one out */
        struct model_fit repeated[] = { fit_of(4, 0.98, 0.15, 0), fit_of(2, 0.979, 0.03, 0.3) };
        assert_int_equal(choice_rank(repeated, 2), 0);
        assert_int_equal(repeated[0].ploidy, 2);
        struct model_fit alone[] = { fit_of(2, 0.89, 0.03, 0), fit_of(4, 0.98, 0.15, 0) };
        assert_int_equal(choice_rank(alone, 2), 0);
        assert_int_equal(alone[0].ploidy, 4);
}

/* ---- fits of computed histograms ---- */

enum { NCOUNTS = 480 };

/* A haploid genome of 100 million positions, 30 % of it in 2 to 20 copies, and errors. */
static void fill_families(struct kc_histogram_row *rows)
{
        static const int copies[] = { 1, 2, 3, 4, 6, 10, 20 };
        for (int x = 1; x <= NCOUNTS; x++) {
                double number = 2e8 * exp(1.5 * (1 - x));
                for (size_t i = 0; i < sizeof copies / sizeof *copies; i++)
                        number += (i == 0 ? 7e7 : 5e6) / copies[i] *
                                  binomial_probability(x, 40.0 * copies[i], 0.6);
                rows[x - 1] = (struct kc_histogram_row){ (uint64_t)x, (uint64_t)(number + 0.5) };
        }
}

/* A fit that takes the peak for that of one of three haplotypes predicts three times as many k-mers
 * as there are, and its repeats are at their bound. */
static void a_fit_at_a_bound_has_an_interval(void **state)
{
        struct kc_histogram_row rows[NCOUNTS];
        const struct histogram histogram = { rows, NCOUNTS, 21 };
        struct spectrum spectrum = { 0 };
        struct model_fit fit;
        struct kc_error err;
        (void)state;
        if (!least_squares_exist())
                skip();
        fill_families(rows);
        assert_int_equal(spectrum_open(&spectrum, &histogram, 1, &err), KC_OK);
        assert_int_equal(
                fitting_find_from(&spectrum, 3, spectrum.valley, (double)spectrum.peak, &fit, &err),
                KC_OK);
        assert_near(fit.coverage.value, 40, 0.02);
        assert_true(fit.parameters[MIXTURE_REPEATS] > 0.99);
        assert_true(fit.explained < 0.5);
        assert_int_equal(fitting_find_intervals(&spectrum, &fit, &err), KC_OK);
        assert_true(fit.size.high < 1.5 * fit.size.value);
        assert_true(fit.size.low > 0.5 * fit.size.value);
        assert_true(fit.heterozygosity.high <= 1 && fit.error_rate.high <= 1);
        spectrum_free(&spectrum);
}

/* A diploid genome of a million positions: a fifth of them are of a repeat in 40 copies, and the
 * haplotypes differ at as many positions there as elsewhere. */
static void alleles_of_repeats_count_once(void **state)
{
        const double rate = 0.01, size = 1e6, repeated = 0.2, coverage = 20, bias = 0.6;
        const double same = pow(1 - rate, 21);
        struct kc_histogram_row rows[NCOUNTS];
        const struct histogram histogram = { rows, NCOUNTS, 21 };
        const struct model_origin origin = { .min_count = 1 };
        const int ploidies[] = { 2 };
        struct model model;
        struct kc_error err;
        (void)state;
        if (!least_squares_exist())
                skip();
        for (int x = 1; x <= NCOUNTS; x++) {
                const double alleles =
                        size * (1 - same) * (2 * (1 - repeated) + repeated /* one is frequent */);
                double number = 2e6 * exp(1.5 * (1 - x));
                number += alleles * binomial_probability(x, coverage, bias);
                number +=
                        size * (1 - repeated) * same * binomial_probability(x, 2 * coverage, bias);
                if (x == NCOUNTS) /* frequent k-mers, as one row */
                        number += size * repeated * (1 + same) * coverage / NCOUNTS;
                rows[x - 1] = (struct kc_histogram_row){ (uint64_t)x, (uint64_t)(number + 0.5) };
        }
        assert_int_equal(model_find(&histogram, &origin, NULL, ploidies, 1, &model, &err), KC_OK);
        assert_near(model.fits[0].size.value, size, 0.005);
        assert_near(model.fits[0].undescribed, repeated, 0.1);
        assert_near(model.fits[0].heterozygosity.value, rate, 0.01);
        assert_true(model.fits[0].rates > 1.1 * rate);
        const double share = model.fits[0].heterozygosity.low / model.fits[0].heterozygosity.value;
        fitting_leave_out(&model.fits[0], repeated * size);
        assert_near(model.fits[0].heterozygosity.value, model.fits[0].rates, 0.01);
        assert_near(model.fits[0].heterozygosity.low / model.fits[0].heterozygosity.value, share,
                    1e-9);
}

static void each_caveat_has_a_sentence(void **state)
{
        enum { NCAVEATS = 15 };
        char sentences[MODEL_MAX_SENTENCES][MODEL_SENTENCE_NBYTES];
        struct model model = { .caveats = (1u << NCAVEATS) - 1, .nfits = 2, .runner_up = 1 };
        (void)state;
        for (int i = 0; i < 2; i++) {
                model.fits[i] = fit_of(6, 0.9, 0.1, 1);
                model.fits[i].size = (struct model_range){ 1e17, 0, 1e18 };
        }
        model.rest = model.origin.max_count = model.origin.min_count = UINT32_MAX;
        assert_int_equal(model_sentences(&model, 21, sentences), NCAVEATS);
        for (int i = 0; i < NCAVEATS; i++)
                assert_int_equal(sentences[i][strlen(sentences[i]) - 1], '.');
}

/* ---- groups ---- */

/* A genome with a count of 40, and groups of 5,000 k-mers with 100, 150, ... and less GC. */
static void all_groups_are_subtracted(void **state)
{
        enum { NMAIN = 7, NGROUPS = GROUPS_MAX + 3 };
        struct kc_gc_cell cells[NGROUPS + NMAIN];
        struct groups groups;
        struct kc_error err;
        double count = 100, sum = 0;
        (void)state;
        for (uint32_t i = 0; i < NGROUPS; i++, count *= 1.5) {
                cells[i] = (struct kc_gc_cell){ 2, (uint32_t)count, 5000, 5000 * (uint64_t)count };
                sum += (double)cells[i].sum;
        }
        for (uint32_t i = 0; i < NMAIN; i++)
                cells[NGROUPS + i] = (struct kc_gc_cell){ 7 + i, 40, 100000, 4000000 };
        assert_int_equal(groups_find(cells, NGROUPS + NMAIN, 21, 40, 10, &groups, &err), KC_OK);
        assert_int_equal(groups.n, GROUPS_MAX);
        assert_near(groups.instances, sum, 1e-12);
}

/* ---- tables ---- */

static void assert_table(const char *text, size_t nrows, uint64_t last_count, uint64_t last_number)
{
        struct kc_histogram_row *rows;
        struct kc_error err = { 0 };
        size_t n;
        assert_int_equal(table_parse(text, strlen(text), "t", &rows, &n, &err), KC_OK);
        assert_int_equal(n, nrows);
        assert_int_equal(rows[n - 1].count, last_count);
        assert_int_equal(rows[n - 1].ndistinct, last_number);
        free(rows);
}

static void assert_refused(const char *text, const char *message)
{
        struct kc_histogram_row *rows;
        struct kc_error err = { 0 };
        size_t n;
        assert_int_equal(table_parse(text, strlen(text), "t", &rows, &n, &err), KC_EINPUT);
        if (strstr(err.message, message) == NULL)
                fail_msg("'%s' does not say '%s'", err.message, message);
}

static void tables_of_all_programs_are_read(void **state)
{
        (void)state;
        assert_table("1\t10\n2\t20\n", 2, 2, 20);
        assert_table("1 10\n2 20", 2, 2, 20);
        assert_table("# Title\n\n  1   10  \r\n9\t0\r\n", 2, 9, 0);
        assert_table("0,7\n1,10\n9007199254740992 , 1\n", 2, 1ull << 53, 1);
}

static void other_text_is_refused(void **state)
{
        (void)state;
        assert_refused("", "no rows");
        assert_refused("#only\n", "no rows");
        assert_refused("1 2\n3\n", "line 2: '3' is not a row");
        assert_refused("1 2 3\n", "line 1");
        assert_refused("1 -2\n", "line 1");
        assert_refused("1 18446744073709551616\n", "line 1");
        assert_refused("2 5\n2 6\n", "count 2 comes after count 2");
        assert_refused("ACGT 5\n", "'ACGT 5' is not a row");
        assert_refused("1 5\n9007199254740993 6\n", "line 2: the count 9007199254740993 is too");
        assert_refused("18446744073709551615 1\n", "line 1: the count 18446744073709551615 is");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(probabilities_are_those_of_the_definition),
                cmocka_unit_test(without_bias_it_is_poisson),
                cmocka_unit_test(many_probabilities_are_those_of_one),
                cmocka_unit_test(probabilities_of_bins_are_those_of_one),
                cmocka_unit_test(shares_are_those_of_all_genomes),
                cmocka_unit_test(copies_add_up),
                cmocka_unit_test(rates_out_of_range_are_refused),
                cmocka_unit_test(slopes_are_derivatives),
                cmocka_unit_test(an_inverse_is_one),
                cmocka_unit_test(slopes_of_a_prediction_are_derivatives),
                cmocka_unit_test(the_plausible_fit_is_chosen),
                cmocka_unit_test(an_implausible_fit_needs_no_other_good_one),
                cmocka_unit_test(a_fit_at_a_bound_has_an_interval),
                cmocka_unit_test(alleles_of_repeats_count_once),
                cmocka_unit_test(each_caveat_has_a_sentence),
                cmocka_unit_test(all_groups_are_subtracted),
                cmocka_unit_test(tables_of_all_programs_are_read),
                cmocka_unit_test(other_text_is_refused),
        };
        const int nfailed = cmocka_run_group_tests(tests, NULL, NULL);
        return nfailed == 0 && !least_squares_exist() ? 77 : nfailed; /* 77: some were skipped */
}
