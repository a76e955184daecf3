/*
 * What a reader of the report must know before using its numbers, in plain sentences.
 */
#ifndef APP_REPORT_PAGE_CAVEATS_H
#define APP_REPORT_PAGE_CAVEATS_H

#include "app/report/page/page.h"

enum page_level { PAGE_GOOD, PAGE_CHECK, PAGE_PROBLEM };

enum { PAGE_MAX_CAVEATS = 32, PAGE_SENTENCE_NBYTES = 512 };

struct page_caveat {
        const char *name; /* a word for programs; several caveats may have it */
        enum page_level level;
        const char *subject; /* "Reads", "Model" or "Assembly" */
        const char *panel;   /* where to look: the identifier of a panel of the page */
        char text[PAGE_SENTENCE_NBYTES];
};

/* All of the page. Returns how many there are. */
size_t page_find_caveats(const struct page *page, struct page_caveat caveats[PAGE_MAX_CAVEATS]);

/* Sentences that say why a part is missing, and what to do (refusals.c). */
void page_say_refusal(const struct page *page, enum page_refusal refusal, char *to, size_t nbytes);

/* Why an assembly has no QV; empty if it has one. What holds for both assemblies comes from the
 * reads, and is said about the first only. */
void page_say_no_quality(const struct page *page, int assembly, char *to, size_t nbytes);

/* The levels of the numbers of the verdict. */
enum page_level page_level_size(const struct page *page);
enum page_level page_level_ploidy(const struct page *page);
enum page_level page_level_heterozygosity(const struct page *page);
enum page_level page_level_coverage(const struct page *page);
enum page_level page_level_errors(const struct page *page);
enum page_level page_level_assembly(const struct page *page);

#endif
