/*
 * Order: sorts pairs of distinct k-mers and their counts into a run.
 */
#ifndef KC_GPU_ORDER_ORDER_CUH
#define KC_GPU_ORDER_ORDER_CUH

#include "gpu/device/run.cuh"

/*
 *   k                      every k-mer is below 4^k
 *   kmers, counts          in  [n] device, distinct, counts at least 1; overwritten
 *   kmers_tmp, counts_tmp  [cap], [n] device, scratch; cap is at least n; a larger one is faster
 *   run                    out, allocated here, to be freed by the caller; run->cap is run->n
 * If n = 0, the run is empty. Works on gpu->stream. KC_ENOMEM if there is no room for the run or
 * for sorting; KC_EDEVICE.
 */
template <class Key>
enum kc_status kc_gpu_order(struct kc_gpu *gpu, int k, Key *kmers, uint32_t *counts, Key *kmers_tmp,
                            uint32_t *counts_tmp, size_t n, size_t cap, struct kc_gpu_run<Key> *run,
                            struct kc_error *err);

#endif
