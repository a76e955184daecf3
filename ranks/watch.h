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

/* tag: of the beats. transport must outlive the watch. KC_ENOMEM. */
enum kc_status kc_watch_new(struct kc_watch **watch, const struct kc_transport *transport, int tag,
                            struct kc_error *err);

/* A message has come from this rank. */
void kc_watch_heard(struct kc_watch *watch, int from);

/* This rank has left: it sends nothing more, but is not lost. */
void kc_watch_left(struct kc_watch *watch, int from);

/*
 * To be called over and over by the thread that uses the transport.
 *   beats             whether to send any
 *   patience_seconds  how long a rank may send nothing; the same on all ranks, which send beats
 *                     accordingly
 * KC_EIO if a rank is lost, or if a beat cannot be sent.
 */
enum kc_status kc_watch_turn(struct kc_watch *watch, bool beats, double patience_seconds,
                             struct kc_error *err);

/* Whether all beats that were sent have left. */
bool kc_watch_is_quiet(const struct kc_watch *watch);

/* NULL is fine. */
void kc_watch_free(struct kc_watch *watch);

#endif
