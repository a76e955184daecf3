/* Without a device, tests that need one are skipped, and ctest reports them as skipped. */
#ifndef KC_TESTS_GPU_NEED_DEVICE_H
#define KC_TESTS_GPU_NEED_DEVICE_H

#include "gpu/gpu.h"

#include <stdio.h>
#include <stdlib.h>

enum { TEST_SKIPPED = 77 }; /* exit status, for ctest */

/* Exit with TEST_SKIPPED if there is no usable device. */
static inline void need_device(void)
{
        struct kc_gpu_device device;
        struct kc_error err;
        int n;
        err.status = KC_OK;
        bool listed = kc_gpu_devices(&device, 1, &n, &err) == KC_OK;
        if (listed && device.trouble[0] == '\0')
                return;
        printf("skipped: %s\n", listed ? device.trouble : err.message);
        exit(TEST_SKIPPED);
}

#endif
