/*
 * G lanes of a warp that work together. All of them take the same steps; the first performs their
 * memory operations. A group of one lane also compiles for the host.
 */
#ifndef KC_GPU_DEVICE_LANES_CUH
#define KC_GPU_DEVICE_LANES_CUH

#include "gpu/device/warp.cuh"

#include <cooperative_groups.h>

template <int G> struct kc_lanes {
        enum : uint32_t { SIZE = G };

        __device__ uint32_t rank() const
        {
                return kc_warp_lane() % G;
        }

        /* Bit i: the value of lane i. */
        __device__ uint32_t ballot(bool value) const
        {
                return tile().ballot(value);
        }

        template <class T> __device__ T from(T value, uint32_t lane) const
        {
                return tile().shfl(value, (int)lane);
        }

      private:
        static __device__ auto tile()
        {
                namespace cg = cooperative_groups;
                return cg::tiled_partition<G>(cg::this_thread_block());
        }
};

template <> struct kc_lanes<1> {
        enum : uint32_t { SIZE = 1 };

        __host__ __device__ uint32_t rank() const
        {
                return 0;
        }

        __host__ __device__ uint32_t ballot(bool value) const
        {
                return value;
        }

        template <class T> __host__ __device__ T from(T value, uint32_t) const
        {
                return value;
        }
};

#endif
