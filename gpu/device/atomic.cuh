/*
 * 64-bit words that many threads read and modify, with the order in which other threads see this:
 * PTX's memory model, which is that of C11. On the host these are compiler builtins, so that code
 * built on them also runs in host threads.
 */
#ifndef KC_GPU_DEVICE_ATOMIC_CUH
#define KC_GPU_DEVICE_ATOMIC_CUH

#include "gpu/device/key.cuh"

/* The threads that share a word: those of a block (it is in shared memory), or all of the
 * device. */
enum kc_scope { KC_SCOPE_BLOCK, KC_SCOPE_DEVICE };

/* Called on the host before every access: tests let other threads run here. */
#ifndef KC_ATOMIC_STEP
#define KC_ATOMIC_STEP() ((void)0)
#endif

/* Call while waiting for another thread of the block. On a device, the scheduler runs that
 * thread. */
KC_HD void kc_spin(void)
{
#ifndef __CUDA_ARCH__
        KC_ATOMIC_STEP();
#endif
}

/* Acquire: the thread's later reads and writes stay after this load. */
template <kc_scope SCOPE> KC_HD uint64_t kc_load_acquire(const uint64_t *at)
{
#ifdef __CUDA_ARCH__
        uint64_t value;
        if (SCOPE == KC_SCOPE_BLOCK)
                asm volatile("ld.acquire.cta.b64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
        else
                asm volatile("ld.acquire.gpu.b64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
        return value;
#else
        KC_ATOMIC_STEP();
        return __atomic_load_n(at, __ATOMIC_ACQUIRE);
#endif
}

/* Not ordered with other accesses; the value may be stale. */
template <kc_scope SCOPE> KC_HD uint64_t kc_load_relaxed(const uint64_t *at)
{
#ifdef __CUDA_ARCH__
        uint64_t value;
        if (SCOPE == KC_SCOPE_BLOCK)
                asm volatile("ld.relaxed.cta.b64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
        else
                asm volatile("ld.relaxed.gpu.b64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
        return value;
#else
        KC_ATOMIC_STEP();
        return __atomic_load_n(at, __ATOMIC_RELAXED);
#endif
}

/* Release: the thread's earlier reads and writes stay before this store. */
template <kc_scope SCOPE> KC_HD void kc_store_release(uint64_t *at, uint64_t value)
{
#ifdef __CUDA_ARCH__
        if (SCOPE == KC_SCOPE_BLOCK)
                asm volatile("st.release.cta.b64 [%0], %1;" ::"l"(at), "l"(value) : "memory");
        else
                asm volatile("st.release.gpu.b64 [%0], %1;" ::"l"(at), "l"(value) : "memory");
#else
        KC_ATOMIC_STEP();
        __atomic_store_n(at, value, __ATOMIC_RELEASE);
#endif
}

/* Set bits, not ordered with other words. As a read-modify-write it continues the release sequence:
 * a thread that acquires the word with these bits also sees what was released before. A plain store
 * would break that. */
template <kc_scope SCOPE> KC_HD void kc_set_relaxed(uint64_t *at, uint64_t bits)
{
#ifdef __CUDA_ARCH__
        if (SCOPE == KC_SCOPE_BLOCK)
                asm volatile("red.relaxed.cta.or.b64 [%0], %1;" ::"l"(at), "l"(bits) : "memory");
        else
                asm volatile("red.relaxed.gpu.or.b64 [%0], %1;" ::"l"(at), "l"(bits) : "memory");
#else
        KC_ATOMIC_STEP();
        (void)__atomic_fetch_or(at, bits, __ATOMIC_RELAXED);
#endif
}

/* True if *at was `expected` and is now `value`. Acquire: the thread's later reads and writes stay
 * after this. */
template <kc_scope SCOPE>
KC_HD bool kc_swap_acquire(uint64_t *at, uint64_t expected, uint64_t value)
{
#ifdef __CUDA_ARCH__
        uint64_t was;
        if (SCOPE == KC_SCOPE_BLOCK)
                asm volatile("atom.acquire.cta.cas.b64 %0, [%1], %2, %3;"
                             : "=l"(was)
                             : "l"(at), "l"(expected), "l"(value)
                             : "memory");
        else
                asm volatile("atom.acquire.gpu.cas.b64 %0, [%1], %2, %3;"
                             : "=l"(was)
                             : "l"(at), "l"(expected), "l"(value)
                             : "memory");
        return was == expected;
#else
        KC_ATOMIC_STEP();
        return __atomic_compare_exchange_n(at, &expected, value, false, __ATOMIC_ACQUIRE,
                                           __ATOMIC_RELAXED);
#endif
}

#endif
