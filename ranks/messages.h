/*
 * An exchange (ranks/exchange.h) over a transport. A thread of its own, the pump, makes all calls
 * of the transport: it sends the messages that are full, takes those that arrive, and hands their
 * records to the taker. It takes what arrives even if this rank has to wait before it can send, so
 * no rank waits for another's memory, and two ranks that send each other more than either can hold
 * do not block each other.
 *
 *      send ──▶ message being filled, one per rank ──▶ queue ──▶ pump ──▶ transport
 *      taker ◀── pump ◀── transport
 */
#ifndef KC_RANKS_MESSAGES_H
#define KC_RANKS_MESSAGES_H

#include "ranks/exchange.h"
#include "ranks/transport.h"

struct kc_ranks_exchange;

/* Bytes that an exchange takes for messages. */
size_t kc_ranks_exchange_nbytes(int nranks);

/* transport must outlive the exchange. Every rank must make an exchange: a rank that is silent for
 * KC_TRANSPORT_PATIENCE_S while others need it is lost, and the calls of all others fail.
 * KC_ENOMEM. */
enum kc_status kc_ranks_exchange_new(struct kc_ranks_exchange **exchange,
                                     const struct kc_transport *transport, struct kc_error *err);

/* What an engine gets; valid until kc_ranks_exchange_free. */
struct kc_exchange kc_ranks_exchange_interface(struct kc_ranks_exchange *exchange);

/*
 * From now on, only leaders take part in phases; the others only settle, and rarely look for
 * messages while they wait. The interface, which must be fetched again, numbers only leaders. Every
 * rank calls this with the same values, outside of phases.
 *   leaders  [nranks] the leader of each rank, which may be that rank itself
 */
void kc_ranks_exchange_set_leaders(struct kc_ranks_exchange *exchange, const int *leaders);

/* Set a limit other than KC_TRANSPORT_PATIENCE_S; every rank must do so. */
void kc_ranks_exchange_set_patience(struct kc_ranks_exchange *exchange, double seconds);

/* Bytes of records sent to other ranks and taken from them. */
void kc_ranks_exchange_totals(struct kc_ranks_exchange *exchange, uint64_t *nsent,
                              uint64_t *ntaken);

/*
 * Exchange a few values with all ranks. Unlike kc_exchange_gather, this works after a failure too,
 * on whichever rank: what is still on its way is dropped, now or when it arrives, and the exchange
 * is like new. So ranks can tell each other what has failed. Every rank must call it sooner or
 * later, and no other call may be in progress on this one.
 *   all  out [nranks * nbytes], in the order of the ranks
 * KC_EIO if messages cannot be sent or taken.
 */
enum kc_status kc_ranks_exchange_settle(struct kc_ranks_exchange *exchange, const void *mine,
                                        size_t nbytes, void *all, struct kc_error *err);

/*
 * Settle for the last time, so every rank calls this after the same number of calls of
 * kc_ranks_exchange_settle, unless the exchange is broken because messages can no longer be sent or
 * taken, or because a rank is lost. NULL is fine. Returns whether the exchange is broken; the
 * transport should then no longer be used.
 */
bool kc_ranks_exchange_free(struct kc_ranks_exchange *exchange);

#endif
