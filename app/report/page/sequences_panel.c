/*
 * The panel about each sequence of the assemblies.
 */
#include "app/report/page/figures.h"
#include "app/report/page/html.h"
#include "app/report/page/page_flags.h"
#include "app/report/page/panels.h"

#include <stdio.h>

enum { TITLE_NBYTES = 300 };

static const char unknown[] = "\xe2\x80\x93"; /* a dash */

/* Whether QVs have their columns. */
static bool shows_quality(const struct page *page)
{
        for (int i = 0; i < page->nassemblies; i++)
                if (page_comparison_of(page, i)->quality.refusal == PAGE_GIVEN)
                        return true;
        return false;
}

/* ---- the table ---- */

static void put_qv(struct text_out *out, const struct page *page, const struct page_sequence *s)
{
        const struct page_qv *qv = &s->qv;
        if (!page_sequence_has_quality(page, s)) {
                html_cell(out, unknown);
                text_out_printf(out, "<td><small>%s</small></td>",
                                qv->nkmers > 0 ? "not known" : "no k-mers");
                return;
        }
        html_cell(out, figure_count(qv->nonly).text);
        text_out_puts(out, "<td>");
        html_text(out, figure_qv(qv, 1).text);
        if (qv->is_bound)
                text_out_puts(out, "<small>no error found</small></td>");
        else
                text_out_printf(out, "<small>%s</small></td>", figure_qv_interval(qv, 0).text);
}

static void put_remarks(struct text_out *out, unsigned flags)
{
        const char *comma = "";
        text_out_puts(out, "<td>");
        for (int bit = 0; bit < PAGE_NFLAGS; bit++)
                if (flags & (1u << bit)) {
                        text_out_printf(out, "%s%s", comma, page_flag_names[bit]);
                        comma = ", ";
                }
        text_out_puts(out, "</td>");
}

static void put_known(struct text_out *out, bool is_known, struct figure figure)
{
        html_cell(out, is_known ? figure.text : unknown);
}

/* The script draws the strip into the empty cell, and knows the values by which it sorts. */
static void put_sequence(struct text_out *out, const struct page *page,
                         const struct page_sequence *s)
{
        const bool has_kmers = s->qv.nkmers > 0;
        text_out_puts(out, s->flags ? "<tr class=\"flagged\"><th scope=\"row\">"
                                    : "<tr><th scope=\"row\">");
        html_text(out, s->name);
        if (page->nassemblies > 1)
                html_element(out, "small", page->assemblies[s->assembly].name);
        text_out_puts(out, "</th>");
        html_cell(out, figure_count((double)s->length).text);
        put_known(out, s->gc_percent >= 0, figure_fixed(s->gc_percent, 1));
        put_known(out, has_kmers && s->median > 0, figure_count(s->median));
        if (shows_quality(page))
                put_qv(out, page, s);
        put_known(out, has_kmers, figure_fixed(s->extra_percent, 1));
        text_out_puts(out, "<td></td>");
        put_remarks(out, s->flags);
        text_out_puts(out, "</tr>\n");
}

static void put_sorting_head(struct text_out *out, const char *key, const char *name,
                             const char *note)
{
        text_out_printf(out,
                        "<th scope=\"col\"><button type=\"button\" data-key=\"%s\">%s</button>",
                        key, name);
        if (note != NULL)
                text_out_printf(out, "<small>%s</small>", note);
        text_out_puts(out, "</th>");
}

static void put_heads(struct text_out *out, const struct page *page)
{
        text_out_puts(out, "<thead><tr>");
        put_sorting_head(out, "name", "Sequence", NULL);
        put_sorting_head(out, "length", "Length", "bases");
        put_sorting_head(out, "gc", "GC", "%");
        put_sorting_head(out, "median", "Depth", "median");
        if (shows_quality(page)) {
                put_sorting_head(out, "errors", "Errors", "k-mers");
                put_sorting_head(out, "qv", "QV", "95 %");
        }
        put_sorting_head(out, "extra", "Twice", "%");
        text_out_puts(out, "<th scope=\"col\">Where</th>"
                           "<th scope=\"col\">Remark</th></tr></thead>");
}

static void put_table(struct text_out *out, const struct page *page)
{
        text_out_puts(out, "<div class=\"scroll\" tabindex=\"0\"><table class=\"sequences\">"
                           "<caption>Quality of each sequence</caption>");
        put_heads(out, page);
        text_out_puts(out, "<tbody>\n");
        for (size_t i = 0; i < page_count_listed(page); i++)
                put_sequence(out, page, &page->sequences[i]);
        text_out_puts(out, "</tbody></table></div>\n<div class=\"bar\">");
        if (page->nsequences > page_count_listed(page))
                text_out_printf(out,
                                "<p class=\"left-out\">%s of %s sequences are listed: those with "
                                "a remark, then the longest.</p>",
                                figure_count((double)page_count_listed(page)).text,
                                figure_count((double)page->nsequences).text);
        html_save_buttons(out, "strips", "strips");
        text_out_puts(out, "</div>");
        html_data_table(out, "strips");
}

/* ---- the panel ---- */

static void say_title(const struct page *page, char *to)
{
        size_t nflagged = 0;
        for (size_t i = 0; i < page->nsequences; i++)
                nflagged += page->sequences[i].flags != 0;
        if (page->nsequences == 0)
                snprintf(to, TITLE_NBYTES, "Nothing is known about individual sequences");
        else if (nflagged == 0)
                snprintf(to, TITLE_NBYTES, "No sequence stands out");
        else
                snprintf(to, TITLE_NBYTES, "%s of %s sequence%s need%s a look",
                         figure_count((double)nflagged).text,
                         figure_count((double)page->nsequences).text,
                         page->nsequences == 1 ? "" : "s", nflagged == 1 ? "s" : "");
}

static void say_lead(const struct page *page, char *to)
{
        if (page->nsequences > 0)
                snprintf(to, TITLE_NBYTES,
                         "Each strip is a sequence, in steps of %s bases. Ticks are k-mers that no "
                         "read has. Orange is present twice, but only once in the genome; the "
                         "depth of purple differs from the genome&#8217;s. Click on a column head "
                         "to sort.",
                         figure_count((double)page->step).text);
        else if (page->reads.compressed)
                snprintf(to, TITLE_NBYTES,
                         "Runs of equal bases were shortened to one base in the reads, so their "
                         "k-mers have no places in the sequences.");
        else
                snprintf(to, TITLE_NBYTES,
                         "The sequences of the assembly are not available, only the counts of its "
                         "k-mers.");
}

/* Sequences that one of two assemblies does not have. */
static void put_counted(struct text_out *out, const struct page *page)
{
        for (int i = 0; page->nsequences > 0 && i < page->nassemblies; i++)
                if (page->assemblies[i].is_counted) {
                        text_out_puts(out, "<p class=\"left-out\">");
                        html_text(out, page->assemblies[i].name);
                        text_out_puts(out, " is a file of counts, so its sequences are not "
                                           "known.</p>\n");
                }
}

void panels_put_sequences(struct text_out *out, const struct page *page)
{
        char title[TITLE_NBYTES], lead[TITLE_NBYTES];
        if (page->nassemblies == 0)
                return;
        say_title(page, title);
        say_lead(page, lead);
        html_begin_panel(out, "sequences", "Sequence by sequence", title, lead);
        put_counted(out, page);
        if (page->nsequences > 0)
                put_table(out, page);
        html_end_panel(out);
}
