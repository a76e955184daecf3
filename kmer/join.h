/*
 * How sorted runs of several files become one: a tree of two-way joins, the same on the host
 * (io/store/merge.c) and on a device (gpu/combine.cu).
 *
 * The leaves are runs; below the node that stands for a file, nodes join older runs with newer
 * ones, and above it, files by a rule:
 *
 *                    rule                       An item is a k-mer and a value of 64 bits:
 *                   /    \
 *              file A    file B                 | removed | had | mark 14 | sum of counts 48 |
 *              /    \       |
 *           runs   run    run                   removed  a tombstone hides what is older
 *           0, 1    2      0                    had      it hid counts
 *                                               mark     which files have the k-mer
 *
 * Joining is associative (a newer item that says "removed" replaces an older one, else sums add
 * up), so the tree may be balanced; the marks add up to what tells the presence in each file.
 * Sums are cut off at UINT32_MAX at the end, or at each file where the rule is none of adding.
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

/* What becomes of an item that both sides have. */
enum kc_join_op {
        KC_JOIN_ADD,  /* runs without tombstones; files */
        KC_JOIN_RUNS, /* older runs on the left */
        KC_JOIN_MIN,
        KC_JOIN_MAX,
        KC_JOIN_DIFFERENCE,
        KC_JOIN_LEFT,
        KC_JOIN_RIGHT,
};

struct kc_join_node {
        int left, right; /* nodes before this one; left < 0: a leaf, run `run` */
        enum kc_join_op op;
        bool is_file;  /* of several runs: what is removed is left out here */
        uint64_t mark; /* of a file, in its place in a value; else 0 */
        size_t run;    /* of all, in the order of the files */
        bool removes;  /* the run is of tombstones */
};

struct kc_join_plan {
        struct kc_join_node *nodes; /* [nnodes], the root last */
        size_t nnodes, nruns;
        bool saturates_files;
        uint64_t mark_mask, mark_wanted; /* of k-mers to keep */
        bool keeps_all;
};

/* What went in and did not come out. */
struct kc_join_totals {
        uint64_t nread;             /* sum of counts read, without tombstones */
        uint64_t nkept;             /* sum of counts given */
        uint64_t nsaturated;        /* cut off sums above UINT32_MAX (by rules that add) */
        uint64_t nremoved;          /* sum of counts that tombstones hid */
        uint64_t ndropped_distinct; /* k-mers of a file that its tombstones removed, and k-mers of
                                       any file that the operation left out */
};

/* ---- the arithmetic, in C and on a device ---- */

#ifdef __CUDACC__
#define KC_JOIN_INLINE static __host__ __device__ __forceinline__
#else
#define KC_JOIN_INLINE static inline __attribute__((always_inline))
#endif

/* Of values a and b, 0 where a side has not the k-mer; *nremoved grows by what is hidden. */
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

/* The item of a file of several runs as it is, or 0: its k-mer is not there. `most` is
 * kc_join_file_most; *ndropped grows by k-mers that were there and are removed. */
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

/* ---- runs to join, where blocks are decoded elsewhere ---- */

/* A block of a run, as it is in its file. */
struct kc_join_block {
        uint64_t offset;
        uint32_t run;
        uint32_t n;        /* k-mers */
        uint32_t nwords;   /* with the checksum's word after it */
        uint64_t checksum; /* that the index holds, if it holds any */
};

/* All blocks that have k-mers in [from, end), and maybe k-mers outside of it. */
struct kc_join_range {
        const struct kc_join_block *blocks; /* [nblocks] run after run, each in order and without
                                               gaps in the file */
        const uint64_t *firsts;             /* [nblocks * kc_kmer_nwords(k)] first k-mers */
        size_t nblocks, nwords;             /* nwords of all */
        const uint64_t *from, *end;         /* NULL: no bound */
};

/* Where ranges of the key space come from, in order and without gaps. */
struct kc_join_source {
        void *ctx;
        const struct kc_join_plan *plan;
        int k;
        uint64_t npairs; /* of all runs */
        /*
         * The next range, by one thread; nblocks = 0: there is none.
         *   max_blocks  most blocks in it; more than there are runs
         *   range       out: valid until the next but one is asked for
         */
        enum kc_status (*next)(void *ctx, size_t max_blocks, struct kc_join_range *range,
                               struct kc_error *err);
        /*
         * Read blocks [begin, end) of a range, which are of one run, and check their checksums, by
         * any number of threads.
         *   words  out, as many as the blocks have, checksums included
         */
        enum kc_status (*read)(void *ctx, const struct kc_join_range *range, size_t begin,
                               size_t end, uint64_t *words, struct kc_error *err);
        /* The failure to report for a block that is not laid out as one, though its checksum is
         * right. */
        enum kc_status (*refuse)(void *ctx, const struct kc_join_range *range, size_t block,
                                 struct kc_error *err);
};

#ifdef __cplusplus
}
#endif
#endif
