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

/* A part of the key space. Zero-initialise. */
struct kc_part {
        bool is_given;
        size_t number;
        const uint64_t *from, *to;   /* both included; NULL: no bound */
        uint64_t last[KC_MAX_WORDS]; /* what `to` refers to */
};

struct kc_parts;

/* Get the next part for the calling thread, which is done with the one that it has. Parts are given
 * in ascending order. KC_ECANCELED.
 *   found  out: false if none is left, or another thread has failed */
enum kc_status kc_parts_next(struct kc_parts *parts, struct kc_part *part, bool *found,
                             struct kc_error *err);

/* Does the work. */
struct kc_parts_work {
        void *ctx;
        /* Called once by each thread: do parts of kc_parts_next until there are none. */
        enum kc_status (*run)(void *ctx, int worker, struct kc_parts *parts, struct kc_error *err);
        void (*cancel)(void *ctx); /* wake calls that block; may be NULL */
};

/*
 * Divide the keys of the stores, which have the same k, among nthreads threads. KC_ECORRUPT,
 * KC_EIO, KC_ENOMEM, KC_ECANCELED, or the error of the work.
 *   job  may be NULL; cancel is honoured, done and total count parts
 */
enum kc_status kc_parts_run(struct kc_store *const *stores, size_t nstores, int nthreads,
                            struct kc_job *job, const struct kc_parts_work *work,
                            struct kc_error *err);

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
