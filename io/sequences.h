/*
 * Sequences in memory, as a source of batches. Their letters are read as those of FASTA files are,
 * except that they may contain any byte: no k-mer includes a byte that is not a base.
 */
#ifndef KC_SEQUENCES_H
#define KC_SEQUENCES_H

#include "base/job.h"
#include "kmer/batch.h"

struct kc_sequence {
        const char *letters; /* [n] */
        size_t n;
};

/*
 * Gives the next sequences. One thread at a time calls it.
 *   sequences  out [cap]; valid until the next call, or until the last call of the source has
 *              returned
 *   n          out: how many, at most cap; 0: there are no more
 */
struct kc_sequence_giver {
        void *ctx;
        enum kc_status (*give)(void *ctx, struct kc_sequence *sequences, size_t cap, size_t *n,
                               struct kc_error *err);
};

struct kc_sequences;

/*
 *   job  its cancel stops the source, and its done counts letters; may be NULL
 * The giver's ctx and the job must outlive the source. KC_ENOMEM.
 */
enum kc_status kc_sequences_open(struct kc_sequences **sequences, int k, int nworkers,
                                 const struct kc_sequence_giver *giver, struct kc_job *job,
                                 struct kc_error *err);

/* A source for nworkers threads. Once the giver has failed, every worker's call fails with its
 * failure. KC_ENOMEM, KC_ECANCELED. */
struct kc_batch_source kc_sequences_source(struct kc_sequences *sequences);

struct kc_sequence_totals {
        uint64_t nsequences;
        uint64_t nletters; /* of all sequences */
        uint64_t nskipped; /* those that are not bases */
};

/* Final once every worker has seen the end. */
struct kc_sequence_totals kc_sequences_totals(const struct kc_sequences *sequences);

void kc_sequences_close(struct kc_sequences *sequences); /* NULL is fine */

#endif
