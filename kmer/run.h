/*
 * The sorted run: what leaves an engine.
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

/* Which pairs of a run a sink wants: those with counts in min_count .. max_count; min_count is at
 * least 1. { 1, UINT32_MAX } keeps all. */
struct kc_run_filter {
        uint32_t min_count, max_count;
};

/* The filter in C and on a device. */
#ifdef __CUDACC__
#define KC_RUN_INLINE static __host__ __device__ __forceinline__
#else
#define KC_RUN_INLINE static inline
#endif

KC_RUN_INLINE bool kc_run_keeps_all(const struct kc_run_filter *filter)
{
        return filter->min_count <= 1 && filter->max_count == UINT32_MAX;
}

/* Both bounds are compared, whatever the first says, so that loops need no branch. */
KC_RUN_INLINE bool kc_run_keeps(const struct kc_run_filter *filter, uint32_t count)
{
        return (count >= filter->min_count) & (count <= filter->max_count);
}

/* What the filter has dropped. */
struct kc_run_dropped {
        uint64_t ndistinct; /* pairs */
        uint64_t nkmers;    /* sum of their counts */
        uint64_t nunique;   /* those with count 1 */
};

static inline void kc_run_add_dropped(struct kc_run_dropped *to, const struct kc_run_dropped *from)
{
        to->ndistinct += from->ndistinct;
        to->nkmers += from->nkmers;
        to->nunique += from->nunique;
}

/*
 * Remove from the pairs, in place, those that the filter does not keep, and add them to *dropped.
 * Returns how many are left.
 *   kmers, counts  in/out [n * nwords], [n]: the order stays
 */
size_t kc_run_filter_pairs(const struct kc_run_filter *filter, uint64_t *kmers, uint32_t *counts,
                           size_t n, int nwords, struct kc_run_dropped *dropped);

/* Pairs of a part, which comes in one or more calls. */
struct kc_run_pairs {
        uint64_t part; /* 0, 1, 2, ...: all k-mers of part p are below those of part p+1. No number
                          is skipped. */
        bool last;     /* true in the part's final call; one thread makes all calls for a part */
        size_t n;      /* may be 0 */
        const uint64_t *kmers;         /* [n * kc_kmer_nwords(k)] ascending, distinct; as in
                                          kmer.h */
        const uint32_t *counts;        /* [n], within the filter */
        struct kc_run_dropped dropped; /* not reported by another call; may concern other parts:
                                          only the sum over the run has a meaning */
};

/*
 * A part of a run that the engine has encoded as blocks of a .kc file (kmer/block_codec.h). Blocks
 * continue across parts: all hold KC_BLOCK_NKMERS k-mers except the last one of the run. What
 * describes the pairs (rows, big_counts, dropped) may come with a different part from their blocks;
 * over the whole run they agree.
 */
struct kc_run_blocks {
        uint64_t part; /* as in kc_run_pairs, but each part in a single call */
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
        struct kc_run_dropped dropped;
};

/*
 * Counts without their k-mers, for a sink that wants nothing else. A count is final: no other call
 * has a count of the same k-mer.
 */
struct kc_run_counts {
        const uint32_t *counts; /* [n] in any order; 0 stands for no k-mer */
        size_t n;
        const uint64_t *rows; /* [KC_RUN_NROWS] number of further k-mers with each count below
                                 KC_RUN_NROWS; rows[0] is ignored. NULL if there are none */
};

/*
 * Where a run goes. The engine filters, whichever form it uses: only pairs that `filter` keeps are
 * handed over, and the calls together say what was dropped on the way. So an engine that encodes
 * blocks on a device and one that hands over pairs do the same, and the sink only checks. The
 * totals that an engine returns (kc_count_totals) include what was dropped.
 *
 * put and put_blocks may be called by several threads at once, for different parts, and may block
 * until all calls for lower parts have been made, so threads must begin parts in ascending order.
 * The caller may reuse the arrays on return. After a failure in any thread, blocked calls return
 * that failure.
 */
struct kc_run_sink {
        void *ctx;
        struct kc_run_filter filter;
        enum kc_status (*put)(void *ctx, const struct kc_run_pairs *pairs, struct kc_error *err);
        /* Instead of put for a whole run: parts that the engine has encoded. NULL if the sink takes
         * only pairs. */
        enum kc_status (*put_blocks)(void *ctx, const struct kc_run_blocks *blocks,
                                     struct kc_error *err);
        /* Counts alone, in any order, by several threads at once. Such a sink keeps all pairs; it
         * also has put, which an engine may call for the whole run or for the other k-mers of the
         * run. NULL if the sink needs the k-mers. */
        enum kc_status (*put_counts)(void *ctx, const struct kc_run_counts *counts,
                                     struct kc_error *err);
        /* Announces that the run will have about npairs pairs that the filter keeps, so that the
         * sink can prepare. Called before the first part, by one thread at a time, and again when
         * more is known: the last call counts. NULL if the sink does not need it. */
        void (*expect)(void *ctx, uint64_t npairs);
        /* Wakes blocked calls; they and all later ones return KC_ECANCELED. An engine that fails
         * calls it. */
        void (*cancel)(void *ctx);
};

#ifdef __cplusplus
}
#endif
#endif
