/*
 * The top of the page: its headline, the cards of the verdict, and what to know about them.
 */
#include "app/report/page/caveats.h"
#include "app/report/page/figures.h"
#include "app/report/page/html.h"
#include "app/report/page/panels.h"
#include "app/report/page/parts.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_NBYTES = 400 };

/* ---- the headline ---- */

/* Add to a text that ends within nbytes. */
static void append(char *to, size_t nbytes, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

static void append(char *to, size_t nbytes, const char *format, ...)
{
        const size_t used = strlen(to);
        va_list args;
        va_start(args, format);
        vsnprintf(to + used, nbytes - used, format, args);
        va_end(args);
}

static void say_assembly(const struct page *page, char *to, size_t nbytes)
{
        const struct page_qv *qv = &page->all.quality.raw;
        const struct page_part *part = &page->all.copies.parts[PAGE_HOMOZYGOUS];
        const char *whose = page_has_verdict(page) ? "its" : "the";
        const char *assembly = page->nassemblies > 1 ? "two assemblies" : "assembly";
        if (page_has_quality(page) && qv->is_bound)
                append(to, nbytes, "; in %s %s, no error was found", whose, assembly);
        else if (page_has_quality(page))
                append(to, nbytes, "; in %s %s, one base in %s is wrong", whose, assembly,
                       figure_about(1 / qv->error).text);
        if (!page->all.copies.has_parts)
                return;
        append(to, nbytes, page_has_quality(page) ? ", and " : "; in its %s, ", assembly);
        if (part->missing_percent < 0.05)
                append(to, nbytes, "nothing is missing");
        else
                append(to, nbytes, "%s of the genome is missing",
                       figure_percent(part->missing_percent / 100, 1).text);
}

static void say_genome(const struct page *page, char *to, size_t nbytes)
{
        const struct page_verdict *v = &page->verdict;
        append(to, nbytes, "A %s genome of %s", figure_ploidy(page->model.ploidy),
               figure_bases(v->genome_size.value).text);
        if (page->model.ploidy > 1)
                append(to, nbytes, " that is %s heterozygous",
                       figure_percent(v->heterozygosity.value, 1).text);
        append(to, nbytes, ", read %s times", figure_count(v->read_depth).text);
}

void panels_say_headline(const struct page *page, char *to, size_t nbytes)
{
        *to = '\0';
        if (page_has_verdict(page))
                say_genome(page, to, nbytes);
        else
                append(to, nbytes,
                       page_has_model(page)
                               ? "These reads do not look like those of a single genome"
                               : "The reads were counted, but no model of a genome fits them");
        if (page->nassemblies > 0)
                say_assembly(page, to, nbytes);
}

static void put_assembly_facts(struct text_out *out, const struct page *page, int i)
{
        const struct page_assembly *assembly = &page->assemblies[i];
        text_out_puts(out, " &middot; ");
        html_text(out, page->nassemblies > 1 ? assembly->name : "assembly");
        text_out_puts(out, ": ");
        if (assembly->nsequences > 0)
                text_out_printf(out, "%s sequence%s, ",
                                figure_count((double)assembly->nsequences).text,
                                assembly->nsequences == 1 ? "" : "s");
        if (assembly->nbases > 0)
                text_out_puts(out, figure_bases((double)assembly->nbases).text);
        else
                text_out_printf(out, "%s k-mers", figure_count((double)assembly->nkmers).text);
}

static void put_facts(struct text_out *out, const struct page *page)
{
        text_out_puts(out, "<p class=\"facts\">");
        if (page->reads.nreads > 0)
                text_out_printf(out, "%s reads, ", figure_count((double)page->reads.nreads).text);
        if (page->reads.nbases > 0)
                text_out_printf(out, "%s, ", figure_bases((double)page->reads.nbases).text);
        text_out_printf(out, "%s distinct %d-mers",
                        figure_count((double)page->spectrum.distinct).text, page->k);
        for (int i = 0; i < page->nassemblies; i++)
                put_assembly_facts(out, page, i);
        text_out_puts(out, "</p>");
}

void panels_put_head(struct text_out *out, const struct page *page)
{
        char headline[TEXT_NBYTES];
        panels_say_headline(page, headline, sizeof headline);
        text_out_puts(out, "<header class=\"head\"><p class=\"kicker\">");
        html_text(out, page->sample);
        text_out_printf(out, " &middot; k = %d</p>", page->k);
        html_element(out, "h1", headline);
        put_facts(out, page);
        text_out_puts(out, "</header>\n");
}

/* ---- the cards ---- */

/* All texts are plain. */
struct card {
        const char *name;
        enum page_level level;
        char number[64], unit[32], interval[96], meaning[TEXT_NBYTES], note[TEXT_NBYTES];
        char second[64], second_unit[32]; /* another number, or empty */
};

static void put_number(struct text_out *out, const char *number, const char *unit)
{
        text_out_puts(out, "<span>");
        html_text(out, number);
        html_element(out, "small", unit);
        text_out_puts(out, "</span> ");
}

static void put_card(struct text_out *out, const struct card *card)
{
        text_out_puts(out, "<article class=\"card\"><header>");
        html_element(out, "h2", card->name);
        html_chip(out, card->level, NULL);
        text_out_puts(out, "</header><p class=\"number\">");
        put_number(out, card->number, card->unit);
        if (*card->second != '\0')
                put_number(out, card->second, card->second_unit);
        text_out_puts(out, "</p><p class=\"interval\">");
        html_text(out, card->interval);
        text_out_puts(out, "</p>");
        html_element(out, "p", card->meaning);
        if (*card->note != '\0') {
                text_out_puts(out, "<p class=\"note\">");
                html_text(out, card->note);
                text_out_puts(out, "</p>");
        }
        text_out_puts(out, "</article>\n");
}

/* "3.00 Mb" into its number and its unit */
static void split(const struct figure *figure, struct card *card)
{
        const size_t n = strcspn(figure->text, " ");
        snprintf(card->number, sizeof card->number, "%.*s", (int)n, figure->text);
        snprintf(card->unit, sizeof card->unit, "%s", figure->text + n + 1);
}

static void put_size(struct text_out *out, const struct page *page)
{
        const struct page_range *size = &page->verdict.genome_size;
        const int p = page->model.ploidy;
        struct card c = { .name = "Genome size", .level = page_level_size(page) };
        const struct figure figure = figure_bases(size->value);
        split(&figure, &c);
        append(c.interval, sizeof c.interval, "%s (95 %%)", figure_bases_range(*size).text);
        if (p == 1)
                append(c.meaning, sizeof c.meaning, "All bases of the genome, repeats included.");
        else
                append(c.meaning, sizeof c.meaning,
                       "One set of chromosomes. %s%s sets together have %s.",
                       p == 2 ? "Both" : "All ", p == 2 ? "" : figure_word((size_t)p).text,
                       figure_bases(p * size->value).text);
        if (page->gc.ngroups > 0)
                append(c.note, sizeof c.note,
                       "It would be %s with the %s of k-mers that seem to come from something "
                       "else.",
                       figure_bases(page->verdict.all_kmers).text,
                       page->gc.ngroups == 1 ? "group" : "groups");
        put_card(out, &c);
}

static void put_ploidy(struct text_out *out, const struct page *page)
{
        static const char *const numbers[] = { "One", "Two", "Three", "Four", "Five", "Six" };
        struct card c = { .name = "Ploidy", .level = page_level_ploidy(page) };
        append(c.number, sizeof c.number, "%d", page->model.ploidy);
        append(c.unit, sizeof c.unit, "%s", figure_ploidy(page->model.ploidy));
        append(c.interval, sizeof c.interval, "explains %s of the k-mers",
               figure_percent(page->model.explained, 1).text);
        if (page->ncandidates == 1) /* the user set it */
                append(c.meaning, sizeof c.meaning, "%s cop%s of each chromosome, as given.",
                       numbers[page->model.ploidy - 1], page->model.ploidy == 1 ? "y" : "ies");
        else if (page->model.ploidy == 1)
                append(c.meaning, sizeof c.meaning,
                       "One copy of each chromosome: the counts have "
                       "a single peak.");
        else
                append(c.meaning, sizeof c.meaning,
                       "%s copies of each chromosome, as the positions and heights of the peaks "
                       "show.",
                       numbers[page->model.ploidy - 1]);
        if (page->model.runner_up > 0)
                append(c.note, sizeof c.note, "Ploidy %d is possible, too: see the candidates.",
                       page->model.runner_up);
        put_card(out, &c);
}

static void put_heterozygosity(struct text_out *out, const struct page *page)
{
        const struct page_range *het = &page->verdict.heterozygosity;
        struct card c = { .name = "Heterozygosity", .level = page_level_heterozygosity(page) };
        if (page->model.ploidy == 1)
                return;
        append(c.number, sizeof c.number, "%.2f", 100 * het->value);
        append(c.unit, sizeof c.unit, "%%");
        append(c.interval, sizeof c.interval, "%.2f to %.2f %% (95 %%)", 100 * het->low,
               100 * het->high);
        if (het->value > 0)
                append(c.meaning, sizeof c.meaning, "%s differ at one base in %s.",
                       page->model.ploidy == 2 ? "The two copies" : "Some of the copies",
                       figure_about(1 / het->value).text);
        else
                append(c.meaning, sizeof c.meaning, "No difference between the copies was seen.");
        append(c.note, sizeof c.note,
               "Includes single bases and short insertions and deletions. Long ones add little.");
        put_card(out, &c);
}

static void put_coverage(struct text_out *out, const struct page *page)
{
        const struct page_range *coverage = &page->verdict.coverage;
        struct card c = { .name = "Coverage", .level = page_level_coverage(page) };
        append(c.number, sizeof c.number, "%s", figure_depth(coverage->value).text);
        append(c.unit, sizeof c.unit, page->model.ploidy == 1 ? "k-mers deep" : "k-mers per copy");
        append(c.interval, sizeof c.interval, "%s to %s (95 %%)", figure_depth(coverage->low).text,
               figure_depth(coverage->high).text);
        append(c.meaning, sizeof c.meaning, "Each base of the genome is read about %s times.",
               figure_count(page->verdict.read_depth).text);
        append(c.note, sizeof c.note,
               c.level == PAGE_GOOD
                       ? "Enough to tell the genome from sequencing errors."
                       : "Enough for the size. With 15 or more, ploidy and heterozygosity are "
                         "more certain.");
        put_card(out, &c);
}

static void put_errors(struct text_out *out, const struct page *page)
{
        const struct page_range *rate = &page->verdict.error_rate;
        struct card c = { .name = "Errors in the reads", .level = page_level_errors(page) };
        if (!page->verdict.has_error_rate) {
                c.level = PAGE_CHECK;
                append(c.number, sizeof c.number, "unknown");
                append(c.interval, sizeof c.interval, "no interval");
                append(c.meaning, sizeof c.meaning,
                       "The rare k-mers, which show errors, were "
                       "left out when the reads were counted.");
                put_card(out, &c);
                return;
        }
        append(c.number, sizeof c.number, "%.2f", 100 * rate->value);
        append(c.unit, sizeof c.unit, "%%");
        append(c.interval, sizeof c.interval, "%.2f to %.2f %% (95 %%)", 100 * rate->low,
               100 * rate->high);
        if (rate->value > 0)
                append(c.meaning, sizeof c.meaning, "One base in %s is wrong.",
                       figure_about(1 / rate->value).text);
        else
                append(c.meaning, sizeof c.meaning, "No k-mer looks like an error.");
        append(c.note, sizeof c.note,
               "Estimated from k-mers too rare to be genome. An error that many reads share is "
               "not seen.");
        put_card(out, &c);
}

static void say_qv(const struct page *page, struct card *c)
{
        const struct page_qv *qv = &page->all.quality.raw;
        append(c->number, sizeof c->number, "%s", figure_qv(qv, 1).text);
        append(c->unit, sizeof c->unit, "QV");
        append(c->interval, sizeof c->interval, "QV %s (95 %%)", figure_qv_interval(qv, 1).text);
        append(c->meaning, sizeof c->meaning,
               qv->is_bound ? "No wrong base was found: fewer than one in %s. "
                            : "One base in %s is wrong. ",
               figure_about(1 / qv->error).text);
}

/* How much of what all copies share is present or, if unknown, of the solid k-mers. */
static void say_share(const struct page *page, struct card *c)
{
        const struct page_part *part = &page->all.copies.parts[PAGE_HOMOZYGOUS];
        const struct page_completeness *complete = &page->all.completeness;
        const bool has_parts = page->all.copies.has_parts;
        const char *genome =
                page->model.ploidy > 1 ? "all copies of the genome share" : "the genome has once";
        if (has_parts || complete->nsolid > 0) {
                append(c->second, sizeof c->second, "%.1f",
                       has_parts ? 100 - part->missing_percent : complete->percent.value);
                append(c->second_unit, sizeof c->second_unit, "%% present");
        }
        if (has_parts)
                append(c->meaning, sizeof c->meaning, "Of what %s, %s is %s and %s is present %s.",
                       genome, figure_percent(part->missing_percent / 100, 1).text,
                       page->nassemblies > 1 ? "in neither assembly" : "missing",
                       figure_percent(
                               (page->nassemblies > 1 ? part->once_percent : part->twice_percent) /
                                       100,
                               1)
                               .text,
                       page->nassemblies > 1 ? "only once" : "twice");
}

static void say_each(const struct page *page, struct card *c)
{
        for (int i = 0; i < page->nassemblies; i++) {
                const struct page_quality *q = &page->assemblies[i].comparison.quality;
                append(c->note, sizeof c->note, "%s%.60s: %s%s", i > 0 ? "; " : "",
                       page->assemblies[i].name, q->refusal == PAGE_GIVEN ? "QV " : "no QV",
                       q->refusal == PAGE_GIVEN ? figure_qv(&q->raw, 1).text : "");
        }
        append(c->note, sizeof c->note, ".");
}

static void put_assembly(struct text_out *out, const struct page *page)
{
        const struct page_completeness *complete = &page->all.completeness;
        struct card c = { .name = page->nassemblies > 1 ? "Both assemblies" : "Assembly",
                          .level = page_level_assembly(page) };
        if (page->nassemblies == 0)
                return;
        if (page_has_quality(page)) {
                say_qv(page, &c);
        } else {
                append(c.number, sizeof c.number, "no QV");
                append(c.interval, sizeof c.interval, "see below for the reason");
        }
        say_share(page, &c);
        if (page->nassemblies > 1)
                say_each(page, &c);
        else if (page->model.ploidy > 1 && page->all.copies.has_parts && complete->nsolid > 0)
                append(c.note, sizeof c.note,
                       "It holds %s of all solid k-mers. One haplotype cannot have those of the "
                       "others.",
                       figure_percent(complete->percent.value / 100, 1).text);
        put_card(out, &c);
}

static void put_no_verdict(struct text_out *out, const struct page *page)
{
        char why[TEXT_NBYTES];
        text_out_puts(out, "<article class=\"card wide\"><header>");
        html_element(out, "h2", "Genome");
        html_chip(out, PAGE_PROBLEM, page_has_model(page) ? "No verdict" : "No model");
        text_out_puts(out, "</header>");
        if (page_has_model(page))
                snprintf(why, sizeof why,
                         "The best of the models explains only %s of the k-mers, and below 90 %% "
                         "none is trusted. All candidates are shown below, and none is preferred.",
                         figure_percent(page->model.explained, 0).text);
        else
                page_say_refusal(page, page->model.refusal, why, sizeof why);
        text_out_puts(out, "<p class=\"reason\">");
        html_text(out, why);
        text_out_printf(out, "</p><p>%d-mers read: %s. Distinct: %s.", page->k,
                        figure_count((double)page->spectrum.total).text,
                        figure_count((double)page->spectrum.distinct).text);
        if (page->reads.min_count <= 1) /* otherwise these were left out */
                text_out_printf(out, " Seen only once: %s.",
                                figure_count((double)page->reads.nonce).text);
        text_out_puts(out, "</p></article>\n");
}

void panels_put_verdict(struct text_out *out, const struct page *page)
{
        text_out_puts(out, "<section class=\"verdict\" aria-label=\"Verdict\">\n");
        if (page_has_verdict(page)) {
                put_size(out, page);
                put_ploidy(out, page);
                put_heterozygosity(out, page);
                put_coverage(out, page);
                put_errors(out, page);
        } else {
                put_no_verdict(out, page);
        }
        put_assembly(out, page);
        text_out_puts(out, "</section>\n");
}

/* ---- caveats ---- */

static const char *name_panel(const char *id)
{
        static const char *const names[][2] = {
                { "spectrum", "Spectrum" },   { "ploidy", "Ploidy" },
                { "gc", "GC and depth" },     { "copies", "Copies" },
                { "holders", "By assembly" }, { "quality", "Quality" },
                { "sequences", "Sequences" }, { "provenance", "Provenance" },
        };
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
                if (strcmp(names[i][0], id) == 0)
                        return names[i][1];
        return id;
}

void panels_put_caveats(struct text_out *out, const struct page *page)
{
        struct page_caveat caveats[PAGE_MAX_CAVEATS];
        const size_t n = page_find_caveats(page, caveats);
        text_out_puts(out, "<section class=\"caveats\" aria-labelledby=\"caveats-title\">"
                           "<h2 id=\"caveats-title\">");
        text_out_puts(out, n > 0 ? "What to look at" : "Nothing stands out");
        text_out_puts(out, "</h2>");
        if (n == 0)
                text_out_puts(out, "<p class=\"lead\">None of the checks of this report found "
                                   "anything that you need to look at.</p>");
        else
                text_out_puts(out, "<ul>\n");
        for (size_t i = 0; i < n; i++) {
                text_out_puts(out, "<li>");
                html_chip(out, caveats[i].level, caveats[i].subject);
                html_element(out, "span", caveats[i].text);
                text_out_printf(out, "<a href=\"#%s\">%s</a></li>\n", caveats[i].panel,
                                name_panel(caveats[i].panel));
        }
        text_out_puts(out, n > 0 ? "</ul></section>\n" : "</section>\n");
}
