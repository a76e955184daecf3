/*
 * Order: turns (k-mer, count) pairs, in any order and with repeated k-mers, into one sorted run
 * that has each k-mer once, with the (saturating) sum of its counts.
 */
#ifndef KC_GPU_ORDER_ORDER_CUH
#define KC_GPU_ORDER_ORDER_CUH

#include "gpu/device/run.cuh"

/*
 *   k                      every k-mer is below 4^k
 *   kmers, counts          in  [n] device, counts at least 1; overwritten
 *   kmers_tmp, counts_tmp  [n] device, scratch
 *   run                    out, allocated here, to be freed by the caller; run->cap is at most
 *                          9/8 run->n
 *   nsaturated             increased by what saturation cut off
 * If n = 0, the run is empty. Works on gpu->stream; returns when run->n is known. KC_ENOMEM if
 * there is no room for the run or for sorting; KC_EDEVICE.
 */
template <class Key>
enum kc_status kc_gpu_order(struct kc_gpu *gpu, int k, Key *kmers, uint32_t *counts, Key *kmers_tmp,
                            uint32_t *counts_tmp, size_t n, struct kc_gpu_run<Key> *run,
                            uint64_t *nsaturated, struct kc_error *err);

#endif
