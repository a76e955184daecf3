/*
 * Counting one batch: from packed reads on the device to sorted runs on the device.
 *
 *      reads -> super-k-mers (gpu/count/superkmer.cuh) -> multisplit into bins by minimizer
 *            -> a table per bin, in shared memory -> pairs -> order (gpu/order/order.cuh) -> run
 */
#ifndef KC_GPU_COUNT_COUNT_CUH
#define KC_GPU_COUNT_COUNT_CUH

#include "gpu/device/reads.cuh"
#include "gpu/device/run.cuh"
#include "gpu/gpu.h"

template <class Key> struct kc_gpu_counter;

/* Receives a run. The receiver owns its memory from then on, even on failure. */
template <class Key> struct kc_gpu_run_taker {
        void *ctx;
        enum kc_status (*take)(void *ctx, struct kc_gpu_run<Key> *run, struct kc_error *err);
};

/* Bytes of device memory that a counter for batches of up to nkmers k-mers allocates. Not included:
 * the runs, and some tens of megabytes in use while they are sorted. */
template <class Key> size_t kc_gpu_counter_nbytes(int k, uint64_t nkmers);

/* A counter for batches of up to max_nkmers k-mers; allocates its memory now. Uses gpu->stream; gpu
 * must outlive it. KC_ENOMEM, KC_EDEVICE. */
template <class Key>
enum kc_status kc_gpu_counter_new(struct kc_gpu_counter<Key> **counter, struct kc_gpu *gpu, int k,
                                  bool stranded, enum kc_gpu_table table, uint64_t max_nkmers,
                                  struct kc_error *err);
template <class Key>
void kc_gpu_counter_free(struct kc_gpu_counter<Key> *counter); /* NULL is fine */

/*
 * Count a batch. This makes one run, or a few if the distinct k-mers do not fit in the working
 * memory at once.
 *   reads  in, device; its memory may be reused when the call returns
 *   taker  receives each run in turn
 * The counts add up to reads->nkmers, minus what saturation cut off, which is added to *nsaturated.
 * Returns KC_EUSAGE if reads->nkmers is above max_nkmers, KC_ENOMEM, KC_EDEVICE, or what
 * taker->take returns.
 */
template <class Key>
enum kc_status kc_gpu_counter_count(struct kc_gpu_counter<Key> *counter,
                                    const struct kc_gpu_reads *reads,
                                    const struct kc_gpu_run_taker<Key> *taker, uint64_t *nsaturated,
                                    struct kc_error *err);

/* Milliseconds of device time in each stage, for all batches so far. */
struct kc_gpu_counter_times {
        double find, split, count, order;
};
template <class Key>
struct kc_gpu_counter_times kc_gpu_counter_get_times(const struct kc_gpu_counter<Key> *counter);

#endif
