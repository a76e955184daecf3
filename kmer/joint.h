/*
 * Joint histograms of files: how many k-mers have which counts in each of them.
 */
#ifndef KC_KMER_JOINT_H
#define KC_KMER_JOINT_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { KC_JOINT_MAX_FILES = 3 };

/* The k-mers that have the same count in each file. */
struct kc_joint_cell {
        uint32_t counts[KC_JOINT_MAX_FILES]; /* 0: the file lacks them, or is not given */
        uint64_t ndistinct;                  /* never 0 */
        uint64_t sums[KC_JOINT_MAX_FILES];   /* of their counts in each file */
};

/* Takes a histogram from an engine. */
struct kc_joint_taker {
        void *ctx;
        size_t nfiles;
        const uint32_t *most; /* [nfiles] all counts above most[i] in file i are most[i] + 1 in the
                                 cells; 0: each is itself */
        /* Add the k-mers of n cells, in any order; cells with the same counts may come in several
         * parts. One thread at a time. KC_ENOMEM. */
        enum kc_status (*take)(void *ctx, const struct kc_joint_cell *cells, size_t n,
                               struct kc_error *err);
};

#ifdef __cplusplus
}
#endif
#endif
