/*
 * What only a model can say about an assembly: how often it has each part of the genome. Other
 * numbers of the assembly, and the model, are in the page already.
 */
#ifndef APP_REPORT_PAGE_PARTS_H
#define APP_REPORT_PAGE_PARTS_H

#include "app/report/page/page.h"

enum { PAGE_HETEROZYGOUS, PAGE_HOMOZYGOUS, PAGE_REPEATED }; /* the parts */

/*
 * Set copies.parts and has_parts of all and, if there are two, of each assembly, from the spectrum,
 * the model and the other members of copies.
 * The k-mers with each number of copies are a mixture of the model's parts: the shares are those of
 * least squares that are not negative. K-mers beyond the rows are repeated ones. Without a model,
 * or if it explains too little, there are no parts.
 */
void page_find_parts(struct page *page);

/* The smallest count of which this share of the k-mers or more are the genome's; with rows of
 * several counts, the first count of the row. There is a model. */
uint64_t page_find_threshold(const struct page *page, double share);

#endif
