/*
 * Write the pages of all examples, to look at them, and for scripts/check_report.sh.
 *
 *      report_pages FOLDER
 */
#include "app/report/page/page_html.h"
#include "tests/app/report_example.h"

#include <stdio.h>

static enum kc_status write_page(const char *folder, const char *name, struct kc_error *err)
{
        static struct text_out out;
        char path[4096];
        enum kc_status status;
        struct page *report = report_example_make(name);
        snprintf(path, sizeof path, "%s/%s.html", folder, name);
        KC_TRY(text_out_open(&out, path, true, err));
        page_put_html(&out, report);
        KC_TRY(text_out_close(&out, err));
out:
        report_example_free(report);
        return status;
}

int main(int argc, char **argv)
{
        struct kc_error err = { 0 };
        for (size_t i = 0; argc == 2 && report_example_names[i] != NULL; i++)
                if (write_page(argv[1], report_example_names[i], &err) != KC_OK) {
                        puts(err.message);
                        return 1;
                }
        return argc != 2;
}
