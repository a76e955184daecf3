/*
 * The joins of kmer/join.h on a device: each is a merge of two runs of (k-mer, value) by a rule.
 *
 * An absent k-mer has value 0. Inner nodes keep k-mers with value 0 in their runs; the root drops
 * them, and it filters.
 */
#ifndef KC_GPU_RUNS_JOIN_CUH
#define KC_GPU_RUNS_JOIN_CUH

#include "gpu/device/run.cuh"
#include "kmer/join.h"
#include "kmer/run.h"

/* What joins add up, on the device. */
struct kc_gpu_join_totals {
        struct kc_join_totals joined;  /* before the filter */
        struct kc_run_dropped dropped; /* by the filter */
};

/*
 * An inner node: join a, the left operand, and b into a new run of exactly the needed size.
 *   totals  device: joined.nremoved and .ndropped_distinct are added to
 * KC_ENOMEM, KC_EDEVICE.
 */
template <class Key>
enum kc_status kc_gpu_join(struct kc_gpu *gpu, const struct kc_join_plan *plan,
                           const struct kc_join_node *node,
                           const struct kc_gpu_run<Key, uint64_t> *a,
                           const struct kc_gpu_run<Key, uint64_t> *b,
                           struct kc_gpu_join_totals *totals,
                           struct kc_gpu_run<Key, uint64_t> *result, struct kc_error *err);

/* The root, which may be a leaf: then b is empty. Counts saturate; of the k-mers that the plan
 * keeps, only those that the filter keeps, too, are written.
 *   totals  device: joined.nkept, .nsaturated, and what the filter drops are added to, too */
template <class Key>
enum kc_status kc_gpu_join_root(struct kc_gpu *gpu, const struct kc_join_plan *plan,
                                const struct kc_run_filter *filter,
                                const struct kc_gpu_run<Key, uint64_t> *a,
                                const struct kc_gpu_run<Key, uint64_t> *b,
                                struct kc_gpu_join_totals *totals, struct kc_gpu_run<Key> *result,
                                struct kc_error *err);

#endif
