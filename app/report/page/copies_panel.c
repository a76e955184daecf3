/*
 * The panel about how often assemblies have the k-mers of the reads.
 */
#include "app/report/page/figures.h"
#include "app/report/page/html.h"
#include "app/report/page/panels.h"
#include "app/report/page/parts.h"

#include <stdio.h>

enum { TITLE_NBYTES = 300 };

static void put_keys(struct text_out *out)
{
        static const char *const keys[PAGE_NCOPIES][2] = { { "c0", "Missing" }, { "c1", "Once" },
                                                           { "c2", "Twice" },   { "c3", "3 times" },
                                                           { "c4", "4 times" }, { "c5", "More" } };
        text_out_puts(out, "<div class=\"keys\" role=\"group\" "
                           "aria-label=\"Copies in the assembly\">");
        for (int i = 0; i < PAGE_NCOPIES; i++)
                html_key(out, "copies", keys[i][0], keys[i][1]);
        html_legend(out, "only", "In no read");
        text_out_puts(out, "</div>");
}

/* ---- parts of the genome ---- */

static void put_part_cells(struct text_out *out, const struct page_part *part)
{
        html_cell(out, figure_percent(part->missing_percent / 100, 1).text);
        html_cell(out, figure_percent(part->once_percent / 100, 1).text);
        html_cell(out, figure_percent(part->twice_percent / 100, 1).text);
        html_cell(out, figure_percent(part->more_percent / 100, 1).text);
        html_end_row(out);
}

/* Of two assemblies, both together come first. */
static void put_part_rows(struct text_out *out, const struct page *page, int part)
{
        const bool are_two = page->nassemblies > 1;
        if (!figure_has_part(page, part))
                return;
        html_begin_row(out, figure_part(page, part), are_two ? "both together" : NULL);
        put_part_cells(out, &page->all.copies.parts[part]);
        for (int i = 0; are_two && i < page->nassemblies; i++) {
                text_out_puts(out, "<tr class=\"each\"><th scope=\"row\">");
                html_text(out, page->assemblies[i].name);
                text_out_puts(out, "</th>");
                put_part_cells(out, &page->assemblies[i].comparison.copies.parts[part]);
        }
}

static void put_parts(struct text_out *out, const struct page *page)
{
        static const char *const heads[] = {
                "Part",
                "<i class=\"swatch k-c0\"></i>Missing",
                "<i class=\"swatch k-c1\"></i>Once",
                "<i class=\"swatch k-c2\"></i>Twice",
                "<i class=\"swatch k-c3\"></i>More",
                NULL,
        };
        text_out_puts(out, "<h3>Part by part</h3><p>Peaks overlap, so a count alone does not say "
                           "to which part a k-mer belongs. The model separates them.</p>");
        html_plot(out, "parts-plot");
        html_begin_table(out, "Parts of the genome by copies in the assembly", heads);
        for (int part = 0; part < PAGE_NPARTS; part++)
                put_part_rows(out, page, part);
        html_end_table(out);
        text_out_puts(out, "<div class=\"bar\">");
        html_save_buttons(out, "parts-plot", "parts-plot");
        text_out_puts(out, "</div>");
}

static void put_aside(struct text_out *out, const struct page *page)
{
        text_out_puts(out, "<aside class=\"box\">");
        if (page->all.copies.has_parts)
                put_parts(out, page);
        else
                text_out_puts(out, "<h3>No parts</h3><p>Without a model of the genome, the report "
                                   "cannot tell k-mers of one copy from those that all copies "
                                   "share. The picture shows the counts as they are.</p>");
        text_out_puts(out, "</aside>");
}

/* ---- the panel ---- */

static void say_title(const struct page *page, char *to)
{
        const struct page_part *part = &page->all.copies.parts[PAGE_HOMOZYGOUS];
        const char *genome = page_ploidy(page) > 1 ? "shared" : "unrepeated";
        if (!page->all.copies.has_parts)
                snprintf(to, TITLE_NBYTES, "How often the %s the k-mers of the reads",
                         page->nassemblies > 1 ? "assemblies hold" : "assembly holds");
        else if (page->nassemblies > 1)
                snprintf(to, TITLE_NBYTES,
                         "%s of the %s genome is in neither assembly, %s is present only once",
                         figure_percent(part->missing_percent / 100, 1).text, genome,
                         figure_percent(part->once_percent / 100, 1).text);
        else
                snprintf(to, TITLE_NBYTES, "%s of the %s genome is missing, %s is present twice",
                         figure_percent(part->missing_percent / 100, 1).text, genome,
                         figure_percent(part->twice_percent / 100, 1).text);
}

static const char *find_lead(const struct page *page)
{
        if (page->nassemblies > 1)
                return page_ploidy(page) > 1
                               ? "The spectrum again, coloured by how often the two assemblies "
                                 "together hold each k-mer. If each is one haplotype, what all "
                                 "haplotypes share should be present twice, and what only one of "
                                 "these two has should be present once."
                               : "The spectrum again, coloured by how often the two assemblies "
                                 "together hold each k-mer. What the genome has once should be "
                                 "present twice: once in each of them.";
        return page_ploidy(page) > 1
                       ? "The spectrum again, coloured by how often the assembly holds each "
                         "k-mer. If the assembly is one haplotype, it should have once what all "
                         "copies share. Of what only some copies have, the other copies&#8217; "
                         "share is missing, as it should be."
                       : "The spectrum again, coloured by how often the assembly holds each "
                         "k-mer. The genome&#8217;s peak should be present once. What is present "
                         "twice may be a part that was assembled twice.";
}

static void put_controls(struct text_out *out, const struct page *page)
{
        const struct html_choice assemblies[] = { { "both", "Both" },
                                                  { "0", page->assemblies[0].name },
                                                  { "1", page->assemblies[1].name },
                                                  { 0 } };
        text_out_puts(out, "<div class=\"bar\">");
        if (page->nassemblies > 1)
                html_radios(out, "copies-of", "Assembly", assemblies);
        html_stack_controls(out, "copies");
        text_out_puts(out, "</div>");
}

void panels_put_copies(struct text_out *out, const struct page *page)
{
        char title[TITLE_NBYTES];
        if (page->nassemblies == 0)
                return;
        say_title(page, title);
        html_begin_panel(out, "copies", "Copy-number spectrum", title, find_lead(page));
        text_out_puts(out, "<div class=\"wide-and-narrow\"><figure>");
        put_controls(out, page);
        put_keys(out);
        html_plot(out, "copies-plot");
        html_data_table(out, "copies-plot");
        text_out_puts(out, "</figure>");
        put_aside(out, page);
        text_out_puts(out, "</div>\n");
        html_end_panel(out);
}
