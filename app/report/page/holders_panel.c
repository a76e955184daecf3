/*
 * The panel about which of two assemblies has the k-mers of the reads.
 */
#include "app/report/page/figures.h"
#include "app/report/page/html.h"
#include "app/report/page/panels.h"

#include <stdio.h>

enum { TITLE_NBYTES = 300, NEITHER = 0, FIRST, SECOND, BOTH };

/* Distinct k-mers with this count or more, by their holders. */
struct solid {
        uint64_t from;
        double kmers[PAGE_NHOLDERS], total;
};

/* Solid k-mers. If a row has several counts, it is included only if all of them are solid. */
static struct solid add_up(const struct page *page)
{
        const struct page_spectrum *s = &page->spectrum;
        const size_t width = s->width, threshold = (size_t)page->all.completeness.threshold;
        size_t first = threshold > 0 ? (threshold - 1 + width - 1) / width : 0;
        first = first < s->n ? first : s->n;
        struct solid solid = { .from = first * width + 1 };
        for (int holder = 0; holder < PAGE_NHOLDERS; holder++) {
                solid.kmers[holder] = (double)page->holders.beyond[holder];
                for (size_t i = first; i < s->n; i++)
                        solid.kmers[holder] += (double)page->holders.kmers[i][holder];
                solid.total += solid.kmers[holder];
        }
        return solid;
}

static const char *name_holder(const struct page *page, int holder)
{
        return holder == NEITHER ? "Neither"
               : holder == BOTH  ? "Both"
                                 : page->assemblies[holder - FIRST].name;
}

static void put_row(struct text_out *out, const struct page *page, const struct solid *solid,
                    int holder)
{
        const bool is_one = holder == FIRST || holder == SECOND;
        html_begin_row(out, name_holder(page, holder), is_one ? "only" : NULL);
        html_cell(out, figure_count(solid->kmers[holder]).text);
        html_cell(out, solid->total > 0
                               ? figure_percent(solid->kmers[holder] / solid->total, 2).text
                               : "\xe2\x80\x93");
        html_cell(out, holder == NEITHER
                               ? "\xe2\x80\x93"
                               : figure_count((double)page->holders.only[holder - FIRST]).text);
        html_end_row(out);
}

static void put_aside(struct text_out *out, const struct page *page, const struct solid *solid)
{
        static const int order[PAGE_NHOLDERS] = { BOTH, FIRST, SECOND, NEITHER };
        static const char *const heads[] = { "In", "k-mers", "Share", "In no read", NULL };
        text_out_puts(out, "<aside class=\"box names\"><h3>Which assembly has what</h3>");
        text_out_printf(out,
                        "<p>Of %s different k-mers that the reads have %s times or more, and "
                        "k-mers that no read has.</p>",
                        figure_count(solid->total).text, figure_count((double)solid->from).text);
        html_begin_table(out, "k-mers by the assemblies that have them", heads);
        for (int i = 0; i < PAGE_NHOLDERS; i++)
                put_row(out, page, solid, order[i]);
        html_end_table(out);
        text_out_puts(out, "</aside>");
}

static void put_keys(struct text_out *out, const struct page *page)
{
        text_out_puts(out, "<div class=\"keys\" role=\"group\" "
                           "aria-label=\"Assemblies that have a k-mer\">");
        html_key(out, "holders", "a0", "Neither");
        html_key(out, "holders", "a1", page->assemblies[0].name);
        html_key(out, "holders", "a2", page->assemblies[1].name);
        html_key(out, "holders", "a3", "Both");
        html_legend(out, "only", "In no read");
        text_out_puts(out, "</div>");
}

void panels_put_holders(struct text_out *out, const struct page *page)
{
        char title[TITLE_NBYTES];
        if (page->nassemblies < 2)
                return;
        const struct solid solid = add_up(page);
        if (solid.total > 0)
                snprintf(title, sizeof title,
                         "The assemblies share %s of the solid k-mers, and both lack %s",
                         figure_percent(solid.kmers[BOTH] / solid.total, 1).text,
                         figure_percent(solid.kmers[NEITHER] / solid.total, 1).text);
        else
                snprintf(title, sizeof title, "Which assembly has the k-mers of the reads");
        html_begin_panel(out, "holders", "Spectrum by assembly", title,
                         page_ploidy(page) == 2
                                 ? "The spectrum again, coloured by which assembly holds each "
                                   "k-mer. What both haplotypes share should be in both "
                                   "assemblies, and a k-mer of one haplotype in one of them. A "
                                   "k-mer of the genome that neither has is missing."
                                 : "The spectrum again, coloured by which assembly holds each "
                                   "k-mer. A k-mer of the genome that neither has is missing.");
        text_out_puts(out, "<div class=\"wide-and-narrow\"><figure>");
        text_out_puts(out, "<div class=\"bar\">");
        html_stack_controls(out, "holders");
        text_out_puts(out, "</div>");
        put_keys(out, page);
        html_plot(out, "holders-plot");
        html_data_table(out, "holders-plot");
        text_out_puts(out, "</figure>");
        put_aside(out, page, &solid);
        text_out_puts(out, "</div>\n");
        html_end_panel(out);
}
