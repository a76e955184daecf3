/*
 * What is remarkable about a sequence.
 */
#ifndef APP_REPORT_PAGE_PAGE_FLAGS_H
#define APP_REPORT_PAGE_PAGE_FLAGS_H

#include "app/report/page/page.h"

enum { PAGE_NFLAGS = 4 };

/* The names of the flags, from the lowest bit on. */
extern const char *const page_flag_names[PAGE_NFLAGS];

/*
 * The flags of a sequence, by its other numbers. The page has k, depth, gc.main_gc and the quality
 * of the assemblies already; what of it is not known gives no flag. Reads have none.
 */
unsigned page_find_flags(const struct page *page, const struct page_sequence *sequence);

#endif
