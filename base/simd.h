/*
 * KC_SIMD_CLONES before a function: compile it for several instruction sets and choose at load
 * time. The functions so marked are plain loops that the compiler turns into vectors. Sanitizers
 * cannot start programs with such functions, and clang names the targets differently: there the
 * plain version is used.
 */
#ifndef KC_BASE_SIMD_H
#define KC_BASE_SIMD_H

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
        !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define KC_SIMD_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define KC_SIMD_CLONES
#endif

#endif
