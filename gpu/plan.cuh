/*
 * How the engine shares out memory, host's and device's: how large a batch, a worker's buffers, and
 * a part of the output are. All in numbers, nothing is taken here.
 *
 * Device, of the bound: half for the batch being counted, the one being filled and the encoder; a
 * quarter more for the run that counting gives; the rest is the LSM's, whose runs leave the device
 * when that is not enough.
 */
#ifndef KC_GPU_PLAN_CUH
#define KC_GPU_PLAN_CUH

#include "gpu/blocks/encode.cuh"
#include "gpu/device/run.cuh"
#include "gpu/feed/feed.cuh"
#include "gpu/gpu.h"

struct kc_gpu_plan {
        /* kc_gpu_plan_host */
        uint64_t top_nkmers;    /* more than that in a batch is not wanted */
        uint32_t host_words;    /* of a worker's batch */
        bool limit_named;       /* so that it is sized for the bound on device memory */
        uint64_t pinned_nbytes; /* most host memory to pin */
        /* kc_gpu_plan_batch */
        struct kc_gpu_feed_caps batch;
        /* kc_gpu_plan_parts */
        struct kc_gpu_encoder_caps parts;
        size_t host_nbytes; /* left for runs */
};

/* Bytes of device memory to set free before a batch is counted: for a run as large as can be, and
 * for sorting it. */
template <class Key> static inline size_t kc_gpu_plan_room(uint64_t nkmers)
{
        const size_t sorting = (size_t)48 << 20;
        return kc_gpu_run_nbytes<Key>(nkmers / 8 * 9 + 9) + sorting;
}

/* What can be said before the device is known. */
void kc_gpu_plan_host(struct kc_gpu_plan *plan, const struct kc_count_params *params,
                      const struct kc_gpu_params *gpu_params);

/* For a bound on device memory. KC_ENOMEM if it is too little for any work. */
template <class Key>
enum kc_status kc_gpu_plan_batch(struct kc_gpu_plan *plan, const struct kc_count_params *params,
                                 size_t limit_nbytes, struct kc_error *err);

/* Likewise. On its own because it asks CUDA, which takes time when it is asked for the first
 * time. */
template <class Key>
enum kc_status kc_gpu_plan_parts(struct kc_gpu_plan *plan, const struct kc_count_params *params,
                                 size_t limit_nbytes, struct kc_error *err);

/*
 * For an encoder whose ranges fit so much device memory (if that can be: see kc_gpu_encoder_nbytes),
 * and whose parts so much on the host.
 *   npairs  most pairs to be expected; 0: unknown
 */
template <class Key>
struct kc_gpu_encoder_caps kc_gpu_plan_encoder(int nthreads, uint64_t npairs, size_t device_nbytes,
                                               size_t host_nbytes);

#endif
