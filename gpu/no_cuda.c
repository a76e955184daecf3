/*
 * The door to CUDA in a build without it.
 */
#include "gpu/gpu.h"

enum kc_status kc_gpu_devices(struct kc_gpu_device *devices, int cap, int *n, struct kc_error *err)
{
        (void)devices, (void)cap;
        *n = 0;
        return kc_fail(err, KC_EDEVICE,
                       "no CUDA in this build; build with nvcc on the PATH (-DKCOUNT_CUDA=ON), or "
                       "use --device cpu");
}
