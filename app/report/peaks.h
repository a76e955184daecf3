/*
 * Where the histogram of reads has minima and peaks: Merqury's rules for which k-mers are solid.
 */
#ifndef APP_REPORT_PEAKS_H
#define APP_REPORT_PEAKS_H

#include "io/histogram.h"

/*
 * Merqury's table of peaks, as its kmerHistToPloidyDepth makes it. k-mers with counts above
 * first_minimum are solid. Free with peaks_free.
 */
struct peaks {
        uint64_t first_minimum; /* 0: there is none */
        struct peak {
                uint64_t count;
                double nkmers;
        } * peaks; /* [npeaks] of ploidy 1, 2, ... */
        size_t npeaks;
        uint64_t *bounds; /* [nbounds] where the peaks end; there may be more or fewer than peaks */
        size_t nbounds;
};

/* rows: by ascending count, none of them empty. KC_ENOMEM. */
enum kc_status peaks_find(struct peaks *peaks, const struct kc_histogram_row *rows, size_t nrows,
                          struct kc_error *err);
void peaks_free(struct peaks *peaks);

/*
 * The count of k-mers that occur once in each copy of the genome: of the rows above the threshold,
 * that in which k-mers, each taken as often as it was read, are most. 0: there is no such row.
 */
uint64_t peaks_depth(const struct kc_histogram_row *rows, size_t nrows, uint64_t threshold);

#endif
