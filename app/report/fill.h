/*
 * A report as a page: what was found, put where the writers of pages look for it.
 */
#ifndef APP_REPORT_FILL_H
#define APP_REPORT_FILL_H

#include "app/report/page/genome.h"
#include "app/report/report.h"

/* A page, and what it points to besides the report. */
struct filled_page {
        struct page page;
        struct page_genome genome;
        uint64_t (*copies)[PAGE_NCOPIES];   /* rows of each assembly, then of all of them */
        uint64_t (*holders)[PAGE_NHOLDERS]; /* rows */
        struct page_sequence *sequences;
        uint32_t (*bins)[PAGE_NBIN_VALUES]; /* of all sequences */
};

/*
 * Fill the page after report_work. KC_ENOMEM. In any case free with fill_free.
 *   report   must live as long as the page
 *   command  as it was typed; the caller's
 */
enum kc_status fill_page(struct filled_page *filled, const struct report *report,
                         const char *command, struct kc_error *err);

/* About how many bytes that takes for n sequences with nbases bases in all. */
uint64_t fill_sequences_nbytes(uint64_t n, uint64_t nbases);

/* Only what is known about the reads before any work: sample, k, reads; no checksum, which another
 * thread may be about to write. */
void fill_reads(struct page *page, const struct report *report);

void fill_free(struct filled_page *filled);

#endif
