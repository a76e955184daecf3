/*
 * Asynchronous copies to shared memory, for the emulator: done at once.
 */
#ifndef KC_EMULATED_CUDA_PIPELINE_H
#define KC_EMULATED_CUDA_PIPELINE_H

#include <cuda_runtime.h>

static inline void __pipeline_memcpy_async(void *to, const void *from, size_t nbytes)
{
        if ((nbytes != 4 && nbytes != 8 && nbytes != 16) || (uintptr_t)to % nbytes != 0 ||
            (uintptr_t)from % nbytes != 0)
                emulator::fail("asynchronous copy of %zu bytes, or not aligned", nbytes);
        memcpy(to, from, nbytes);
}

static inline void __pipeline_commit(void)
{
}

static inline void __pipeline_wait_prior(size_t)
{
}

#endif
