/*
 * The LSM of runs: every batch gives a run; runs of like size are merged, counts summed, so that
 * there are never more than a few and a pair is merged O(log(number of batches)) times. What the
 * device's memory does not hold goes to pinned host memory, then to unlinked files. In the end all
 * runs are merged range by range.
 *
 * Source: Ashkiani et al., GPU LSM (2018), sections III-IV, with the sum of counts in place of
 * replacement and runs of any length in place of b * 2^i.
 */
#ifndef KC_GPU_LSM_CUH
#define KC_GPU_LSM_CUH

#include "gpu/run.cuh"

template <class Key> struct kc_gpu_lsm;

struct kc_gpu_lsm_setup {
        size_t host_nbytes;  /* pinned host memory it may use for runs; 0 is valid */
        const char *tmp_dir; /* folder of unlinked files for the rest */
};

template <class Key>
enum kc_status kc_gpu_lsm_new(struct kc_gpu_lsm<Key> **lsm, struct kc_gpu *gpu,
                              const struct kc_gpu_lsm_setup *setup, struct kc_error *err);
template <class Key> void kc_gpu_lsm_free(struct kc_gpu_lsm<Key> *lsm); /* NULL is fine */

/* Insert a run; its memory is the LSM's from now on, also on failure. */
template <class Key>
enum kc_status kc_gpu_lsm_insert(struct kc_gpu_lsm<Key> *lsm, struct kc_gpu_run<Key> *run,
                                 struct kc_error *err);

/* Move runs to the host or to files until kc_gpu_room(gpu) is nbytes at least. KC_ENOMEM if it
 * cannot be reached. */
template <class Key>
enum kc_status kc_gpu_lsm_make_room(struct kc_gpu_lsm<Key> *lsm, size_t nbytes,
                                    struct kc_error *err);

/*
 * The merge of all runs, range by range: call until *range is empty (n = 0).
 *   max_pairs  most pairs in a range (65,536 at least); the same in all calls
 *   range      out: sorted, k-mers above those of the range before; the LSM's memory, valid until the
 *              next call
 */
template <class Key>
enum kc_status kc_gpu_lsm_next(struct kc_gpu_lsm<Key> *lsm, size_t max_pairs,
                               struct kc_gpu_run<Key> *range, struct kc_error *err);

/* Bytes written to files so far; pairs in all runs (an upper bound on the distinct ones). */
template <class Key> uint64_t kc_gpu_lsm_spilled_nbytes(const struct kc_gpu_lsm<Key> *lsm);
template <class Key> uint64_t kc_gpu_lsm_npairs(const struct kc_gpu_lsm<Key> *lsm);

#endif
