/*
 * Operations of a warp. All 32 lanes must take part in kc_warp_scan and kc_warp_append.
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

/* Add the number of lanes that have an element to *n, with one atomic addition for the warp.
 * Returns the index of this lane's element, from the old *n on; undefined for lanes without one. */
static __device__ inline unsigned long long kc_warp_append(unsigned long long *n, bool has)
{
        const uint32_t ballot = __ballot_sync(UINT32_MAX, has);
        unsigned long long first = 0;
        if (kc_warp_lane() == 0 && ballot != 0)
                first = atomicAdd(n, (unsigned long long)__popc(ballot));
        return __shfl_sync(UINT32_MAX, first, 0) + kc_warp_rank(ballot);
}

#endif
