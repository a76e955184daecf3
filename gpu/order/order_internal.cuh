/*
 * The two ways to order, each of which is right for any input, and their stages' times. Inside of
 * order; also what its tests and benchmarks call.
 */
#ifndef KC_GPU_ORDER_ORDER_INTERNAL_CUH
#define KC_GPU_ORDER_ORDER_INTERNAL_CUH

#include "gpu/device/run.cuh"

template <class Key> struct kc_order_input {
        int k;
        size_t n;
        Key *kmers, *kmers_tmp;        /* [n] device */
        uint32_t *counts, *counts_tmp; /* [n] device */
};

/* Events recorded behind the stages, where there is an array to take them. */
enum {
        KC_ORDER_BEGIN,
        KC_ORDER_COARSE_COUNTED,
        KC_ORDER_SPLIT,
        KC_ORDER_CELLS_COUNTED,
        KC_ORDER_PLANNED,
        KC_ORDER_BUCKETED,
        KC_ORDER_SORTED,
        KC_ORDER_NMARKS,
};

/*
 * By radix sort and reduction: for few pairs, short k-mers and many duplicates.
 *   run  out, as kc_gpu_order's
 */
template <class Key>
enum kc_status kc_order_plainly(struct kc_gpu *gpu, const struct kc_order_input<Key> *in,
                                struct kc_gpu_run<Key> *run, uint64_t *nsaturated,
                                struct kc_error *err);

/* By buckets that fit shared memory. n >= 1, k >= KC_ORDER_MIN_K. *done = false: it is no input for
 * this way, which has left in->kmers and in->counts as they were, and no run. */
template <class Key>
enum kc_status kc_order_by_buckets(struct kc_gpu *gpu, const struct kc_order_input<Key> *in,
                                   struct kc_gpu_run<Key> *run, uint64_t *nsaturated, bool *done,
                                   cudaEvent_t *marks, struct kc_error *err);

/*
 * Sort n pairs in place (kmers_tmp, counts_tmp are scratch) and sum the counts of the same k-mer.
 *   nout                   out, distinct k-mers
 *   out_kmers, out_counts  out, one of the two pairs of arrays
 */
template <class Key>
enum kc_status kc_order_sort_and_sum(struct kc_gpu *gpu, const struct kc_order_input<Key> *in,
                                     size_t *nout, Key **out_kmers, uint32_t **out_counts,
                                     uint64_t *nsaturated, struct kc_error *err);

/* A run of the n pairs: an own copy. */
template <class Key>
enum kc_status kc_order_copy_run(struct kc_gpu *gpu, const Key *kmers, const uint32_t *counts,
                                 size_t n, struct kc_gpu_run<Key> *run, struct kc_error *err);

#endif
