/*
 * Random numbers for tests and benchmarks: splitmix64 (Steele et al. 2014), the same on every
 * machine, on the host and on a device.
 */
#ifndef KC_TESTS_RANDOM_H
#define KC_TESTS_RANDOM_H

#include <stdint.h>

#ifdef __CUDACC__
#define RANDOM_HD __host__ __device__
#else
#define RANDOM_HD
#endif

/* A number that depends on all bits of x; 0 gives 0. */
static inline RANDOM_HD uint64_t random_mix(uint64_t x)
{
        x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
        return x ^ x >> 31;
}

/* The next number of the sequence whose seed was the initial *state. */
static inline RANDOM_HD uint64_t next_random(uint64_t *state)
{
        return random_mix(*state += UINT64_C(0x9e3779b97f4a7c15));
}

#endif
