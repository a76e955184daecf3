/*
 * Whether the other ranks are still there. A rank that has stopped, or that can no longer be
 * reached, sends nothing, but no call of the transport fails because of that. So every rank sends
 * every other one an empty message, a beat, every few seconds; a rank that has sent nothing for a
 * long time is lost.
 */
#ifndef KC_RANKS_WATCH_H
#define KC_RANKS_WATCH_H

#include "ranks/transport.h"

struct kc_watch;

/* KC_ENOMEM. */
enum kc_status kc_watch_new(struct kc_watch **watch, const struct kc_transport *transport,
                            struct kc_error *err);

/* A message has come from this rank. */
void kc_watch_heard(struct kc_watch *watch, int from);

/* This rank has left: it sends nothing more, but is not lost. */
void kc_watch_left(struct kc_watch *watch, int from);

/*
 * To be called over and over.
 *   patience_seconds  how long a rank may send nothing; the same on all ranks, which send beats
 *                     accordingly
 *   must_beat         out: whether to send beats now. Also to ranks that have left, because they
 *                     still wait for the others
 * KC_EIO if a rank is lost.
 */
enum kc_status kc_watch_turn(struct kc_watch *watch, double patience_seconds, bool *must_beat,
                             struct kc_error *err);

/* NULL is fine. */
void kc_watch_free(struct kc_watch *watch);

#endif
