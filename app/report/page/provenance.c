/*
 * The last panel: what the report was made from, and how.
 */
#include "app/report/page/figures.h"
#include "app/report/page/html.h"
#include "app/report/page/panels.h"

static void put_file(struct text_out *out, const char *file, const char *sha256)
{
        html_element(out, "code", file);
        if (sha256 != NULL) {
                text_out_puts(out, "<br>SHA-256 ");
                html_element(out, "code", sha256);
        }
        text_out_puts(out, "<br>");
}

/* Which k-mers of the reads were left out. */
static void put_limits(struct text_out *out, const struct page_reads *reads)
{
        const bool all = reads->min_count <= 1 && reads->max_count == 0;
        if (reads->min_count > 1)
                text_out_printf(out, "counts under %s left out",
                                figure_count((double)reads->min_count).text);
        if (reads->max_count > 0)
                text_out_printf(out, "%scounts over %s left out", reads->min_count > 1 ? ", " : "",
                                figure_count((double)reads->max_count).text);
        if (all)
                text_out_puts(out, "no count left out");
        if (reads->removed)
                text_out_puts(out, "; k-mers were removed later");
}

static void put_reads(struct text_out *out, const struct page *page)
{
        text_out_puts(out, "<dt>Reads</dt><dd>");
        put_file(out, page->reads.file, page->reads.sha256);
        text_out_printf(out, "%s k-mers, %s distinct, %s of these once; %s; ",
                        figure_count((double)page->spectrum.total).text,
                        figure_count((double)page->spectrum.distinct).text,
                        figure_count((double)page->reads.nonce).text,
                        page->reads.stranded ? "strands separately" : "both strands together");
        put_limits(out, &page->reads);
        text_out_puts(out, page->reads.compressed ? "; homopolymers compressed</dd>\n" : "</dd>\n");
}

static void put_assembly(struct text_out *out, const struct page *page, int i)
{
        const struct page_assembly *assembly = &page->assemblies[i];
        text_out_printf(out, "<dt>%s</dt><dd>",
                        page->nassemblies == 1 ? "Assembly"
                        : i == 0               ? "First assembly"
                                               : "Second assembly");
        put_file(out, assembly->file, assembly->sha256);
        if (assembly->is_counted)
                text_out_puts(out, "a file of counts, without sequences: ");
        if (assembly->nsequences > 0)
                text_out_printf(out, "%s sequence%s, ",
                                figure_count((double)assembly->nsequences).text,
                                assembly->nsequences == 1 ? "" : "s");
        if (assembly->nbases > 0)
                text_out_printf(out, "%s bases, ", figure_count((double)assembly->nbases).text);
        text_out_printf(out, "%s k-mers, %s distinct</dd>\n",
                        figure_count((double)assembly->nkmers).text,
                        figure_count((double)assembly->ndistinct).text);
}

static void put_formulas(struct text_out *out)
{
        text_out_puts(
                out,
                "<details><summary>How the numbers are calculated</summary><ul>"
                "<li><b>Model.</b> The number of k-mers with count x is length &times; &Sigma; "
                "&alpha;<sub>i</sub> NB(x; i&lambda;), for i from 1 to twice the ploidy p. "
                "&lambda; is the coverage of one copy. NB is a negative binomial distribution with "
                "this mean, and a variance that is 1 + bias times as large. The shares "
                "&alpha;<sub>i</sub> follow from heterozygosity and duplication as in GenomeScope "
                "2.</li>"
                "<li><b>Fit.</b> Least squares of count &times; (k-mers &minus; model).</li>"
                "<li><b>Errors.</b> What the model leaves over at low counts. The share of wrong "
                "bases is 1 &minus; (1 &minus; wrong k-mers / all k-mers)<sup>1/k</sup>.</li>"
                "<li><b>Genome size.</b> All k-mers, without errors and without groups unlike the "
                "genome, divided by p&lambda;.</li>"
                "<li><b>QV.</b> &minus;10 log<sub>10</sub>(1 &minus; (1 &minus; absent k-mers / "
                "all k-mers)<sup>1/k</sup>), of the assembly&#8217;s k-mers that no read has. One "
                "wrong base makes about k of them, so the interval is that of one k-th as many "
                "independent errors.</li>"
                "<li><b>Intervals.</b> 95 %, from the fit, from fits that start at other counts, "
                "and from errors seen with simulated genomes.</li></ul></details>\n");
}

void panels_put_provenance(struct text_out *out, const struct page *page)
{
        html_begin_panel(out, "provenance", "Provenance", "What this report was made from",
                         "The same files and the same command give this page again, byte for byte. "
                         "It has no date, and it loads nothing.");
        text_out_puts(out, "<dl class=\"provenance\"><dt>Command</dt><dd>");
        html_element(out, "code", page->command);
        text_out_puts(out, "</dd>\n<dt>Program</dt><dd>");
        html_text(out, page->program);
        text_out_puts(out, "</dd>\n");
        put_reads(out, page);
        for (int i = 0; i < page->nassemblies; i++)
                put_assembly(out, page, i);
        text_out_puts(out, "<dt>For programs</dt><dd>All numbers are in this page as JSON, schema "
                           "kcount-report/1, in the element with the id <code>report</code>.</dd>"
                           "</dl>\n");
        put_formulas(out);
        text_out_puts(out, "<noscript><p class=\"left-out\">The pictures need JavaScript. All "
                           "results are in the text and tables above.</p></noscript>\n");
        html_end_panel(out);
}
