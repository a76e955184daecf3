/*
 * Reports with made-up numbers, for tests of what is written from them, and for looking at pages.
 */
#ifndef TESTS_APP_REPORT_EXAMPLE_H
#define TESTS_APP_REPORT_EXAMPLE_H

#include "app/report/page/page.h"

extern const char *const report_example_names[]; /* ends with NULL */

/* The numbers are the same in each call; NULL if there is no such example. */
struct page *report_example_make(const char *name);
void report_example_free(struct page *report);

#endif
