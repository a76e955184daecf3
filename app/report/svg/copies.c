/*
 * The spectrum of the reads, by how often an assembly has each k-mer, or by which of two have it.
 */
#include "app/report/svg/drawings.h"
#include "app/report/svg/stack.h"

#include <stdio.h>

static void put_copies(struct text_out *out, const struct page *page,
                       const struct page_copies *copies, const char *holder)
{
        static const struct chart_key keys[] = {
                { "f-c0", "Missing" },      { "f-c1", "Once" },
                { "f-c2", "Twice" },        { "f-c3", "3 times" },
                { "f-c4", "4 times" },      { "f-c5", "More" },
                { "f-only", "In no read" }, { 0 },
        };
        char words[CHART_NAME_NBYTES + 64];
        snprintf(words, sizeof words, "Spectrum of the reads, by the copies of each k-mer in %s",
                 holder);
        const struct stack stack = { .title = "Copy-number spectrum",
                                     .description = words,
                                     .kmers = &copies->kmers[0][0],
                                     .nlayers = PAGE_NCOPIES,
                                     .initial = 'c',
                                     .only = copies->only,
                                     .nonly = PAGE_NONLY,
                                     .keys = keys };
        stack_put(out, page, &stack);
}

void drawing_put_copies(struct text_out *out, const struct page *page)
{
        put_copies(out, page, &page->all.copies,
                   page->nassemblies == 2 ? "both assemblies" : "the assembly");
}

static void put_copies_in(struct text_out *out, const struct page *page, int i)
{
        char name[CHART_NAME_NBYTES];
        chart_shorten(page->assemblies[i].name, name);
        put_copies(out, page, &page_comparison_of(page, i)->copies, name);
}

void drawing_put_first_copies(struct text_out *out, const struct page *page)
{
        put_copies_in(out, page, 0);
}

void drawing_put_second_copies(struct text_out *out, const struct page *page)
{
        put_copies_in(out, page, 1);
}

void drawing_put_holders(struct text_out *out, const struct page *page)
{
        char first[CHART_NAME_NBYTES], second[CHART_NAME_NBYTES];
        const struct chart_key keys[] = { { "f-a0", "Neither" },      { "f-a1", first },
                                          { "f-a2", second },         { "f-a3", "Both" },
                                          { "f-only", "In no read" }, { 0 } };
        chart_shorten(page->assemblies[0].name, first);
        chart_shorten(page->assemblies[1].name, second);
        const struct stack stack = { .title = "Spectrum by assembly",
                                     .description = "Spectrum of the reads, by which of the "
                                                    "assemblies has each k-mer",
                                     .kmers = &page->holders.kmers[0][0],
                                     .nlayers = PAGE_NHOLDERS,
                                     .initial = 'a',
                                     .only = page->holders.only,
                                     .nonly = PAGE_NHOLDERS - 1,
                                     .keys = keys };
        stack_put(out, page, &stack);
}
