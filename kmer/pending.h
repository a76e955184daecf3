/*
 * The blocks that a rank has encoded and sealed, and that wait for their place in rank 0's file
 * (kmer/joint_run.h). Places come in the order in which the blocks were added. They are written by a
 * thread of their own, and by those that add more while there is no room.
 */
#ifndef KC_PENDING_H
#define KC_PENDING_H

#include "kmer/exchange.h"
#include "kmer/run.h"

struct kc_pending;

/* Bytes that pending blocks take at most. */
uint64_t kc_pending_nbytes(void);

/* exchange and guest must outlive it. KC_ENOMEM; then *pending is NULL. */
enum kc_status kc_pending_new(struct kc_pending **pending, const struct kc_exchange *exchange,
                              const struct kc_run_guest *guest, struct kc_error *err);
void kc_pending_free(struct kc_pending *pending); /* NULL is fine */

/* Copy blocks of a part; by one thread at a time. May wait for the places of earlier ones, which rank
 * 0 must be able to give without these. KC_ENOMEM, KC_ECANCELED, and failures of the guest. */
enum kc_status kc_pending_add(struct kc_pending *pending, uint64_t part, const uint64_t *words,
                              size_t nwords, struct kc_error *err);

/* Nothing more will be added. */
void kc_pending_end(struct kc_pending *pending);

/* The first blocks without a place, which are of this part, go to this offset. Does not wait.
 * KC_EUSAGE if there are none of this part. */
enum kc_status kc_pending_place(struct kc_pending *pending, uint64_t part, uint64_t offset,
                                struct kc_error *err);

/* Write blocks as they get their places, until all that are ever added are written. KC_ECANCELED, and
 * failures of the guest. */
enum kc_status kc_pending_write(struct kc_pending *pending, struct kc_error *err);

/* Wake blocked calls, which then fail, like all later ones; from any thread. */
void kc_pending_cancel(struct kc_pending *pending);

#endif
