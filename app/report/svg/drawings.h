/*
 * The pictures of a page that has rows in its spectrum, each a whole file of SVG that needs nothing
 * around it, no font and no script. Every shape has a class, and the style of the classes is that
 * of the page (report.css).
 *
 * Pictures of one assembly or two need as many. If what a picture shows was not found, it says so
 * in words.
 */
#ifndef APP_REPORT_SVG_DRAWINGS_H
#define APP_REPORT_SVG_DRAWINGS_H

#include "app/cli/text_out.h"
#include "app/report/page/page.h"

void drawing_put_spectrum(struct text_out *out, const struct page *page);
void drawing_put_log_spectrum(struct text_out *out, const struct page *page);
void drawing_put_ploidy(struct text_out *out, const struct page *page);
void drawing_put_gc(struct text_out *out, const struct page *page);
/* Of all assemblies together, and of each of two. */
void drawing_put_copies(struct text_out *out, const struct page *page);
void drawing_put_first_copies(struct text_out *out, const struct page *page);
void drawing_put_second_copies(struct text_out *out, const struct page *page);
void drawing_put_holders(struct text_out *out, const struct page *page);
void drawing_put_sequences(struct text_out *out, const struct page *page);

/* A picture of words only, in ASCII. */
void drawing_put_words(struct text_out *out, const char *title, const char *words);

#endif
