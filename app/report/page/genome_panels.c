/*
 * The panels about the reads and the genome: spectrum, ploidy, GC content.
 */
#include "app/report/page/figures.h"
#include "app/report/page/html.h"
#include "app/report/page/panels.h"

#include <stdio.h>
#include <string.h>

enum { TITLE_NBYTES = 300 };

/* ---- spectrum ---- */

static void say_peaks(const struct page *page, char *to)
{
        const double coverage = page->model.coverage;
        const int p = page->model.ploidy;
        if (!page_has_model(page))
                snprintf(to, TITLE_NBYTES, "How often k-mers occur in the reads");
        else if (!page->model.fits)
                snprintf(to, TITLE_NBYTES, "The counts follow none of the models");
        else if (p == 1)
                snprintf(to, TITLE_NBYTES, "One peak at %s, as in a haploid genome",
                         figure_depth(coverage).text);
        else if (page->verdict.heterozygosity.value < 0.001)
                snprintf(to, TITLE_NBYTES,
                         "One peak at %s: the copies of this %s genome are nearly alike",
                         figure_depth(p * coverage).text, figure_ploidy(p));
        else if (p == 2)
                snprintf(to, TITLE_NBYTES, "Peaks at %s and %s: sequence of one copy, and of both",
                         figure_depth(coverage).text, figure_depth(2 * coverage).text);
        else
                snprintf(to, TITLE_NBYTES,
                         "Peaks at multiples of %s, up to %s for what all %s copies share",
                         figure_depth(coverage).text, figure_depth(p * coverage).text,
                         figure_word((size_t)p).text);
}

static void put_parameter(struct text_out *out, const char *name, const char *value,
                          const char *meaning)
{
        html_begin_row(out, name, NULL);
        html_cell(out, value);
        text_out_puts(out, "<td class=\"words\">");
        html_text(out, meaning);
        text_out_puts(out, "</td>");
        html_end_row(out);
}

static void put_parameters(struct text_out *out, const struct page *page)
{
        static const char *const heads[] = { "Parameter", "Value", "Meaning", NULL };
        const struct page_model *m = &page->model;
        double rates = 0;
        char rows[64];
        for (int i = 0; i < m->nrates; i++)
                rates += m->rates[i];
        snprintf(rows, sizeof rows, "%llu to %llu", (unsigned long long)m->fit_first,
                 (unsigned long long)m->fit_last);
        text_out_puts(out, "<details><summary>Parameters of the model</summary>");
        html_begin_table(out, "Parameters of the model", heads);
        put_parameter(out, "coverage", figure_fixed(m->coverage, 3).text,
                      "how often a k-mer of one copy is read");
        put_parameter(out, "bias", figure_fixed(m->bias, 3).text,
                      "how much more the counts vary than by chance: variance / mean, minus 1");
        put_parameter(out, "duplication", figure_fixed(m->duplication, 4).text,
                      "share of the genome that occurs twice");
        put_parameter(out, "rates, summed", figure_fixed(rates, 5).text,
                      "share of the bases at which copies differ, including those of frequent "
                      "repeats");
        put_parameter(out, "length", figure_count(m->length).text,
                      "bases of one copy that the model covers");
        put_parameter(out, "fitted counts", rows, "errors are below, high-copy repeats above");
        put_parameter(out, "solid from", figure_count((double)m->threshold).text,
                      "the smallest count at which a k-mer is more likely genome than error");
        html_end_table(out);
        text_out_puts(out, "</details>\n");
}

static void put_slider(struct text_out *out, const char *id, const char *label)
{
        text_out_printf(out,
                        "<label for=\"%s\">%s <output for=\"%s\" id=\"%s-value\"></output></label>"
                        "<input type=\"range\" id=\"%s\">",
                        id, label, id, id, id);
}

/* The script sets the ranges of the sliders and fills the table. */
static void put_refit(struct text_out *out, const struct page *page)
{
        text_out_puts(out,
                      "<section class=\"box refit scripted\" aria-labelledby=\"refit-title\">"
                      "<div><h3 id=\"refit-title\">Fit it yourself</h3><p>Move a slider, and the "
                      "model is fitted again, here in your browser. A result that hardly moves "
                      "when the counts change is one that you can trust.</p>"
                      "<fieldset class=\"radios\"><legend>Ploidy of the fit</legend>");
        for (int p = 1; p <= PAGE_MAX_PLOIDIES; p++)
                text_out_printf(out,
                                "<input type=\"radio\" name=\"refit-p\" id=\"refit-p-%d\" "
                                "value=\"%d\"%s><label for=\"refit-p-%d\">%d</label>",
                                p, p, p == page->model.ploidy ? " checked" : "", p, p);
        text_out_puts(out, "</fieldset>");
        put_slider(out, "refit-first", "Lowest count that is fitted:");
        put_slider(out, "refit-last", "Highest count that is fitted:");
        put_slider(out, "refit-start", "Where the search for the coverage starts:");
        text_out_puts(out, "<button type=\"button\" id=\"refit-reset\">Back to the report&#8217;s "
                           "fit</button></div><div class=\"scroll\" id=\"refit-result\" "
                           "aria-live=\"polite\"></div></section>\n");
}

static void put_keys(struct text_out *out, const struct page *page)
{
        char all[64];
        text_out_puts(out, "<div class=\"keys\" role=\"group\" "
                           "aria-label=\"Parts of the picture\">");
        html_key(out, "spectrum", "data", "Reads");
        if (page_has_model(page)) {
                html_key(out, "spectrum", "model", "Model");
                html_key(out, "spectrum", "errors", "Errors");
                if (page->model.ploidy > 1)
                        html_key(out, "spectrum", "heterozygous",
                                 page->model.ploidy == 2 ? "In one copy" : "In some copies");
                snprintf(all, sizeof all, "In %s cop%s",
                         page->model.ploidy == 1   ? "one"
                         : page->model.ploidy == 2 ? "both"
                                                   : "all",
                         page->model.ploidy == 1 ? "y" : "ies");
                html_key(out, "spectrum", "homozygous", all);
                html_key(out, "spectrum", "repeated", "Repeats");
        }
        text_out_puts(out, "</div>");
}

static void put_rows_note(struct text_out *out, const struct page_spectrum *s)
{
        text_out_puts(out, "<p class=\"left-out\">");
        if (s->width > 1)
                text_out_printf(out, "Each bar covers %s neighbouring counts. ",
                                figure_count((double)s->width).text);
        if (s->beyond > 0)
                text_out_printf(out, "%s k-mers with counts over %s are not drawn.",
                                figure_count((double)s->beyond).text,
                                figure_count((double)(s->n * s->width)).text);
        text_out_puts(out, "</p>\n");
}

void panels_put_spectrum(struct text_out *out, const struct page *page)
{
        static const struct html_choice axes[] = { { "linear", "Linear" },
                                                   { "log", "Log" },
                                                   { 0 } };
        static const struct html_choice weights[] = { { "distinct", "k-mers" },
                                                      { "times", "k-mers \xc3\x97 count" },
                                                      { 0 } };
        char title[TITLE_NBYTES];
        say_peaks(page, title);
        html_begin_panel(
                out, "spectrum", "k-mer spectrum", title,
                page_has_model(page)
                        ? "The bar at count 20 shows how many different k-mers occur 20 times in "
                          "the reads. Sequencing errors make k-mers that occur only once or twice, "
                          "at the left edge. The genome makes the peaks, and the line is the model "
                          "of them."
                        : "The bar at count 20 shows how many different k-mers occur 20 times in "
                          "the reads. Sequencing errors make k-mers that occur only once or twice, "
                          "at the left edge; a genome that is read often enough makes a peak to "
                          "their right.");
        text_out_puts(out, "<figure><div class=\"bar\">");
        html_radios(out, "spectrum-y", "Vertical axis", axes);
        html_radios(out, "spectrum-w", "What is drawn", weights);
        put_keys(out, page);
        html_save_buttons(out, "spectrum-plot", "spectrum-plot");
        text_out_puts(out, "</div>");
        html_plot(out, "spectrum-plot");
        text_out_puts(out, "</figure>\n");
        put_rows_note(out, &page->spectrum);
        html_data_table(out, "spectrum-plot");
        if (page_has_model(page)) {
                put_parameters(out, page);
        }
        if (page_has_model(page) && page->spectrum.width == 1) {
                put_refit(out, page);
        }
        html_end_panel(out);
}

/* ---- ploidy ---- */

static void say_candidate(const struct page *page, int i, char *to)
{
        const struct page_candidate *c = &page->candidates[i];
        if (!page->model.fits)
                snprintf(to, TITLE_NBYTES, "Leaves %s of the k-mers unexplained.",
                         figure_percent(1 - c->explained, 0).text);
        else if (i == 0)
                snprintf(to, TITLE_NBYTES,
                         page->ncandidates == 1 ? "The only ploidy that was asked for."
                                                : "The simplest one that explains the counts.");
        else if (c->tied && c->heterozygosity > page->candidates[0].heterozygosity + 0.0005)
                snprintf(to, TITLE_NBYTES,
                         "Explains as much, but its copies would differ at %s of their bases.",
                         figure_percent(c->heterozygosity, 1).text);
        else if (c->tied)
                snprintf(to, TITLE_NBYTES, "Explains as much, but with more copies than needed.");
        else if (c->duplication > 0.3)
                snprintf(to, TITLE_NBYTES, "Would need %s of the genome to occur twice.",
                         figure_percent(c->duplication, 0).text);
        else
                snprintf(to, TITLE_NBYTES, "Does not follow the peaks.");
}

static void put_fact(struct text_out *out, const char *name, const char *value)
{
        html_element(out, "dt", name);
        html_element(out, "dd", value);
}

static void put_candidate(struct text_out *out, const struct page *page, int i)
{
        const struct page_candidate *c = &page->candidates[i];
        const bool chosen = i == 0 && page->model.fits;
        char why[TITLE_NBYTES], id[32];
        say_candidate(page, i, why);
        snprintf(id, sizeof id, "ploidy-plot-%d", i);
        text_out_printf(out, "<article class=\"box candidate%s\"><header><h3>Ploidy %d</h3>",
                        chosen ? " chosen" : "", c->ploidy);
        html_chip(out,
                  chosen    ? PAGE_GOOD
                  : c->tied ? PAGE_CHECK
                            : PAGE_PROBLEM,
                  chosen    ? "Chosen"
                  : c->tied ? "As good"
                            : "Worse");
        text_out_puts(out, "</header>");
        html_element(out, "p", why);
        html_plot(out, id);
        text_out_puts(out, "<dl>");
        put_fact(out, "k-mers explained", figure_percent(c->explained, 1).text);
        put_fact(out, "Size of one copy, all k-mers", figure_bases(c->haploid).text);
        put_fact(out, "Heterozygosity",
                 c->ploidy > 1 ? figure_percent(c->heterozygosity, 2).text : "none");
        put_fact(out, "Coverage of one copy", figure_depth(c->coverage).text);
        put_fact(out, "Occurs twice", figure_percent(c->duplication, 1).text);
        put_fact(out, "BIC above the lowest", figure_count(c->delta_bic).text);
        text_out_puts(out, "</dl><div class=\"bar\">");
        html_save_buttons(out, id, "ploidy-plot");
        text_out_puts(out, "</div></article>\n");
}

void panels_put_ploidy(struct text_out *out, const struct page *page)
{
        char title[TITLE_NBYTES];
        if (page->ncandidates == 0)
                return;
        if (!page->model.fits)
                snprintf(title, sizeof title, "No ploidy explains 90 %% of the k-mers");
        else if (page->model.runner_up > 0)
                snprintf(title, sizeof title, "%s fits, and so does %s",
                         page->model.ploidy == 1 ? "Haploid" : figure_ploidy(page->model.ploidy),
                         figure_ploidy(page->model.runner_up));
        else if (page->ncandidates == 1)
                snprintf(title, sizeof title, "Only ploidy %d was tried", page->model.ploidy);
        else
                snprintf(title, sizeof title, "Ploidy %d explains the counts most simply",
                         page->model.ploidy);
        if (title[0] >= 'a')
                title[0] = (char)(title[0] - 'a' + 'A');
        html_begin_panel(
                out, "ploidy", "Candidates for the ploidy", title,
                "Each candidate is fitted to the same counts. A model with more copies can imitate "
                "one with fewer, so those that explain at most one percentage point less than the "
                "best count as equally good, and of these, the one with the fewest differences "
                "between its copies is chosen. Below each picture is what the model leaves over.");
        text_out_puts(out, "<div class=\"candidates\">\n");
        for (int i = 0; i < page->ncandidates; i++)
                put_candidate(out, page, i);
        text_out_puts(out, "</div>\n");
        html_data_table(out, "ploidy-plot");
        html_end_panel(out);
}

/* ---- GC content ---- */

static void put_groups(struct text_out *out, const struct page *page)
{
        static const char *const heads[] = { "Group", "k-mers", "GC", "Depth", "Size", NULL };
        const double full = page->model.ploidy * page->model.coverage;
        html_begin_table(out, "Groups of k-mers unlike the genome", heads);
        for (int i = 0; i < page->gc.ngroups; i++) {
                const struct page_group *g = &page->gc.groups[i];
                const char letter[] = { (char)('A' + i), '\0' };
                html_begin_row(out, letter, NULL);
                html_cell(out, figure_count((double)g->nkmers).text);
                html_cell(out, figure_percent(g->gc, 0).text);
                text_out_printf(out, "<td>%s<small>%s times</small></td>",
                                figure_count(g->depth).text, figure_fixed(g->times, 1).text);
                html_cell(out, full > 0 ? figure_bases((double)g->ninstances / full).text : "");
                html_end_row(out);
        }
        html_end_table(out);
}

static void put_gc_aside(struct text_out *out, const struct page *page)
{
        text_out_puts(out, "<aside class=\"box\">");
        if (page->gc.ngroups > 0) {
                text_out_puts(out, "<h3>What does not belong</h3><p>These groups differ from the "
                                   "genome in GC content and in depth. They are left out of the "
                                   "genome size, to which each would add the size given here.</p>");
                put_groups(out, page);
                text_out_puts(out, "<p>A group that is read many times as often as the genome is "
                                   "often an organelle or a plasmid, because cells have many of "
                                   "them. A group of any other depth is often a contaminant. "
                                   "Compare such k-mers with a database before you decide.</p>");
        } else if (!page_has_model(page)) {
                text_out_puts(out, "<h3>Not judged</h3><p>Without a model, the report cannot say "
                                   "which k-mers are unlike the genome.</p>");
        } else {
                text_out_puts(out, "<h3>Nothing stands apart</h3><p>No group of k-mers differs "
                                   "from the genome in both GC content and depth, as those of an "
                                   "organelle or a contaminant would.</p>");
        }
        text_out_puts(out, "</aside>");
}

void panels_put_gc(struct text_out *out, const struct page *page)
{
        char title[TITLE_NBYTES];
        if (page->gc.ncolumns == 0)
                return;
        if (!page_has_model(page))
                snprintf(title, sizeof title, "GC content and depth of the k-mers");
        else if (page->gc.ngroups == 0)
                snprintf(title, sizeof title, "All k-mers look like those of one genome");
        else
                snprintf(title, sizeof title, "%s of k-mers may not belong to the genome",
                         page->gc.ngroups == 1   ? "A group"
                         : page->gc.ngroups == 2 ? "Two groups"
                                                 : "Several groups");
        html_begin_panel(out, "gc", "GC content and depth", title,
                         "Each k-mer is placed by the share of G and C in it, and by how often it "
                         "occurs in the reads. A genome makes one cloud for each peak of the "
                         "spectrum, all at the same height. Other organisms make clouds of their "
                         "own. Repeats lie to the right at the genome&#8217;s own GC content.");
        text_out_puts(out, "<div class=\"wide-and-narrow\"><figure><div class=\"bar\">");
        if (page_has_model(page))
                text_out_printf(out, "<span class=\"remark\">The genome has %s GC</span>",
                                figure_percent(page->gc.main_gc, 0).text);
        html_save_buttons(out, "gc-plot", "gc-plot");
        text_out_puts(out, "</div>");
        html_plot(out, "gc-plot");
        html_data_table(out, "gc-plot");
        text_out_puts(out, "</figure>");
        put_gc_aside(out, page);
        text_out_puts(out, "</div>\n");
        html_end_panel(out);
}
