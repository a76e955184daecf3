/*
 * The parts of the page, for page_html.c. Each writes nothing if there is nothing for it.
 */
#ifndef APP_REPORT_PAGE_PANELS_H
#define APP_REPORT_PAGE_PANELS_H

#include "app/cli/text_out.h"
#include "app/report/page/page.h"

/* The finding of the whole report, as plain text: the title of the page. */
void panels_say_headline(const struct page *page, char *to, size_t nbytes);
void panels_put_head(struct text_out *out, const struct page *page);
void panels_put_verdict(struct text_out *out, const struct page *page);
void panels_put_caveats(struct text_out *out, const struct page *page);

void panels_put_spectrum(struct text_out *out, const struct page *page);
void panels_put_ploidy(struct text_out *out, const struct page *page);
void panels_put_gc(struct text_out *out, const struct page *page);

void panels_put_copies(struct text_out *out, const struct page *page);
void panels_put_holders(struct text_out *out, const struct page *page);
void panels_put_quality(struct text_out *out, const struct page *page);
void panels_put_sequences(struct text_out *out, const struct page *page);

void panels_put_provenance(struct text_out *out, const struct page *page);

#endif
