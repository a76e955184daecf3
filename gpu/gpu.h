/*
 * The only door to CUDA: no CUDA type and no C++ passes it. The same header serves builds without
 * CUDA.
 */
#ifndef KC_GPU_H
#define KC_GPU_H

#include "kmer/status.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct kc_gpu_device {
        char name[256];
        int index;
        int major, minor; /* compute capability */
        size_t memory_nbytes, free_nbytes;
        int nmultiprocessors;
};

/*
 * List the devices.
 *   devices  out [cap]
 *   n        out, devices there are, even when > cap
 * Returns KC_OK with *n >= 1; KC_EDEVICE with a message that says why there is none: no CUDA in
 * this build, no driver, no device.
 */
enum kc_status kc_gpu_devices(struct kc_gpu_device *devices, int cap, int *n, struct kc_error *err);

#ifdef __cplusplus
}
#endif
#endif
