/*
 * Existing pairs of a k-mer and a count, on their way to an engine that sorts them: the counterpart
 * of a batch of sequences (kmer/batch.h).
 */
#ifndef KC_PAIRS_H
#define KC_PAIRS_H

#include "base/status.h"
#include "kmer/run.h"

#include <stddef.h>
#include <stdint.h>

/* The largest sum of counts that an engine accepts: the totals of a .kc file cannot overflow. */
#define KC_MAX_PAIRS_SUM (UINT64_C(1) << 62)

struct kc_pair_batch {
        uint64_t *kmers;  /* [cap * kc_kmer_nwords(k)], as in kmer.h */
        uint32_t *counts; /* [cap], at least 1 */
        size_t cap, n;
};

/*
 * Where threads get pairs, in any order.
 *
 * next(ctx, worker, batch, err): replace the contents of the batch, and set its n.
 *   worker  0 .. nworkers-1, as agreed when the source was created; one thread at a time per
 *           worker, different workers concurrently
 * n = 0 means that none are left for this worker.
 */
struct kc_pair_source {
        void *ctx;
        enum kc_status (*next)(void *ctx, int worker, struct kc_pair_batch *batch,
                               struct kc_error *err);
        uint64_t expected_npairs; /* an estimate; 0: unknown */
};

#endif
