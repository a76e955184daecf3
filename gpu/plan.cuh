/*
 * How the engine divides memory, on the host and on the device: the sizes of a batch, of a worker's
 * buffers and of a part of the output. This only computes numbers and allocates nothing.
 *
 * Of the bound on device memory, half is for the batch being counted, the one being filled and the
 * encoder; another quarter is for the run that counting produces. The rest belongs to the LSM,
 * whose runs move off the device when it is not enough.
 */
#ifndef KC_GPU_PLAN_CUH
#define KC_GPU_PLAN_CUH

#include "gpu/blocks/encode.cuh"
#include "gpu/device/run.cuh"
#include "gpu/feed/feed.cuh"
#include "gpu/gpu.h"

struct kc_gpu_plan {
        /* kc_gpu_plan_host */
        uint64_t top_nkmers;    /* upper limit for a batch */
        uint32_t host_words;    /* words of a worker's batch */
        bool limit_named;       /* the user set a bound on device memory; host_words fits it */
        uint64_t pinned_nbytes; /* most host memory to pin */
        /* kc_gpu_plan_batch */
        struct kc_gpu_feed_caps batch;
        /* kc_gpu_plan_parts */
        struct kc_gpu_encoder_caps parts;
        size_t host_nbytes; /* host memory left for runs */
};

/* Bytes of device memory to free before a batch is counted: enough for the largest possible run and
 * for sorting it. */
template <class Key> static inline size_t kc_gpu_plan_room(uint64_t nkmers)
{
        const size_t sorting = (size_t)48 << 20;
        return kc_gpu_run_nbytes<Key>(nkmers / 8 * 9 + 9) + sorting;
}

/* The part of the plan that does not depend on the device. Initializes *plan; call it first. */
void kc_gpu_plan_host(struct kc_gpu_plan *plan, const struct kc_count_params *params,
                      const struct kc_gpu_params *gpu_params);

/* Plan batches for a bound on device memory. KC_ENOMEM if the bound is too small for any work. */
template <class Key>
enum kc_status kc_gpu_plan_batch(struct kc_gpu_plan *plan, const struct kc_count_params *params,
                                 size_t limit_nbytes, struct kc_error *err);

/* Plan the encoder's parts for the same bound. KC_ENOMEM likewise. Separate from kc_gpu_plan_batch
 * because it queries CUDA, whose first call takes time. */
template <class Key>
enum kc_status kc_gpu_plan_parts(struct kc_gpu_plan *plan, const struct kc_count_params *params,
                                 size_t limit_nbytes, struct kc_error *err);

/*
 * Plan an encoder whose ranges fit in device_nbytes of device memory (the minimum may need more:
 * check kc_gpu_encoder_nbytes) and whose parts fit in host_nbytes of pinned host memory.
 *   npairs  most pairs to expect; 0: unknown
 */
template <class Key>
struct kc_gpu_encoder_caps kc_gpu_plan_encoder(int nthreads, uint64_t npairs, size_t device_nbytes,
                                               size_t host_nbytes);

#endif
