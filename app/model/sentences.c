/*
 * The caveats of a model in words (app/model/model_report.h).
 */
#include "app/model/model_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static const char *name_ploidy(int ploidy)
{
        static const char *const names[] = { "haploid",    "diploid",    "triploid",
                                             "tetraploid", "pentaploid", "hexaploid" };
        return names[ploidy - 1];
}

static void say_tie(const struct model *model, char *to)
{
        const struct model_fit *a = &model->fits[0], *b = &model->fits[model->runner_up];
        snprintf(to, MODEL_SENTENCE_NBYTES,
                 "A %s genome explains the counts about as well as a %s one (%.1f%% and %.1f%% of "
                 "the k-mers). The one with the lower heterozygosity is shown, or if that is "
                 "about equal, the one with fewer haplotypes; if you know the ploidy, give it "
                 "with -p.",
                 name_ploidy(b->ploidy), name_ploidy(a->ploidy), 100 * b->explained,
                 100 * a->explained);
}

static void say_rough_rate(const struct model_fit *fit, char *to)
{
        const double few_repeats = 0.1;
        const struct model_range *r = &fit->heterozygosity;
        snprintf(to, MODEL_SENTENCE_NBYTES,
                 "The heterozygosity is known only to within %.0f%%: %s.",
                 100 * (r->high / r->value - 1),
                 fit->undescribed > few_repeats
                         ? "the genome has repeats of many copies, and the model cannot say "
                           "how many of the alleles are theirs"
                         : "so few alleles are easily hidden by variation in the coverage");
}

/* The name of the first number whose interval is wider than its value. */
static const char *name_wide(const struct model_fit *fit)
{
        return fit->size.high - fit->size.low > fit->size.value               ? "size"
               : fit->coverage.high - fit->coverage.low > fit->coverage.value ? "coverage"
                                                                              : "heterozygosity";
}

static void say_cut(const struct model *model, char *to)
{
        if (model->rest > 0)
                snprintf(to, MODEL_SENTENCE_NBYTES,
                         "The last row seems to stand for all counts from %" PRIu64
                         " on, so the size lacks repeats: make a histogram of all counts, for "
                         "example with 'jellyfish histo -h' or KMC's -cs.",
                         model->rest);
        else
                snprintf(to, MODEL_SENTENCE_NBYTES,
                         "K-mers with counts over %" PRIu64
                         " are missing, so the size may lack repeats.",
                         model->origin.max_count);
}

/* How much the best fit leaves unexplained, as a share. */
static double find_unexplained(const struct model *model)
{
        double most = 0;
        for (int i = 0; i < model->nfits; i++)
                most = fmax(most, model->fits[i].explained);
        return 1 - most;
}

static void say(const struct model *model, int k, enum model_caveat caveat, char *to)
{
        const struct model_fit *fit = &model->fits[0];
        const size_t room = MODEL_SENTENCE_NBYTES;
        switch (caveat) {
        case MODEL_LOW_COVERAGE:
                snprintf(
                        to, room,
                        "The coverage of a haplotype is low (%.1f). Below 15, the counts of errors "
                        "and of the genome overlap, so %sthe ploidy may be wrong.",
                        fit->coverage.value,
                        fit->ploidy > 1 ? "the heterozygosity is uncertain, and " : "");
                break;
        case MODEL_BAD_FIT:
                snprintf(to, room,
                         "No ploidy explains the counts: the best one leaves %.0f%% of the k-mers "
                         "unexplained. The reads may come from several genomes, or cover the "
                         "genome unevenly; look at 'kcount hist --plot'.",
                         100 * find_unexplained(model));
                break;
        case MODEL_TIE:
                say_tie(model, to);
                break;
        case MODEL_MANY_ERRORS:
                snprintf(to, room,
                         "The reads have many errors (%.2f%% of the bases), and each error changes "
                         "up to k k-mers, so the coverage by k-mers is lower than that by reads.",
                         100 * fit->error_rate.value);
                break;
        case MODEL_SMALL_K:
                snprintf(to, room,
                         "k = %d is small for a genome of this size: more than one k-mer in a "
                         "thousand occurs twice by chance. Count with a larger k, such as %d.",
                         k, (int)ceil(log(fit->size.value / 0.001) / log(4)));
                break;
        case MODEL_FILTERED:
                snprintf(to, room,
                         "K-mers with counts under %" PRIu64 " are missing, so there is no error "
                         "rate, and the size may include some errors.",
                         model->origin.min_count);
                break;
        case MODEL_GROUPS:
                snprintf(to, room,
                         "K-mers that differ from the genome in GC content and depth (the groups "
                         "above) are left out of its size; with them, it would be %.0f bp. The "
                         "names of the groups are guesses from their depth.",
                         fit->size.value);
                break;
        case MODEL_COMPRESSED:
                snprintf(to, room,
                         "Homopolymers were compressed before the reads were counted (--hpc): the "
                         "size is that of the compressed genome, which is a quarter to a third "
                         "shorter.");
                break;
        case MODEL_HETEROZYGOUS:
                snprintf(to, room,
                         "A heterozygosity of %.0f%% is more than known genomes have, and no other "
                         "fit explains the counts: the reads may come from several genomes.",
                         100 * fit->rates);
                break;
        case MODEL_CUT:
                say_cut(model, to);
                break;
        case MODEL_UNCERTAIN:
                snprintf(to, room, "The %s is poorly known: its interval is wider than its value.",
                         name_wide(fit));
                break;
        case MODEL_UNDETERMINED:
                snprintf(to, room,
                         "The counts do not determine all parameters of the model, so the true "
                         "values may lie outside the intervals.");
                break;
        case MODEL_ROUGH_RATE:
                say_rough_rate(fit, to);
                break;
        case MODEL_ROUGH_FIT:
                snprintf(to, room,
                         "The best fit leaves %.0f%% of the k-mers unexplained, more than those of "
                         "one genome usually do: some reads may come from another genome, or the "
                         "ploidy may be none of those compared.",
                         100 * find_unexplained(model));
                break;
        case MODEL_UNDESCRIBED:
                snprintf(to, room,
                         "%.0f%% of the size comes from k-mers with more copies than the model "
                         "describes. If they are not repeats of the genome, but for example an "
                         "organelle or adapters, the genome is smaller.",
                         100 * fit->undescribed);
                break;
        }
}

int model_sentences(const struct model *model, int k,
                    char sentences[MODEL_MAX_SENTENCES][MODEL_SENTENCE_NBYTES])
{
        int n = 0;
        for (unsigned caveat = MODEL_LOW_COVERAGE; caveat <= MODEL_ROUGH_RATE; caveat <<= 1)
                if (model->caveats & caveat)
                        say(model, k, caveat, sentences[n++]);
        return n;
}
