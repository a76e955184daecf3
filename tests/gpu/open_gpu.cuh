/*
 * The device of a test program: opening one takes longer than most tests, so all share it. Group
 * setup and teardown for cmocka_run_group_tests.
 */
#ifndef KC_TESTS_GPU_OPEN_GPU_CUH
#define KC_TESTS_GPU_OPEN_GPU_CUH

#include "tests/gpu/support.cuh"

static struct kc_gpu gpu;

static inline int open_gpu(void **state)
{
        struct kc_error err = {};
        (void)state;
        if (kc_gpu_open(&gpu, 0, 0, &err) == KC_OK)
                return 0;
        printf("%s\n", err.message);
        return -1;
}

static inline int close_gpu(void **state)
{
        (void)state;
        kc_gpu_close(&gpu);
        return 0;
}

#endif
