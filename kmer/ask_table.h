/*
 * The table of counts that an asker on the host answers from: what cpu/ask needs, and io/store
 * implements.
 */
#ifndef KC_KMER_ASK_TABLE_H
#define KC_KMER_ASK_TABLE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The functions may be called by several threads at once, except that each walk belongs to one.
 * KC_ECORRUPT, KC_EIO, KC_ENOMEM. */
struct kc_ask_table {
        void *ctx;
        int k;
        bool stranded;
        uint64_t ndistinct; /* at least as many as there are k-mers */

        /*
         * Cut the key space into about nparts ranges of similar size.
         *   bounds  out, [*nbounds * kc_kmer_nwords(k)], freed by the caller, ascending: where each
         *           range but the first one begins
         */
        enum kc_status (*split)(void *ctx, size_t nparts, uint64_t **bounds, size_t *nbounds,
                                struct kc_error *err);

        /*
         * A walk over the pairs of a range, ascending. It is moved to a range before the first
         * next, and can be moved to another one at any time.
         *   from, to  NULL: no bound; to is the last k-mer of the range. They must outlive the walk
         *             over the range
         *   n         out: how many pairs, 0 at the end; they are valid until the next call
         */
        enum kc_status (*walk_open)(void *ctx, void **walk, struct kc_error *err);
        enum kc_status (*walk_move)(void *walk, const uint64_t *from, const uint64_t *to,
                                    struct kc_error *err);
        enum kc_status (*walk_next)(void *walk, const uint64_t **kmers, const uint32_t **counts,
                                    size_t *n, struct kc_error *err);
        void (*walk_close)(void *walk); /* NULL is fine */
};

#endif
