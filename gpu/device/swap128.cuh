/*
 * Compare-and-swap of 16 bytes in the device's memory: from compute capability 9.0 on, and in the
 * emulator of the tests.
 */
#ifndef KC_GPU_DEVICE_SWAP128_CUH
#define KC_GPU_DEVICE_SWAP128_CUH

#include "gpu/device/key.cuh"

#include <cuda_runtime.h>

/* Whether there is one, for device code that has another way; elsewhere kc_swap128 must not be
 * called. It needs sm_90 and PTX 8.3, which came with CUDA 12.3. */
#if defined __CUDA_ARCH__ && \
        (__CUDA_ARCH__ < 900 || __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ < 1203)
static constexpr bool KC_HAS_SWAP128 = false;
#else
static constexpr bool KC_HAS_SWAP128 = true;
#endif

/* Make *at (global memory, aligned to 16 bytes) `value` if it is `expected`; what it was. In no
 * order with other accesses, as atomicCAS. */
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
