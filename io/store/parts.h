/*
 * A merge by several threads: the key space is cut into parts, and each thread takes the next one.
 */
#ifndef KC_IO_STORE_PARTS_H
#define KC_IO_STORE_PARTS_H

#include "io/store/merge.h"

enum { KC_PART_NKMERS = 1 << 17, KC_PART_NWORDS = 1 << 19 };

/* About how many pairs go into a part of a merge. */
static inline size_t kc_part_nkmers(int nwords)
{
        return KC_PART_NWORDS / nwords < KC_PART_NKMERS ? KC_PART_NWORDS / (size_t)nwords
                                                        : KC_PART_NKMERS;
}

/* Takes the merged pairs. */
struct kc_parts_taker {
        void *ctx;
        /* The next pairs of a part; with last (and n = 0), the part's end. A worker's calls come
         * from one thread. Parts are begun in ascending order. */
        enum kc_status (*take)(void *ctx, int worker, uint64_t part, bool last,
                               const uint64_t *kmers, const uint32_t *counts, size_t n,
                               struct kc_error *err);
        void (*cancel)(void *ctx); /* wake calls that block; may be NULL */
};

/*
 * Merge set by nthreads threads. KC_ECORRUPT, KC_EIO, KC_ENOMEM, KC_ECANCELED, or the taker's
 * error.
 *   job     may be NULL; cancel is honoured, done and total count parts
 *   totals  out: sums over all threads
 */
enum kc_status kc_parts_merge(const struct kc_set *set, int nthreads, struct kc_job *job,
                              const struct kc_parts_taker *taker, struct kc_join_totals *totals,
                              struct kc_error *err);

#endif
