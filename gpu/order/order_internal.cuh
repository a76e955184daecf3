/*
 * Private to gpu/order, its tests and its benchmarks: the two ways to order, each of which is
 * correct for any input, and the events that time their stages.
 */
#ifndef KC_GPU_ORDER_ORDER_INTERNAL_CUH
#define KC_GPU_ORDER_ORDER_INTERNAL_CUH

#include "gpu/device/run.cuh"

template <class Key> struct kc_order_input {
        int k;
        size_t n;
        Key *kmers, *kmers_tmp;        /* [n] device */
        uint32_t *counts, *counts_tmp; /* [n] device */
        size_t cap;                    /* room of kmers_tmp; 0: n */
};

/* Events recorded after each stage, if the caller passes an array of them. */
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
 * By radix sort: best for few pairs and short k-mers.
 *   run  out, as for kc_gpu_order
 */
template <class Key>
enum kc_status kc_order_plainly(struct kc_gpu *gpu, const struct kc_order_input<Key> *in,
                                struct kc_gpu_run<Key> *run, struct kc_error *err);

/* By buckets that fit in shared memory. n >= 1, k >= KC_ORDER_MIN_K. *done = false: this way does
 * not suit the input; in->kmers and in->counts are unchanged, and there is no run. */
template <class Key>
enum kc_status kc_order_by_buckets(struct kc_gpu *gpu, const struct kc_order_input<Key> *in,
                                   struct kc_gpu_run<Key> *run, bool *done, cudaEvent_t *marks,
                                   struct kc_error *err);

/*
 * Sort the pairs; all arrays may change.
 *   kmers, counts  out, the arrays of `in` that hold them
 */
template <class Key>
enum kc_status kc_order_sort(struct kc_gpu *gpu, const struct kc_order_input<Key> *in, Key **kmers,
                             uint32_t **counts, struct kc_error *err);

/* A new run that holds a copy of the n pairs. */
template <class Key>
enum kc_status kc_order_copy_run(struct kc_gpu *gpu, const Key *kmers, const uint32_t *counts,
                                 size_t n, struct kc_gpu_run<Key> *run, struct kc_error *err);

#endif
