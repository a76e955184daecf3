/*
 * What the 32 lanes of a warp do together; all of them take part.
 */
#ifndef KC_GPU_DEVICE_WARP_CUH
#define KC_GPU_DEVICE_WARP_CUH

#include <cstdint>

static __device__ inline uint32_t kc_warp_lane(void)
{
        return threadIdx.x % 32;
}

/* Number of lanes below this one in a ballot. */
static __device__ inline uint32_t kc_warp_rank(uint32_t ballot)
{
        return (uint32_t)__popc(ballot & ((1u << kc_warp_lane()) - 1));
}

/* The sum of x over this lane and those below. */
static __device__ inline uint32_t kc_warp_scan(uint32_t x)
{
        for (uint32_t d = 1; d < 32; d *= 2) {
                uint32_t other = __shfl_up_sync(UINT32_MAX, x, d);
                x += kc_warp_lane() >= d ? other : 0;
        }
        return x;
}

#endif
