/*
 * One run made by all ranks: what the CPU engine and the store need for it. The parts are dealt to
 * the ranks in stripes (kc_exchange_owner), so that all ranks work at about the same place in the
 * key space and rank 0, whose sink gets the run, need not keep much. The other ranks encode their
 * parts (ranks/run/part_encoder.h), put those of a stripe together (ranks/run/stripe.h), and send
 * them in ascending order. A rank that can write to the sink's file (kc_run_guest) keeps the
 * blocks, sends only a description of them, and writes them where rank 0 says
 * (ranks/run/pending.h).
 *
 *      rank 0:  sorters ──▶ sink ◀── serve ◀── a queue for each rank ◀── take
 *                                      └──▶ places: to their ranks
 *      others:  sorters ──▶ encode ──▶ in turn: put together, send
 *      guests:  sorters ──▶ encode ──▶ in turn: put together, seal, send; pending ◀── take
 *               file ◀── serve ◀── pending
 */
#ifndef KC_RANKS_RUN_H
#define KC_RANKS_RUN_H

#include "kmer/run.h"
#include "ranks/exchange.h"

/* ---- what the store implements ---- */

/*
 * Blocks that one rank encodes and writes, and that rank 0, whose sink has the file, enters into
 * the run. Only rank 0 writes to pages of the file that also hold other bytes: network file systems
 * write back whole pages, so if two processes wrote to the same page, the later one would undo what
 * the other one wrote.
 */
struct kc_run_sealed {
        const uint64_t *checksums; /* [nblocks] */
        uint32_t page_nbytes;      /* a page of the process that writes the blocks */
        /* The first and the last bytes of the blocks' words: a page's worth each, or all of them if
         * there are fewer. */
        const uint8_t *head, *tail;
};

enum { KC_RUN_MAX_PAGE_NBYTES = 64 << 10 };

/* How a rank writes blocks to the file of rank 0's sink. Any thread may call it. */
struct kc_run_guest {
        void *ctx;
        uint32_t page_nbytes; /* at most KC_RUN_MAX_PAGE_NBYTES */
        /* Fill in the checksums, in the words and in checksums [nblocks]. KC_EUSAGE if the blocks
         * are not sound. */
        enum kc_status (*seal)(void *ctx, const struct kc_run_blocks *blocks, uint64_t *checksums,
                               struct kc_error *err);
        /* Write sealed words at the offset that rank 0's sink gave, except for the ends, which that
         * sink writes. KC_EIO. */
        enum kc_status (*write)(void *ctx, const uint64_t *words, size_t nwords, uint64_t offset,
                                struct kc_error *err);
};

/* What a sink has for a run of all ranks (kc_run_sink.joint). */
struct kc_joint_sink {
        /*
         * On rank 0, in addition to put: enter full blocks into the middle of a run that is given
         * as pairs. Calls of put for the same part come before and after it; the last one may be
         * empty. The pairs that were given before fill whole blocks.
         *   ctx     the sink's
         *   sealed  NULL: the sink fills in the checksums and writes the blocks, as with
         *           put_blocks. Otherwise the blocks have no words: another rank writes them
         *   offset  out: where they go in the file
         */
        enum kc_status (*enter)(void *ctx, const struct kc_run_blocks *blocks,
                                const struct kc_run_sealed *sealed, uint64_t *offset,
                                struct kc_error *err);
        /* On any other rank, whose sink has no put. NULL: it sends its blocks to rank 0. */
        const struct kc_run_guest *guest;
};

/* How a rank other than 0 writes to rank 0's file; NULL: it does not. */
static inline const struct kc_run_guest *kc_joint_sink_guest(const struct kc_run_sink *sink)
{
        return sink->joint != NULL ? sink->joint->guest : NULL;
}

/* ---- what the engine uses ---- */

struct kc_joint_run;

/* Bytes that it takes at most, on rank 0 or on another. */
uint64_t kc_joint_run_nbytes(int rank, int nranks, int nthreads);

struct kc_joint_run_setup {
        const struct kc_exchange *exchange;
        const struct kc_run_sink *sink; /* rank 0's must have joint->enter; of another's, only
                                           filter and joint->guest are used */
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

/*
 * Called by a thread of its own on ranks that need it. On rank 0: give the other ranks' parts to
 * the sink, until the last one. On a guest: write this rank's blocks, until the last one.
 * KC_ECANCELED if a rank fails, or after cancel; failures of the sink or the guest.
 */
bool kc_joint_run_needs_service(const struct kc_joint_run *run);
enum kc_status kc_joint_run_serve(struct kc_joint_run *run, struct kc_error *err);

/* Wake blocked calls, which then fail, like all later ones; from any thread. Does not cancel rank
 * 0's sink. */
void kc_joint_run_cancel(struct kc_joint_run *run);

/* After the phase. NULL is fine. */
void kc_joint_run_free(struct kc_joint_run *run);

#endif
