/*
 * The numbers of each sequence of an assembly, and the tracks along it.
 */
#ifndef APP_REPORT_CONTIGS_H
#define APP_REPORT_CONTIGS_H

#include "app/ask/asking.h"
#include "app/report/quality.h"
#include "app/report/strip.h"
#include "app/report/tracks.h"

struct contig {
        char *name; /* as it is shown; the list's */
        uint64_t length;
        uint64_t nbases, ngc;          /* A, C, G, T, U; of these, G and C */
        struct quality_counts quality; /* nkmers: windows */
        uint64_t nextra;               /* duplicated windows, as in tracks.h */
        uint64_t depth_quarters;       /* four times the median of the counts, without 0; or 0 */
        uint64_t step;                 /* see app/report/strip.h */
        struct strip_result *bins;     /* [nbins] the list's */
        size_t nbins;
};

struct contigs {
        struct contig *all; /* [n] in the order of the file */
        size_t n, capacity;
};

/*
 * Ask for the windows of all sequences of the file. Fails like asking_run; KC_EIO also for tracks.
 *   pairs  a store of pairs of counts (io/joint.h): in the reads, in the assembly
 */
enum kc_status contigs_find(struct contigs *contigs, struct kc_store *pairs, const char *path,
                            const struct tracks_setup *tracks, const struct asking_options *how,
                            struct kc_error *err);
void contigs_free(struct contigs *contigs);

/* About how many bytes the numbers of n sequences with nbases bases in all take. */
uint64_t contigs_nbytes(uint64_t n, uint64_t nbases);

#endif
