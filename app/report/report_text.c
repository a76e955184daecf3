/*
 * The summary of a report.
 */
#include "app/report/report_text.h"
#include "app/cli/size.h"
#include "app/report/page/figures.h"

static void put_genome(struct text_out *out, const struct page *page)
{
        const struct page_verdict *v = &page->verdict;
        if (!page_has_verdict(page))
                return;
        text_out_printf(out, "genome: %s, %s", figure_bases(v->genome_size.value).text,
                        figure_ploidy(page->model.ploidy));
        if (page->model.ploidy > 1)
                text_out_printf(out, ", %s heterozygous",
                                figure_percent(v->heterozygosity.value, 2).text);
        text_out_printf(out, ", each haplotype covered %s times",
                        figure_depth(v->coverage.value).text);
        if (v->has_error_rate)
                text_out_printf(out, "; %s of the reads' bases are wrong",
                                figure_percent(v->error_rate.value, 2).text);
        text_out_puts(out, "\n");
}

static void put_quality(struct text_out *out, const struct page_quality *q)
{
        if (q->raw.is_bound)
                text_out_printf(out, "QV over %.1f", q->raw.qv.low);
        else
                text_out_printf(out, "QV %.1f (%s)", q->raw.qv.value,
                                figure_qv_interval(&q->raw, 1).text);
        if (q->has_adjusted && q->adjusted.is_bound)
                text_out_printf(out, ", adjusted: over %.1f", q->adjusted.qv.low);
        else if (q->has_adjusted)
                text_out_printf(out, ", adjusted %.1f", q->adjusted.qv.value);
        text_out_puts(out, ", ");
}

static void put_comparison(struct text_out *out, const char *name,
                           const struct page_comparison *comparison)
{
        const struct page_completeness *c = &comparison->completeness;
        char found[FORMATTED_NBYTES], solid[FORMATTED_NBYTES];
        text_out_printf(out, "%s: ", name);
        if (comparison->quality.refusal == PAGE_GIVEN)
                put_quality(out, &comparison->quality);
        if (c->nsolid > 0)
                text_out_printf(out, "%.2f%% complete (%s of %s solid k-mers)\n", c->percent.value,
                                format_number(c->nfound, found), format_number(c->nsolid, solid));
        else
                text_out_puts(out, "the reads have no solid k-mers\n");
}

void report_put_text(struct text_out *out, const struct page *page)
{
        put_genome(out, page);
        if (page->nassemblies == 1)
                put_comparison(out, page->assemblies[0].name, &page->all);
        for (int i = 0; i < page->nassemblies && page->nassemblies > 1; i++)
                put_comparison(out, page->assemblies[i].name, &page->assemblies[i].comparison);
        if (page->nassemblies > 1)
                put_comparison(out, "both", &page->all);
}
