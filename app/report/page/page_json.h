/*
 * A report as JSON, for programs and for the script in the page: schema kcount-report/1.
 */
#ifndef APP_REPORT_PAGE_PAGE_JSON_H
#define APP_REPORT_PAGE_PAGE_JSON_H

#include "app/cli/json.h"
#include "app/report/page/page.h"

/* Parts that the report does not have are null. */
void page_put_json(struct json *json, const struct page *page);

#endif
