/*
 * KC_SIMD_CLONES before a function: compile it for several instruction sets and choose at load
 * time. The functions marked with it are plain loops that the compiler vectorizes. Only the plain
 * version is compiled for processors other than x86-64, by compilers that cannot clone for these
 * targets (clang, GCC before 12), without glibc, because other loaders cannot choose, and for
 * sanitizers, under which programs with such functions do not start.
 */
#ifndef KC_BASE_SIMD_H
#define KC_BASE_SIMD_H

#if defined(__x86_64__) && defined(__gnu_linux__) && __GNUC__ >= 12 && !defined(__clang__) && \
        !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define KC_SIMD_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define KC_SIMD_CLONES
#endif

#endif
