/*
 * The sorted run: the only thing that leaves an engine.
 *
 * A run is the distinct k-mers of the input in ascending order, each with its count. It leaves the
 * engine in parts, in an order given by numbers, not by time, so that threads can sort, encode and
 * write different parts of the key space at once.
 */
#ifndef KC_RUN_H
#define KC_RUN_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { KC_RUN_NROWS = 512 };

/*
 * A part of a run that is encoded already, as blocks of a .kc file (kmer/block_codec.h). The parts'
 * blocks follow one another: all hold KC_BLOCK_NKMERS k-mers, but for the last one of the run.
 * Pairs outside the sink's min_count and max_count have been left out, which rows and big_counts
 * leave out too. Rows and counts may be ahead of the blocks, as k-mers wait for their block to
 * fill; over the run they agree.
 */
struct kc_run_blocks {
        uint64_t part; /* as in put, each in one call */
        size_t n;      /* k-mers in the blocks */
        size_t nblocks;
        const uint64_t *firsts;       /* [nblocks * kc_kmer_nwords(k)] first k-mer of each block */
        const uint64_t *last_kmer;    /* [kc_kmer_nwords(k)] of the last block, if there is one */
        const uint32_t *block_nwords; /* [nblocks], without the checksums' */
        uint64_t *words; /* block after block, each with a word behind it for its checksum, which
                            the sink fills in */
        size_t nwords;   /* of all, with the checksums' */
        const uint64_t *rows;       /* [KC_RUN_NROWS] k-mers kept with each count below that */
        const uint32_t *big_counts; /* [nbig] the counts of the others, any order */
        size_t nbig;
        uint64_t ndropped_distinct, ndropped_kmers; /* left out, and the sum of their counts */
        uint64_t nunique;                           /* pairs with count 1, left out or not */
};

/*
 * put(ctx, part, last, kmers, counts, n, err): hand over the next n pairs of a part.
 *   part    0, 1, 2, ...: all k-mers of part p are below all of part p+1. Every number is used.
 *   last    true with the part's final call; each part is given by one thread, in one call or more
 *   kmers   [n * nwords] ascending, distinct; kc_kmer_nwords(k) words each, as in kmer.h
 *   counts  [n], 1 at least
 *   n       0 is valid
 * May be called by several threads at once, for different parts. A call may block until all calls
 * for lower parts have been made, so threads must begin parts in ascending order. The arrays are
 * the caller's again on return. After a failure in any thread, blocked calls return that failure.
 */
struct kc_run_sink {
        void *ctx;
        enum kc_status (*put)(void *ctx, uint64_t part, bool last, const uint64_t *kmers,
                              const uint32_t *counts, size_t n, struct kc_error *err);
        /* In place of put, never beside it in a run: part by part, encoded by the engine. The same
         * rules; blocks is the caller's again on return. NULL where a sink takes pairs only. */
        enum kc_status (*put_blocks)(void *ctx, const struct kc_run_blocks *blocks,
                                     struct kc_error *err);
        /* The filter for who encodes; put is given all pairs, whatever their count. */
        uint32_t min_count, max_count;
        /* The run will have about npairs pairs, as far as is known: for who wants to prepare.
         * Before the first part, by one thread at a time. NULL where a sink does not care. */
        void (*expect)(void *ctx, uint64_t npairs);
        /* Wake blocked calls; they and all later ones return KC_ECANCELED. Called by an engine that
         * fails. */
        void (*cancel)(void *ctx);
};

#ifdef __cplusplus
}
#endif
#endif
