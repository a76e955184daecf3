/*
 * Counting bins: each is a table's worth of k-mers, and becomes pairs in no particular order.
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

/* Output for pairs, to which all blocks append. */
template <class Key> struct kc_pairs_out {
        Key *kmers;       /* [cap] device */
        uint32_t *counts; /* [cap] device */
        uint64_t *n;      /* device */
};

/*
 * Count tasks first .. last - 1 and append their pairs, on gpu->stream; does not wait. A k-mer may
 * be output several times: a full table is drained and cleared, and the pieces of a bin are counted
 * independently. The caller must provide room for as many pairs as the tasks have k-mers.
 * KC_EDEVICE.
 *   kind, setup  the tables, from kc_count_tables_plan
 */
template <class Key>
enum kc_status kc_count_tasks(struct kc_gpu *gpu, enum kc_gpu_table kind,
                              const kc_table_setup *setup, int k, bool stranded,
                              const uint64_t *words, const uint64_t *records, const kc_task *tasks,
                              size_t first, size_t last, const kc_pairs_out<Key> *out,
                              struct kc_error *err);

/* Choose the tables' setup, and report the device memory that they need, at most 64 MB for all: the
 * caller allocates *arena_nbytes into setup->arena. */
template <class Key>
void kc_count_tables_plan(const struct kc_gpu *gpu, enum kc_gpu_table kind, kc_table_setup *setup,
                          size_t *arena_nbytes);

#endif
