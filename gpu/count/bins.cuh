/*
 * Counting bins: each a table's worth of k-mers, to pairs in no order.
 */
#ifndef KC_GPU_COUNT_BINS_CUH
#define KC_GPU_COUNT_BINS_CUH

#include "gpu/count/expand.cuh"
#include "gpu/gpu.h"
#include "gpu/tables/table.cuh"

/* What one thread block counts: a bin, or a piece of one that is too large for one block. */
struct kc_task {
        uint32_t first, n; /* records */
};

/* Pairs, appended to by all blocks. */
template <class Key> struct kc_pairs_out {
        Key *kmers;       /* [cap] device */
        uint32_t *counts; /* [cap] device */
        uint64_t *n;      /* device */
};

/*
 * Count tasks first .. last - 1 and append their pairs. A k-mer may come out several times: a table
 * that is full is emptied and filled again, and pieces of a bin know nothing of each other. The
 * caller has made sure that there is room for a pair for every k-mer of the tasks.
 *   kind, setup  the tables, by kc_count_tables_plan
 */
template <class Key>
enum kc_status kc_count_tasks(struct kc_gpu *gpu, enum kc_gpu_table kind,
                              const kc_table_setup *setup, int k, bool stranded,
                              const uint64_t *words, const uint64_t *records, const kc_task *tasks,
                              size_t first, size_t last, const kc_pairs_out<Key> *out,
                              struct kc_error *err);

/* The tables' shape, and the device memory they want, 64 MB at most: arena_nbytes for all,
 * allocated by the caller into setup->arena. */
template <class Key>
void kc_count_tables_plan(const struct kc_gpu *gpu, enum kc_gpu_table kind, kc_table_setup *setup,
                          size_t *arena_nbytes);

#endif
