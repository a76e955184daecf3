#include "app/report/page/caveats.h"

#include "app/report/page/figures.h"
#include "app/report/page/parts.h"

#include <stdarg.h>
#include <stdio.h>

static const double good_coverage = 15, many_errors = 0.01, good_qv = 40, bad_qv = 30;
/* of the k-mers that all haplotypes have, in % */
static const double some_off = 1, many_off = 5, worth_saying = 0.5;

/* ---- levels ---- */

enum page_level page_level_size(const struct page *page)
{
        const struct page_reads *reads = &page->reads;
        return page->gc.ngroups > 0 || page->small_k || reads->compressed || reads->removed ||
                               reads->max_count > 0 || page->model.uncertain ||
                               page->model.undetermined
                       ? PAGE_CHECK
                       : PAGE_GOOD;
}

enum page_level page_level_ploidy(const struct page *page)
{
        return page->model.runner_up > 0 || page->model.too_heterozygous ? PAGE_CHECK : PAGE_GOOD;
}

enum page_level page_level_heterozygosity(const struct page *page)
{
        return page->model.too_heterozygous || page->model.uncertain ? PAGE_CHECK : PAGE_GOOD;
}

enum page_level page_level_coverage(const struct page *page)
{
        return page->verdict.coverage.value < good_coverage ? PAGE_CHECK : PAGE_GOOD;
}

enum page_level page_level_errors(const struct page *page)
{
        return page->verdict.error_rate.value >= many_errors ? PAGE_CHECK : PAGE_GOOD;
}

static enum page_level worse(enum page_level a, enum page_level b)
{
        return a > b ? a : b;
}

static enum page_level level_of_percent(double percent)
{
        return percent > many_off ? PAGE_PROBLEM : percent > some_off ? PAGE_CHECK : PAGE_GOOD;
}

static enum page_level level_of_qv(const struct page_qv *qv)
{
        const double value = qv->is_bound ? qv->qv.low : qv->qv.value;
        if (value < bad_qv && !qv->is_bound)
                return PAGE_PROBLEM;
        return value < good_qv ? PAGE_CHECK : PAGE_GOOD;
}

/* Two haplotypes together should have all that only one copy of the genome has. */
static bool has_both_haplotypes(const struct page *page)
{
        return page->nassemblies == 2 && page->model.ploidy == 2 && page->all.copies.has_parts;
}

static enum page_level level_of_comparison(const struct page_comparison *c)
{
        const struct page_part *part = &c->copies.parts[PAGE_HOMOZYGOUS];
        enum page_level level =
                c->quality.refusal == PAGE_GIVEN ? level_of_qv(&c->quality.raw) : PAGE_CHECK;
        if (c->copies.has_parts) {
                level = worse(level, level_of_percent(part->missing_percent));
                level = worse(level, level_of_percent(part->twice_percent));
        }
        return level;
}

enum page_level page_level_assembly(const struct page *page)
{
        enum page_level level = page->small_k ? PAGE_CHECK : PAGE_GOOD;
        for (int i = 0; i < page->nassemblies; i++)
                level = worse(level, level_of_comparison(page_comparison_of(page, i)));
        if (has_both_haplotypes(page))
                level = worse(level,
                              level_of_percent(
                                      page->all.copies.parts[PAGE_HETEROZYGOUS].missing_percent));
        return level;
}

/* ---- the list ---- */

enum caveat_id {
        NO_MODEL,
        POOR_FIT,
        UNCERTAIN_PLOIDY,
        TOO_HETEROZYGOUS,
        UNCERTAIN_NUMBERS,
        UNDETERMINED,
        ROUGH_FIT,
        ROUGH_RATE,
        UNDESCRIBED,
        LOW_COVERAGE,
        MANY_READ_ERRORS,
        NO_ERROR_RATE,
        SMALL_K,
        READS_COMPRESSED,
        READS_FILTERED,
        LOW_QUALITY,
        UNLIKE_GROUP,
        NO_QV,
        QV_OF_FILTERED,
        QV_OF_COMPRESSED,
        NO_GENOME,
        NO_KMERS,
        LOW_QV,
        MISSING,
        TWICE,
        MISSING_HAPLOTYPE,
        NO_MINIMUM,
        NOTHING_SOLID,
        COUNTED,
        LOW_QV_SEQUENCE,
        SECOND_COPY,
        PART_DOUBLED,
        UNLIKE_SEQUENCE,
};

static const struct {
        const char *name, *subject, *panel;
} ids[] = {
        [NO_MODEL] = { "no_model", "Model", "spectrum" },
        [POOR_FIT] = { "poor_fit", "Model", "ploidy" },
        [UNCERTAIN_PLOIDY] = { "ploidy_uncertain", "Model", "ploidy" },
        [TOO_HETEROZYGOUS] = { "too_heterozygous", "Model", "ploidy" },
        [UNCERTAIN_NUMBERS] = { "numbers_uncertain", "Model", "spectrum" },
        [UNDETERMINED] = { "model_undetermined", "Model", "spectrum" },
        [ROUGH_FIT] = { "rough_fit", "Model", "ploidy" },
        [ROUGH_RATE] = { "heterozygosity_rough", "Model", "spectrum" },
        [UNDESCRIBED] = { "size_beyond_model", "Model", "spectrum" },
        [LOW_COVERAGE] = { "low_coverage", "Reads", "spectrum" },
        [MANY_READ_ERRORS] = { "many_read_errors", "Reads", "spectrum" },
        [NO_ERROR_RATE] = { "no_error_rate", "Reads", "spectrum" },
        [SMALL_K] = { "k_too_small", "Reads", "spectrum" },
        [READS_COMPRESSED] = { "homopolymers_compressed", "Reads", "provenance" },
        [READS_FILTERED] = { "reads_filtered", "Reads", "provenance" },
        [LOW_QUALITY] = { "low_quality_left_out", "Reads", "provenance" },
        [UNLIKE_GROUP] = { "group_unlike_genome", "Reads", "gc" },
        [NO_QV] = { "no_qv", "Assembly", "quality" },
        [QV_OF_FILTERED] = { "reads_filtered", "Assembly", "quality" },
        [QV_OF_COMPRESSED] = { "homopolymers_compressed", "Assembly", "quality" },
        [NO_GENOME] = { "larger_than_genome", "Assembly", "quality" },
        [NO_KMERS] = { "assembly_without_kmers", "Assembly", "quality" },
        [LOW_QV] = { "low_qv", "Assembly", "quality" },
        [MISSING] = { "sequence_missing", "Assembly", "copies" },
        [TWICE] = { "sequence_doubled", "Assembly", "copies" },
        [MISSING_HAPLOTYPE] = { "haplotype_missing", "Assembly", "copies" },
        [NO_MINIMUM] = { "no_minimum", "Reads", "quality" },
        [NOTHING_SOLID] = { "nothing_solid", "Reads", "quality" },
        [COUNTED] = { "assembly_counted", "Assembly", "provenance" },
        [LOW_QV_SEQUENCE] = { "sequence_of_low_qv", "Assembly", "sequences" },
        [SECOND_COPY] = { "second_copy", "Assembly", "sequences" },
        [PART_DOUBLED] = { "part_doubled", "Assembly", "sequences" },
        [UNLIKE_SEQUENCE] = { "sequence_unlike_genome", "Assembly", "sequences" },
};

struct caveat_list {
        struct page_caveat *caveats;
        size_t n;
};

static void add(struct caveat_list *list, enum caveat_id id, enum page_level level,
                const char *format, ...) __attribute__((format(printf, 4, 5)));

static void add(struct caveat_list *list, enum caveat_id id, enum page_level level,
                const char *format, ...)
{
        va_list args;
        if (list->n == PAGE_MAX_CAVEATS)
                return;
        struct page_caveat *c = &list->caveats[list->n++];
        c->name = ids[id].name;
        c->level = level;
        c->subject = ids[id].subject;
        c->panel = ids[id].panel;
        va_start(args, format);
        vsnprintf(c->text, sizeof c->text, format, args);
        va_end(args);
}

/* Names as two arguments, for %.*s: of assemblies; of sequences, which may be long. */
#define NAME(name)     figure_name_length(name, 100), name
#define SEQUENCE(name) figure_name_length(name, 200), name

/* ---- the model ---- */

static void add_of_parameters(const struct page *page, struct caveat_list *list)
{
        if (page->model.too_heterozygous)
                add(list, TOO_HETEROZYGOUS, PAGE_CHECK,
                    "A heterozygosity of %s is more than known genomes have, and no other ploidy "
                    "%s: the reads may come from several genomes.",
                    figure_percent(page->verdict.heterozygosity.value, 0).text,
                    page->ncandidates == 1 ? "was compared" : "explains the counts");
        if (page->model.uncertain)
                add(list, UNCERTAIN_NUMBERS, PAGE_CHECK,
                    "The genome size, coverage or heterozygosity is poorly known: its interval is "
                    "wider than its value.");
        if (page->model.undetermined)
                add(list, UNDETERMINED, PAGE_CHECK,
                    "The counts do not determine all parameters of the model, so the true values "
                    "may lie outside the intervals.");
        if (page->model.rough)
                add(list, ROUGH_FIT, PAGE_CHECK,
                    "The model leaves %s of the k-mers unexplained, more than those of one genome "
                    "usually do: some reads may come from another genome, or the ploidy may be "
                    "none of those compared.",
                    figure_percent(1 - page->model.explained, 0).text);
        if (page->model.rough_rate)
                add(list, ROUGH_RATE, PAGE_CHECK,
                    "The heterozygosity is known only roughly: it may be anything from %s to %s.",
                    figure_percent(page->verdict.heterozygosity.low, 2).text,
                    figure_percent(page->verdict.heterozygosity.high, 2).text);
        if (page->model.undescribed > 0)
                add(list, UNDESCRIBED, PAGE_CHECK,
                    "%s of the genome size comes from k-mers with more copies than the model "
                    "describes. If they are not repeats of the genome, but an organelle or "
                    "adapters, the genome is smaller.",
                    figure_percent(page->model.undescribed, 0).text);
}

static void add_of_verdict(const struct page *page, struct caveat_list *list)
{
        const struct page_verdict *v = &page->verdict;
        if (page->model.runner_up > 0)
                add(list, UNCERTAIN_PLOIDY, PAGE_CHECK,
                    "The counts fit a %s genome about as well as a %s one. The one with fewer "
                    "differences between its copies is reported. "
                    "If you know the ploidy, give it with --ploidy.",
                    figure_ploidy(page->model.runner_up), figure_ploidy(page->model.ploidy));
        add_of_parameters(page, list);
        if (v->coverage.value < good_coverage)
                add(list, LOW_COVERAGE, PAGE_CHECK,
                    "Each haplotype is covered only %s times. Below 15, the counts of errors and "
                    "of the genome overlap: %sthe ploidy may be wrong.",
                    figure_depth(v->coverage.value).text,
                    page->model.ploidy > 1 ? "the heterozygosity is uncertain, and " : "");
        if (v->has_error_rate && v->error_rate.value >= many_errors)
                add(list, MANY_READ_ERRORS, PAGE_CHECK,
                    "%s of the bases are wrong. Most %d-mers of such reads contain an error, so "
                    "the k-mer coverage is far lower than the base coverage.",
                    figure_percent(v->error_rate.value, 1).text, page->k);
        if (!v->has_error_rate)
                add(list, NO_ERROR_RATE, PAGE_CHECK,
                    "K-mers with counts under %s were left out when the reads were counted: the "
                    "error rate is unknown, and the genome size includes some errors.",
                    figure_count((double)page->reads.min_count).text);
}

static void add_of_poor_fit(const struct page *page, struct caveat_list *list)
{
        const struct figure unexplained = figure_percent(1 - page->model.explained, 0);
        if (page->ncandidates == 1)
                add(list, POOR_FIT, PAGE_PROBLEM,
                    "The model of ploidy %d leaves %s of the k-mers unexplained, so no genome size "
                    "is given. No other ploidy was compared. The reads may come from several "
                    "genomes, or cover one unevenly.",
                    page->candidates[0].ploidy, unexplained.text);
        else
                add(list, POOR_FIT, PAGE_PROBLEM,
                    "No ploidy explains the counts: the best one leaves %s of the k-mers "
                    "unexplained, so no genome size is given. The reads may come from several "
                    "genomes, or cover one unevenly.",
                    unexplained.text);
}

static void add_of_model(const struct page *page, struct caveat_list *list)
{
        char why[PAGE_SENTENCE_NBYTES];
        if (page_has_verdict(page)) {
                add_of_verdict(page, list);
        } else if (page_has_model(page)) {
                add_of_poor_fit(page, list);
        } else {
                page_say_refusal(page, page->model.refusal, why, sizeof why);
                add(list, NO_MODEL, PAGE_PROBLEM, "There is no model. %s", why);
        }
}

/* ---- the reads ---- */

static void add_of_groups(const struct page *page, struct caveat_list *list)
{
        for (int i = 0; i < page->gc.ngroups; i++) {
                const struct page_group *g = &page->gc.groups[i];
                add(list, UNLIKE_GROUP, PAGE_CHECK,
                    "Group %c, %s k-mers, has %s GC and is read %s times, %s times as often as the "
                    "genome. It looks like %s.",
                    'A' + i, figure_count((double)g->nkmers).text, figure_percent(g->gc, 0).text,
                    figure_count(g->depth).text, figure_fixed(g->times, 1).text,
                    g->times > 4 ? "an organelle or a plasmid" : "a contaminant");
        }
}

static void add_of_small_k(const struct page *page, struct caveat_list *list)
{
        char advice[64] = "Use a larger k.";
        if (!page->small_k)
                return;
        if (page->least_k > 0)
                snprintf(advice, sizeof advice, "Use k = %d or more.", page->least_k);
        add(list, SMALL_K, PAGE_CHECK,
            "k = %d is small for this genome: over one k-mer in a thousand occurs twice by chance, "
            "which makes an assembly look better than it is and hides heterozygosity. %s",
            page->k, advice);
}

static void add_of_reads(const struct page *page, struct caveat_list *list)
{
        add_of_small_k(page, list);
        if (page->reads.compressed)
                add(list, READS_COMPRESSED, PAGE_CHECK,
                    "Runs of equal bases were shortened to one base before counting. Sizes are "
                    "those of the shortened genome, which is about 30 %% smaller.");
        if (page->reads.max_count > 0)
                add(list, READS_FILTERED, PAGE_CHECK,
                    "K-mers with counts over %s were left out when the reads were counted. Any "
                    "genome size lacks the repeats among them.",
                    figure_count((double)page->reads.max_count).text);
        if (page->reads.removed)
                add(list, READS_FILTERED, PAGE_CHECK,
                    "K-mers were removed from the counts of the reads. No number in this report "
                    "includes them.");
        if (page->reads.nlow_quality > 0)
                add(list, LOW_QUALITY, PAGE_CHECK,
                    "%s of the bases were left out when the reads were counted, because of their "
                    "low quality, and so were all k-mers with such a base. Coverage and error rate "
                    "are those of the other k-mers%s.",
                    figure_percent((double)page->reads.nlow_quality / (double)page->reads.nbases, 1)
                            .text,
                    page->nassemblies > 0 ? ", and if an assembly has some that are only among "
                                            "those left out, its QV is too low"
                                          : "");
        add_of_groups(page, list);
}

/* ---- assemblies ---- */

static enum caveat_id id_of_refusal(enum page_refusal refusal)
{
        switch (refusal) {
        case PAGE_FILTERED:
        case PAGE_CAPPED:
        case PAGE_REMOVED:
                return QV_OF_FILTERED;
        case PAGE_COMPRESSED:
                return QV_OF_COMPRESSED;
        case PAGE_ARE_READS:
                return NO_GENOME;
        case PAGE_NO_KMERS:
                return NO_KMERS;
        default:
                return NO_QV;
        }
}

static void add_of_refusals(const struct page *page, struct caveat_list *list)
{
        for (int i = 0; i < page->nassemblies; i++) {
                char text[PAGE_SENTENCE_NBYTES];
                page_say_no_quality(page, i, text, sizeof text);
                if (*text != '\0')
                        add(list, id_of_refusal(page_comparison_of(page, i)->quality.refusal),
                            PAGE_PROBLEM, "%s", text);
        }
}

static void add_of_completeness(const struct page *page, struct caveat_list *list)
{
        if (page->all.completeness.nsolid == 0)
                add(list, NOTHING_SOLID, PAGE_PROBLEM,
                    "No k-mer of the reads has a count of %s or more, so nothing is solid, and "
                    "completeness is not known.",
                    figure_count((double)page->all.completeness.threshold).text);
        else if (page->solid == PAGE_ALL_SOLID)
                add(list, NO_MINIMUM, PAGE_CHECK,
                    "The counts have no minimum between errors and genome, so all k-mers of the "
                    "reads count as solid. Errors among them make completeness too low. Set a "
                    "threshold with --threshold.");
}

/* An assembly as the subject of a sentence. */
static const char *name_assembly(const struct page *page, int i)
{
        return page->nassemblies > 1 ? page->assemblies[i].name : "The assembly";
}

static void add_of_copies(const struct page *page, int i, struct caveat_list *list)
{
        const struct page_part *part = &page_comparison_of(page, i)->copies.parts[PAGE_HOMOZYGOUS];
        const char *name = name_assembly(page, i);
        const char *of = page->model.ploidy > 1 ? "sequence that all haplotypes share"
                                                : "sequence that the genome has once";
        if (part->missing_percent > some_off)
                add(list, MISSING, level_of_percent(part->missing_percent),
                    "%.*s lacks %s of the %s.", NAME(name),
                    figure_percent(part->missing_percent / 100, 1).text, of);
        if (part->twice_percent > worth_saying)
                add(list, TWICE, worse(PAGE_CHECK, level_of_percent(part->twice_percent)),
                    "%.*s holds two copies of %s of the %s.", NAME(name),
                    figure_percent(part->twice_percent / 100, 1).text, of);
}

static void add_of_assembly(const struct page *page, int i, struct caveat_list *list)
{
        const struct page_comparison *c = page_comparison_of(page, i);
        const char *name = name_assembly(page, i);
        if (page->assemblies[i].is_counted)
                add(list, COUNTED, PAGE_CHECK,
                    "%.*s is a file of counts, so nothing is known about its sequences.",
                    NAME(name));
        if (c->quality.refusal == PAGE_GIVEN && level_of_qv(&c->quality.raw) != PAGE_GOOD)
                add(list, LOW_QV, level_of_qv(&c->quality.raw), "%.*s has %s one wrong base in %s.",
                    NAME(name), c->quality.raw.is_bound ? "at most" : "about",
                    figure_about(1 / c->quality.raw.error).text);
        if (c->copies.has_parts)
                add_of_copies(page, i, list);
}

static void add_of_haplotypes(const struct page *page, struct caveat_list *list)
{
        const double percent = page->all.copies.parts[PAGE_HETEROZYGOUS].missing_percent;
        if (has_both_haplotypes(page) && percent > some_off)
                add(list, MISSING_HAPLOTYPE, level_of_percent(percent),
                    "Both assemblies together lack %s of the sequence that only one haplotype has.",
                    figure_percent(percent / 100, 1).text);
}

/* ---- sequences ---- */

/* Those with a flag: the first one, and how many more. */
struct flagged {
        const struct page_sequence *first; /* NULL: there is none */
        size_t nothers;
        char others[96]; /* "3 others" */
};

static struct flagged find_flagged(const struct page *page, unsigned flag)
{
        struct flagged found = { 0 };
        for (size_t i = 0; i < page->nsequences; i++) {
                const struct page_sequence *s = &page->sequences[i];
                if (!(s->flags & flag))
                        continue;
                found.nothers += found.first != NULL;
                found.first = found.first == NULL ? s : found.first;
        }
        snprintf(found.others, sizeof found.others, "%s other%s",
                 figure_count((double)found.nothers).text, found.nothers == 1 ? "" : "s");
        return found;
}

/* Add a sentence about one sequence, or about it and others. */
static void add_of_flagged(const struct page *page, enum page_flag flag, enum caveat_id id,
                           const char *one, const char *several, struct caveat_list *list)
{
        const struct flagged found = find_flagged(page, flag);
        if (found.first == NULL)
                return;
        if (found.nothers == 0)
                add(list, id, PAGE_CHECK, "%.*s %s.", SEQUENCE(found.first->name), one);
        else
                add(list, id, PAGE_CHECK, "%.*s and %s %s.", SEQUENCE(found.first->name),
                    found.others, several);
}

static void add_of_low_qv(const struct page *page, struct caveat_list *list)
{
        const struct flagged low = find_flagged(page, PAGE_LOW_QV);
        char others[128] = "";
        if (low.first == NULL || !page_sequence_has_quality(page, low.first))
                return;
        if (low.nothers > 0)
                snprintf(others, sizeof others, " In addition, %s %s a low QV.", low.others,
                         low.nothers == 1 ? "has" : "have");
        add(list, LOW_QV_SEQUENCE, PAGE_CHECK,
            "%.*s has %s of all k-mers of its assembly that no read contains (QV %s): correct or "
            "check it first.%s",
            SEQUENCE(low.first->name),
            figure_percent(low.first->qv.nonly /
                                   page_comparison_of(page, low.first->assembly)->quality.raw.nonly,
                           0)
                    .text,
            figure_qv(&low.first->qv, 0).text, others);
}

static void add_of_unlike(const struct page *page, struct caveat_list *list)
{
        const struct flagged unlike = find_flagged(page, PAGE_UNLIKE_GENOME);
        char others[128] = "";
        if (unlike.first == NULL)
                return;
        if (unlike.nothers > 0)
                snprintf(others, sizeof others, " The same goes for %s.", unlike.others);
        add(list, UNLIKE_SEQUENCE, PAGE_CHECK,
            "%.*s has neither the genome's GC content (%s) nor its depth (%s): it may be a "
            "contaminant or an organelle.%s",
            SEQUENCE(unlike.first->name), figure_percent(unlike.first->gc_percent / 100, 0).text,
            figure_count(unlike.first->median).text, others);
}

static void add_of_sequences(const struct page *page, struct caveat_list *list)
{
        add_of_low_qv(page, list);
        add_of_flagged(page, PAGE_SECOND_COPY, SECOND_COPY,
                       "is a second copy of sequence that the genome has once",
                       "are second copies of sequence that the genome has once", list);
        add_of_flagged(page, PAGE_PART_DOUBLED, PART_DOUBLED,
                       "has a part that the assembly holds twice and the genome once",
                       "have parts that the assembly holds twice and the genome once", list);
        add_of_unlike(page, list);
}

size_t page_find_caveats(const struct page *page, struct page_caveat caveats[PAGE_MAX_CAVEATS])
{
        struct caveat_list list = { .caveats = caveats };
        add_of_model(page, &list);
        if (page->nassemblies > 0) {
                add_of_refusals(page, &list);
                add_of_completeness(page, &list);
        }
        add_of_reads(page, &list);
        for (int i = 0; i < page->nassemblies; i++)
                add_of_assembly(page, i, &list);
        add_of_haplotypes(page, &list);
        add_of_sequences(page, &list);
        return list.n;
}
