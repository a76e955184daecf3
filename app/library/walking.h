/*
 * Walking the k-mers of a .kc file with several threads, to write them in order.
 *
 * The key space is cut into parts. Threads take parts in order, each converts its part to what is
 * to be written, in a buffer of its own, and delivers that after all earlier parts.
 */
#ifndef APP_LIBRARY_WALKING_H
#define APP_LIBRARY_WALKING_H

#include "base/job.h"
#include "io/store.h"

struct kc_walking {
        struct kc_store *store;
        const uint64_t *from, *to; /* bounds, both included; NULL: none */
        int nthreads;
        struct kc_job *job; /* counts the k-mers that were taken, and can cancel; may be NULL */
        size_t pair_nbytes; /* the most that a pair takes in the buffer */
        void *ctx;

        /* Convert n pairs, and put the result at `to`, which is aligned like from malloc if every
         * call returns such an end. Returns the end. Threads call it at the same time. */
        char *(*convert)(void *ctx, const uint64_t *kmers, const uint32_t *counts, size_t n,
                         char *to);

        /* Write what calls of `convert` have put one after another. One thread at a time calls it,
         * in the order of the k-mers. */
        enum kc_status (*deliver)(void *ctx, const char *data, size_t nbytes, struct kc_error *err);
};

/* KC_ECANCELED, KC_ENOMEM, and errors of the store and of deliver. */
enum kc_status kc_walking_run(const struct kc_walking *walking, struct kc_error *err);

#endif
