/*
 * The sorted run: the only thing that leaves an engine.
 *
 * A run is the distinct k-mers of the input in ascending order, each with its count. It leaves the
 * engine in parts, ordered by their numbers, not by time, so that threads can sort, encode and
 * write different parts of the key space concurrently.
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
 * A part of a run that the engine has encoded as blocks of a .kc file (kmer/block_codec.h). Blocks
 * continue across parts: all hold KC_BLOCK_NKMERS k-mers except the last one of the run. Pairs with
 * counts outside the sink's min_count .. max_count have been dropped; rows and big_counts do not
 * include them. Rows and big_counts may be ahead of the blocks, because k-mers wait until their
 * block is full; over the whole run they agree.
 */
struct kc_run_blocks {
        uint64_t part; /* as in put, but each part in a single call */
        size_t n;      /* k-mers in the blocks */
        size_t nblocks;
        const uint64_t *firsts;       /* [nblocks * kc_kmer_nwords(k)] first k-mer of each block */
        const uint64_t *last_kmer;    /* [kc_kmer_nwords(k)] of the last block, if there is one */
        const uint32_t *block_nwords; /* [nblocks], without the checksums */
        uint64_t *words; /* block after block, each followed by a word for its checksum, which the
                            sink fills in */
        size_t nwords;   /* of all, with the checksums */
        const uint64_t *rows;       /* [KC_RUN_NROWS] number of kept k-mers with each count below
                                       KC_RUN_NROWS */
        const uint32_t *big_counts; /* [nbig] counts of the other kept k-mers, in any order */
        size_t nbig;
        uint64_t ndropped_distinct, ndropped_kmers; /* dropped k-mers, and the sum of their
                                                       counts */
        uint64_t nunique;                           /* pairs with count 1, dropped or not */
};

/*
 * put(ctx, part, last, kmers, counts, n, err): hand over the next n pairs of a part.
 *   part    0, 1, 2, ...: all k-mers of part p are below those of part p+1. No number is skipped.
 *   last    true on the part's final call; one thread hands over a part, in one or more calls
 *   kmers   [n * nwords] ascending, distinct; kc_kmer_nwords(k) words each, as in kmer.h
 *   counts  [n], each at least 1
 *   n       may be 0
 * May be called by several threads at once, for different parts. A call may block until all calls
 * for lower parts have been made, so threads must begin parts in ascending order. The caller may
 * reuse the arrays on return. After a failure in any thread, blocked calls return that failure.
 */
struct kc_run_sink {
        void *ctx;
        enum kc_status (*put)(void *ctx, uint64_t part, bool last, const uint64_t *kmers,
                              const uint32_t *counts, size_t n, struct kc_error *err);
        /* Instead of put for a whole run: parts that the engine has encoded. The same rules hold;
         * the caller may reuse blocks on return. NULL if the sink takes only pairs. */
        enum kc_status (*put_blocks)(void *ctx, const struct kc_run_blocks *blocks,
                                     struct kc_error *err);
        /* The count filter for engines that encode blocks; put takes all pairs, whatever their
         * count. */
        uint32_t min_count, max_count;
        /* Announces that the run will have about npairs pairs, so that the sink can prepare. Called
         * before the first part, by one thread at a time. NULL if the sink does not need it. */
        void (*expect)(void *ctx, uint64_t npairs);
        /* Wakes blocked calls; they and all later ones return KC_ECANCELED. An engine that fails
         * calls it. */
        void (*cancel)(void *ctx);
};

#ifdef __cplusplus
}
#endif
#endif
