#include "gpu/device/context.cuh"

#include "kmer/remedy.h"

enum kc_status kc_cuda_check(cudaError_t code, const char *call, struct kc_error *err)
{
        if (code == cudaSuccess)
                return KC_OK;
        (void)cudaGetLastError();
        if (code == cudaErrorMemoryAllocation)
                return kc_fail_remedy(err, KC_ENOMEM, KC_REMEDY_OTHER_GPU_MEMORY | KC_REMEDY_CPU,
                                      "CUDA: %s: out of memory", call);
        return kc_fail(err, KC_EDEVICE, "CUDA: %s: %s", call, cudaGetErrorString(code));
}

/* Explain why there is no device, in the user's terms. */
static enum kc_status no_device(cudaError_t code, struct kc_error *err)
{
        int driver = 0;

        (void)cudaGetLastError();
        if (cudaDriverGetVersion(&driver) != cudaSuccess)
                (void)cudaGetLastError();
        if (driver == 0)
                return kc_fail(err, KC_ENODEVICE, "no NVIDIA driver on this machine");
        if (code == cudaErrorInsufficientDriver)
                return kc_fail(
                        err, KC_EDEVICE,
                        "the NVIDIA driver supports CUDA %d.%d at most, but this build needs "
                        "%d.%d; update the driver",
                        driver / 1000, driver % 1000 / 10, CUDART_VERSION / 1000,
                        CUDART_VERSION % 1000 / 10);
        if (code == cudaSuccess || code == cudaErrorNoDevice)
                return kc_fail(err, KC_ENODEVICE,
                               "no CUDA device on this machine (or CUDA_VISIBLE_DEVICES hides it)");
        return kc_fail(err, KC_EDEVICE, "CUDA: cudaGetDeviceCount: %s", cudaGetErrorString(code));
}

enum kc_status kc_gpu_ndevices(int *n, struct kc_error *err)
{
        *n = 0;
        cudaError_t code = cudaGetDeviceCount(n);
        return code == cudaSuccess && *n > 0 ? KC_OK : no_device(code, err);
}

/* Waiting threads sleep instead of spinning: reading needs the cores. */
static enum kc_status wake(int device, struct kc_error *err)
{
#if CUDART_VERSION >= 12000
        return KC_CUDA(cudaInitDevice(device, cudaDeviceScheduleBlockingSync,
                                      cudaInitDeviceFlagsAreValid));
#else
        enum kc_status status;
        KC_TRY(KC_CUDA(cudaSetDevice(device)));
        KC_TRY(KC_CUDA(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync)));
out:
        return status;
#endif
}

enum kc_status kc_gpu_find(const int *devices, int n, struct kc_error *err)
{
        enum kc_status status;
        int nthere;
        KC_TRY(kc_gpu_ndevices(&nthere, err));
        for (int i = 0; i < n; i++)
                if (devices[i] >= nthere)
                        return kc_fail_remedy(err, KC_EDEVICE, KC_REMEDY_LIST_DEVICES,
                                              "there is no device cuda:%d", devices[i]);
out:
        return status;
}

enum kc_status kc_gpu_wake(int device, struct kc_error *err)
{
        const enum kc_status status = kc_gpu_find(&device, 1, err);
        return status == KC_OK ? wake(device, err) : status;
}

static __global__ void any_kernel(void)
{
}

/* Whether the error says that the program has no usable code for the device. Otherwise the device
 * has failed: after a failed kernel or copy, every call returns its error. */
static bool is_missing_image(cudaError_t code)
{
        switch (code) {
        case cudaErrorNoKernelImageForDevice:
        case cudaErrorInvalidDeviceFunction:
        case cudaErrorInvalidKernelImage:
        case cudaErrorInvalidPtx:
        case cudaErrorUnsupportedPtxVersion:
        case cudaErrorJitCompilerNotFound:
        case cudaErrorJitCompilationDisabled:
                return true;
        default:
                return false;
        }
}

/* Checked here and not at the first launch, when it is too late to fall back to the host engine.
 * All kernels are built for the same architectures, so one kernel is enough. */
static enum kc_status check_build(const struct kc_gpu *gpu, struct kc_error *err)
{
        cudaError_t code =
                cudaFuncSetAttribute(any_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 0);
        if (code == cudaSuccess)
                return KC_OK;
        (void)cudaGetLastError();
        if (is_missing_image(code))
                return kc_fail_remedy(err, KC_EDEVICE, KC_REMEDY_BUILD_ARCH | KC_REMEDY_CPU,
                                      "this build has no code for the device cuda:%d (%s)",
                                      gpu->device, cudaGetErrorString(code));
        return kc_fail_remedy(err, KC_EDEVICE, KC_REMEDY_CPU, "the device cuda:%d has failed (%s)",
                              gpu->device, cudaGetErrorString(code));
}

static enum kc_status describe(struct kc_gpu *gpu, struct kc_error *err)
{
        enum kc_status status;
        int l2, shared;
        KC_TRY(KC_CUDA(cudaDeviceGetAttribute(&gpu->nmultiprocessors,
                                              cudaDevAttrMultiProcessorCount, gpu->device)));
        KC_TRY(KC_CUDA(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, gpu->device)));
        KC_TRY(KC_CUDA(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                                              gpu->device)));
        gpu->l2_nbytes = (size_t)l2;
        gpu->shared_nbytes = (size_t)shared;
out:
        return status;
}

/* The pool keeps released memory for the next allocation, because cudaMalloc stalls the device. */
static enum kc_status make_pool(struct kc_gpu *gpu, struct kc_error *err)
{
        enum kc_status status;
        struct cudaMemPoolProps properties = {};
        uint64_t keep = UINT64_MAX;
        properties.allocType = cudaMemAllocationTypePinned;
        properties.location.type = cudaMemLocationTypeDevice;
        properties.location.id = gpu->device;
        KC_TRY(KC_CUDA(cudaMemPoolCreate(&gpu->pool, &properties)));
        KC_TRY(KC_CUDA(cudaMemPoolSetAttribute(gpu->pool, cudaMemPoolAttrReleaseThreshold, &keep)));
out:
        return status;
}

/* Let a device use the pool, which must have no memory yet, if the two are peers. */
static enum kc_status admit(struct kc_gpu *gpu, int user, struct kc_error *err)
{
        enum kc_status status;
        int possible;
        struct cudaMemAccessDesc access = {};
        KC_TRY(KC_CUDA(cudaDeviceCanAccessPeer(&possible, user, gpu->device)));
        if (possible == 0)
                return KC_OK;
        access.location.type = cudaMemLocationTypeDevice;
        access.location.id = user;
        access.flags = cudaMemAccessFlagsProtReadWrite;
        KC_TRY(KC_CUDA(cudaMemPoolSetAccess(gpu->pool, &access, 1)));
        kc_gpu_set_add(&gpu->reached_by, user);
out:
        return status;
}

enum kc_status kc_gpu_is_added_to(const struct kc_gpu *gpu, int device, bool *possible,
                                  struct kc_error *err)
{
        enum kc_status status = KC_OK;
        int native = gpu->device == device;
        if (kc_gpu_set_has(&gpu->reached_by, device))
                KC_TRY(KC_CUDA(cudaDeviceGetP2PAttribute(
                        &native, cudaDevP2PAttrNativeAtomicSupported, device, gpu->device)));
        *possible = native != 0;
out:
        return status;
}

static enum kc_status admit_all(struct kc_gpu *gpu, const struct kc_gpu_set *users,
                                struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (int user = 0; user < 64; user++)
                if (user != gpu->device && kc_gpu_set_has(users, user))
                        KC_TRY(admit(gpu, user, err));
out:
        return status;
}

enum kc_status kc_gpu_open(struct kc_gpu *gpu, int device, size_t limit_nbytes,
                           struct kc_gpu_set users, struct kc_error *err)
{
        enum kc_status status;
        size_t free_nbytes, total_nbytes;
        *gpu = {};
        gpu->device = device;
        KC_TRY(KC_CUDA(cudaSetDevice(device)));
        KC_TRY(check_build(gpu, err));
        KC_TRY(describe(gpu, err));
        KC_TRY(KC_CUDA(cudaMemGetInfo(&free_nbytes, &total_nbytes)));
        gpu->limit_nbytes = free_nbytes / 10 * 9;
        if (limit_nbytes != 0 && limit_nbytes < gpu->limit_nbytes)
                gpu->limit_nbytes = limit_nbytes;
        gpu->bound_nbytes = gpu->limit_nbytes;
        KC_TRY(make_pool(gpu, err));
        KC_TRY(admit_all(gpu, &users, err));
        KC_TRY(KC_CUDA(cudaStreamCreateWithFlags(&gpu->stream, cudaStreamNonBlocking)));
        KC_TRY(KC_CUDA(cudaStreamCreateWithFlags(&gpu->upload, cudaStreamNonBlocking)));
        KC_TRY(KC_CUDA(cudaStreamCreateWithFlags(&gpu->download, cudaStreamNonBlocking)));
out:
        return status;
}

/* Failures are ignored here: the work is done, or an earlier failure is already being reported. */
void kc_gpu_close(struct kc_gpu *gpu)
{
        cudaStream_t streams[] = { gpu->stream, gpu->upload, gpu->download };
        /* After a failure, such as a refused allocation, a memset and the cudaFreeAsync of its
         * memory may still be in flight, on streams of callers too. */
        if (gpu->pool != NULL)
                (void)cudaDeviceSynchronize();
        for (cudaStream_t stream : streams)
                if (stream != NULL)
                        (void)cudaStreamDestroy(stream);
        if (gpu->pool != NULL)
                (void)cudaMemPoolDestroy(gpu->pool);
        *gpu = {};
        (void)cudaGetLastError();
}

/* If the pool cannot satisfy a request, return its cached memory, which may be in pieces of the
 * wrong size, to the device and try again. A caller with a stream of its own shares the pool with
 * streams not known here, on which releases may be pending: it waits for the whole device. */
static cudaError_t take(struct kc_gpu_stream on, void **memory, size_t nbytes)
{
        cudaMemPool_t pool = on.gpu->pool;
        const bool is_alone = on.stream == on.gpu->stream;
        cudaError_t code = cudaMallocFromPoolAsync(memory, nbytes, pool, on.stream);
        if (code != cudaErrorMemoryAllocation)
                return code;
        (void)cudaGetLastError();
        code = is_alone ? cudaStreamSynchronize(on.stream) : cudaDeviceSynchronize();
        if (code != cudaSuccess || (code = cudaMemPoolTrimTo(pool, 0)) != cudaSuccess)
                return code;
        return cudaMallocFromPoolAsync(memory, nbytes, pool, on.stream);
}

enum kc_status kc_gpu_no_room(const struct kc_gpu *gpu, size_t nbytes, struct kc_error *err)
{
        return kc_fail_remedy(err, KC_ENOMEM, KC_REMEDY_MORE_GPU_MEMORY | KC_REMEDY_CPU,
                              "%zu bytes of device memory are needed, but only %zu are left",
                              nbytes, kc_gpu_room(gpu));
}

/* If the device refuses nbytes, assume that it has half of that left: then the next attempts ask
 * for less, or come after memory has been freed. */
static enum kc_status try_alloc(struct kc_gpu_stream on, void **memory, size_t nbytes,
                                struct kc_error *err)
{
        struct kc_gpu *gpu = on.gpu;
        if (nbytes > kc_gpu_room(gpu))
                return kc_gpu_no_room(gpu, nbytes, err);
        enum kc_status status = kc_cuda_check(take(on, memory, nbytes), "cudaMallocAsync", err);
        if (status == KC_ENOMEM)
                gpu->limit_nbytes = gpu->used_nbytes + nbytes / 2;
        if (status != KC_OK)
                return status;
        gpu->used_nbytes += nbytes;
        if (gpu->used_nbytes > gpu->peak_nbytes)
                gpu->peak_nbytes = gpu->used_nbytes;
        return KC_OK;
}

enum kc_status kc_gpu_alloc(struct kc_gpu_stream on, void **memory, size_t nbytes,
                            struct kc_error *err)
{
        struct kc_gpu *gpu = on.gpu;
        *memory = NULL;
        if (nbytes == 0)
                return KC_OK;
        for (;;) {
                struct kc_error refusal = {};
                enum kc_status status = try_alloc(on, memory, nbytes, &refusal);
                if (status == KC_OK)
                        return KC_OK;
                bool gave = false;
                if (status == KC_ENOMEM && gpu->spare.give != NULL) {
                        enum kc_status given = gpu->spare.give(gpu->spare.ctx, &gave, err);
                        if (given != KC_OK)
                                return given;
                }
                if (!gave)
                        return kc_fail_as(err, &refusal);
        }
}

enum kc_status kc_gpu_hold(struct kc_gpu *gpu, size_t nbytes, struct kc_error *err)
{
        struct kc_gpu_spare spare = kc_gpu_take_spare(gpu);
        void *memory;
        enum kc_status status = kc_gpu_alloc(gpu, &memory, nbytes, err);
        gpu->spare = spare;
        kc_gpu_release(gpu, memory, nbytes);
        return status;
}

void kc_gpu_release(struct kc_gpu_stream on, void *memory, size_t nbytes)
{
        if (memory == NULL)
                return;
        (void)cudaFreeAsync(memory, on.stream);
        on.gpu->used_nbytes -= nbytes;
}
