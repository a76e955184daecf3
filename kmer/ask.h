/*
 * Asking for the counts of the k-mers of sequences: the contract between those who ask (app/ask)
 * and the engines that answer (cpu/ask, gpu/ask), as kmer/engine.h is for counting.
 *
 * A window is a place in a sequence where a k-mer could begin: a sequence of n bases has n - k + 1.
 * It is valid if its k letters are bases. Its count is that of the k-mer (of its canonical form,
 * unless the table is stranded), or 0 if the table does not have it.
 *
 * Each thread has blocks of sequences of its own. It adds blocks, and takes the answers to them in
 * the order in which it added them. A prompt asker answers each thread by itself: the thread
 * takes when it likes, and waits if it must. It should keep a few blocks added, because the asker
 * works on them meanwhile. All other askers work in rounds:
 *
 *      add      each thread adds blocks, until the asker is full or there are no more
 *      answer   one thread, once all have added what they will
 *      take     each thread takes the answers to all its blocks
 */
#ifndef KC_KMER_ASK_H
#define KC_KMER_ASK_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct kc_ask_sequence {
        const char *bases; /* letters, in either case; need not outlive the call */
        uint32_t nbases;
};

/* The windows of a sequence, or of several pieces of it, in a few numbers. A window is in range if
 * it is valid and its count lies within the setup's bounds. */
struct kc_ask_summary {
        uint64_t nwindows;
        uint64_t nvalid;
        uint64_t nfound; /* in range */
        uint64_t nlead;  /* windows before the first one that is not in range */
        uint64_t sum;    /* of the counts of all valid windows */
        uint32_t min;    /* of the counts of valid windows; UINT32_MAX if there are none */
        uint32_t max;    /* 0 if there are none */
};

/* Valid windows that follow each other: those that begin at bases [begin, begin + n). */
struct kc_ask_stretch {
        uint32_t begin, n;
};

struct kc_ask_answer {
        struct kc_ask_summary summary;
        /* Only if the setup wants counts: */
        const uint32_t *counts; /* [summary.nvalid] of the valid windows, in order */
        const struct kc_ask_stretch *stretches; /* [nstretches] in order, with gaps between them */
        size_t nstretches;
};

struct kc_job;

struct kc_ask_setup {
        int nthreads;
        uint64_t memory_nbytes;        /* bound on the asker's own memory */
        uint32_t min_count, max_count; /* of windows in range; min_count may be 0 */
        bool wants_counts;             /* not only summaries */
        const struct kc_job *job;      /* reading the table ends if it is canceled; may be NULL */
};

/* All functions: KC_ENOMEM; answer, or whichever reads the table, also KC_EIO, KC_ECORRUPT,
 * KC_EDEVICE, KC_ECANCELED. After a failure only close may be called. */
struct kc_asker {
        void *ctx;
        /* Of a prompt asker: how many blocks a thread should have added before it takes the first
         * of them. Otherwise 0. */
        unsigned depth;
        /* Of an asker in rounds: with this many k-mers or more, what a round itself costs is little
         * beside what its k-mers cost. 0: unknown, or it never is. */
        uint64_t round_nkmers;
        /*
         * Add a block: n sequences.
         *   thread  0 .. nthreads-1; different ones may call at the same time
         *   full    set, never cleared, if no thread should add more in this round; blocks that
         *           other threads are about to add are still taken. A prompt asker is never full
         */
        enum kc_status (*add)(void *ctx, int thread, const struct kc_ask_sequence *sequences,
                              size_t n, bool *full, struct kc_error *err);
        enum kc_status (*answer)(void *ctx, struct kc_error *err); /* NULL if it is prompt */
        /*
         * Take the answers to the thread's next block, of n sequences. In rounds, the next round
         * may begin once each thread has taken its last block.
         *   answers  out [n]; what they point to is valid until the thread's next call
         */
        enum kc_status (*take)(void *ctx, int thread, struct kc_ask_answer *answers, size_t n,
                               struct kc_error *err);
        void (*close)(void *ctx);
};

/* ---- summaries ---- */

/* Summarize a sequence of nbases bases from its counts and stretches. */
void kc_ask_summarize(struct kc_ask_summary *summary, int k, const struct kc_ask_setup *setup,
                      uint32_t nbases, const uint32_t *counts,
                      const struct kc_ask_stretch *stretches, size_t nstretches);

/* Add the summary of the next piece of a sequence. Begin with KC_ASK_NOTHING. */
void kc_ask_summary_append(struct kc_ask_summary *summary, const struct kc_ask_summary *next);

#define KC_ASK_NOTHING ((struct kc_ask_summary){ .min = UINT32_MAX })

#ifdef __cplusplus
}
#endif
#endif
