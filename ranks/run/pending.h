/*
 * The blocks that a rank has encoded and sealed, and that wait for their place in rank 0's file
 * (ranks/run.h). Places arrive in the order in which the blocks were added. A separate thread
 * writes the blocks, and so do threads that have to wait for room before they can add more.
 */
#ifndef KC_PENDING_H
#define KC_PENDING_H

#include "ranks/run.h"

struct kc_pending;

/* Bytes that pending blocks take at most. */
uint64_t kc_pending_nbytes(void);

/* exchange and guest must outlive it. KC_ENOMEM; then *pending is NULL. */
enum kc_status kc_pending_new(struct kc_pending **pending, const struct kc_exchange *exchange,
                              const struct kc_run_guest *guest, struct kc_error *err);
void kc_pending_free(struct kc_pending *pending); /* NULL is fine */

/* Add a copy of blocks of a part; by one thread at a time. May wait until earlier blocks have their
 * places, which rank 0 must be able to give without the new ones. KC_ENOMEM, KC_ECANCELED, and
 * failures of the guest. */
enum kc_status kc_pending_add(struct kc_pending *pending, uint64_t part, const uint64_t *words,
                              size_t nwords, struct kc_error *err);

/* Nothing more will be added. */
void kc_pending_end(struct kc_pending *pending);

/* The first blocks that have no place yet go to this offset. Does not wait. KC_EUSAGE if there are
 * none, or if they are not of this part. */
enum kc_status kc_pending_place(struct kc_pending *pending, uint64_t part, uint64_t offset,
                                struct kc_error *err);

/* Write blocks as they get their places, until kc_pending_end has been called and all are written.
 * KC_ECANCELED, and failures of the guest. */
enum kc_status kc_pending_write(struct kc_pending *pending, struct kc_error *err);

/* Wake blocked calls, which then fail, like all later ones; from any thread. */
void kc_pending_cancel(struct kc_pending *pending);

#endif
