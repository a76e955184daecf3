/*
 * KC_SIMD_CLONES before a function: compile it for several instruction sets and choose at load
 * time. The functions marked with it are plain loops that the compiler vectorizes. Programs with
 * such functions do not start under sanitizers, and clang names the targets differently: there only
 * the plain version is compiled.
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
