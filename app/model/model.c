#include "app/model/model.h"
#include "app/model/choice.h"
#include "app/model/fitting.h"

#include <inttypes.h>
#include <math.h>

static const double least_coverage = 8, good_coverage = 15, many_errors = 0.01,
                    chance_share = 0.001, small_rate = 0.001, least_explained = 0.95,
                    most_undescribed = 0.25, rough = 0.2;

enum { MOST_MISSING = 4 }; /* k-mers with counts under this may be missing */

/* ---- what is refused ---- */

static enum kc_status check_origin(const struct model_origin *origin, struct kc_error *err)
{
        if (origin->selected)
                return kc_fail(err, KC_EINPUT,
                               "only k-mers of a given set were counted (--only): their counts are "
                               "not those of a genome");
        if (origin->stranded)
                return kc_fail(err, KC_EINPUT,
                               "the k-mers of both strands were counted separately (--stranded): "
                               "for a model, count the reads without it");
        if (origin->mixed)
                return kc_fail(err, KC_EINPUT,
                               "only some of the reads were counted with --min or --max: for a "
                               "model, count all of them without");
        if (origin->min_count > MOST_MISSING)
                return kc_fail(err, KC_EINPUT,
                               "k-mers with counts under %" PRIu64
                               " are missing: a model needs them, "
                               "so count the reads with --min 1",
                               origin->min_count);
        return KC_OK;
}

static enum kc_status check_rows(const struct model_origin *origin, const struct spectrum *spectrum,
                                 struct kc_error *err)
{
        if (origin->max_count == 0 || origin->max_count >= spectrum->last)
                return KC_OK;
        return kc_fail(err, KC_EINPUT,
                       "k-mers with counts over %" PRIu64 " are missing: a model needs those up to "
                       "%" PRIu64 ", so count the reads without --max",
                       origin->max_count, spectrum->last);
}

static enum kc_status check_coverage(const struct model_fit *fit, struct kc_error *err)
{
        if (fit->coverage.value >= least_coverage)
                return KC_OK;
        return kc_fail(err, KC_EINPUT,
                       "each haplotype is covered only %.1f times by k-mers (ploidy %d): a model "
                       "needs at least %.0f, so sequence more, or use all reads",
                       fit->coverage.value, fit->ploidy, least_coverage);
}

/* ---- caveats ---- */

/* Whether more than one k-mer of the genome in a thousand occurs twice by chance. */
static bool is_small(int k, double size)
{
        return k < log(size * (1 - chance_share) / chance_share) / log(4);
}

static bool is_wide(struct model_range r)
{
        return r.high - r.low > r.value;
}

/* Whether size, coverage or heterozygosity are hardly known. For a rate near 0, that is usual. */
static bool is_uncertain(const struct model_fit *fit)
{
        return is_wide(fit->size) || is_wide(fit->coverage) ||
               (fit->heterozygosity.value >= small_rate && is_wide(fit->heterozygosity));
}

/* Not for rates of about 0, which are known to few digits. */
static bool is_rough(struct model_range rate)
{
        return rate.value >= small_rate / 2 && rate.high - rate.value > rough * rate.value;
}

/* Without a verdict, there are no caveats about it. */
static unsigned find_caveats(const struct model *model, int k)
{
        const struct model_fit *fit = &model->fits[0];
        const bool filtered = model->origin.min_count > 1;
        unsigned caveats = 0;
        const struct model_fit *best = fit;
        for (int i = 1; i < model->nfits; i++)
                if (model->fits[i].explained > best->explained)
                        best = &model->fits[i];
        if (!choice_is_good(best)) {
                caveats = MODEL_BAD_FIT;
        } else {
                caveats |= model->runner_up > 0 ? MODEL_TIE : 0;
                caveats |= choice_is_plausible(fit) ? 0 : MODEL_HETEROZYGOUS;
                caveats |= is_uncertain(fit)               ? MODEL_UNCERTAIN
                           : is_rough(fit->heterozygosity) ? MODEL_ROUGH_RATE
                                                           : 0;
                caveats |= fit->has_covariance ? 0 : MODEL_UNDETERMINED;
                caveats |= best->explained < least_explained ? MODEL_ROUGH_FIT : 0;
                caveats |= fit->undescribed > most_undescribed ? MODEL_UNDESCRIBED : 0;
                caveats |= model->groups.n > 0 ? MODEL_GROUPS : 0;
        }
        caveats |= model->rest > 0 || model->origin.max_count > 0 ? MODEL_CUT : 0;
        caveats |= fit->coverage.value < good_coverage ? MODEL_LOW_COVERAGE : 0;
        caveats |= fit->error_rate.value >= many_errors && !filtered ? MODEL_MANY_ERRORS : 0;
        caveats |= is_small(k, fit->size.value) ? MODEL_SMALL_K : 0;
        caveats |= filtered ? MODEL_FILTERED : 0;
        caveats |= model->origin.compressed ? MODEL_COMPRESSED : 0;
        return caveats;
}

static enum kc_status find_fits(const struct spectrum *spectrum, const int *ploidies, int nploidies,
                                struct model *model, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (int i = 0; i < nploidies; i++)
                KC_TRY(fitting_find(spectrum, ploidies[i], &model->fits[i], err));
        model->nfits = nploidies;
        model->runner_up = choice_rank(model->fits, nploidies);
        KC_TRY(check_coverage(&model->fits[0], err));
        for (int i = 0; i < nploidies; i++)
                KC_TRY(fitting_find_intervals(spectrum, &model->fits[i], err));
        const struct model_fit *fit = &model->fits[0];
        KC_TRY(fitting_find_from(spectrum, fit->ploidy, spectrum->valley, fit->coverage.value / 2,
                                 &model->half, err));
        KC_TRY(fitting_find_from(spectrum, fit->ploidy, spectrum->valley, fit->coverage.value * 2,
                                 &model->twice, err));
out:
        return status;
}

/* Subtract the groups from the genome. The number of their k-mers is known to about a tenth. */
static enum kc_status leave_groups_out(struct model *model, const struct model_gc *gc, int k,
                                       struct kc_error *err)
{
        const double uncertain = 0.1;
        struct model_fit *fit = &model->fits[0];
        const double depth = fit->ploidy * fit->coverage.value;
        enum kc_status status =
                groups_find(gc->cells, gc->ncells, k, depth, fit->threshold, &model->groups, err);
        if (status != KC_OK)
                return status;
        const double off = model->groups.instances / depth;
        const double half = hypot((model->size.high - model->size.low) / 2, uncertain * off);
        model->has_gc = true;
        model->size.value -= off;
        model->size.low = fmax(0, model->size.value - half);
        model->size.high = model->size.value + half;
        fitting_leave_out(fit, off);
        return KC_OK;
}

enum kc_status model_find(const struct histogram *histogram, const struct model_origin *origin,
                          const struct model_gc *gc, const int *ploidies, int nploidies,
                          struct model *model, struct kc_error *err)
{
        static const int usual[] = { 1, 2, 4 };
        struct spectrum spectrum = { 0 };
        enum kc_status status;
        *model = (struct model){ .origin = *origin };
        if (nploidies == 0) {
                ploidies = usual;
                nploidies = (int)(sizeof usual / sizeof *usual);
        }
        KC_TRY(check_origin(origin, err));
        KC_TRY(spectrum_open(&spectrum, histogram, origin->min_count, err));
        KC_TRY(check_rows(origin, &spectrum, err));
        model->first = spectrum.valley;
        model->last = spectrum.last;
        model->peak = spectrum.peak;
        model->rest = spectrum.rest;
        model->nkmers = spectrum.nkmers;
        KC_TRY(find_fits(&spectrum, ploidies, nploidies, model, err));
        model->size = model->fits[0].size;
        if (gc != NULL)
                KC_TRY(leave_groups_out(model, gc, histogram->k, err));
        model->caveats = find_caveats(model, histogram->k);
out:
        spectrum_free(&spectrum);
        return status;
}
