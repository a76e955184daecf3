#include "app/report/page/caveats.h"
#include "app/report/page/figures.h"

#include <stdio.h>

/* The counts that are missing; if files were merged, perhaps only in some of them. */
static struct figure name_small(const struct page *page)
{
        struct figure f = { "small counts" };
        if (page->reads.min_count > 1)
                snprintf(f.text, sizeof f.text, "counts under %.40s",
                         figure_count((double)page->reads.min_count).text);
        return f;
}

static struct figure name_large(const struct page *page)
{
        struct figure f = { "large counts" };
        if (page->reads.max_count > 0)
                snprintf(f.text, sizeof f.text, "counts over %.40s",
                         figure_count((double)page->reads.max_count).text);
        return f;
}

void page_say_refusal(const struct page *page, enum page_refusal refusal, char *to, size_t nbytes)
{
        switch (refusal) {
        case PAGE_GIVEN:
                *to = '\0';
                break;
        case PAGE_NO_PEAK:
                snprintf(to, nbytes,
                         "The counts have no peak that rises above the sequencing errors. Either "
                         "there are too few reads, or they come from many genomes at once.");
                break;
        case PAGE_LOW_COVERAGE:
                snprintf(to, nbytes,
                         "Each haplotype is covered fewer than 8 times, so its k-mers cannot be "
                         "distinguished from sequencing errors. Add reads: a coverage of 15 or "
                         "more is good.");
                break;
        case PAGE_HIGH_PEAK:
                snprintf(to, nbytes,
                         "The peak is at a count that is too high to be fitted. A part of the "
                         "reads is enough: use every tenth or hundredth read.");
                break;
        case PAGE_FILTERED:
                snprintf(to, nbytes,
                         "K-mers with %s were left out when the reads were counted, and without "
                         "them, errors cannot be distinguished from the genome. Count all k-mers.",
                         name_small(page).text);
                break;
        case PAGE_CAPPED:
                snprintf(to, nbytes,
                         "K-mers with %s were left out when the reads were counted. Those that "
                         "the assembly has would look like errors. Count all k-mers.",
                         name_large(page).text);
                break;
        case PAGE_REMOVED:
                snprintf(to, nbytes,
                         "K-mers were removed from the counts of the reads. Those that the "
                         "assembly has would look like errors. Use the counts from before that.");
                break;
        case PAGE_STRANDED:
                snprintf(to, nbytes,
                         "The two strands were counted separately, so each k-mer has only half of "
                         "its count. Count both strands together.");
                break;
        case PAGE_SELECTED:
                snprintf(to, nbytes,
                         "Only the k-mers of a given set were counted, which do not represent a "
                         "whole genome. Count all k-mers.");
                break;
        case PAGE_COMPRESSED:
                snprintf(to, nbytes,
                         "Runs of equal bases were shortened to one base before counting, which "
                         "hides errors in such runs. Count without homopolymer compression.");
                break;
        case PAGE_NO_LIBRARY:
                snprintf(to, nbytes,
                         "This kcount was built without the library (cminpack) that fits models.");
                break;
        case PAGE_ARE_READS:
                snprintf(to, nbytes,
                         "The assembly is more than five times as large as %s. Are these reads? An "
                         "assembly has each part of the genome once, or once for each haplotype.",
                         page_ploidy(page) > 1 ? "all haplotypes of the genome together"
                                               : "the genome");
                break;
        case PAGE_NO_KMERS:
                snprintf(to, nbytes,
                         "The assembly has no stretch of %d bases without gaps, so it has no "
                         "k-mers to compare. Is it the right file?",
                         page->k);
                break;
        }
}

void page_say_no_quality(const struct page *page, int assembly, char *to, size_t nbytes)
{
        const enum page_refusal why = page_comparison_of(page, assembly)->quality.refusal;
        char reason[PAGE_SENTENCE_NBYTES];
        bool alike = page->nassemblies == 1 || (why != PAGE_ARE_READS && why != PAGE_NO_KMERS);
        for (int i = 0; i < page->nassemblies; i++)
                alike = alike && page_comparison_of(page, i)->quality.refusal == why;
        page_say_refusal(page, why, reason, sizeof reason);
        if (why == PAGE_GIVEN || (alike && assembly > 0))
                *to = '\0';
        else if (alike)
                snprintf(to, nbytes, "There is no QV. %s", reason);
        else
                snprintf(to, nbytes, "There is no QV of %.*s. %s",
                         figure_name_length(page->assemblies[assembly].name, 100),
                         page->assemblies[assembly].name, reason);
}
