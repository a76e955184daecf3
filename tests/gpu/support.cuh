/*
 * What the tests of gpu/ share. A test program named test_host_*.cu runs the device code's
 * functions on the host and needs no device; test_device_*.cu needs one and is skipped if there is
 * none.
 */
#ifndef KC_TESTS_GPU_SUPPORT_CUH
#define KC_TESTS_GPU_SUPPORT_CUH

#include "gpu/device/context.cuh"
#include "gpu/device/key.cuh"
#include "gpu/gpu.h"
#include "tests/gpu/need_device.h"
#include "tests/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern "C" {
#include <cmocka.h>
}

/* Unless status is KC_OK, fails the test with err's message. */
static inline void expect_ok(enum kc_status status, const struct kc_error *err)
{
        if (status != KC_OK)
                fail_msg("status %d: %s", (int)status, err->message);
}

/* All devices of the machine. */
static inline struct kc_gpu_set all_devices(void)
{
        struct kc_error err = {};
        struct kc_gpu_set all = {};
        int ndevices;
        expect_ok(kc_gpu_devices(NULL, 0, &ndevices, &err), &err);
        for (int i = 0; i < ndevices; i++)
                kc_gpu_set_add(&all, i);
        return all;
}

/* KC_TEST_SMALL=1 in the environment: smaller and fewer inputs, for compute-sanitizer and the
 * emulator. */
static inline bool test_small(void)
{
        return getenv("KC_TEST_SMALL") != NULL;
}

static inline size_t test_size(size_t n)
{
        return test_small() ? n / 64 + 1 : n;
}

/* Of many cases, takes all or, if test_small(), one in `per`. */
static inline bool test_takes(size_t number, size_t per)
{
        return !test_small() || number % per == 0;
}

/* A random key of all bits. */
template <class Key> static inline Key any_key(uint64_t *state)
{
        uint64_t words[sizeof(Key) / 8];
        for (size_t i = sizeof words / 8; i-- > 0;)
                words[i] = next_random(state);
        Key key;
        kc_key_set(&key, words);
        return key;
}

#endif
