/*
 * Joint histograms of .kc files: how many distinct k-mers have which counts in two or three files,
 * or which count and which GC content in one file. All come from one walk over the sorted files,
 * which can also give the counts that k-mers have in two of them.
 */
#ifndef KC_JOINT_H
#define KC_JOINT_H

#include "base/job.h"
#include "io/store.h"
#include "kmer/joint.h"

#include <assert.h>

/* The k-mers that have the same GC content and the same count. */
struct kc_gc_cell {
        uint32_t gc; /* bases that are G or C, 0 to k */
        uint32_t count;
        uint64_t ndistinct; /* never 0 */
        uint64_t sum;       /* of their counts */
};

/*
 * A pair holds the counts of a k-mer in two files, so that one look-up gives both: the first file's
 * up to KC_PAIR_MOST_FIRST, the other's from 1 to KC_PAIR_MOST_SECOND. Larger counts are stored as
 * these. A pair is never 0.
 *
 *      31                  16 15           8 7            0
 *      first, bits 8 to 23   | second       | first, 0 to 7
 *
 * Most of the first file's counts are below 256, and most of the other's are 1: such pairs are
 * small, so a .kc file of them is, too, and its histogram takes little time.
 */
enum { KC_PAIR_MOST_SECOND = (1 << 8) - 1, KC_PAIR_MOST_FIRST = (1 << 24) - 1 };

static inline uint32_t kc_pair_of(uint32_t first, uint32_t second)
{
        assert(second > 0);
        const uint32_t a = first < KC_PAIR_MOST_FIRST ? first : KC_PAIR_MOST_FIRST;
        const uint32_t b = second < KC_PAIR_MOST_SECOND ? second : KC_PAIR_MOST_SECOND;
        return a >> 8 << 16 | b << 8 | (a & 255);
}

static inline uint32_t kc_pair_first(uint32_t pair)
{
        return pair >> 16 << 8 | (pair & 255);
}

static inline uint32_t kc_pair_second(uint32_t pair)
{
        return pair >> 8 & 255;
}

/* Where the pairs of files go. */
struct kc_joint_pairs {
        /* For each file but the first, where its k-mers go, as a run in which each has the pair of
         * its counts in the first file and in this one. NULL: nowhere. A sink keeps all; its parts
         * are those of the key space. */
        const struct kc_run_sink *sinks[KC_JOINT_MAX_FILES];
        uint64_t sums[KC_JOINT_MAX_FILES]; /* out: of all pairs of the file */
};

/*
 * Count the distinct k-mers of all files by their counts in each: a k-mer is in exactly one cell.
 * Runs are merged, and what tombstones remove is absent; a file's counts saturate at UINT32_MAX.
 *   stores    [nstores], 1 to KC_JOINT_MAX_FILES that kc_set_check allows, also repeated
 *   most      [nstores] all counts above most[i] in file i share the cell of most[i] + 1, and the
 *             sums still add up the real counts; 0: each count has cells of its own
 *   pairs     may be NULL
 *   nthreads  each takes 0.5 MiB and what a merge takes, and for each sink up to 5 MiB; each cell
 *             with a large count takes up to 192 bytes, 288 while the table grows, and there may be
 *             as many cells as k-mers unless `most` bounds them
 *   job       may be NULL; cancel is honoured, done and total count parts
 *   cells     out, [*ncells], ascending by counts[0], then counts[1], then counts[2]; freed by the
 *             caller. The same for any nthreads.
 * KC_EUSAGE if there are too many files, or as kc_set_check; KC_ECORRUPT if a file is damaged, or
 * its counts do not match its footer; KC_EIO; KC_ENOMEM; KC_ECANCELED; or the error of a sink.
 */
enum kc_status kc_store_joint(struct kc_store *const *stores, size_t nstores, const uint32_t *most,
                              struct kc_joint_pairs *pairs, int nthreads, struct kc_job *job,
                              struct kc_joint_cell **cells, size_t *ncells, struct kc_error *err);

/* Does the work in place of kc_store_joint's threads. */
struct kc_joint_engine {
        void *ctx;
        /* Join the source's runs, and pass all cells to the taker.
         *   nread  out: sum of the counts read */
        enum kc_status (*join)(void *ctx, const struct kc_join_source *source,
                               const struct kc_joint_taker *taker, uint64_t *nread,
                               struct kc_error *err);
};

/* As kc_store_joint without pairs, with the work done by engine. Fails in the same ways, or with
 * its error. */
enum kc_status kc_store_joint_by(struct kc_store *const *stores, size_t nstores,
                                 const uint32_t *most, const struct kc_joint_engine *engine,
                                 struct kc_joint_cell **cells, size_t *ncells,
                                 struct kc_error *err);

/*
 * Count the distinct k-mers of a file by GC content and count. As kc_store_joint.
 *   most   all counts above it share the cell of most + 1; 0: each count has a cell of its own
 *   cells  out, [*ncells], ascending by gc, then by count; freed by the caller
 */
enum kc_status kc_store_gc(struct kc_store *store, uint32_t most, int nthreads, struct kc_job *job,
                           struct kc_gc_cell **cells, size_t *ncells, struct kc_error *err);

#endif
