/*
 * The pictures of a report (app/report/svg) as files.
 *
 *      pictures_add     makes the folder, and adds its files to those of the report
 *      pictures_put     writes all, once the numbers are known
 *      pictures_close   after files_close; removes the folder if nothing appeared in it
 *
 * Which files there are depends only on the inputs.
 */
#ifndef APP_REPORT_PICTURES_H
#define APP_REPORT_PICTURES_H

#include "app/report/files.h"
#include "app/report/page/page.h"

enum { PICTURES_MOST = 9 };

/* Zero-initialise it. */
struct pictures {
        const char *folder;                   /* the caller's; NULL: none were added */
        bool made_folder;                     /* it was not there before */
        struct text_out *outs[PICTURES_MOST]; /* the files'; NULL: there is no such picture */
};

/*
 * spectrum.svg, spectrum-log.svg, ploidy.svg and gc.svg; with an assembly copies.svg and, if one of
 * them is not merely a file of counts, sequences.svg; with two copies-1.svg, copies-2.svg and
 * holders.svg, too. KC_EUSAGE, KC_EIO, KC_ENOMEM.
 */
enum kc_status pictures_add(struct pictures *pictures, struct files *files, const char *folder,
                            size_t nassemblies, bool has_sequences, struct kc_error *err);

/* Failures are the text_outs'. */
void pictures_put(const struct pictures *pictures, const struct page *page);

void pictures_close(const struct pictures *pictures);

#endif
