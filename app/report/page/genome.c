#include "app/report/page/genome.h"

#include "app/model/binomial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
        PLAIN_ROWS = 100,     /* of a histogram without a model, at least */
        MOST_COUNTS = 400000, /* in all rows */
        LOOK_AHEAD = 3,       /* rows up to so many times the genome's depth */
        MOST_MISSING = 4,     /* a model allows k-mers with smaller counts to be missing */
        MOST_PEAK = 20000,    /* that is fitted */
        SINGLE_COUNTS = 64,
        PER_OCTAVE = 12,
        NCOLUMNS = SINGLE_COUNTS + 4 * PER_OCTAVE, /* by GC content: counts up to 1024 and more */
};

/* ---- the histogram ---- */

/* landscape_survey, also without rows. */
static struct landscape survey(const struct histogram *h)
{
        return h->nrows > 0 ? landscape_survey(h) : (struct landscape){ 0 };
}

/* How many counts the rows have. */
static size_t count_counts(const struct page_genome_input *in)
{
        const struct landscape land = survey(in->histogram);
        double n = PLAIN_ROWS;
        if (in->model != NULL) {
                const struct model_fit *fit = &in->model->fits[0];
                n = fmax(round(LOOK_AHEAD * fit->ploidy * fit->coverage.value),
                         (double)in->model->last);
        } else if (land.has_peak) {
                n = fmax(n, LOOK_AHEAD * (double)land.peak);
        }
        return (size_t)fmin(n, MOST_COUNTS);
}

static void set_rows(struct page_spectrum *s, size_t ncounts)
{
        const size_t width = (ncounts + PAGE_MAX_ROWS - 1) / PAGE_MAX_ROWS;
        *s = (struct page_spectrum){ .width = width, .n = (ncounts + width - 1) / width };
}

static void fill_spectrum(struct page *page, uint64_t *kmers, const struct histogram *h)
{
        struct page_spectrum *s = &page->spectrum;
        s->kmers = kmers;
        page->reads.nonce = 0;
        for (size_t i = 0; i < h->nrows; i++) {
                const struct kc_histogram_row *row = &h->rows[i];
                s->distinct += row->ndistinct;
                s->total += row->count * row->ndistinct;
                if (row->count == 1)
                        page->reads.nonce = row->ndistinct;
                if (row->count >= 1 && row->count <= s->n * s->width)
                        kmers[(row->count - 1) / s->width] += row->ndistinct;
                else
                        s->beyond += row->ndistinct;
        }
}

/* ---- the model ---- */

/* What the curves are calculated with: counts 1, 2, ..., and the probability of each. */
struct grid {
        size_t ncounts, width;
        double *x, *p; /* [ncounts] */
};

/* Add the k-mers in some numbers of copies to f, a number for each row. */
static void add_copies(const struct grid *grid, const struct model_fit *fit, int from, int to,
                       double *f)
{
        const struct mixture *m = &fit->mixture;
        const double *p = fit->parameters;
        double share[ALLELES_MAX_COPIES] = { 0 };
        if (!alleles_share(&m->alleles, m->k, p[MIXTURE_REPEATS], p + MIXTURE_RATES, share, NULL))
                return;
        for (int copies = from; copies <= to; copies++) {
                binomial_probabilities(grid->x, grid->ncounts, copies * p[m->coverage], p[m->bias],
                                       grid->p, NULL, NULL);
                for (size_t i = 0; i < grid->ncounts; i++)
                        f[i / grid->width] += p[m->length] * share[copies - 1] * grid->p[i];
        }
}

/* The errors of each row: what the model leaves over, until it is under one k-mer, below the
 * threshold. */
static void set_errors(const struct page *page, const struct model *model, const double *curve,
                       double *errors)
{
        const struct page_spectrum *s = &page->spectrum;
        const size_t last = (size_t)(model->fits[0].threshold - 1) / s->width;
        for (size_t i = 0; i < s->n && (i < last || i == 0); i++) {
                const double over = (double)s->kmers[i] - curve[i];
                if (over < 1 && (i + 1) * s->width >= model->origin.min_count)
                        break;
                errors[i] = fmax(over, 0);
        }
}

static struct page_range range_from(struct model_range range)
{
        return (struct page_range){ range.value, range.low, range.high };
}

static void fill_model(struct page *page, const struct model *model)
{
        const struct model_fit *fit = &model->fits[0];
        const struct mixture *m = &fit->mixture;
        struct page_model *to = &page->model;
        to->ploidy = fit->ploidy;
        to->runner_up = model->runner_up > 0 ? model->fits[model->runner_up].ploidy : 0;
        to->fits = !(model->caveats & MODEL_BAD_FIT);
        to->length = fit->parameters[m->length];
        to->coverage = fit->parameters[m->coverage];
        to->bias = fit->parameters[m->bias];
        to->duplication = fit->parameters[MIXTURE_REPEATS];
        to->nrates = m->alleles.nrates;
        memcpy(to->rates, fit->parameters + MIXTURE_RATES, (size_t)to->nrates * sizeof *to->rates);
        to->fit_first = model->first;
        to->fit_last = model->last;
        to->peak = model->peak;
        to->explained = fit->explained;
        to->threshold = fit->threshold;
        to->too_heterozygous = model->caveats & MODEL_HETEROZYGOUS;
        to->uncertain = model->caveats & MODEL_UNCERTAIN;
        to->undetermined = model->caveats & MODEL_UNDETERMINED;
        to->rough = model->caveats & MODEL_ROUGH_FIT;
        to->rough_rate = model->caveats & MODEL_ROUGH_RATE;
        to->undescribed = model->caveats & MODEL_UNDESCRIBED ? fit->undescribed : 0;
        to->nfrequent = fit->frequent_nkmers;
        page->small_k = model->caveats & MODEL_SMALL_K;
}

static void fill_verdict(struct page *page, const struct model *model)
{
        const struct model_fit *fit = &model->fits[0];
        const double nread =
                page->reads.nbases > 0 ? (double)page->reads.nbases : (double)page->spectrum.total;
        page->verdict = (struct page_verdict){
                .genome_size = range_from(model->size),
                .all_kmers = fit->size.value,
                .heterozygosity = range_from(fit->heterozygosity),
                .coverage = range_from(fit->coverage),
                .error_rate = range_from(fit->error_rate),
                .has_error_rate = !(model->caveats & MODEL_FILTERED),
                .read_depth = nread / fit->size.value,
        };
}

static void fill_candidate(struct page_candidate *to, const struct model *model, int i,
                           const double *curve)
{
        const struct model_fit *fit = &model->fits[i];
        double best = 0, least_bic = fit->bic;
        for (int j = 0; j < model->nfits; j++) {
                best = fmax(best, model->fits[j].explained);
                least_bic = fmin(least_bic, model->fits[j].bic);
        }
        *to = (struct page_candidate){
                .ploidy = fit->ploidy,
                .tied = best - fit->explained <= 0.01,
                .explained = fit->explained,
                .bic = fit->bic,
                .delta_bic = fit->bic - least_bic,
                .coverage = fit->coverage.value,
                .haploid = fit->size.value,
                .heterozygosity = fit->heterozygosity.value,
                .duplication = fit->parameters[MIXTURE_REPEATS],
                .curve = curve,
        };
}

/* curves: [4 + nfits][n], all 0 */
static void fill_all_of_model(struct page *page, double *curves, const struct grid *grid,
                              const struct model *model)
{
        const size_t n = page->spectrum.n;
        const struct model_fit *fit = &model->fits[0];
        double *errors = curves, *some = curves + n, *all = some + n, *more = all + n;
        double *curve = more + n;
        const int p = fit->ploidy;
        add_copies(grid, fit, 1, p - 1, some);
        add_copies(grid, fit, p, p, all);
        add_copies(grid, fit, p + 1, 2 * p, more);
        for (int i = 0; i < model->nfits; i++, curve += n) {
                add_copies(grid, &model->fits[i], 1, 2 * model->fits[i].ploidy, curve);
                fill_candidate(&page->candidates[i], model, i, curve);
        }
        page->ncandidates = model->nfits;
        set_errors(page, model, page->candidates[0].curve, errors);
        fill_model(page, model);
        page->model.errors = errors;
        page->model.heterozygous = some;
        page->model.homozygous = all;
        page->model.repeated = more;
        fill_verdict(page, model);
}

/* ---- GC content ---- */

static size_t set_columns(uint64_t *first)
{
        for (size_t i = 0; i < NCOLUMNS; i++)
                first[i] = i < SINGLE_COUNTS
                                   ? i + 1
                                   : (uint64_t)round(
                                             SINGLE_COUNTS *
                                             exp2(((double)i + 1 - SINGLE_COUNTS) / PER_OCTAVE));
        return NCOLUMNS;
}

static size_t find_column(const uint64_t *first, uint64_t count)
{
        size_t column = count < SINGLE_COUNTS ? (size_t)count - 1 : SINGLE_COUNTS - 1;
        while (column + 1 < NCOLUMNS && first[column + 1] <= count)
                column++;
        return column;
}

static void fill_groups(struct page_gc *gc, const struct groups *groups)
{
        gc->main_gc = groups->main_gc;
        gc->ngroups = groups->n;
        for (int i = 0; i < groups->n; i++) {
                const struct group *g = &groups->groups[i];
                gc->groups[i] = (struct page_group){
                        .nkmers = (uint64_t)round(g->nkmers),
                        .ninstances = (uint64_t)round(g->instances),
                        .from_count = g->from_count,
                        .to_count = g->to_count,
                        .depth = g->depth,
                        .times = g->times,
                        .gc = g->gc,
                };
        }
}

/* counts: [1 + k + 1][NCOLUMNS], all 0; the last column has all higher counts, too */
static void fill_gc(struct page *page, uint64_t *counts, const struct page_genome_input *in)
{
        uint64_t *first = counts, *kmers = counts + NCOLUMNS;
        page->gc = (struct page_gc){ .first = first, .kmers = kmers };
        page->gc.ncolumns = set_columns(first);
        for (size_t i = 0; i < in->ngc; i++)
                kmers[in->gc[i].gc * NCOLUMNS + find_column(first, in->gc[i].count)] +=
                        in->gc[i].ndistinct;
        if (in->model != NULL && in->model->has_gc)
                fill_groups(&page->gc, &in->model->groups);
}

static enum kc_status allocate(const struct page *page, struct page_genome *genome, size_t ncurves,
                               struct grid *grid, struct kc_error *err)
{
        const struct page_spectrum *s = &page->spectrum;
        const size_t n = s->n, k = (size_t)page->k;
        *grid = (struct grid){ .ncounts = n * s->width, .width = s->width };
        genome->counts = calloc(n + (k + 2) * NCOLUMNS, sizeof *genome->counts);
        genome->curves = calloc(ncurves * n + 2 * grid->ncounts, sizeof *genome->curves);
        if (genome->counts == NULL || genome->curves == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory while a report is made");
        grid->x = genome->curves + ncurves * n;
        grid->p = grid->x + grid->ncounts;
        for (size_t i = 0; i < grid->ncounts; i++)
                grid->x[i] = (double)(i + 1);
        return KC_OK;
}

enum kc_status page_fill_genome(struct page *page, struct page_genome *genome,
                                const struct page_genome_input *in, struct kc_error *err)
{
        const struct model *model = in->model;
        struct grid grid;
        enum kc_status status;
        *genome = (struct page_genome){ 0 };
        page->k = in->histogram->k;
        page->model = (struct page_model){ .refusal = model != NULL ? PAGE_GIVEN : in->refusal };
        set_rows(&page->spectrum, count_counts(in));
        KC_TRY(allocate(page, genome, model != NULL ? 4 + (size_t)model->nfits : 0, &grid, err));
        fill_spectrum(page, genome->counts, in->histogram);
        if (model != NULL)
                fill_all_of_model(page, genome->curves, &grid, model);
        if (in->ngc > 0)
                fill_gc(page, genome->counts + page->spectrum.n, in);
out:
        return status;
}

void page_genome_free(struct page_genome *genome)
{
        free(genome->counts);
        free(genome->curves);
        *genome = (struct page_genome){ 0 };
}

enum page_refusal page_find_refusal(const struct histogram *histogram,
                                    const struct model_origin *origin)
{
        if (origin->selected)
                return PAGE_SELECTED;
        if (origin->stranded)
                return PAGE_STRANDED;
        if (origin->min_count > MOST_MISSING)
                return PAGE_FILTERED;
        const struct landscape land = survey(histogram);
        if (!land.has_peak)
                return PAGE_NO_PEAK;
        return land.peak > MOST_PEAK ? PAGE_HIGH_PEAK : PAGE_LOW_COVERAGE;
}
