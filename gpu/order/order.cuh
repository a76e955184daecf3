/*
 * Order: (k-mer, count) pairs in any order, a k-mer any number of times, to one sorted run in which
 * each k-mer is there once with the (saturating) sum of its counts.
 */
#ifndef KC_GPU_ORDER_ORDER_CUH
#define KC_GPU_ORDER_ORDER_CUH

#include "gpu/device/run.cuh"

/*
 *   k        k-mers are below 4^k
 *   kmers, counts          in  [n] device, counts 1 at least; scratch after
 *   kmers_tmp, counts_tmp  [n] device, scratch
 *   run      out, new memory; run->cap is at most 9/8 run->n
 *   nsaturated  grows by what saturation cut off
 * n = 0 gives an empty run. Work is on gpu->stream; returns when run->n is known.
 * KC_ENOMEM if the run does not fit.
 */
template <class Key>
enum kc_status kc_gpu_order(struct kc_gpu *gpu, int k, Key *kmers, uint32_t *counts, Key *kmers_tmp,
                            uint32_t *counts_tmp, size_t n, struct kc_gpu_run<Key> *run,
                            uint64_t *nsaturated, struct kc_error *err);

#endif
