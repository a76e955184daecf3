/*
 * A report as one page of HTML: all numbers are text and tables in it, and a script draws them.
 *
 * The page loads nothing, and the same report gives the same bytes. template.html, report.css and
 * the scripts beside it are put into the program when it is built (scripts/cmake/Page.cmake).
 */
#ifndef APP_REPORT_PAGE_PAGE_HTML_H
#define APP_REPORT_PAGE_PAGE_HTML_H

#include "app/cli/text_out.h"
#include "app/report/page/page.h"

/* Of the sequences, at most the first PAGE_MAX_SEQUENCES. The caller checks the output's status. */
void page_put_html(struct text_out *out, const struct page *page);

#endif
