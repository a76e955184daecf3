/*
 * .kc files that a report needs while it works. They have no names.
 */
#ifndef APP_REPORT_TEMPORARY_H
#define APP_REPORT_TEMPORARY_H

#include "app/count/count.h"
#include "kmer/run.h"

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

/* A file of pairs of counts (io/joint.h) that is being written. Zero-initialise. */
struct temporary_pairs {
        struct kc_store_writer *writer;
        struct kc_run_sink sink; /* takes the pairs */
};

/*
 * Begin a file. Fails like kc_store_create. Abort it in any case, also after committing it.
 *   folder    where it takes disk space; NULL: the current one
 *   assembly  the file whose k-mers have the pairs
 */
enum kc_status temporary_pairs_begin(struct temporary_pairs *pairs, const char *folder,
                                     const struct kc_store_info *assembly, struct kc_error *err);

/* Open the file, which has all pairs now; the caller closes it. Fails like
 * kc_store_commit_nameless. */
enum kc_status temporary_pairs_commit(struct temporary_pairs *pairs, uint64_t sum,
                                      struct kc_store **store, struct kc_error *err);
void temporary_pairs_abort(struct temporary_pairs *pairs);

#endif
