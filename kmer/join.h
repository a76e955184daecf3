/*
 * How the sorted runs of several files become one run: a tree of two-way joins, the same on the
 * host (io/store/merge.c) and on a device (gpu/engine/combine.cu).
 *
 * The leaves are runs. Below the node of a file, nodes join older runs with newer ones; above it,
 * they join files by a rule:
 *
 *                    rule                       An item is a k-mer and a value of 64 bits:
 *                   /    \
 *              file A    file B                 | removed | had | mark 14 | sum of counts 48 |
 *              /    \       |
 *           runs   run    run                   removed  a tombstone hides older counts
 *           0, 1    2      0                    had      the tombstone hid counts
 *                                               mark     which files have the k-mer
 *
 * Joining is associative (a newer "removed" item replaces an older item, otherwise sums are added),
 * so the tree may be balanced. Marks are added too, so that they show which files have the k-mer.
 * Sums saturate at UINT32_MAX at the end, or at each file if the rule does not add.
 */
#ifndef KC_JOIN_H
#define KC_JOIN_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KC_JOIN_REMOVED    (UINT64_C(1) << 63)
#define KC_JOIN_HAD        (UINT64_C(1) << 62)
#define KC_JOIN_MARK_SHIFT 48
#define KC_JOIN_SUM_MASK   ((UINT64_C(1) << KC_JOIN_MARK_SHIFT) - 1)
#define KC_JOIN_MARK_MASK  (~KC_JOIN_SUM_MASK & ~KC_JOIN_REMOVED & ~KC_JOIN_HAD)

/* What to do with an item that both sides have. */
enum kc_join_op {
        KC_JOIN_ADD,  /* runs without tombstones; files */
        KC_JOIN_RUNS, /* older runs are on the left */
        KC_JOIN_MIN,
        KC_JOIN_MAX,
        KC_JOIN_DIFFERENCE,
        KC_JOIN_LEFT,
        KC_JOIN_RIGHT,
        KC_JOIN_PAIR, /* counts side by side, for joint histograms: see kc_join_pair */
};

struct kc_join_node {
        int left, right; /* indices of earlier nodes; left < 0: a leaf, run `run` */
        enum kc_join_op op;
        bool is_file;  /* top node of a file of several runs: drops what is removed */
        uint64_t mark; /* the file's mark, in its place in a value; otherwise 0 */
        size_t run;    /* index among all runs, in the order of the files */
        bool removes;  /* the run holds tombstones */
};

struct kc_join_plan {
        struct kc_join_node *nodes; /* [nnodes], the root last */
        size_t nnodes, nruns;
        bool saturates_files;
        uint64_t mark_mask, mark_wanted; /* keep k-mers with (value & mask) == wanted */
        bool keeps_all;
};

/* What was read, and what did not come out. */
struct kc_join_totals {
        uint64_t nread;             /* sum of counts read; tombstones do not count */
        uint64_t nkept;             /* sum of counts put out */
        uint64_t nsaturated;        /* what saturation at UINT32_MAX took from sums (rules that
                                       add) */
        uint64_t nremoved;          /* sum of counts that tombstones hid */
        uint64_t ndropped_distinct; /* k-mers of a file that its tombstones removed, and k-mers of
                                       any file that the operation dropped */
};

/* ---- the arithmetic, in C and on a device ---- */

#ifdef __CUDACC__
#define KC_JOIN_INLINE static __host__ __device__ __forceinline__
#else
#define KC_JOIN_INLINE static inline __attribute__((always_inline))
#endif

/* Join values a and b; a value is 0 if its side does not have the k-mer. Adds hidden counts to
 * *nremoved. */
KC_JOIN_INLINE uint64_t kc_join_values(enum kc_join_op op, uint64_t a, uint64_t b, bool both,
                                       uint64_t *nremoved)
{
        const uint64_t marks = (a + b) & ~KC_JOIN_SUM_MASK;
        const uint64_t x = a & KC_JOIN_SUM_MASK, y = b & KC_JOIN_SUM_MASK;
        if (op == KC_JOIN_ADD)
                return a + b;
        if (op == KC_JOIN_RUNS) {
                uint64_t hidden = (b & KC_JOIN_REMOVED) ? x : 0;
                *nremoved += hidden;
                uint64_t had = (b & KC_JOIN_REMOVED) && (a & (KC_JOIN_SUM_MASK | KC_JOIN_HAD))
                                       ? KC_JOIN_HAD
                                       : 0;
                return (b & KC_JOIN_REMOVED) ? b | had : a + b;
        }
        if (!both)
                return a | b;
        switch (op) {
        case KC_JOIN_MIN:
                return marks | (x < y ? x : y);
        case KC_JOIN_MAX:
                return marks | (x > y ? x : y);
        case KC_JOIN_DIFFERENCE:
                return marks | (x > y ? x - y : 0);
        case KC_JOIN_LEFT:
                return marks | x;
        default:
                return marks | y;
        }
}

/* From the values of two files: the counts of a k-mer in both, one in each half of a value. They
 * are at most UINT32_MAX (saturates_files); marks are left out. */
KC_JOIN_INLINE uint64_t kc_join_pair(uint64_t a, uint64_t b)
{
        return (a & UINT32_MAX) | b << 32;
}

/* The final value of an item of a file of several runs; 0 if the file does not have the k-mer.
 * `most` is kc_join_file_most; *ndropped is incremented if tombstones removed the k-mer. */
KC_JOIN_INLINE uint64_t kc_join_finish_file(uint64_t value, uint64_t mark, uint64_t most,
                                            uint64_t *ndropped)
{
        const uint64_t sum = value & KC_JOIN_SUM_MASK;
        if (sum == 0) {
                *ndropped += (value & KC_JOIN_HAD) != 0;
                return 0;
        }
        return (sum < most ? sum : most) | mark;
}

static inline uint64_t kc_join_file_most(const struct kc_join_plan *plan)
{
        return plan->saturates_files ? UINT32_MAX : KC_JOIN_SUM_MASK;
}

/* ---- runs to join, for a joiner that decodes blocks itself ---- */

/* An encoded block of a run in its file. */
struct kc_join_block {
        uint64_t offset;
        uint32_t run;
        uint32_t n;        /* k-mers */
        uint32_t nwords;   /* including the checksum's word after it */
        uint64_t checksum; /* from the index, if it holds checksums */
};

/* All blocks with k-mers in [from, end); they may hold k-mers outside it, too. */
struct kc_join_range {
        const struct kc_join_block *blocks; /* [nblocks] run after run, each in order and without
                                               gaps in the file */
        const uint64_t *firsts;             /* [nblocks * kc_kmer_nwords(k)] first k-mers */
        size_t nblocks, nwords;             /* nwords: of all blocks */
        const uint64_t *from, *end;         /* NULL: no bound */
};

/* Provides ranges of the key space, in order and without gaps. */
struct kc_join_source {
        void *ctx;
        const struct kc_join_plan *plan;
        int k;
        uint64_t npairs; /* of all runs */
        /*
         * Get the next range; one thread at a time. nblocks = 0: there is none.
         *   max_blocks  upper bound on its blocks; must exceed the number of runs
         *   range       out: valid until the second call after this one
         */
        enum kc_status (*next)(void *ctx, size_t max_blocks, struct kc_join_range *range,
                               struct kc_error *err);
        /*
         * Read blocks [begin, end) of a range, all of one run, and check their checksums. May be
         * called by any number of threads at once.
         *   words  out, as many words as the blocks have, checksums included
         */
        enum kc_status (*read)(void *ctx, const struct kc_join_range *range, size_t begin,
                               size_t end, uint64_t *words, struct kc_error *err);
        /* The failure to report for a block whose checksum is right but which does not decode. */
        enum kc_status (*refuse)(void *ctx, const struct kc_join_range *range, size_t block,
                                 struct kc_error *err);
};

#ifdef __cplusplus
}
#endif
#endif
