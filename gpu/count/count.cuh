/*
 * Counting in passes: from reads that are kept (gpu/kept/kept.cuh) to sorted runs on the device.
 *
 *      reads -> super-k-mers (gpu/superkmers/superkmer.cuh) of some passes, split among them
 *            -> pass by pass: multisplit into bins by minimizer -> a table per bin, in shared
 *            memory -> pairs -> order (gpu/order/order.cuh) -> run
 *
 * A walk over the reads finds the records of several passes if all reads are on the device. The
 * reads take much less memory than the records, and a walk as much time as counting several passes.
 * The counters of several devices can share a walk: each one then searches a part of the reads, and
 * finds the records for all of them there.
 *
 * All occurrences of a k-mer are in one bin, so its count is final when the table is drained, and
 * the filter is applied there: no k-mer is in two runs. Bins that a table cannot hold, or that are
 * too large for one block, make no pairs at first; then all of their k-mers are summed in one large
 * table (recount.cu). A pass whose records do not fit in memory is divided; the smallest possible
 * pass is summed in that table, too, in rounds over parts of the reads.
 */
#ifndef KC_GPU_COUNT_COUNT_CUH
#define KC_GPU_COUNT_COUNT_CUH

#include "gpu/device/limits.h"
#include "gpu/device/run.cuh"
#include "gpu/kept/kept.cuh"
#include "kmer/run.h"

template <class Key> struct kc_gpu_counter;

/* Receives a run. The receiver owns its memory from then on, even on failure. */
template <class Key> struct kc_gpu_run_taker {
        void *ctx;
        enum kc_status (*take)(void *ctx, struct kc_gpu_run<Key> *run, struct kc_error *err);
};

struct kc_gpu_counter_setup {
        struct kc_superkmer_setup superkmers; /* as for the reads that are kept */
        bool stranded;
        enum kc_gpu_table table;
        struct kc_run_filter filter;
        /* The counts below KC_RUN_NROWS are wanted without their k-mers; the filter is ignored. */
        bool tallies;
};

/* What a counter has room for. */
struct kc_gpu_counter_caps {
        uint64_t nwords; /* for super-k-mers, see kc_gpu_counter_record_nwords; a pass that has more
                            takes further walks */
        uint64_t npairs; /* that fit in one run, at least KC_GPU_MIN_PAIRS */
        uint64_t nkmers; /* of a pass, about */
        uint64_t total_nkmers; /* of all passes, about */
        int position_bits;     /* of a record */
        int npasses; /* of a walk, 1 to KC_GPU_MAX_WALK_PASSES, if all reads are on the device */
};

enum { KC_GPU_MIN_RECORDS = 1 << 12, KC_GPU_MIN_PAIRS = 1 << 18 };

/* Words of device memory for a super-k-mer of each of the npasses passes of a walk, and one for
 * sorting. copies: some of the reads are not on the device; then there is one pass. */
static inline uint64_t kc_gpu_counter_record_nwords(const struct kc_superkmer_setup *superkmers,
                                                    int npasses, bool copies)
{
        return copies ? 2 + (uint64_t)superkmers->copy_nwords : 1 + (uint64_t)npasses;
}

/* Most passes over these reads that share a walk. */
int kc_gpu_counter_max_passes(const struct kc_gpu_counter_caps *caps,
                              const struct kc_gpu_kept *kept);

/* Most super-k-mers of a pass over these reads that a counter holds at a time. */
uint64_t kc_gpu_counter_max_records(const struct kc_superkmer_setup *superkmers,
                                    const struct kc_gpu_counter_caps *caps,
                                    const struct kc_gpu_kept *kept);

/* Bytes of device memory that a counter allocates. Not included: the runs, and some tens of
 * megabytes in use while they are sorted. */
template <class Key>
size_t kc_gpu_counter_nbytes(enum kc_gpu_table table, const struct kc_gpu_counter_caps *caps);

/* Of these, most bytes for the arenas of the tables. */
template <class Key> size_t kc_gpu_counter_arenas_nbytes(enum kc_gpu_table table);

/* Most k-mers of a pass: with more, too many bins would overflow their tables. */
template <class Key> uint64_t kc_gpu_counter_max_nkmers(int position_bits);

/* Allocates its memory now. Uses gpu->stream; gpu must outlive it. KC_ENOMEM, KC_EDEVICE. */
template <class Key>
enum kc_status kc_gpu_counter_new(struct kc_gpu_counter<Key> **counter, struct kc_gpu *gpu,
                                  const struct kc_gpu_counter_setup *setup,
                                  const struct kc_gpu_counter_caps *caps, struct kc_error *err);
template <class Key>
void kc_gpu_counter_free(struct kc_gpu_counter<Key> *counter); /* NULL is fine */

/* The k-mers whose minimizers have the points (gpu/superkmers/minimizer.cuh) from first to
 * first + width - 1. */
struct kc_gpu_pass {
        uint32_t first, width; /* width 0: all points */
        uint64_t nkmers;       /* about */
        uint64_t total_nkmers; /* of all passes over the reads, about */
};

/* What passes have counted. */
struct kc_gpu_counted {
        uint64_t nkmers;               /* in the passes */
        struct kc_run_dropped dropped; /* by the filter, before the runs; or tallied */
        uint64_t rows[KC_RUN_NROWS];   /* number of tallied k-mers with each count */
        uint64_t nsaturated;           /* what saturation cut off */
        uint64_t nrecounted;           /* k-mers that no table of a block could count */
};

/* Add what another device has counted. */
static inline void kc_gpu_counted_add(struct kc_gpu_counted *counted,
                                      const struct kc_gpu_counted *more)
{
        counted->nkmers += more->nkmers;
        kc_run_add_dropped(&counted->dropped, &more->dropped);
        for (size_t i = 0; i < KC_RUN_NROWS; i++)
                counted->rows[i] += more->rows[i];
        counted->nsaturated += more->nsaturated;
        counted->nrecounted += more->nrecounted;
}

/*
 * Begin a walk over the reads: prepare lists for the records of the passes, which must be counted
 * next. The reads must exist and stay where they are until then.
 *   passes  [npasses] up to kc_gpu_counter_max_passes; each begins where the one before ends
 *   lists   out: an empty list for each pass, in the order of the passes
 * KC_ENOMEM, KC_EDEVICE.
 */
template <class Key>
enum kc_status kc_gpu_counter_begin(struct kc_gpu_counter<Key> *counter, struct kc_gpu_kept *kept,
                                    const struct kc_gpu_pass *passes, int npasses,
                                    struct kc_records_out *lists, struct kc_error *err);

/*
 * Find the records for the lists in one of nparts parts of the reads that are on the device.
 *   lists  the lists of all counters that share the walk, each list once. This device must be able
 *          to write to the memory of them all. All devices have the same reads, in the same order,
 *          and each device searches one part. No device may count before all have searched theirs.
 * KC_EDEVICE.
 */
template <class Key>
enum kc_status kc_gpu_counter_find(struct kc_gpu_counter<Key> *counter,
                                   const struct kc_records_out *lists, int part, int nparts,
                                   struct kc_error *err);

/* Begin a walk, and find the records in all reads that are on the device. */
template <class Key>
enum kc_status kc_gpu_counter_walk(struct kc_gpu_counter<Key> *counter, struct kc_gpu_kept *kept,
                                   const struct kc_gpu_pass *passes, int npasses,
                                   struct kc_error *err);

/*
 * Count a pass of the last walk; each is counted once. This makes one run, or several if the pairs
 * do not fit in memory at once, or none.
 *   number   of the pass, from 0
 *   taker    receives each run in turn
 *   counted  in/out: what the pass counted is added
 * The counts of the runs, counted->dropped.nkmers and counted->nsaturated add up to the k-mers of
 * the pass. KC_ENOMEM, KC_EDEVICE, KC_EIO, KC_ECANCELED, or what taker->take returns.
 */
template <class Key>
enum kc_status kc_gpu_counter_count(struct kc_gpu_counter<Key> *counter, int number,
                                    const struct kc_gpu_run_taker<Key> *taker,
                                    struct kc_gpu_counted *counted, struct kc_error *err);

/* Milliseconds of device time in each stage, for all passes so far. */
struct kc_gpu_counter_times {
        double find, split, count, order;
};
template <class Key>
struct kc_gpu_counter_times kc_gpu_counter_get_times(const struct kc_gpu_counter<Key> *counter);

#endif
