/*
 * An open device: its streams, and its memory under a bound.
 *
 * Within gpu/, KC_CUDA turns a failing CUDA call into a status; nothing prints or exits. Only one
 * host thread at a time may use a kc_gpu.
 */
#ifndef KC_GPU_DEVICE_CONTEXT_CUH
#define KC_GPU_DEVICE_CONTEXT_CUH

#include "base/status.h"

#include <cstddef>
#include <cstdint>
#include <cuda_runtime.h>

/* Shared memory that a block may have on every device supported: the least is that of compute
 * capability 8.6. */
enum : size_t { KC_GPU_BLOCK_SHARED_NBYTES = 99 << 10 };

/*
 * Frees device memory when there is too little: kc_gpu_alloc calls give repeatedly until the memory
 * suffices. *gave = false: nothing is left to free.
 */
struct kc_gpu_spare {
        void *ctx;
        enum kc_status (*give)(void *ctx, bool *gave, struct kc_error *err); /* NULL: none */
};

/*
 * Devices, by number. A device whose number is 64 or more is never in a set: copies between it and
 * others go through host memory.
 */
struct kc_gpu_set {
        uint64_t bits;
};

static inline void kc_gpu_set_add(struct kc_gpu_set *set, int device)
{
        if (device < 64)
                set->bits |= (uint64_t)1 << device;
}

static inline bool kc_gpu_set_has(const struct kc_gpu_set *set, int device)
{
        return device < 64 && (set->bits >> device & 1) != 0;
}

struct kc_gpu {
        int device;
        int nmultiprocessors;
        size_t l2_nbytes;
        size_t shared_nbytes;  /* most shared memory per block */
        cudaStream_t stream;   /* kernels, and all allocation */
        cudaStream_t upload;   /* host to device */
        cudaStream_t download; /* device to host */
        cudaMemPool_t pool;
        struct kc_gpu_set reached_by; /* other devices that can access the pool */
        size_t bound_nbytes;          /* the bound on used_nbytes that kc_gpu_open determined */
        size_t limit_nbytes; /* bound_nbytes, or less once the device has refused memory: other
                                processes may be using it */
        size_t used_nbytes, peak_nbytes;
        struct kc_gpu_spare spare;
};

/* A stream of an open device. Memory that is allocated on it may be used, and released, in work on
 * the same stream; elsewhere only after waiting for it. All streams share the device's pool and its
 * bound. */
struct kc_gpu_stream {
        struct kc_gpu *gpu;
        cudaStream_t stream;
};

/* Returns KC_OK, KC_ENOMEM for lack of memory, otherwise KC_EDEVICE, with the call and CUDA's
 * message in err. Clears CUDA's last error. */
enum kc_status kc_cuda_check(cudaError_t code, const char *call, struct kc_error *err);

#define KC_CUDA(call) kc_cuda_check((call), #call, err)
/* Use after a launch. With -DKC_GPU_SYNCHRONOUS, waits for every launch, which identifies a faulty
 * kernel. */
#ifdef KC_GPU_SYNCHRONOUS
#define KC_LAUNCHED() kc_cuda_check(cudaDeviceSynchronize(), __func__, err)
#else
#define KC_LAUNCHED() kc_cuda_check(cudaGetLastError(), __func__, err)
#endif

/* The number of devices on this machine, found without initializing any of them. KC_ENODEVICE if
 * there is none or no driver, KC_EDEVICE if the driver is too old; the message says which. */
enum kc_status kc_gpu_ndevices(int *n, struct kc_error *err);

/* Whether there are devices with these numbers, found without initializing any. KC_EDEVICE if not;
 * otherwise as kc_gpu_ndevices. */
enum kc_status kc_gpu_find(const int *devices, int n, struct kc_error *err);

/* Initialize a device such that threads sleep while they wait for it. KC_EDEVICE if there is no
 * device with this number or it cannot be used. */
enum kc_status kc_gpu_wake(int device, struct kc_error *err);

/*
 * Open a device for the calling thread.
 *   limit_nbytes  bounds the memory allocated with kc_gpu_alloc; 0, or more than nine tenths of the
 *                 memory that is free now, means nine tenths
 *   users         the devices whose kernels and copies may access that memory, if they are peers
 *                 (see kc_gpu_reaches); the device itself may be among them
 * Access is granted here and nowhere else: granting it later would change how the memory of the
 * pool is mapped while others copy it, and then a copy engine can fault. Each allocation is mapped
 * on all users, so name only devices that are in use.
 *
 * KC_EDEVICE, also if this build has no code for the device. Call kc_gpu_close even if this fails;
 * a zeroed kc_gpu may be closed, too. Before closing, free all memory of the device, and wait for
 * the users' work on it.
 */
enum kc_status kc_gpu_open(struct kc_gpu *gpu, int device, size_t limit_nbytes,
                           struct kc_gpu_set users, struct kc_error *err);
void kc_gpu_close(struct kc_gpu *gpu);

/* The same, but no other device gets access. */
static inline enum kc_status kc_gpu_open(struct kc_gpu *gpu, int device, size_t limit_nbytes,
                                         struct kc_error *err)
{
        return kc_gpu_open(gpu, device, limit_nbytes, {}, err);
}

/* Whether the kernels and copies of `gpu` can access the memory that `other` allocates. Both must
 * be open; they may be on the same device. */
static inline bool kc_gpu_reaches(const struct kc_gpu *gpu, const struct kc_gpu *other)
{
        return gpu->device == other->device || kc_gpu_set_has(&other->reached_by, gpu->device);
}

/* Find out whether `device` can add atomically to numbers in the memory of `gpu` while other
 * devices do the same. KC_EDEVICE. */
enum kc_status kc_gpu_is_added_to(const struct kc_gpu *gpu, int device, bool *possible,
                                  struct kc_error *err);

/*
 * Allocate device memory, in the order of the stream: use it in work on that stream, or after
 * waiting for the stream. Aligned to 256 bytes. KC_ENOMEM if the bound or the device leaves too
 * little and gpu->spare has nothing left to free; KC_EDEVICE. nbytes = 0 gives NULL. Release with
 * the same stream and nbytes; NULL is fine.
 */
enum kc_status kc_gpu_alloc(struct kc_gpu_stream on, void **memory, size_t nbytes,
                            struct kc_error *err);
void kc_gpu_release(struct kc_gpu_stream on, void *memory, size_t nbytes);

/* The same on gpu->stream, like all functions below that take a kc_gpu in place of a stream. */
static inline enum kc_status kc_gpu_alloc(struct kc_gpu *gpu, void **memory, size_t nbytes,
                                          struct kc_error *err)
{
        return kc_gpu_alloc({ gpu, gpu->stream }, memory, nbytes, err);
}

/* Without memory to release, gpu may be NULL, too. */
static inline void kc_gpu_release(struct kc_gpu *gpu, void *memory, size_t nbytes)
{
        if (memory != NULL)
                kc_gpu_release({ gpu, gpu->stream }, memory, nbytes);
}

/* Move nbytes from the device into the pool, where kc_gpu_alloc can use them and other processes
 * cannot. KC_ENOMEM if the device or the bound refuses; gpu->spare is not called. */
enum kc_status kc_gpu_hold(struct kc_gpu *gpu, size_t nbytes, struct kc_error *err);

/* Make kc_gpu_alloc fail instead of calling gpu->spare. Returns the previous value, to be put
 * back. */
static inline struct kc_gpu_spare kc_gpu_take_spare(struct kc_gpu *gpu)
{
        struct kc_gpu_spare spare = gpu->spare;
        gpu->spare = {};
        return spare;
}

/* Reset the limit to the user's bound; the next allocation shows whether it still holds. */
static inline void kc_gpu_forget_refusals(struct kc_gpu *gpu)
{
        gpu->limit_nbytes = gpu->bound_nbytes;
}

/* Bytes that kc_gpu_alloc can still allocate, as far as is known. */
static inline size_t kc_gpu_room(const struct kc_gpu *gpu)
{
        return gpu->limit_nbytes - gpu->used_nbytes;
}

/* Report that kc_gpu_room is less than the nbytes needed. Returns KC_ENOMEM. */
enum kc_status kc_gpu_no_room(const struct kc_gpu *gpu, size_t nbytes, struct kc_error *err);

/* Memory for n elements of type T. Place: struct kc_gpu_stream or struct kc_gpu *. */
template <class Place, class T>
static inline enum kc_status kc_gpu_new(Place place, T **pointer, size_t n, struct kc_error *err)
{
        return kc_gpu_alloc(place, (void **)pointer, n * sizeof(T), err);
}

template <class Place, class T> static inline void kc_gpu_delete(Place place, T *pointer, size_t n)
{
        kc_gpu_release(place, (void *)pointer, n * sizeof(T));
}

/* Copy n elements to the host, after waiting for the work enqueued on the stream so far. */
template <class T>
static inline enum kc_status kc_gpu_read(struct kc_gpu_stream on, T *to, const T *from, size_t n,
                                         struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(KC_CUDA(
                cudaMemcpyAsync(to, from, n * sizeof(T), cudaMemcpyDeviceToHost, on.stream)));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(on.stream)));
out:
        return status;
}

template <class T>
static inline enum kc_status kc_gpu_read(struct kc_gpu *gpu, T *to, const T *from, size_t n,
                                         struct kc_error *err)
{
        return kc_gpu_read(kc_gpu_stream{ gpu, gpu->stream }, to, from, n, err);
}

/* An event without timing; threads that wait for it sleep. */
static inline enum kc_status kc_gpu_event_new(cudaEvent_t *event, struct kc_error *err)
{
        return KC_CUDA(
                cudaEventCreateWithFlags(event, cudaEventDisableTiming | cudaEventBlockingSync));
}

/* NULL is fine. */
static inline void kc_gpu_event_free(cudaEvent_t event)
{
        if (event != NULL)
                (void)cudaEventDestroy(event);
}

static inline unsigned kc_ceil_div(size_t n, size_t per)
{
        return (unsigned)((n + per - 1) / per);
}

/* Round up to a multiple of unit. */
static inline size_t kc_round_up(size_t n, size_t unit)
{
        return (n + unit - 1) / unit * unit;
}

#endif
