/* Tests that need a device are skipped, and counted as such by ctest, where there is none. */
#ifndef KC_TESTS_GPU_NEED_DEVICE_H
#define KC_TESTS_GPU_NEED_DEVICE_H

#include "gpu/gpu.h"

#include <stdio.h>
#include <stdlib.h>

enum { TEST_SKIPPED = 77 }; /* to ctest */

/* Ends the program as skipped where there is no device. */
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
