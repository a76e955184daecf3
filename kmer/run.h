/*
 * The sorted run: the only thing that leaves an engine.
 *
 * A run is the distinct k-mers of the input in ascending order, each with its count. It leaves the
 * engine in parts, in an order given by numbers, not by time, so that threads can sort, encode and
 * write different parts of the key space at once.
 */
#ifndef KC_RUN_H
#define KC_RUN_H

#include "kmer/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * put(ctx, part, last, kmers, counts, n, err): hand over the next n pairs of a part.
 *   part    0, 1, 2, ...: all k-mers of part p are below all of part p+1. Every number is used.
 *   last    true with the part's final call; each part is given by one thread, in one call or
 * several kmers   [n * nwords] ascending, distinct; kc_kmer_nwords(k) words each, as in kmer.h
 *   counts  [n], 1 at least
 *   n       0 is valid
 * May be called by several threads at once, for different parts. A call may block until all calls
 * for lower parts have been made, so threads must begin parts in ascending order. The arrays are
 * the caller's again on return. After a failure in any thread, blocked calls return that failure.
 */
struct kc_run_sink {
        void *ctx;
        enum kc_status (*put)(void *ctx, uint64_t part, bool last, const uint64_t *kmers,
                              const uint32_t *counts, size_t n, struct kc_error *err);
        /* Wake blocked calls; they and all later ones return KC_ECANCELED. Called by an engine that
         * fails. */
        void (*cancel)(void *ctx);
};

#ifdef __cplusplus
}
#endif
#endif
