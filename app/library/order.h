/*
 * Writing blocks in the order of their numbers: 0, 1, 2, ... A worker that has prepared a block
 * hands it in at one of its places, and goes on with other work. Whoever hands in the block whose
 * turn it is writes it, and then all blocks after it that have been handed in. So a block never
 * waits until the worker that prepared it wakes up.
 */
#ifndef APP_LIBRARY_ORDER_H
#define APP_LIBRARY_ORDER_H

#include "base/status.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct kc_asking_order {
        int nplaces;
        void *ctx;
        /* Write the block at the place. One thread at a time calls it, with the blocks in their
         * order. */
        enum kc_status (*write)(void *ctx, int place, struct kc_error *err);

        pthread_mutex_t lock; /* for all below */
        uint64_t next;        /* the number whose turn it is */
        bool is_writing, stopped;
        struct kc_asking_place {
                bool is_taken;   /* by a block that is not written yet */
                bool is_awaited; /* a thread sleeps until it is written */
                uint64_t number;
                pthread_cond_t written;
        } * places; /* [nplaces] */
};

/* Zero-initialise it, and destroy it even if this fails. KC_ENOMEM. */
enum kc_status kc_asking_order_init(struct kc_asking_order *order, int nplaces, void *ctx,
                                    enum kc_status (*write)(void *ctx, int place,
                                                            struct kc_error *err),
                                    struct kc_error *err);
void kc_asking_order_destroy(struct kc_asking_order *order);

/* Hand in a block at a place that is not taken. Fails like write. */
enum kc_status kc_asking_order_hand_in(struct kc_asking_order *order, int place, uint64_t number,
                                       struct kc_error *err);

bool kc_asking_order_is_taken(struct kc_asking_order *order, int place);

/* Wait until the place is not taken. Only one thread may wait for it. KC_ECANCELED if the order was
 * stopped. */
enum kc_status kc_asking_order_wait(struct kc_asking_order *order, int place, struct kc_error *err);

/* Any thread may call it: nothing more is written, and all threads that wait wake up. */
void kc_asking_order_stop(struct kc_asking_order *order);

#endif
