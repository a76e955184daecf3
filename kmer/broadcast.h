/*
 * A source of batches that every rank gets all of: each rank reads a part of the input, keeps its
 * batches and sends them to all others.
 *
 *      this rank's part ──▶ the engine
 *                      └──▶ outbox ──▶ a thread ──▶ the other ranks
 *      the other ranks  ──▶ inbox  ──▶ the engine
 *
 * Outbox and inbox are bounded. A rank whose inbox is full makes the others wait, and a worker that
 * finds no room in the outbox takes what has arrived instead; so it never waits for room alone, and
 * ranks that send each other more than any of them can hold do not block each other.
 */
#ifndef KC_BROADCAST_H
#define KC_BROADCAST_H

#include "kmer/batch.h"
#include "kmer/exchange.h"

struct kc_broadcast;
struct kc_job;

struct kc_broadcast_setup {
        const struct kc_exchange *exchange;
        const struct kc_batch_source *own; /* of this rank's part, for nworkers. When all workers
                                              that have called it are at its end, so are others */
        int nworkers;
        const struct kc_job *job; /* cancel is honoured; may be NULL */
};

/* Bytes that it takes at most for batches. */
uint64_t kc_broadcast_nbytes(int nranks, int nworkers);

/* Every rank makes one. setup is copied; what it points to must outlive the broadcast. KC_ENOMEM. */
enum kc_status kc_broadcast_new(struct kc_broadcast **broadcast,
                                const struct kc_broadcast_setup *setup, struct kc_error *err);

/*
 * The source, for at most setup->nworkers workers, and at least one; each must call it to its end.
 * The first call waits until every rank has come to its own, and begins a phase of the exchange. Once
 * any worker has come to the end, this rank may use the exchange for something else.
 * Fails as setup->own does, and with KC_ENOMEM, KC_EIO, KC_ECANCELED, and KC_EUSAGE if a worker that
 * comes late finds something in setup->own; after the first failure, all calls fail.
 */
struct kc_batch_source kc_broadcast_source(struct kc_broadcast *broadcast);

/* Wake blocked calls, which then fail, like all later ones; from any thread. Does not tell the other
 * ranks. */
void kc_broadcast_cancel(struct kc_broadcast *broadcast);

/* No call may be in progress. If the source is not at its end, this fails the exchange. NULL is
 * fine. */
void kc_broadcast_free(struct kc_broadcast *broadcast);

#endif
