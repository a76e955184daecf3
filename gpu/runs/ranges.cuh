/*
 * Runs on the device or the host, merged range by range. A range is what lies between two splits of
 * the key space (gpu/runs/cuts.cuh). Blocks of runs on the host are copied to the device while the
 * previous range is merged, and decoded there; pairs of runs on the device are used in place.
 */
#ifndef KC_GPU_RUNS_RANGES_CUH
#define KC_GPU_RUNS_RANGES_CUH

#include "gpu/runs/coded_run.cuh"
#include "gpu/runs/cuts.cuh"

/* A run of the LSM, on the device or on the host. */
template <class Key> struct kc_lsm_run {
        struct kc_gpu_run<Key> device;
        struct kc_coded_run host;
        struct kc_fences<Key> fences;
        bool on_host;
};

/* Add the fences of a run's next pairs, which are on the device and complete in gpu->stream. Waits
 * for the work. KC_ENOMEM, KC_EDEVICE. */
template <class Key>
enum kc_status kc_lsm_run_add_fences(struct kc_host_store *store, struct kc_lsm_run<Key> *run,
                                     const struct kc_gpu_run<Key> *pairs, struct kc_error *err);

/* Once the run's pairs on the device have changed. */
template <class Key>
void kc_lsm_run_drop_fences(struct kc_host_store *store, struct kc_lsm_run<Key> *run);

template <class Key>
void kc_lsm_run_free(struct kc_host_store *store, struct kc_lsm_run<Key> *run); /* NULL is fine */

template <class Key> struct kc_ranges;

/* Upper bound in bytes on the device memory that ranges of max_pairs pairs of any nmerged of these
 * runs take. KC_RANGES_NCOPIES times that of max_pairs pairs is enough in most cases. */
enum { KC_RANGES_NCOPIES = 4 };
template <class Key>
size_t kc_ranges_nbytes(struct kc_lsm_run<Key> *const *runs, size_t nruns, size_t nmerged,
                        size_t max_pairs);

/*
 *   runs        [nruns] with fences, all at their beginning; kept by the caller until
 *               kc_ranges_free. What is on the host goes back to the store range by range
 *   max_pairs   maximum pairs of a range; at least 2 * nruns * KC_FENCE_NPAIRS
 *   cuts        if given, no range between them may have more than max_pairs, by kc_fences_bound;
 *               `at` is kept by the caller until kc_ranges_free
 *   nsaturated  in/out, device: increased by what saturation cuts off
 */
template <class Key>
enum kc_status kc_ranges_new(struct kc_ranges<Key> **ranges, struct kc_host_store *store,
                             struct kc_lsm_run<Key> **runs, size_t nruns, size_t max_pairs,
                             const struct kc_range_cuts<Key> *cuts, uint64_t *nsaturated,
                             struct kc_error *err);

/* The next range, complete in the order of gpu->stream; n = 0 at the end and, with cuts, where
 * there is nothing between two of them. Valid until the next call. KC_ENOMEM, KC_EIO, KC_EDEVICE,
 * KC_ECANCELED. */
template <class Key>
enum kc_status kc_ranges_next(struct kc_ranges<Key> *ranges, struct kc_gpu_run<Key> *range,
                              struct kc_error *err);

template <class Key> void kc_ranges_free(struct kc_ranges<Key> *ranges); /* NULL is fine */

#endif
