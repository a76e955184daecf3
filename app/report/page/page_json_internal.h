/*
 * Private to this folder. What page_json.c and assembly_json.c both write.
 */
#ifndef APP_REPORT_PAGE_PAGE_JSON_INTERNAL_H
#define APP_REPORT_PAGE_PAGE_JSON_INTERNAL_H

#include "app/report/page/page_json.h"

enum { EXACT = 10, DRAWN = 5 }; /* digits of numbers to calculate with, and to read or draw */

/* Null if the number is not known. */
void page_json_figures(struct json *json, const char *key, bool is_known, double value,
                       int ndigits);
/* Null if it is 0. */
void page_json_count(struct json *json, const char *key, uint64_t count);
/* Members value, low and high. */
void page_json_values(struct json *json, const struct page_range *range);

/* Members copy_number, qv, completeness, holders, assemblies and sequences. */
void page_json_assemblies(struct json *json, const struct page *page);

#endif
