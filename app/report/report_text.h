#ifndef APP_REPORT_REPORT_TEXT_H
#define APP_REPORT_REPORT_TEXT_H

#include "app/cli/text_out.h"
#include "app/report/page/page.h"

/* A line about the genome, and one for each assembly. */
void report_put_text(struct text_out *out, const struct page *page);

#endif
