/*
 * 64-bit words that many threads read and change, and in which order others see that: PTX's memory
 * model, which is C11's. On the host they are the compiler's, so that what is built on them can run
 * in host threads too.
 */
#ifndef KC_GPU_DEVICE_ATOMIC_CUH
#define KC_GPU_DEVICE_ATOMIC_CUH

#include "gpu/device/key.cuh"

/* Who shares a word: the threads of a block (in its shared memory), or all of the device. */
enum kc_scope { KC_SCOPE_BLOCK, KC_SCOPE_DEVICE };

/* On the host before every access: tests let other threads go first. */
#ifndef KC_ATOMIC_STEP
#define KC_ATOMIC_STEP() ((void)0)
#endif

/* What the thread reads or writes after this comes after it. */
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

/* In no order with others; what it gives may be old. */
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

/* What the thread read or wrote before comes before it. */
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

/* Set bits, in no order with other words. Who sees the word with them is as far as who sees it
 * without: a store would not do that. */
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

/* True: *at was `expected`, is now `value`. What the thread reads or writes after this comes after
 * it. */
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
