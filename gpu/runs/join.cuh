/*
 * The joins of kmer/join.h on a device: of two runs of (k-mer, value), a merge by a rule.
 *
 * A k-mer that is not there has the value 0, and stays in the run: what is left out is left out at
 * the end, by the root.
 */
#ifndef KC_GPU_RUNS_JOIN_CUH
#define KC_GPU_RUNS_JOIN_CUH

#include "gpu/device/run.cuh"
#include "kmer/join.h"

/*
 * An inner node: a, the left one, and b to a new run of exactly its length.
 *   totals  device: nremoved and ndropped_distinct grow
 * KC_ENOMEM, KC_EDEVICE.
 */
template <class Key>
enum kc_status kc_gpu_join(struct kc_gpu *gpu, const struct kc_join_plan *plan,
                           const struct kc_join_node *node,
                           const struct kc_gpu_run<Key, uint64_t> *a,
                           const struct kc_gpu_run<Key, uint64_t> *b, struct kc_join_totals *totals,
                           struct kc_gpu_run<Key, uint64_t> *result, struct kc_error *err);

/* The root, which may be a leaf: then b is empty. Counts are cut off, and all but the k-mers to
 * keep left out.
 *   totals  device: nkept and nsaturated grow, too */
template <class Key>
enum kc_status kc_gpu_join_root(struct kc_gpu *gpu, const struct kc_join_plan *plan,
                                const struct kc_gpu_run<Key, uint64_t> *a,
                                const struct kc_gpu_run<Key, uint64_t> *b,
                                struct kc_join_totals *totals, struct kc_gpu_run<Key> *result,
                                struct kc_error *err);

#endif
