#include "app/model/fitting.h"
#include "app/model/choice.h"
#include "app/model/least_squares.h"

#include <math.h>
#include <string.h>

enum {
        MOST = MIXTURE_MAX_PARAMETERS,
        NROUNDS = 400,
        MOST_BINS = 2000, /* about as many rows are fitted, at most */
};

/* The rows of a fit, and the parts of the spectrum's scratch that it uses. */
struct rows {
        const struct mixture *mixture;
        const double *x, *y;
        size_t n;
        struct components components;
        double *f, *slopes; /* [n], [MOST][n] */
};

static struct rows rows_from(const struct spectrum *s, const struct mixture *mixture,
                             uint64_t first)
{
        struct rows r = { .mixture = mixture, .x = s->x + first, .y = s->y + first };
        r.n = s->n + 1 - (size_t)first;
        r.f = s->scratch;
        r.slopes = r.f + r.n;
        r.components = (struct components){ .x = r.x, .n = r.n, .bias = -1 };
        r.components.p = r.slopes + MOST * r.n;
        r.components.by_mean = r.components.p + ALLELES_MAX_COPIES * r.n;
        r.components.by_bias = r.components.by_mean + ALLELES_MAX_COPIES * r.n;
        return r;
}

/* Replace runs of rows by the row in their middle, with the mean number of k-mers: where there are
 * many rows, the peaks are wide. */
static void bin(struct rows *r)
{
        const size_t half = (r->n + MOST_BINS - 1) / MOST_BINS / 2, width = 2 * half + 1;
        double *x = r->components.by_bias + ALLELES_MAX_COPIES * r->n, *y = x + r->n;
        if (half == 0)
                return;
        r->n /= width;
        for (size_t i = 0; i < r->n; i++) {
                double sum = 0;
                for (size_t j = i * width; j < (i + 1) * width; j++)
                        sum += r->y[j];
                x[i] = r->x[i * width + half];
                y[i] = sum / (double)width;
        }
        r->x = r->components.x = x;
        r->y = y;
        r->components.n = r->n;
}

static void predict(struct rows *r, const double *parameters, double *f)
{
        mixture_find_components(r->mixture, parameters, &r->components);
        mixture_predict(r->mixture, parameters, &r->components, f);
}

static void find_residuals(void *context, const double *parameters, double *residuals)
{
        struct rows *r = context;
        predict(r, parameters, residuals);
        for (size_t i = 0; i < r->n; i++)
                residuals[i] = r->x[i] * (r->y[i] - residuals[i]);
}

static void find_slopes(void *context, const double *parameters, double *slopes)
{
        struct rows *r = context;
        predict(r, parameters, r->f);
        mixture_find_slopes(r->mixture, parameters, &r->components, r->f, slopes);
        for (int j = 0; j < r->mixture->nparameters; j++)
                for (size_t i = 0; i < r->n; i++)
                        slopes[(size_t)j * r->n + i] *= -r->x[i];
}

/* ---- one fit ---- */

struct bounds {
        double lower[MOST], upper[MOST];
};

/* The upper bound of the parameter; not for coverage and length. Where coverage varies by half from
 * place to place, the bias is a quarter of the count. */
static double find_upper(const struct mixture *m, int parameter, uint64_t peak)
{
        return parameter == MIXTURE_REPEATS ? 1
               : parameter < m->coverage    ? 0.25
                                            : fmax(20, (double)peak / 4);
}

static struct bounds choose_bounds(const struct mixture *m, double coverage, double length,
                                   uint64_t peak)
{
        struct bounds b = { .lower = { 0 } };
        for (int i = 0; i <= m->bias; i++)
                b.upper[i] = find_upper(m, i, peak);
        b.lower[m->coverage] = 0.6 * coverage;
        b.upper[m->coverage] = 1.6 * coverage;
        b.lower[m->bias] = 1e-3;
        b.lower[m->length] = 0.01 * length;
        b.upper[m->length] = 100 * length;
        return b;
}

/* The k-mers of one haplotype that the model describes, whatever their counts. */
static double find_described(const struct model_fit *fit)
{
        const double *p = fit->parameters;
        return p[fit->mixture.length] * (1 + p[MIXTURE_REPEATS]);
}

/* Compute how well the fit explains its rows. */
static void judge(struct rows *r, struct model_fit *fit)
{
        double total = 0, unexplained = 0;
        predict(r, fit->parameters, r->f);
        fit->residual_sum = 0;
        for (size_t i = 0; i < r->n; i++) {
                const double off = r->x[i] * (r->y[i] - r->f[i]);
                total += r->x[i] * r->y[i];
                unexplained += fabs(off);
                fit->residual_sum += off * off;
        }
        fit->explained = 1 - unexplained / total;
        fit->bic = (double)r->n * log(fit->residual_sum / (double)r->n) +
                   r->mixture->nparameters * log((double)r->n);
}

/* Find how much of the size the model does not describe, and the share of positions where
 * haplotypes differ, if this many bases of the size are not the genome's. What the model does not
 * describe are then repeats of many copies. It counts the k-mers of their alleles as if they were
 * of the described part; but there, a position has k-mers in few copies for each allele, and in
 * such repeats only for the rarer one. In the fit, those in i copies have a weight of i^1.5, from
 * x^2 and the width of their peak. At most as many positions as the model describes are taken to
 * be in repeats. */
static void leave_out(struct model_fit *fit, double length)
{
        const double described = find_described(fit), size = fmax(0, fit->size.value - length);
        const double rare = 1, frequent = pow(fit->ploidy - 1, 1.5);
        const double too_frequent =
                fmax(length, fit->frequent_nkmers / (fit->ploidy * fit->coverage.value));
        const double repeats = fit->size.value - too_frequent - described;
        fit->undescribed = fmax(0, 1 - described / size);
        fit->heterozygosity.value =
                fit->rates / (1 + fmin(fmax(0, repeats / described), 1) * rare / (rare + frequent));
}

/* The rows from 0 to the last of these, with the prediction. */
static struct rows predict_first(const struct spectrum *s, const struct model_fit *fit, size_t last)
{
        struct rows r = rows_from(s, &fit->mixture, 0);
        r.n = r.components.n = last + 1;
        r.components.by_mean = r.components.by_bias = NULL;
        predict(&r, fit->parameters, r.f);
        return r;
}

static void find_threshold(const struct spectrum *s, struct model_fit *fit)
{
        const double coverage = fit->parameters[fit->mixture.coverage];
        const size_t last = (size_t)coverage < s->n ? (size_t)coverage : s->n;
        const struct rows r = predict_first(s, fit, last);
        fit->threshold = 1;
        while (fit->threshold < last && r.f[fit->threshold] < 0.5 * r.y[fit->threshold])
                fit->threshold++;
}

/*
 * Compute what follows from the parameters and the threshold: errors, coverage, size and rates.
 * Errors are the k-mers beyond the prediction, from the smallest count on, until they are fewer
 * than one at a count, and at most up to the threshold: beyond it, they are more likely k-mers of
 * the genome at places of low coverage.
 */
static void derive(const struct spectrum *s, struct model_fit *fit)
{
        const struct mixture *m = &fit->mixture;
        const struct rows r = predict_first(s, fit, (size_t)fit->threshold);
        const double coverage = fit->parameters[m->coverage];
        fit->error_nkmers = 0;
        for (size_t i = (size_t)s->min_count; i < fit->threshold && r.y[i] - r.f[i] >= 1; i++)
                fit->error_nkmers += r.x[i] * (r.y[i] - r.f[i]);
        fit->coverage.value = coverage;
        fit->size.value = (s->nkmers - fit->error_nkmers) / (fit->ploidy * coverage);
        fit->rates = mixture_heterozygosity(m, fit->parameters);
        fit->frequent_nkmers = s->frequent_nkmers;
        leave_out(fit, 0);
        fit->error_rate.value = 1 - pow(1 - fit->error_nkmers / s->nkmers, 1.0 / s->k);
}

/* The k-mers that the model has and the reads do not, as a share of those of the genome. If they
 * were free, a fit could have any k-mers with counts beyond the fitted rows. A twentieth may be due
 * to the shape of the peak. */
static double find_surplus(const struct model_fit *fit)
{
        const double inaccurate = 0.05;
        return fmax(0, find_described(fit) / fit->size.value - 1 - inaccurate);
}

enum kc_status fitting_find_from(const struct spectrum *s, int ploidy, uint64_t first,
                                 double coverage, struct model_fit *fit, struct kc_error *err)
{
        *fit = (struct model_fit){ .ploidy = ploidy };
        mixture_init(&fit->mixture, ploidy, s->k);
        const struct mixture *m = &fit->mixture;
        struct rows rows = rows_from(s, m, first), bins = rows;
        double nkmers = 0;
        for (size_t i = 0; i < rows.n; i++)
                nkmers += rows.x[i] * rows.y[i];
        bin(&bins);
        const struct bounds bounds =
                choose_bounds(m, coverage, nkmers / (ploidy * coverage), s->peak);
        const struct least_squares problem = {
                .nrows = bins.n,
                .nparameters = (size_t)m->nparameters,
                .lower = bounds.lower,
                .upper = bounds.upper,
                .max_rounds = NROUNDS,
                .first_step = 1,
                .tolerance = 1e-9,
                .residuals = find_residuals,
                .slopes = find_slopes,
                .context = &bins,
        };
        fit->parameters[MIXTURE_REPEATS] = 0.1;
        for (int i = MIXTURE_RATES; i < m->coverage; i++)
                fit->parameters[i] = 0.01 / m->alleles.nrates;
        fit->parameters[m->coverage] = coverage;
        fit->parameters[m->bias] = 0.5;
        fit->parameters[m->length] = nkmers / (ploidy * coverage);
        const enum kc_status status = least_squares_fit(&problem, fit->parameters, err);
        if (status != KC_OK)
                return status;
        judge(&rows, fit);
        find_threshold(s, fit);
        derive(s, fit);
        fit->explained = fmax(0, fit->explained - find_surplus(fit));
        return KC_OK;
}

enum kc_status fitting_find(const struct spectrum *s, int ploidy, struct model_fit *best,
                            struct kc_error *err)
{
        struct model_fit fits[2 * ALLELES_MAX_PLOIDY];
        enum kc_status status = KC_OK;
        for (int j = 1; j <= 2 * ploidy; j++)
                KC_TRY(fitting_find_from(s, ploidy, s->valley, (double)s->peak / j, &fits[j - 1],
                                         err));
        choice_rank(fits, 2 * ploidy);
        *best = fits[0];
out:
        return status;
}

/* ---- intervals ---- */

enum { SIZE, HETEROZYGOSITY, COVERAGE, ERROR_RATE, NNUMBERS };

/* By what share of its value each number is off beyond chance, found with simulated genomes
 * (docs/dev/model.md). That of the heterozygosity is for ploidy 2. */
static const double systematic[NNUMBERS] = {
        [SIZE] = 0.01, [HETEROZYGOSITY] = 0.02, [COVERAGE] = 0.005, [ERROR_RATE] = 0.03
};
static const double systematic_rate = 0.0001; /* also, for error rate and heterozygosity */

static struct model_range *number_of(struct model_fit *fit, int number)
{
        return number == SIZE             ? &fit->size
               : number == HETEROZYGOSITY ? &fit->heterozygosity
               : number == COVERAGE       ? &fit->coverage
                                          : &fit->error_rate;
}

static bool is_inside(const struct spectrum *s, const struct model_fit *fit, int parameter)
{
        const double value = fit->parameters[parameter];
        return value > 1e-9 && value < find_upper(&fit->mixture, parameter, s->peak) - 1e-9;
}

/* Find the places of the parameters that are not at a bound. Returns their number. */
static size_t find_free(const struct spectrum *s, const struct model_fit *fit, int *places)
{
        const struct mixture *m = &fit->mixture;
        size_t n = 0;
        for (int i = 0; i < m->nparameters; i++)
                if (i == m->coverage || i == m->length || is_inside(s, fit, i))
                        places[n++] = i;
        return n;
}

/* The covariance of the free parameters, [n][n]. Returns false if they depend on each other, or if
 * there are too few rows. */
static bool find_covariance(const struct spectrum *s, const struct model_fit *fit,
                            const int *places, size_t n, double *covariance)
{
        struct rows rows = rows_from(s, &fit->mixture, s->valley);
        find_slopes(&rows, fit->parameters, rows.slopes);
        for (size_t j = 0; j < n; j++)
                memmove(rows.slopes + j * rows.n, rows.slopes + (size_t)places[j] * rows.n,
                        rows.n * sizeof *rows.slopes);
        if (rows.n <= n || !least_squares_invert(rows.slopes, n, rows.n, covariance))
                return false;
        for (size_t i = 0; i < n * n; i++)
                covariance[i] *= fit->residual_sum / (double)(rows.n - n);
        return true;
}

/* A tenth of a standard error, downwards if the parameter would be beyond its bound. */
static double find_step(const struct spectrum *s, const struct model_fit *fit, int parameter,
                        double variance)
{
        const struct mixture *m = &fit->mixture;
        const double step = 0.1 * sqrt(variance), value = fit->parameters[parameter];
        if (parameter < m->coverage && value + step > find_upper(m, parameter, s->peak))
                return -fmin(step, value);
        return step;
}

/* The variances of the numbers, by the delta method; all 0 if there is no covariance. */
static void find_variances(const struct spectrum *s, struct model_fit *fit,
                           double variances[NNUMBERS])
{
        double covariance[MOST * MOST], gradient[NNUMBERS][MOST];
        int places[MOST];
        const size_t n = find_free(s, fit, places);
        struct model_fit at = *fit;
        memset(variances, 0, NNUMBERS * sizeof *variances);
        fit->has_covariance = find_covariance(s, fit, places, n, covariance);
        if (!fit->has_covariance)
                return;
        for (size_t j = 0; j < n; j++) {
                const double step = find_step(s, fit, places[j], covariance[j * n + j]);
                struct model_fit moved = *fit;
                moved.parameters[places[j]] += step;
                derive(s, &moved);
                for (int i = 0; i < NNUMBERS; i++)
                        gradient[i][j] = (number_of(&moved, i)->value - number_of(&at, i)->value) /
                                         (step != 0 ? step : 1);
        }
        for (int i = 0; i < NNUMBERS; i++)
                for (size_t j = 0; j < n; j++)
                        for (size_t l = 0; l < n; l++)
                                variances[i] +=
                                        gradient[i][j] * gradient[i][l] * covariance[j * n + l];
}

/* The largest shifts of the numbers when the fit starts one or two rows later. */
static enum kc_status find_shifts(const struct spectrum *s, struct model_fit *fit,
                                  double shifts[NNUMBERS], struct kc_error *err)
{
        enum kc_status status = KC_OK;
        memset(shifts, 0, NNUMBERS * sizeof *shifts);
        for (uint64_t later = 1; later <= 2; later++) {
                struct model_fit other;
                KC_TRY(fitting_find_from(s, fit->ploidy, s->valley + later, fit->coverage.value,
                                         &other, err));
                for (int i = 0; i < NNUMBERS; i++)
                        shifts[i] = fmax(shifts[i], fabs(number_of(&other, i)->value -
                                                         number_of(fit, i)->value));
        }
out:
        return status;
}

/* At low coverage, errors overlap with the k-mers of one haplotype, and are taken for them; with
 * more than two haplotypes, the other peaks are also wider than their distances. Returns the
 * factor, at least 1, by which the heterozygosity is less certain. */
static double find_overlap(const struct model_fit *fit)
{
        const double enough = fit->ploidy > 2 ? 21 : 15;
        return pow(fmax(1, enough / fit->coverage.value), 2);
}

/* Where counts vary much from place to place, the peaks are not quite negative binomial: low counts
 * are taken for errors or for k-mers of fewer copies. In simulations, with reads in duplicates, the
 * numbers are then off by these factors of (bias / coverage)^2: size and coverage by a share, the
 * heterozygosity by itself. */
static double find_unevenness(const struct model_fit *fit, int number, double value)
{
        const double of_value = 1.5, of_rate = 0.08;
        const struct mixture *m = &fit->mixture;
        const double uneven = pow(fit->parameters[m->bias] / fit->parameters[m->coverage], 2);
        return number == HETEROZYGOSITY ? of_rate * uneven
               : number == ERROR_RATE   ? 0
                                        : of_value * uneven * value;
}

static double find_systematic(const struct model_fit *fit, int number, double value)
{
        double off = hypot(systematic[number] * value, find_unevenness(fit, number, value));
        if (number == HETEROZYGOSITY)
                off = hypot(off * fit->ploidy / 2 * find_overlap(fit),
                            0.3 * fit->undescribed * value);
        if (number == HETEROZYGOSITY || number == ERROR_RATE)
                off = hypot(off, systematic_rate);
        return off;
}

enum kc_status fitting_find_intervals(const struct spectrum *s, struct model_fit *fit,
                                      struct kc_error *err)
{
        double variances[NNUMBERS], shifts[NNUMBERS];
        enum kc_status status;
        find_variances(s, fit, variances);
        KC_TRY(find_shifts(s, fit, shifts, err));
        for (int i = 0; i < NNUMBERS; i++) {
                struct model_range *r = number_of(fit, i);
                const double off = find_systematic(fit, i, r->value);
                const double half = 1.96 * sqrt(variances[i] + pow(shifts[i] / 2, 2) + off * off);
                r->low = fmax(0, r->value - half);
                r->high = r->value + half;
                if (i == HETEROZYGOSITY || i == ERROR_RATE)
                        r->high = fmin(1, r->high);
        }
out:
        return status;
}

void fitting_leave_out(struct model_fit *fit, double length)
{
        struct model_range *r = &fit->heterozygosity;
        const double before = r->value;
        leave_out(fit, length);
        if (before > 0) {
                r->low *= r->value / before;
                r->high = fmin(1, r->high * r->value / before);
        }
}
