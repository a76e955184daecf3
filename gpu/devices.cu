/*
 * Lists the devices.
 */
#include "gpu/device/archs.h"
#include "gpu/device/context.cuh"
#include "gpu/gpu.h"

#include <cstdio>

bool kc_gpu_has_engine(void)
{
        return true;
}

const char *kc_gpu_archs(void)
{
        return KC_CUDA_ARCHS; /* defined by CMakeLists.txt */
}

static enum kc_status look_at(struct kc_gpu_device *device, struct kc_error *err)
{
        enum kc_status status;
        struct cudaDeviceProp properties;
        size_t total;

        KC_TRY(KC_CUDA(cudaGetDeviceProperties(&properties, device->index)));
        snprintf(device->name, sizeof device->name, "%s", properties.name);
        device->major = properties.major;
        device->minor = properties.minor;
        device->memory_nbytes = properties.totalGlobalMem;
        device->nmultiprocessors = properties.multiProcessorCount;
        device->compiled = kc_archs_cover(kc_gpu_archs(), properties.major, properties.minor);
        KC_TRY(KC_CUDA(cudaSetDevice(device->index)));
        KC_TRY(KC_CUDA(cudaMemGetInfo(&device->free_nbytes, &total)));
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

enum kc_status kc_gpu_devices(struct kc_gpu_device *devices, int cap, int *n, struct kc_error *err)
{
        enum kc_status status;
        int current;

        KC_TRY(kc_gpu_ndevices(n, err));
        if (cap == 0)
                return KC_OK;
        KC_TRY(KC_CUDA(cudaGetDevice(&current)));
        for (int i = 0; i < *n && i < cap; i++)
                describe(i, &devices[i]);
        if (cudaSetDevice(current) != cudaSuccess) /* the current device may be one that cannot be
                                                      used */
                (void)cudaGetLastError();
out:
        return status;
}
