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
        uint64_t npartial;                   /* k-mers in partial counts */
};

/* Output for pairs, to which all blocks append. */
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
};

/*
 * Count tasks first .. last - 1 and append their pairs, on gpu->stream; does not wait. If a table
 * holds all k-mers of a whole bin, its counts are final, and the filter is applied. Other pairs are
 * partial counts, and a k-mer may have several: a full table is drained and cleared, and the pieces
 * of a bin are counted independently. The caller must provide room for as many pairs as the tasks
 * have k-mers. KC_EDEVICE.
 *   kind, setup  the tables, from kc_count_tables_plan
 */
template <class Key>
enum kc_status kc_count_tasks(struct kc_gpu *gpu, enum kc_gpu_table kind,
                              const kc_table_setup *setup, const struct kc_tasks_in *in,
                              size_t first, size_t last, const kc_pairs_out<Key> *out,
                              struct kc_error *err);

/* Choose the tables' setup, and report the device memory that their arenas need: the
 * caller allocates *arena_nbytes into setup->arena. */
template <class Key>
void kc_count_tables_plan(const struct kc_gpu *gpu, enum kc_gpu_table kind, kc_table_setup *setup,
                          size_t *arena_nbytes);

#endif
