/*
 * The panel about base quality and completeness of assemblies.
 */
#include "app/report/page/caveats.h"
#include "app/report/page/figures.h"
#include "app/report/page/html.h"
#include "app/report/page/panels.h"
#include "app/report/page/parts.h"

#include <stdio.h>
#include <string.h>

enum { TITLE_NBYTES = 300 };

static const char unknown[] = "\xe2\x80\x93"; /* a dash */

/* What the rows of a table of two assemblies are about: each one, then both. */
static const struct page_comparison *find_row(const struct page *page, int i)
{
        return i < page->nassemblies ? page_comparison_of(page, i) : &page->all;
}

static const char *name_row(const struct page *page, int i)
{
        return i < page->nassemblies ? page->assemblies[i].name : "Both together";
}

/* ---- quality of one assembly ---- */

static void put_errors_cell(struct text_out *out, const struct page_qv *qv)
{
        text_out_printf(out, "<td>%s%s</td>", qv->is_bound ? "under " : "",
                        figure_fixed(1e6 * qv->error, 1).text);
}

static void put_qv_row(struct text_out *out, const char *name, const char *note,
                       const struct page_qv *qv)
{
        html_begin_row(out, name, note);
        html_cell(out, figure_qv(qv, 2).text);
        html_cell(out, figure_qv_interval(qv, 1).text);
        put_errors_cell(out, qv);
        html_end_row(out);
}

static void put_one_qv(struct text_out *out, const struct page *page)
{
        static const char *const heads[] = { "Estimate", "QV", "95 %", "Errors per Mb", NULL };
        const struct page_quality *q = &page->all.quality;
        if (q->raw.is_bound)
                text_out_printf(out, "<p>All %s k-mers of the assembly occur in the reads.</p>",
                                figure_count(q->raw.nkmers).text);
        else
                text_out_printf(out, "<p>%s of the %s k-mers of the assembly occur in no read.</p>",
                                figure_count(q->raw.nonly).text, figure_count(q->raw.nkmers).text);
        html_begin_table(out, "Base quality of the assembly", heads);
        put_qv_row(out, "QV", "as Merqury counts", &q->raw);
        if (q->has_adjusted)
                put_qv_row(out, "Adjusted QV", "for chance", &q->adjusted);
        html_end_table(out);
}

/* ---- of two ---- */

static void put_row_of_two(struct text_out *out, const struct page *page, int row)
{
        const struct page_quality *q = &find_row(page, row)->quality;
        html_begin_row(out, name_row(page, row), NULL);
        if (q->refusal != PAGE_GIVEN) {
                for (int i = 0; i < 6; i++)
                        html_cell(out, unknown);
        } else {
                html_cell(out, figure_count(q->raw.nkmers).text);
                html_cell(out, figure_count(q->raw.nonly).text);
                html_cell(out, figure_qv(&q->raw, 2).text);
                html_cell(out, figure_qv_interval(&q->raw, 1).text);
                html_cell(out, q->has_adjusted ? figure_qv(&q->adjusted, 2).text : unknown);
                put_errors_cell(out, &q->raw);
        }
        html_end_row(out);
}

static void put_two_qvs(struct text_out *out, const struct page *page)
{
        static const char *const heads[] = { "Assembly", "k-mers",      "In no read",    "QV",
                                             "95 %",     "Adjusted QV", "Errors per Mb", NULL };
        html_begin_table(out, "Base quality of the assemblies", heads);
        for (int row = 0; row <= page->nassemblies; row++)
                put_row_of_two(out, page, row);
        html_end_table(out);
}

/* ---- the box about quality ---- */

static bool has_any_quality(const struct page *page)
{
        for (int i = 0; i < page->nassemblies; i++)
                if (page_comparison_of(page, i)->quality.refusal == PAGE_GIVEN)
                        return true;
        return false;
}

static void put_refusals(struct text_out *out, const struct page *page)
{
        for (int i = 0; i < page->nassemblies; i++) {
                char text[PAGE_SENTENCE_NBYTES];
                page_say_no_quality(page, i, text, sizeof text);
                if (*text != '\0')
                        html_element(out, "p", text);
        }
}

static void put_remarks(struct text_out *out, const struct page *page)
{
        const struct page_quality *q = &page->all.quality;
        if (page_has_quality(page) && q->raw.is_bound)
                text_out_printf(out,
                                "<p>One wrong base changes up to %d k-mers, and none was found "
                                "wrong, so the QV is very likely above this bound.</p>",
                                page->k);
        if (page_has_quality(page) && q->has_adjusted)
                text_out_printf(out,
                                "<p>Adjusted: by chance, the reads repeat %s of the wrong k-mers, "
                                "which hides them, and lack %s correct ones.</p>",
                                figure_percent(q->chance, 1).text, figure_count(q->unseen).text);
        if (has_any_quality(page))
                text_out_printf(out,
                                "<p>If %s assembly was made or corrected with these same reads, "
                                "its true QV is probably lower.</p>",
                                page->nassemblies > 1 ? "an" : "the");
}

static void put_quality(struct text_out *out, const struct page *page)
{
        text_out_puts(out, "<article class=\"box\"><h3>Base quality</h3>");
        if (page->nassemblies > 1 && has_any_quality(page))
                put_two_qvs(out, page);
        else if (has_any_quality(page))
                put_one_qv(out, page);
        put_refusals(out, page);
        put_remarks(out, page);
        text_out_puts(out, "</article>\n");
}

/* ---- completeness ---- */

static void put_solid(struct text_out *out, const struct page *page)
{
        static const char *const rules[] = {
                [PAGE_BY_MODEL] = "A k-mer with count %s or more is solid: more likely genome "
                                  "than error.",
                [PAGE_BY_MINIMUM] = "A k-mer with count %s or more is solid: it lies above the "
                                    "first minimum of the counts, below which most are errors.",
                [PAGE_BY_USER] = "A k-mer with count %s or more is solid, as the command sets it.",
                [PAGE_ALL_SOLID] = "The counts have no minimum that separates errors from genome, "
                                   "so all k-mers, from count %s on, are taken as solid. Errors "
                                   "among them make completeness too low.",
        };
        const struct page_completeness *c = &page->all.completeness;
        const struct figure least = figure_count((double)c->threshold);
        const char *rule = rules[page->solid], *place = strstr(rule, "%s");
        text_out_printf(out, "<p>%.*s%s%s ", (int)(place - rule), rule, least.text, place + 2);
        if (c->nsolid == 0)
                text_out_puts(out, "The reads have no such k-mer, so nothing is known of "
                                   "completeness.</p>");
        else if (page->nassemblies > 1)
                text_out_printf(out, "The reads have %s solid k-mers.</p>",
                                figure_count((double)c->nsolid).text);
        else
                text_out_printf(out, "Of %s solid k-mers, the assembly has %s.</p>",
                                figure_count((double)c->nsolid).text,
                                figure_count((double)c->nfound).text);
}

/* "81.52 %"; a dash if it is not known */
static void put_percent_cell(struct text_out *out, bool is_known, double percent)
{
        html_cell(out, is_known ? figure_percent(percent / 100, 2).text : unknown);
}

static void say_range(const struct page_completeness *c, char *to, size_t nbytes)
{
        if (c->low_threshold > 0)
                snprintf(to, nbytes, "%.1f to %.1f %%", c->percent.low, c->percent.high);
        else
                snprintf(to, nbytes, "%s", unknown);
}

static void put_share_row(struct text_out *out, const char *name, bool is_known, double percent,
                          const char *range)
{
        html_begin_row(out, name, NULL);
        put_percent_cell(out, is_known, percent);
        html_cell(out, range);
        html_end_row(out);
}

static void put_one_completeness(struct text_out *out, const struct page *page)
{
        static const char *const heads[] = { "Of", "In the assembly", "Range", NULL };
        const struct page_completeness *c = &page->all.completeness;
        char text[128];
        html_begin_table(out, "Completeness of the assembly", heads);
        say_range(c, text, sizeof text);
        put_share_row(out, "All solid k-mers", true, c->percent.value, text);
        put_share_row(out, "Weighted by count", true, c->weighted_percent, "");
        for (int part = PAGE_HOMOZYGOUS; part >= PAGE_HETEROZYGOUS; part--)
                if (figure_has_part(page, part))
                        put_share_row(out, figure_part(page, part), true,
                                      100 - page->all.copies.parts[part].missing_percent, "");
        snprintf(text, sizeof text, "Merqury's: counts from %s on",
                 figure_count((double)c->first_minimum.threshold).text);
        put_share_row(out, text, c->first_minimum.nsolid > 0, c->first_minimum.percent, "");
        html_end_table(out);
}

static void put_completeness_cell(struct text_out *out, const struct page_completeness *c)
{
        text_out_puts(out, "<td>");
        html_text(out, figure_percent(c->percent.value / 100, 2).text);
        if (c->low_threshold > 0)
                text_out_printf(out, "<small>%.1f to %.1f</small>", c->percent.low,
                                c->percent.high);
        text_out_puts(out, "</td>");
}

static void put_completeness_of_two(struct text_out *out, const struct page *page, int row)
{
        const struct page_comparison *found = find_row(page, row);
        const struct page_completeness *c = &found->completeness;
        html_begin_row(out, name_row(page, row), NULL);
        html_cell(out, figure_count((double)c->nfound).text);
        put_completeness_cell(out, c);
        put_percent_cell(out, true, c->weighted_percent);
        for (int part = PAGE_HOMOZYGOUS; part >= PAGE_HETEROZYGOUS; part--)
                if (figure_has_part(page, part))
                        put_percent_cell(out, true,
                                         100 - found->copies.parts[part].missing_percent);
        put_percent_cell(out, c->first_minimum.nsolid > 0, c->first_minimum.percent);
        html_end_row(out);
}

static void put_two_completenesses(struct text_out *out, const struct page *page)
{
        const char *heads[8] = { "Assembly", "Solid", "Of all", "Weighted<small>by count</small>" };
        char merqury[128];
        int n = 4;
        for (int part = PAGE_HOMOZYGOUS; part >= PAGE_HETEROZYGOUS; part--)
                if (figure_has_part(page, part))
                        heads[n++] = figure_part(page, part);
        snprintf(merqury, sizeof merqury, "Merqury&#8217;s<small>from count %s on</small>",
                 figure_count((double)page->all.completeness.first_minimum.threshold).text);
        heads[n] = merqury;
        html_begin_table(out, "Completeness of the assemblies", heads);
        for (int row = 0; row <= page->nassemblies; row++)
                put_completeness_of_two(out, page, row);
        html_end_table(out);
}

static void put_completeness(struct text_out *out, const struct page *page)
{
        const struct page_completeness *c = &page->all.completeness;
        text_out_puts(out, "<article class=\"box\"><h3>Completeness</h3>");
        put_solid(out, page);
        if (c->nsolid > 0 && page->nassemblies > 1)
                put_two_completenesses(out, page);
        else if (c->nsolid > 0)
                put_one_completeness(out, page);
        if (c->nsolid > 0 && c->low_threshold > 0)
                text_out_printf(
                        out,
                        "<p>The range is that of thresholds from %s to %s, where a k-mer is "
                        "genome with 10 to 90 %% probability.</p>",
                        figure_count((double)c->low_threshold).text,
                        figure_count((double)c->high_threshold).text);
        if (c->nsolid > 0 && page_ploidy(page) == 2 && figure_has_part(page, PAGE_HETEROZYGOUS))
                text_out_puts(out, "<p>A haplotype has half of the heterozygous k-mers, so alone "
                                   "it cannot have all solid ones.</p>");
        text_out_puts(out, "</article>\n");
}

/* ---- the panel ---- */

static void say_title(const struct page *page, char *to)
{
        const struct page_qv *qv = &page->all.quality.raw;
        if (!has_any_quality(page))
                snprintf(to, TITLE_NBYTES, "The base quality is not known");
        else if (!page_has_quality(page))
                snprintf(to, TITLE_NBYTES, "The base quality of one assembly is not known");
        else if (qv->is_bound)
                snprintf(to, TITLE_NBYTES, "No wrong base was found: QV above %.1f", qv->qv.low);
        else
                snprintf(to, TITLE_NBYTES, "QV %.1f, which is one wrong base in %s", qv->qv.value,
                         figure_about(1 / qv->error).text);
}

static void put_qv_plot(struct text_out *out, const struct page *page)
{
        text_out_puts(out, "<figure><div class=\"bar\"><span class=\"remark\">QV of each sequence "
                           "by its length, with its interval</span>");
        if (page->nassemblies > 1) {
                html_legend(out, "a1 round", page->assemblies[0].name);
                html_legend(out, "a2 square", page->assemblies[1].name);
        }
        html_save_buttons(out, "qv-plot", "qv-plot");
        text_out_puts(out, "</div>");
        html_plot(out, "qv-plot");
        html_data_table(out, "qv-plot");
        text_out_puts(out, "</figure>\n");
}

void panels_put_quality(struct text_out *out, const struct page *page)
{
        char title[TITLE_NBYTES];
        if (page->nassemblies == 0)
                return;
        say_title(page, title);
        html_begin_panel(out, "quality", "Base quality and completeness", title,
                         "A k-mer of an assembly that occurs in no read is probably wrong. A "
                         "k-mer that many reads have, but not the assembly, is sequence that the "
                         "assembly lacks, or that of another copy.");
        text_out_puts(out, page->nassemblies > 1 ? "<div class=\"stack\">\n"
                                                 : "<div class=\"halves\">\n");
        put_quality(out, page);
        put_completeness(out, page);
        text_out_puts(out, "</div>\n");
        if (has_any_quality(page) && page->nsequences > 1)
                put_qv_plot(out, page);
        html_end_panel(out);
}
