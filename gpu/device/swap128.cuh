/*
 * Compare-and-swap of 16 bytes in device memory: for compute capability 9.0 and above, and in the
 * emulator that tests use.
 */
#ifndef KC_GPU_DEVICE_SWAP128_CUH
#define KC_GPU_DEVICE_SWAP128_CUH

#include "gpu/device/key.cuh"

#include <cuda_runtime.h>

/* Whether kc_swap128 is available; if not, device code must take another way and not call it. It
 * needs sm_90 and PTX 8.3, which came with CUDA 12.3. */
#if defined __CUDA_ARCH__ && \
        (__CUDA_ARCH__ < 900 || __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ < 1203)
static constexpr bool KC_HAS_SWAP128 = false;
#else
static constexpr bool KC_HAS_SWAP128 = true;
#endif

/* If *at (global memory, aligned to 16 bytes) is `expected`, set it to `value`. Returns the old
 * value. Like atomicCAS, it is not ordered with other accesses. */
static __device__ __forceinline__ kc_key128 kc_swap128(kc_key128 *at, kc_key128 expected,
                                                       kc_key128 value)
{
#ifdef __CUDA_ARCH__
        uint64_t low = 0, high = 0;
        if constexpr (KC_HAS_SWAP128)
                asm volatile("{\n\t"
                             ".reg .b128 expected, value, was;\n\t"
                             "mov.b128 expected, {%3, %4};\n\t"
                             "mov.b128 value, {%5, %6};\n\t"
                             "atom.relaxed.gpu.global.cas.b128 was, [%2], expected, value;\n\t"
                             "mov.b128 {%0, %1}, was;\n\t"
                             "}"
                             : "=l"(low), "=l"(high)
                             : "l"(__cvta_generic_to_global(at)), "l"((uint64_t)expected),
                               "l"((uint64_t)(expected >> 64)), "l"((uint64_t)value),
                               "l"((uint64_t)(value >> 64))
                             : "memory");
        return (kc_key128)high << 64 | low;
#else
        return atomicCAS(at, expected, value);
#endif
}

#endif
