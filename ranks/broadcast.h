/*
 * A source that gives every rank the batches of all ranks: each rank reads a part of the input,
 * gives its batches to its own engine, and sends them to all other ranks.
 *
 *      this rank's part ──▶ the engine
 *                      └──▶ the other ranks
 *      the other ranks  ──▶ inbox  ──▶ the engine
 *
 * The inbox is bounded. A rank whose inbox is full makes the others wait. A worker that finds no
 * room for what it would send takes what has arrived instead, so it never waits only for room, and
 * ranks that send each other more than any of them can hold do not block each other.
 */
#ifndef KC_BROADCAST_H
#define KC_BROADCAST_H

#include "kmer/batch.h"
#include "ranks/exchange.h"

struct kc_broadcast;
struct kc_job;

struct kc_broadcast_setup {
        const struct kc_exchange *exchange;
        const struct kc_batch_source *own; /* of this rank's part, for nworkers. Once all workers
                                              that have called it are at its end, nothing may be
                                              left for the others */
        int nworkers;
        const struct kc_job *job; /* cancel is honoured; may be NULL */
};

/* The most bytes that a broadcast takes for batches. */
uint64_t kc_broadcast_nbytes(int nranks, int nworkers);

/* Every rank makes one. setup is copied, but what it points to must outlive the broadcast.
 * KC_ENOMEM. */
enum kc_status kc_broadcast_new(struct kc_broadcast **broadcast,
                                const struct kc_broadcast_setup *setup, struct kc_error *err);

/*
 * The source, for 1 to setup->nworkers workers, each of which must call it until it is at its end.
 * The first call waits until every rank has made its own, and begins a phase of the exchange. Once
 * any worker has come to the end, this rank may use the exchange for something else.
 * Fails like setup->own; with KC_ENOMEM, KC_EIO or KC_ECANCELED; and with KC_EUSAGE if a worker
 * that comes late still finds something in setup->own. After the first failure, or once the
 * exchange has failed, all calls fail.
 */
struct kc_batch_source kc_broadcast_source(struct kc_broadcast *broadcast);

/* No call may be in progress. If the source is not at its end, this fails the exchange. NULL is
 * fine. */
void kc_broadcast_free(struct kc_broadcast *broadcast);

#endif
