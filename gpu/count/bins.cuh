/*
 * Counting bins: each is a table's worth of k-mers, and becomes pairs in no particular order.
 */
#ifndef KC_GPU_COUNT_BINS_CUH
#define KC_GPU_COUNT_BINS_CUH

#include "gpu/count/expand.cuh"
#include "gpu/device/limits.h"
#include "gpu/tables/table.cuh"
#include "kmer/run.h"

/* What one thread block counts: a bin, or a piece of one that is too large for one block. */
struct kc_task {
        uint32_t first; /* record */
        uint16_t n;     /* records */
        uint16_t whole; /* 1: it has all records of its k-mers */
};

/* Totals of all blocks, spread over many cells to reduce contention between atomic additions. */
enum { KC_COUNT_NCELLS = 1024, KC_COUNT_NTALLIES = 64 };

struct kc_count_cell {
        uint64_t ndistinct, nkmers, nunique; /* dropped by the filter: kc_run_dropped */
        uint64_t nsaturated;                 /* cut off from sums */
};

/* Output for pairs, to which all blocks append. Their counts are final. */
template <class Key> struct kc_pairs_out {
        Key *kmers;       /* [cap] device */
        uint32_t *counts; /* [cap] device */
        uint64_t *n;      /* device */
        struct kc_run_filter filter;
        struct kc_count_cell *cells; /* [KC_COUNT_NCELLS] device, added to */
        uint64_t *rows; /* [KC_COUNT_NTALLIES][KC_RUN_NROWS] device: added to the row of its count
                           for every k-mer that the filter drops, all of which are below
                           KC_RUN_NROWS. NULL: not wanted */
};

/* What the tasks count: records of super-k-mers, which say where in the chunks they are. */
struct kc_tasks_in {
        int k;
        bool stranded;
        kc_record_form form;
        const struct kc_gpu_chunk *chunks; /* device */
        uint32_t nchunks;                  /* with spans; there may be others, for copies */
        const uint64_t *records;           /* device */
        const kc_task *tasks;              /* device */
        const uint64_t *bounds;            /* device: k-mers in each task and all before it */
};

struct kc_recount_totals {
        uint64_t nkmers; /* in the tasks */
        uint32_t ntasks;
        uint32_t full; /* 1: a k-mer found no room in the table of sums */
};

/* Tasks that are not counted yet, because no table of a block could hold all of a bin. */
struct kc_recounts {
        kc_task *tasks;                   /* [cap] device */
        struct kc_recount_totals *totals; /* [1] device, added to */
};

/*
 * Count tasks first .. last - 1 and append their pairs, on gpu->stream; does not wait. A task that
 * is a piece of a bin, or whose k-mers do not all fit in a table, makes no pairs, and is added to
 * *again instead. The caller must provide room for as many pairs as the tasks have k-mers.
 * KC_EDEVICE.
 *   kind, setup  the tables, from kc_count_tables_plan
 */
template <class Key>
enum kc_status kc_count_tasks(struct kc_gpu *gpu, enum kc_gpu_table kind,
                              const kc_table_setup *setup, const struct kc_tasks_in *in,
                              uint32_t first, uint32_t last, const kc_pairs_out<Key> *out,
                              const struct kc_recounts *again, struct kc_error *err);

/* Choose the tables' setup, and report the device memory that their arenas need: the
 * caller allocates *arena_nbytes into setup->arena. */
template <class Key>
void kc_count_tables_plan(const struct kc_gpu *gpu, enum kc_gpu_table kind, kc_table_setup *setup,
                          size_t *arena_nbytes);

#endif
