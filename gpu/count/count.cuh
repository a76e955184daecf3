/*
 * Counting one batch: packed reads on the device to sorted runs on the device.
 *
 *      reads -> super-k-mers (gpu/count/superkmer.cuh) -> multisplit into bins by minimizer
 *            -> a table a bin, in shared memory -> pairs -> order (gpu/order/order.cuh) -> run
 */
#ifndef KC_GPU_COUNT_COUNT_CUH
#define KC_GPU_COUNT_COUNT_CUH

#include "gpu/device/reads.cuh"
#include "gpu/device/run.cuh"
#include "gpu/gpu.h"

template <class Key> struct kc_gpu_counter;

/* Takes a run, whose memory is the taker's from then on, also on failure. */
template <class Key> struct kc_gpu_run_taker {
        void *ctx;
        enum kc_status (*take)(void *ctx, struct kc_gpu_run<Key> *run, struct kc_error *err);
};

/* Bytes of device memory that a counter for batches of up to nkmers k-mers takes. The runs, and
 * some tens of megabytes for a moment while they are sorted, come on top. */
template <class Key> size_t kc_gpu_counter_nbytes(int k, uint64_t nkmers);

/* A counter for batches of up to max_nkmers k-mers; takes its memory now. */
template <class Key>
enum kc_status kc_gpu_counter_new(struct kc_gpu_counter<Key> **counter, struct kc_gpu *gpu, int k,
                                  bool stranded, enum kc_gpu_table table, uint64_t max_nkmers,
                                  struct kc_error *err);
template <class Key>
void kc_gpu_counter_free(struct kc_gpu_counter<Key> *counter); /* NULL is fine */

/*
 * Count a batch: one run, or a few where the distinct k-mers do not fit the working memory at once.
 *   reads  in; its memory may be used again when the call returns
 *   taker  given each run in turn
 * Counts add up to reads->nkmers, less what saturation cut off, by which *nsaturated grows.
 */
template <class Key>
enum kc_status kc_gpu_counter_count(struct kc_gpu_counter<Key> *counter,
                                    const struct kc_gpu_reads *reads,
                                    const struct kc_gpu_run_taker<Key> *taker, uint64_t *nsaturated,
                                    struct kc_error *err);

/* Milliseconds of device time in each stage, summed over all batches so far. */
struct kc_gpu_counter_times {
        double find, split, count, order;
};
template <class Key>
struct kc_gpu_counter_times kc_gpu_counter_get_times(const struct kc_gpu_counter<Key> *counter);

#endif
