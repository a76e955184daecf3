/*
 * The LSM of runs: every pass yields a run, or several. Runs of similar length are merged, summing
 * counts, so that there are never more than a few and each pair is merged O(log(number of runs))
 * times.
 * What does not fit in device memory is encoded (gpu/runs/coded_run.cuh) and goes to pinned host
 * memory, then to nameless files. Finally all runs are merged range by range.
 *
 * Source: Ashkiani et al., GPU LSM (2018), sections III-IV, with the sum of counts in place of
 * replacement and runs of any length in place of b * 2^i.
 */
#ifndef KC_GPU_RUNS_LSM_CUH
#define KC_GPU_RUNS_LSM_CUH

#include "gpu/device/gate.h"
#include "gpu/device/run.cuh"
#include "gpu/runs/cuts.cuh"

template <class Key> struct kc_gpu_lsm;

struct kc_gpu_lsm_setup {
        size_t host_nbytes;   /* pinned host memory it may use for runs; 0 is valid. The 8 MiB of
                                 stages for file I/O are extra */
        const char *tmp_dir;  /* folder of the nameless files that hold the rest */
        int nthreads;         /* threads it may use briefly to allocate host memory; 0 is 1 */
        size_t chunk_nbytes;  /* of a chunk of a run on the host; 0: chosen to suit host_nbytes */
        struct kc_gate *gate; /* checked for cancellation during long work; may be NULL */
};

/* Until the first kc_gpu_lsm_next it is gpu->spare: an allocation that finds too little memory
 * moves runs to the host, the longest first. One LSM per device; only the thread that uses the
 * device calls it. KC_ENOMEM, KC_EDEVICE. */
template <class Key>
enum kc_status kc_gpu_lsm_new(struct kc_gpu_lsm<Key> **lsm, struct kc_gpu *gpu,
                              const struct kc_gpu_lsm_setup *setup, struct kc_error *err);
template <class Key> void kc_gpu_lsm_free(struct kc_gpu_lsm<Key> *lsm); /* NULL is fine */

/*
 * Insert a run; the LSM owns its memory from now on, even on failure. Runs are merged if there is
 * room on the device for the result, and otherwise left as they are: nothing moves to the host
 * here. KC_EUSAGE after kc_gpu_lsm_next; KC_ENOMEM, KC_EDEVICE.
 */
template <class Key>
enum kc_status kc_gpu_lsm_insert(struct kc_gpu_lsm<Key> *lsm, struct kc_gpu_run<Key> *run,
                                 struct kc_error *err);

/*
 * Move runs to the host or to files, the longest first, until kc_gpu_room(gpu) is at least nbytes.
 * If no run is left on the device, the limit learned from refused allocations is reset. KC_ENOMEM
 * if there is still too little room; KC_EIO, with the folder's name, if a file cannot be written;
 * KC_ECANCELED.
 */
template <class Key>
enum kc_status kc_gpu_lsm_make_room(struct kc_gpu_lsm<Key> *lsm, size_t nbytes,
                                    struct kc_error *err);

/*
 * The merge of all runs, range by range: call until *range is empty (n = 0).
 *   max_pairs  maximum pairs in a range (at least 65,536); the same in all calls
 *   range      out: sorted, k-mers above those of the previous range; memory of the LSM, valid
 *              until the next call; complete in gpu->stream
 * The first call decides from kc_gpu_room(gpu) how long ranges are. With a little more than four
 * times kc_gpu_run_nbytes<Key>(max_pairs) they have their maximum length; with much less, runs are
 * moved to the host to make room. Allocate whatever else the device must hold before that call.
 * KC_ENOMEM, KC_EIO, KC_EDEVICE, KC_ECANCELED.
 */
template <class Key>
enum kc_status kc_gpu_lsm_next(struct kc_gpu_lsm<Key> *lsm, size_t max_pairs,
                               struct kc_gpu_run<Key> *range, struct kc_error *err);

/*
 * Instead of the first kc_gpu_lsm_next, in order to merge together with other LSMs: move runs to
 * the host or merge them as that call would, and set *max_pairs to what it would make ranges of.
 * Then either cut the runs, or let kc_gpu_lsm_next do so after all, or call unplan, after which
 * runs may be inserted again. The same holds after a failure. Errors as in kc_gpu_lsm_next.
 */
template <class Key>
enum kc_status kc_gpu_lsm_plan(struct kc_gpu_lsm<Key> *lsm, size_t *max_pairs,
                               struct kc_error *err);
template <class Key> void kc_gpu_lsm_unplan(struct kc_gpu_lsm<Key> *lsm);

/* The runs that are planned: where each could be cut. */
template <class Key> size_t kc_gpu_lsm_nruns(const struct kc_gpu_lsm<Key> *lsm);
template <class Key>
const struct kc_fences<Key> *kc_gpu_lsm_fences(const struct kc_gpu_lsm<Key> *lsm, size_t run);

/* Make kc_gpu_lsm_next return the ranges between these cuts, of which none has more than max_pairs,
 * at most the planned number. Where there is nothing between two cuts, it returns an empty range.
 * The arrays of *cuts are the caller's. KC_ENOMEM, KC_EDEVICE. */
template <class Key>
enum kc_status kc_gpu_lsm_cut(struct kc_gpu_lsm<Key> *lsm, size_t max_pairs,
                              const struct kc_range_cuts<Key> *cuts, struct kc_error *err);

/* Whether ranges stay as they are for as long as the LSM: there is one run, on the device. */
template <class Key> bool kc_gpu_lsm_is_still(const struct kc_gpu_lsm<Key> *lsm);

/* Merge sorted parts from elsewhere, as kc_gpu_merge_all does (gpu/runs/merge.cuh). What saturation
 * cuts off is added to that of this LSM. */
template <class Key>
enum kc_status kc_gpu_lsm_merge(struct kc_gpu_lsm<Key> *lsm, struct kc_gpu_run<Key> *parts,
                                size_t nparts, struct kc_gpu_run<Key> *result,
                                struct kc_error *err);

/* Bytes written to files so far; pairs in all runs (an upper bound on the distinct k-mers). */
template <class Key> uint64_t kc_gpu_lsm_spilled_nbytes(const struct kc_gpu_lsm<Key> *lsm);
template <class Key> uint64_t kc_gpu_lsm_npairs(const struct kc_gpu_lsm<Key> *lsm);

/* The total by which saturation has reduced counts so far: added to the counts of the merge, it
 * gives the sum of the counts inserted. Waits for gpu->stream. */
template <class Key>
enum kc_status kc_gpu_lsm_nsaturated(const struct kc_gpu_lsm<Key> *lsm, uint64_t *nsaturated,
                                     struct kc_error *err);

#endif
