/*
 * .kc files that a report needs while it works. They have no names.
 */
#ifndef APP_REPORT_TEMPORARY_H
#define APP_REPORT_TEMPORARY_H

#include "app/count/count.h"

/*
 * Count the k-mers of an assembly on the CPU, like those of another file. Fails like
 * count_temporary, of which it prints the progress and the messages.
 *   alike     the other file: k, strands, homopolymers
 *   counting  threads, memory, folder; what of the reads is counted does not apply
 *   store     out: closed by the caller
 */
enum kc_status temporary_count(struct kc_store **store, const char *path,
                               const struct kc_store_info *alike,
                               const struct count_settings *counting, struct kc_error *err);

struct temporary_setup {
        const char *folder; /* where it takes disk space; NULL: the current one */
        int nthreads;
        struct kc_job *job;
};

/* Make a file of the pairs of counts in two files (io/joint.h). KC_ECORRUPT, KC_EIO, KC_ENOMEM,
 * KC_ECANCELED. */
enum kc_status temporary_pairs(struct kc_store **store, struct kc_store *first,
                               struct kc_store *second, const struct temporary_setup *setup,
                               struct kc_error *err);

#endif
