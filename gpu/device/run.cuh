/*
 * A sorted run on the device: distinct k-mers, ascending, each with its count.
 */
#ifndef KC_GPU_DEVICE_RUN_CUH
#define KC_GPU_DEVICE_RUN_CUH

#include "gpu/device/context.cuh"
#include "gpu/device/key.cuh"

/* Value: uint64_t in joins of files, where it holds marks, too (kmer/join.h). */
template <class Key, class Value = uint32_t> struct kc_gpu_run {
        Key *kmers;    /* [cap] device */
        Value *counts; /* [cap] device; at least 1, saturating at UINT32_MAX */
        size_t n, cap;
};

/* Bytes of device memory for a run of n pairs. */
template <class Key, class Value = uint32_t> static inline size_t kc_gpu_run_nbytes(size_t n)
{
        return n * (sizeof(Key) + sizeof(Value));
}

/* Allocate room for cap pairs; n = 0. On failure (KC_ENOMEM, KC_EDEVICE) the run is empty. Free it
 * with kc_gpu_run_free. */
template <class Key, class Value>
static inline enum kc_status kc_gpu_run_new(struct kc_gpu *gpu, struct kc_gpu_run<Key, Value> *run,
                                            size_t cap, struct kc_error *err)
{
        *run = {};
        enum kc_status status = kc_gpu_new(gpu, &run->kmers, cap, err);
        if (status != KC_OK)
                return status;
        status = kc_gpu_new(gpu, &run->counts, cap, err);
        if (status != KC_OK) {
                kc_gpu_delete(gpu, run->kmers, cap);
                run->kmers = NULL;
                return status;
        }
        run->cap = cap;
        return KC_OK;
}

template <class Key, class Value>
static inline void kc_gpu_run_free(struct kc_gpu *gpu, struct kc_gpu_run<Key, Value> *run)
{
        kc_gpu_delete(gpu, run->kmers, run->cap);
        kc_gpu_delete(gpu, run->counts, run->cap);
        *run = {};
}

#endif
