/*
 * Numbers as people read them.
 */
#ifndef APP_REPORT_PAGE_FIGURES_H
#define APP_REPORT_PAGE_FIGURES_H

#include "app/report/page/page.h"

/* By value, so that it can be an argument of printf: figure_count(n).text */
struct figure {
        char text[64];
};

struct figure figure_count(double value); /* 1,234,567 */
struct figure figure_fixed(double value, int ndigits);
struct figure figure_percent(double share, int ndigits);
struct figure figure_depth(double depth);  /* 11.7, 2,000 */
struct figure figure_bases(double nbases); /* 3 figures: 3.00 Mb */
struct figure figure_bases_range(struct page_range range);
struct figure figure_about(double value);                       /* 2 figures: 21,000 */
struct figure figure_qv(const struct page_qv *qv, int ndigits); /* "> 48.5" if it is a bound */

/* Its limits: "41.4 to 43.7", "at least 48.5", or "28.9 or more" if the upper one says nothing. */
struct figure figure_qv_interval(const struct page_qv *qv, int ndigits);

/* "one", "two", ... up to nine, then digits */
struct figure figure_word(size_t n);
const char *figure_ploidy(int ploidy); /* "diploid" */

/* How many bytes of a name a sentence shows, at most `most`: whole characters of UTF-8. */
int figure_name_length(const char *name, int most);

/* Whether the genome has this part, and its name. */
bool figure_has_part(const struct page *page, int part);
const char *figure_part(const struct page *page, int part);

#endif
