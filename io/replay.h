/*
 * The batches of a source, given once for each of several k to an engine that counts one k at a
 * time: the first time they come from the source, which reads and inflates, and are kept in an
 * unlinked file; after that they come from the file, at a third of a byte a base.
 */
#ifndef KC_REPLAY_H
#define KC_REPLAY_H

#include "base/job.h"
#include "kmer/batch.h"

struct kc_replay;

struct kc_replay_setup {
        const struct kc_batch_source
                *source;     /* its segments are cut for all k; it must outlive this */
        const char *tmp_dir; /* likewise */
        int nworkers;        /* that the source serves */
        struct kc_job
                *job; /* cancel is honoured; done and total count bytes of the file while it is
                               read; may be NULL */
};

/* KC_ENOMEM, KC_EIO. Free it with kc_replay_free; NULL is fine there. */
enum kc_status kc_replay_new(struct kc_replay **replay, const struct kc_replay_setup *setup,
                             struct kc_error *err);
void kc_replay_free(struct kc_replay *replay);

/*
 * The batches, for k alone: segments of at least k bases that repeat nothing. Another may be asked
 * for when every worker has had the last batch of the one before; that one may not be used any
 * more. next() fails as that of the setup's source does, and with KC_EIO for the file.
 */
struct kc_batch_source kc_replay_source(struct kc_replay *replay, int k);

/* Bytes in the file so far. */
uint64_t kc_replay_nbytes(struct kc_replay *replay);

#endif
