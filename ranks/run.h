/*
 * One run made by all ranks: what the CPU engine and the store need for it. The parts are dealt to
 * the ranks in stripes (kc_exchange_owner), so that all ranks work at about the same place in the
 * key space and rank 0, whose sink gets the run, need not keep much. The other ranks encode their
 * parts (ranks/run/part_encoder.h), put those of a stripe together (ranks/run/stripe.h), and send
 * them in ascending order.
 *
 *      rank 0:  sorters ──▶ sink ◀── serve ◀── a queue for each rank ◀── take
 *      others:  sorters ──▶ encode ──▶ in turn: put together, send
 */
#ifndef KC_RANKS_RUN_H
#define KC_RANKS_RUN_H

#include "kmer/run.h"
#include "ranks/exchange.h"

/* ---- what the store implements ---- */

/* What a sink has for a run of all ranks (kc_run_sink.joint). */
struct kc_joint_sink {
        /*
         * On rank 0, in addition to put: enter full blocks into the middle of a run that is given
         * as pairs. Calls of put for the same part come before and after it; the last one may be
         * empty. The pairs that were given before fill whole blocks. The sink fills in the
         * checksums. ctx: the sink's.
         */
        enum kc_status (*enter)(void *ctx, const struct kc_run_blocks *blocks,
                                struct kc_error *err);
};

/* ---- what the engine uses ---- */

struct kc_joint_run;

/* Bytes that it takes at most, on rank 0 or on another. */
uint64_t kc_joint_run_nbytes(int rank, int nranks, int nthreads);

struct kc_joint_run_setup {
        const struct kc_exchange *exchange;
        const struct kc_run_sink *sink; /* rank 0's must have joint->enter; of others', only the
                                           filter is used */
        int nwords;                     /* of a k-mer */
        uint64_t nparts;                /* of all ranks */
        uint32_t stripe;                /* kc_exchange_owner says which rank makes a part */
        const uint64_t *starts;         /* [nparts + 1] k-mers of the run before each part */
};

/* Every rank makes one. What setup points to must outlive it. KC_ENOMEM. */
enum kc_status kc_joint_run_new(struct kc_joint_run **run, const struct kc_joint_run_setup *setup,
                                struct kc_error *err);

/* For the phase of the exchange in which the run is made. */
struct kc_exchange_taker kc_joint_run_taker(struct kc_joint_run *run);

/* Where this rank's sorters put its parts, under their numbers in the whole run, in ascending
 * order. */
struct kc_run_sink kc_joint_run_sink(struct kc_joint_run *run);

/* On rank 0, called by a thread of its own: give the other ranks' parts to the sink, until the last
 * one. KC_ECANCELED if a rank fails, or after cancel; failures of the sink. */
enum kc_status kc_joint_run_serve(struct kc_joint_run *run, struct kc_error *err);

/* Wake blocked calls, which then fail, like all later ones; from any thread. Does not cancel rank
 * 0's sink. */
void kc_joint_run_cancel(struct kc_joint_run *run);

/* After the phase. NULL is fine. */
void kc_joint_run_free(struct kc_joint_run *run);

#endif
