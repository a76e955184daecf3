/*
 * A report for MultiQC, as files that it finds by their names and reads as custom content. Such a
 * file can have general statistics or a picture, not both, so there are two: FILE_mqc.json and
 * FILE_spectrum_mqc.json. MultiQC puts those of several samples together.
 */
#ifndef APP_REPORT_MULTIQC_H
#define APP_REPORT_MULTIQC_H

#include "app/report/files.h"
#include "app/report/page/page.h"

/* Zero-initialise it: there are no files. */
struct multiqc {
        struct text_out *numbers, *spectrum; /* the files' */
};

/* path: that of the numbers. KC_EUSAGE if it does not end in _mqc.json; KC_ENOMEM. */
enum kc_status multiqc_add(struct multiqc *multiqc, struct files *files, const char *path,
                           struct kc_error *err);

/* Does nothing if there are no files. Numbers that are not known are left out; instead of a QV that
 * has only a bound, this bound is written. Failures are the text_outs'. */
void multiqc_put(const struct multiqc *multiqc, const struct page *page);

#endif
