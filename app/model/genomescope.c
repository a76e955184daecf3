#include "app/model/genomescope.h"
#include "app/model/least_squares.h"
#include "app/model/mixture.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
        NROUNDS = 4,
        ROUND_STEP = 5,   /* each round leaves out this many rows more than the one before */
        ERROR_NROWS = 15, /* the minimum between errors and genome is one of these first rows */
        MAX_FITTED_ROWS = 2000,
        MAX_STEPS = 200, /* of the search for a minimum */
};
static const double similar_score = 0.20, different_heterozygosity = 0.01, smallest_rate = 1e-5;

enum { MOST = MIXTURE_MAX_PARAMETERS };

/* A fitted model. */
struct scope_fit {
        bool exists;
        double parameters[MOST], errors[MOST]; /* standard errors */
        double deviance;                       /* sum of squares over the rows that were fitted */
        double score; /* sum of squares from the end of the errors to the last row but one */
        double heterozygosity;
};

/* What all fits of a histogram share. */
struct setting {
        struct mixture mixture;
        size_t nrows;               /* including the last row, which is not fitted */
        double *x, *y;              /* [nrows]; y: the number of distinct k-mers */
        double *predicted, *unique; /* [nrows], scratch */
        double *components;         /* [ALLELES_MAX_COPIES][nrows], scratch */
        double *fitted_components;  /* [ALLELES_MAX_COPIES][MAX_FITTED_ROWS] */
        double *slopes;             /* [MOST][MAX_FITTED_ROWS], scratch */
};

/* The rows of a round: it takes the peak from all of them, and fits the first nfitted ones. */
struct window {
        struct setting *setting;
        const double *x, *y;
        size_t nrows, nfitted;
        struct components components; /* of the rows that are fitted */
};

static double range_low(double value, double error)
{
        return fmax(0, value - 2 * error);
}

static struct model_range range(double value, double error, double most)
{
        return (struct model_range){ .value = value,
                                     .low = range_low(value, error),
                                     .high = fmin(most, value + 2 * error) };
}

/* ---- fitting ---- */

static void find_residuals(void *context, const double *parameters, double *residuals)
{
        struct window *w = context;
        const struct mixture *mixture = &w->setting->mixture;
        mixture_find_components(mixture, parameters, &w->components);
        mixture_predict(mixture, parameters, &w->components, residuals);
        for (size_t i = 0; i < w->nfitted; i++)
                residuals[i] = w->x[i] * (w->y[i] - residuals[i]);
}

/* Find the deviance and the standard errors, with derivatives by differences as in R. Returns false
 * where R would report a singular gradient. */
static bool find_errors(struct window *w, struct scope_fit *fit)
{
        struct setting *s = w->setting;
        const size_t n = (size_t)s->mixture.nparameters, nrows = w->nfitted;
        double inverse[MOST * MOST], moved[MOST];
        find_residuals(w, fit->parameters, s->predicted);
        fit->deviance = 0;
        for (size_t i = 0; i < nrows; i++)
                fit->deviance += s->predicted[i] * s->predicted[i];
        for (size_t j = 0; j < n; j++) {
                const double at = fabs(fit->parameters[j]);
                const double step = sqrt(DBL_EPSILON) * (at > 0 ? at : 1);
                double *slope = s->slopes + j * nrows;
                memcpy(moved, fit->parameters, sizeof moved);
                moved[j] += step;
                find_residuals(w, moved, slope);
                for (size_t i = 0; i < nrows; i++)
                        slope[i] = (slope[i] - s->predicted[i]) / step;
        }
        if (!least_squares_invert(s->slopes, n, nrows, inverse) || nrows <= n)
                return false;
        for (size_t j = 0; j < n; j++)
                fit->errors[j] = sqrt(inverse[j * n + j] * fit->deviance / (double)(nrows - n));
        return isfinite(fit->deviance);
}

/* Row numbers: errors end before `first`; `last` is the last row up to the coverage. */
struct errors {
        size_t first, last;
};

/* Where the errors end: at the first row where less than one k-mer is beyond the prediction. */
static struct errors find_error_rows(const struct setting *s, const struct scope_fit *fit,
                                     size_t nrows)
{
        const int at = s->mixture.coverage;
        const double coverage = fmax(1, floor(range_low(fit->parameters[at], fit->errors[at])));
        struct errors found = { 0, 0 };
        while (found.last + 1 < nrows && s->x[found.last + 1] <= coverage)
                found.last++;
        while (found.first < found.last && s->y[found.first] - s->predicted[found.first] >= 1)
                found.first++;
        return found;
}

/* Predict the first nrows rows. Returns the distributions that this took. */
static struct components predict(struct setting *s, const struct scope_fit *fit, size_t nrows)
{
        struct components c = { .x = s->x, .n = nrows, .p = s->components, .bias = -1 };
        mixture_find_components(&s->mixture, fit->parameters, &c);
        mixture_predict(&s->mixture, fit->parameters, &c, s->predicted);
        return c;
}

static void find_score(struct setting *s, struct scope_fit *fit)
{
        const size_t nrows = s->nrows - 1;
        predict(s, fit, nrows);
        fit->score = 0;
        for (size_t i = find_error_rows(s, fit, nrows).first; i < nrows; i++)
                fit->score += pow(s->x[i] * (s->y[i] - s->predicted[i]), 2);
        fit->heterozygosity = mixture_heterozygosity(&s->mixture, fit->parameters);
}

/* The rates that this trial starts from. Returns false if an earlier trial starts from the same. */
static bool choose_rates(const struct mixture *mixture, int trial, double *rates)
{
        const int n = mixture->alleles.nrates;
        const double unit = trial < 3 ? 0.001 : 0.01;
        for (int i = 0; i < n; i++)
                rates[i] = unit * (trial % 3 == 0 ? 1 : trial % 3 == 1 ? i + 1 : n - i);
        return n > 1 || (n == 1 && trial % 3 == 0) || trial == 0;
}

/* The best of the fits that start at this coverage. */
static enum kc_status fit_from(struct window *w, double coverage, double nkmers,
                               struct scope_fit *best, struct kc_error *err)
{
        enum { NTRIALS = 6 };
        const struct mixture *mixture = &w->setting->mixture;
        double lower[MOST] = { 0 }, upper[MOST];
        const struct least_squares problem = {
                .nrows = w->nfitted,
                .nparameters = (size_t)mixture->nparameters,
                .lower = lower,
                .upper = upper,
                .max_rounds = MAX_STEPS,
                .first_step = 0.1,
                .tolerance = sqrt(DBL_EPSILON),
                .residuals = find_residuals,
                .context = w,
        };
        enum kc_status status = KC_OK;
        for (int i = 0; i < MOST; i++)
                upper[i] = i < mixture->coverage ? 1 : INFINITY;
        for (int i = MIXTURE_RATES; i < mixture->coverage; i++)
                lower[i] = smallest_rate;
        best->exists = false;
        for (int trial = 0; trial < NTRIALS; trial++) {
                struct scope_fit fit = { .exists = true, .parameters = { 0.1 } };
                if (!choose_rates(mixture, trial, fit.parameters + MIXTURE_RATES))
                        continue;
                fit.parameters[mixture->coverage] = coverage;
                fit.parameters[mixture->bias] = 0.5;
                fit.parameters[mixture->length] = nkmers / coverage / mixture->alleles.ploidy;
                KC_TRY(least_squares_fit(&problem, fit.parameters, err));
                if (find_errors(w, &fit) && (!best->exists || fit.deviance < best->deviance))
                        *best = fit;
        }
        if (best->exists)
                find_score(w->setting, best);
out:
        return status;
}

/* ---- choosing ---- */

/* Whether the second of two fits is better, by these scores. Both exist. */
static bool prefer_second(const struct scope_fit *first, const struct scope_fit *second,
                          double first_score, double second_score)
{
        const double most = fmax(first_score, second_score);
        if (fabs(first_score - second_score) / most < similar_score) {
                if (second->heterozygosity + different_heterozygosity < first->heterozygosity)
                        return true;
                if (first->heterozygosity + different_heterozygosity < second->heterozygosity)
                        return false;
        }
        return second_score < first_score;
}

static void keep_better_start(struct scope_fit *best, const struct scope_fit *fit)
{
        if (!fit->exists)
                return;
        /* of equal scores, the later start's is kept */
        if (!best->exists || best->score == fit->score ||
            prefer_second(best, fit, best->score, fit->score))
                *best = *fit;
}

static void keep_better_round(struct scope_fit *best, const struct scope_fit *fit)
{
        if (fit->exists &&
            (!best->exists || prefer_second(best, fit, best->deviance, fit->deviance)))
                *best = *fit;
}

/* Fit the rows from `start` to the last but one. */
static enum kc_status fit_round(struct setting *s, size_t start, struct scope_fit *best,
                                struct kc_error *err)
{
        struct window w = { .setting = s, .x = s->x + start, .y = s->y + start };
        double nkmers = 0, most = -1, peak = 0;
        enum kc_status status = KC_OK;
        best->exists = false;
        w.nrows = s->nrows - 1 > start ? s->nrows - 1 - start : 0;
        w.nfitted = w.nrows < MAX_FITTED_ROWS ? w.nrows : MAX_FITTED_ROWS;
        if (w.nfitted <= (size_t)s->mixture.nparameters)
                return KC_OK;
        w.components = (struct components){
                .x = w.x, .n = w.nfitted, .p = s->fitted_components, .bias = -1
        };
        for (size_t i = 0; i < w.nrows; i++) {
                nkmers += w.x[i] * w.y[i];
                if (w.x[i] * w.y[i] > most) {
                        most = w.x[i] * w.y[i];
                        peak = w.x[i];
                }
        }
        for (int i = 1; i <= s->mixture.alleles.ploidy; i++) {
                struct scope_fit fit;
                KC_TRY(fit_from(&w, peak / i, nkmers, &fit, err));
                keep_better_start(best, &fit);
        }
out:
        return status;
}

static size_t find_first_start(const struct setting *s)
{
        size_t start = 0;
        for (size_t i = 1; i < ERROR_NROWS; i++)
                if (s->x[i] * s->y[i] <= s->x[start] * s->y[start])
                        start = i;
        return start;
}

/* ---- results ---- */

static double fit_of(const struct setting *s, size_t first, size_t nrows)
{
        double total = 0, unexplained = 0;
        for (size_t i = first; i < nrows; i++) {
                total += s->x[i] * s->y[i];
                unexplained += fabs(s->x[i] * (s->y[i] - s->predicted[i]));
        }
        return 1 - unexplained / total;
}

/* The length of one haplotype that gives this many k-mers. */
static struct model_range length_of(double nkmers, const struct genomescope *r)
{
        const int ploidy = r->alleles.ploidy;
        return (struct model_range){ .value = nkmers / (ploidy * r->coverage.value),
                                     .low = nkmers / (ploidy * r->coverage.high),
                                     .high = nkmers / (ploidy * r->coverage.low) };
}

static void find_lengths(struct setting *s, const struct scope_fit *fit, struct genomescope *r)
{
        double total = 0, wrong = 0, unique = 0;
        const struct components components = predict(s, fit, s->nrows);
        const struct errors errors = find_error_rows(s, fit, s->nrows);
        for (size_t i = 0; i < s->nrows; i++)
                total += s->x[i] * s->y[i];
        for (size_t i = 0; i <= errors.last; i++)
                if (i < errors.first ||
                    (i == errors.first && s->y[i] - s->predicted[i] >= 1)) /* all are errors */
                        wrong += s->x[i] * (s->y[i] - s->predicted[i]);
        r->error_rate = 1 - pow(1 - wrong / total, 1.0 / s->mixture.k);
        mixture_predict_unique(&s->mixture, fit->parameters, &components, s->unique);
        for (size_t i = 0; i < s->nrows; i++)
                unique += s->x[i] * s->unique[i];
        r->haploid = length_of(total - wrong, r);
        r->repeated = length_of(fmax(0, total - unique - wrong), r);
        r->unique = total - unique - wrong > 0 ? length_of(unique, r) : r->haploid;
}

static void find_fits(struct setting *s, const struct scope_fit *fit, struct genomescope *r)
{
        const size_t nrows = s->nrows - 1;
        predict(s, fit, nrows);
        const struct errors errors = find_error_rows(s, fit, nrows);
        const double full = (2 * s->mixture.alleles.ploidy + 1) * fmax(1, floor(r->coverage.low));
        r->fit_all = fit_of(s, errors.first, nrows);
        r->fit_full = fit_of(s, errors.first, full < (double)nrows ? (size_t)full : nrows);
}

static void describe(struct setting *s, const struct scope_fit *fit, struct genomescope *r)
{
        const struct mixture *m = &s->mixture;
        memset(r, 0, sizeof *r);
        r->converged = fit->exists;
        r->alleles = m->alleles;
        if (!r->converged)
                return;
        for (int i = 0; i < m->alleles.nrates; i++) {
                r->rates[i] = range(fit->parameters[MIXTURE_RATES + i],
                                    fit->errors[MIXTURE_RATES + i], 1);
                r->heterozygosity.low += r->rates[i].low;
                r->heterozygosity.value += r->rates[i].value;
                r->heterozygosity.high += r->rates[i].high;
        }
        r->repeats = range(fit->parameters[MIXTURE_REPEATS], fit->errors[MIXTURE_REPEATS], 1);
        r->coverage = range(fit->parameters[m->coverage], fit->errors[m->coverage], INFINITY);
        r->bias = fit->parameters[m->bias];
        find_lengths(s, fit, r);
        find_fits(s, fit, r);
}

static enum kc_status set_up(struct setting *s, const struct histogram *h, int ploidy,
                             struct kc_error *err)
{
        const size_t n = h->nrows;
        const size_t nslopes = (size_t)MOST * MAX_FITTED_ROWS;
        const size_t nfitted = (size_t)ALLELES_MAX_COPIES * MAX_FITTED_ROWS;
        double *all = malloc(((4 + ALLELES_MAX_COPIES) * n + nslopes + nfitted) * sizeof *all);
        if (all == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory while a model is fitted");
        *s = (struct setting){ .nrows = n, .x = all, .y = all + n, .predicted = all + 2 * n };
        s->unique = s->predicted + n;
        s->components = s->unique + n;
        s->slopes = s->components + ALLELES_MAX_COPIES * n;
        s->fitted_components = s->slopes + nslopes;
        mixture_init(&s->mixture, ploidy, h->k);
        for (size_t i = 0; i < n; i++) {
                s->x[i] = (double)h->rows[i].count;
                s->y[i] = (double)h->rows[i].ndistinct;
        }
        return KC_OK;
}

enum kc_status genomescope_fit(const struct histogram *h, int ploidy, struct genomescope *result,
                               struct kc_error *err)
{
        struct setting s = { 0 };
        struct scope_fit best = { .exists = false };
        enum kc_status status;
        if (h->nrows < GENOMESCOPE_MIN_ROWS)
                return kc_fail(err, KC_EINPUT,
                               "the histogram has %zu rows: the fit of GenomeScope needs %d",
                               h->nrows, GENOMESCOPE_MIN_ROWS);
        KC_TRY(set_up(&s, h, ploidy, err));
        const size_t start = find_first_start(&s);
        for (size_t round = 0; round < NROUNDS; round++) {
                struct scope_fit fit;
                KC_TRY(fit_round(&s, start + round * ROUND_STEP, &fit, err));
                keep_better_round(&best, &fit);
        }
        describe(&s, &best, result);
out:
        free(s.x);
        return status;
}
