/*
 * The LSM of runs: every batch gives a run; runs of like size are merged, counts summed, so that
 * there are never more than a few and a pair is merged O(log(number of batches)) times. What the
 * device's memory does not hold goes to pinned host memory, then to unlinked files. In the end all
 * runs are merged range by range.
 *
 * Source: Ashkiani et al., GPU LSM (2018), sections III-IV, with the sum of counts in place of
 * replacement and runs of any length in place of b * 2^i.
 */
#ifndef KC_GPU_RUNS_LSM_CUH
#define KC_GPU_RUNS_LSM_CUH

#include "gpu/device/gate.h"
#include "gpu/device/run.cuh"

template <class Key> struct kc_gpu_lsm;

struct kc_gpu_lsm_setup {
        size_t host_nbytes;   /* pinned host memory it may use for runs; 0 is valid. 8 MiB for what
                                passes to and from files come on top */
        const char *tmp_dir;  /* folder of unlinked files for the rest */
        int nthreads;         /* threads it may use for a moment, to get host memory; 0 is 1 */
        size_t chunk_npairs;  /* runs are kept on the host in chunks of so many pairs; 0: as many as
                                suit host_nbytes */
        struct kc_gate *gate; /* asked in long work whether to go on; NULL: go on */
};

/* While batches are inserted it is gpu->spare: an allocation that finds too little memory makes
 * runs leave, the longest first. One LSM a device. */
template <class Key>
enum kc_status kc_gpu_lsm_new(struct kc_gpu_lsm<Key> **lsm, struct kc_gpu *gpu,
                              const struct kc_gpu_lsm_setup *setup, struct kc_error *err);
template <class Key> void kc_gpu_lsm_free(struct kc_gpu_lsm<Key> *lsm); /* NULL is fine */

/*
 * Insert a run; its memory is the LSM's from now on, also on failure. Runs are merged while there
 * is room on the device for what the merge gives, and else left as they are: nothing goes to the
 * host here. KC_EUSAGE after kc_gpu_lsm_next.
 */
template <class Key>
enum kc_status kc_gpu_lsm_insert(struct kc_gpu_lsm<Key> *lsm, struct kc_gpu_run<Key> *run,
                                 struct kc_error *err);

/*
 * Move runs to the host or to files, the longest first, until kc_gpu_room(gpu) is nbytes at least;
 * with no run left, what the device has refused is believed to be there again. KC_ENOMEM if it
 * cannot be reached; KC_EIO, with the folder's name, if a file cannot be written; KC_ECANCELED.
 */
template <class Key>
enum kc_status kc_gpu_lsm_make_room(struct kc_gpu_lsm<Key> *lsm, size_t nbytes,
                                    struct kc_error *err);

/*
 * The merge of all runs, range by range: call until *range is empty (n = 0).
 *   max_pairs  most pairs in a range (65,536 at least); the same in all calls
 *   range      out: sorted, k-mers above those of the range before; the LSM's memory, valid until
 *              the next call; complete in gpu->stream
 * The first call decides from kc_gpu_room(gpu) how long ranges are. With a little more than three
 * times kc_gpu_run_nbytes<Key>(max_pairs) they are as long as they may be; with much less, runs are
 * moved to the host to make room. What else the device is to hold meanwhile must be taken before.
 */
template <class Key>
enum kc_status kc_gpu_lsm_next(struct kc_gpu_lsm<Key> *lsm, size_t max_pairs,
                               struct kc_gpu_run<Key> *range, struct kc_error *err);

/* Bytes written to files so far; pairs in all runs (an upper bound on the distinct ones). */
template <class Key> uint64_t kc_gpu_lsm_spilled_nbytes(const struct kc_gpu_lsm<Key> *lsm);
template <class Key> uint64_t kc_gpu_lsm_npairs(const struct kc_gpu_lsm<Key> *lsm);

/* What saturation has cut off the counts so far: with it, the counts of the merge add up to those
 * of the runs inserted. Waits for gpu->stream. */
template <class Key>
enum kc_status kc_gpu_lsm_nsaturated(const struct kc_gpu_lsm<Key> *lsm, uint64_t *nsaturated,
                                     struct kc_error *err);

#endif
