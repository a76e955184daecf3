/*
 * Lists the devices.
 */
#include "gpu/device/archs.h"
#include "gpu/gpu.h"

#include <cuda_runtime.h>
#include <stdio.h>

/* Clears CUDA's last error, so that it does not affect the next call. */
static enum kc_status cuda_check(cudaError_t code, const char *call, struct kc_error *err)
{
        if (code == cudaSuccess)
                return KC_OK;
        (void)cudaGetLastError();
        return kc_fail(err, KC_EDEVICE, "CUDA: %s: %s", call, cudaGetErrorString(code));
}

#define CUDA_TRY(call) KC_TRY(cuda_check((call), #call, err))

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
                        "the NVIDIA driver supports CUDA %d.%d at most, but this build needs %d.%d; "
                        "update the driver",
                        driver / 1000, driver % 1000 / 10, CUDART_VERSION / 1000,
                        CUDART_VERSION % 1000 / 10);
        if (code == cudaSuccess || code == cudaErrorNoDevice)
                return kc_fail(err, KC_ENODEVICE,
                               "no CUDA device on this machine (or CUDA_VISIBLE_DEVICES hides it)");
        return kc_fail(err, KC_EDEVICE, "CUDA: cudaGetDeviceCount: %s", cudaGetErrorString(code));
}

static enum kc_status look_at(struct kc_gpu_device *device, struct kc_error *err)
{
        enum kc_status status;
        struct cudaDeviceProp properties;
        size_t total;

        CUDA_TRY(cudaGetDeviceProperties(&properties, device->index));
        snprintf(device->name, sizeof device->name, "%s", properties.name);
        device->major = properties.major;
        device->minor = properties.minor;
        device->memory_nbytes = properties.totalGlobalMem;
        device->nmultiprocessors = properties.multiProcessorCount;
        /* KC_CUDA_ARCHS is CMake's list of architectures */
        device->compiled = kc_archs_cover(KC_CUDA_ARCHS, properties.major, properties.minor);
        CUDA_TRY(cudaSetDevice(device->index));
        CUDA_TRY(cudaMemGetInfo(&device->free_nbytes, &total));
out:
        return status;
}

/* A device that fails, because another process has exclusive use of it or it is broken, does not
 * hide the others. */
static void describe(int index, struct kc_gpu_device *device)
{
        struct kc_error err = {};
        *device = {};
        device->index = index;
        if (look_at(device, &err) != KC_OK)
                snprintf(device->trouble, sizeof device->trouble, "%s", err.message);
}

bool kc_gpu_in_build(void)
{
        return true;
}

enum kc_status kc_gpu_devices(struct kc_gpu_device *devices, int cap, int *n, struct kc_error *err)
{
        enum kc_status status;
        int count = 0, current;

        *n = 0;
        cudaError_t code = cudaGetDeviceCount(&count);
        if (code != cudaSuccess || count == 0)
                return no_device(code, err);
        *n = count;
        if (cap == 0)
                return KC_OK;
        CUDA_TRY(cudaGetDevice(&current));
        for (int i = 0; i < count && i < cap; i++)
                describe(i, &devices[i]);
        if (cudaSetDevice(current) != cudaSuccess) /* the current device may be one that cannot be
                                                      used */
                (void)cudaGetLastError();
out:
        return status;
}
