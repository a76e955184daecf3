/*
 * Operations of a warp. All 32 lanes must take part in kc_warp_scan.
 */
#ifndef KC_GPU_DEVICE_WARP_CUH
#define KC_GPU_DEVICE_WARP_CUH

#include <cstdint>

static __device__ inline uint32_t kc_warp_lane(void)
{
        return threadIdx.x % 32;
}

/* Number of lanes below this one whose bit is set in the ballot. */
static __device__ inline uint32_t kc_warp_rank(uint32_t ballot)
{
        return (uint32_t)__popc(ballot & ((1u << kc_warp_lane()) - 1));
}

/* Inclusive sum of x over this lane and those below. */
static __device__ inline uint32_t kc_warp_scan(uint32_t x)
{
        for (uint32_t d = 1; d < 32; d *= 2) {
                uint32_t other = __shfl_up_sync(UINT32_MAX, x, d);
                x += kc_warp_lane() >= d ? other : 0;
        }
        return x;
}

#endif
