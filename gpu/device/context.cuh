/*
 * A device at work: its streams, and its memory under a bound.
 *
 * Inside of gpu/ a failing CUDA call becomes a status by KC_CUDA; nothing is printed, nothing
 * exits. One host thread at a time uses a kc_gpu.
 */
#ifndef KC_GPU_DEVICE_CONTEXT_CUH
#define KC_GPU_DEVICE_CONTEXT_CUH

#include "base/status.h"

#include <cstddef>
#include <cstdint>
#include <cuda_runtime.h>

/*
 * Who can set device memory free when there is too little: asked again and again by kc_gpu_alloc.
 * *gave = false: nothing is left to give.
 */
struct kc_gpu_spare {
        void *ctx;
        enum kc_status (*give)(void *ctx, bool *gave, struct kc_error *err); /* NULL: nobody */
};

struct kc_gpu {
        int device;
        int nmultiprocessors;
        size_t l2_nbytes;
        size_t shared_nbytes;  /* most shared memory that a block can have */
        cudaStream_t stream;   /* kernels, and all allocation */
        cudaStream_t upload;   /* host to device */
        cudaStream_t download; /* device to host */
        cudaMemPool_t pool;
        size_t bound_nbytes; /* on used_nbytes, as it was opened with */
        size_t limit_nbytes; /* the bound, or less where the device refused memory: others may
                                   take it too */
        size_t used_nbytes, peak_nbytes;
        struct kc_gpu_spare spare;
};

/* KC_OK, or KC_EDEVICE (KC_ENOMEM for memory) with the call and CUDA's words in err. CUDA's own
 * memory of a failure is cleared. */
enum kc_status kc_cuda_check(cudaError_t code, const char *call, struct kc_error *err);

#define KC_CUDA(call) kc_cuda_check((call), #call, err)
/* Behind a launch. With -DKC_GPU_SYNCHRONOUS every launch is waited for, which names a faulty
 * kernel. */
#ifdef KC_GPU_SYNCHRONOUS
#define KC_LAUNCHED() kc_cuda_check(cudaDeviceSynchronize(), __func__, err)
#else
#define KC_LAUNCHED() kc_cuda_check(cudaGetLastError(), __func__, err)
#endif

/* Make a device ready, so that threads that wait for it sleep. KC_EDEVICE if there is none of that
 * number. */
enum kc_status kc_gpu_wake(int device, struct kc_error *err);

/*
 * Take a device. limit_nbytes bounds the memory taken with kc_gpu_alloc; 0, or more than that: nine
 * tenths of what is free now, so that kc_gpu_room is there. Close it in any case; a zeroed kc_gpu
 * is closed at no cost.
 */
enum kc_status kc_gpu_open(struct kc_gpu *gpu, int device, size_t limit_nbytes,
                           struct kc_error *err);
void kc_gpu_close(struct kc_gpu *gpu);

/*
 * Device memory, in order of gpu->stream: to be used by work on that stream, or after waiting for
 * it. Aligned to 256 bytes. KC_ENOMEM if the bound or the device leaves no room and gpu->spare has
 * nothing to give. nbytes = 0 gives NULL. Release with the same nbytes; NULL is fine.
 */
enum kc_status kc_gpu_alloc(struct kc_gpu *gpu, void **memory, size_t nbytes, struct kc_error *err);
void kc_gpu_release(struct kc_gpu *gpu, void *memory, size_t nbytes);

/* Take nbytes from the device and give them to the pool, from where kc_gpu_alloc takes and others
 * do not. KC_ENOMEM if it refuses them, or the bound does; gpu->spare is not asked. */
enum kc_status kc_gpu_hold(struct kc_gpu *gpu, size_t nbytes, struct kc_error *err);

/* Ask nobody to set memory free. Gives who was asked, to be put back. */
static inline struct kc_gpu_spare kc_gpu_take_spare(struct kc_gpu *gpu)
{
        struct kc_gpu_spare spare = gpu->spare;
        gpu->spare = {};
        return spare;
}

/* Believe that the device has all of the bound again: it may, and is asked in any case. */
static inline void kc_gpu_forget_refusals(struct kc_gpu *gpu)
{
        gpu->limit_nbytes = gpu->bound_nbytes;
}

/* What kc_gpu_alloc could still give, as far as is known. */
static inline size_t kc_gpu_room(const struct kc_gpu *gpu)
{
        return gpu->limit_nbytes - gpu->used_nbytes;
}

/* Typed: memory for n of *pointer. */
template <class T>
static inline enum kc_status kc_gpu_new(struct kc_gpu *gpu, T **pointer, size_t n,
                                        struct kc_error *err)
{
        return kc_gpu_alloc(gpu, (void **)pointer, n * sizeof(T), err);
}

template <class T> static inline void kc_gpu_delete(struct kc_gpu *gpu, T *pointer, size_t n)
{
        kc_gpu_release(gpu, (void *)pointer, n * sizeof(T));
}

/* Copy n elements to the host, after waiting for the work on gpu->stream so far. */
template <class T>
static inline enum kc_status kc_gpu_read(struct kc_gpu *gpu, T *to, const T *from, size_t n,
                                         struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(KC_CUDA(
                cudaMemcpyAsync(to, from, n * sizeof(T), cudaMemcpyDeviceToHost, gpu->stream)));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(gpu->stream)));
out:
        return status;
}

/* An event without a time, for which a thread sleeps. */
static inline enum kc_status kc_gpu_event_new(cudaEvent_t *event, struct kc_error *err)
{
        return KC_CUDA(
                cudaEventCreateWithFlags(event, cudaEventDisableTiming | cudaEventBlockingSync));
}

static inline unsigned kc_ceil_div(size_t n, size_t per)
{
        return (unsigned)((n + per - 1) / per);
}

/* To a multiple of unit. */
static inline size_t kc_round_up(size_t n, size_t unit)
{
        return (n + unit - 1) / unit * unit;
}

#endif
