/*
 * Opening devices: which others can access their memory, and the message if one cannot be used.
 */
#include "scarcity.h"

#include "tests/gpu/support.cuh"

#include <cuda_runtime.h>

enum { NDEVICES = 3 };

static struct kc_error error, *err = &error;

static struct kc_gpu_set set_of(std::initializer_list<int> devices)
{
        struct kc_gpu_set set = {};
        for (int device : devices)
                kc_gpu_set_add(&set, device);
        return set;
}

static void sets(void **state)
{
        const struct kc_gpu_set set = set_of({ 0, 5, 63, 64, 65 });
        (void)state;
        for (int device = 0; device < 130; device++)
                assert_int_equal(kc_gpu_set_has(&set, device),
                                 device == 0 || device == 5 || device == 63);
}

/* Device 0 opens its memory for device 1, device 2 for device 0. */
static void reach(bool are_peers)
{
        struct kc_gpu gpus[NDEVICES], again;
        kc_emulator_devices(NDEVICES, NDEVICES);
        kc_emulator_peers(are_peers);
        expect_ok(kc_gpu_open(&gpus[0], 0, 0, set_of({ 0, 1 }), err), err);
        expect_ok(kc_gpu_open(&gpus[1], 1, 0, err), err);
        expect_ok(kc_gpu_open(&gpus[2], 2, 0, set_of({ 0 }), err), err);
        expect_ok(kc_gpu_open(&again, 0, 0, err), err);
        assert_int_equal(kc_gpu_reaches(&gpus[1], &gpus[0]), are_peers);
        assert_int_equal(kc_gpu_reaches(&gpus[0], &gpus[2]), are_peers);
        assert_false(kc_gpu_reaches(&gpus[0], &gpus[1]));
        assert_false(kc_gpu_reaches(&gpus[2], &gpus[0]));
        assert_true(kc_gpu_reaches(&gpus[0], &gpus[0]));
        assert_true(kc_gpu_reaches(&again, &gpus[0]));
        kc_gpu_close(&again);
        for (struct kc_gpu &gpu : gpus)
                kc_gpu_close(&gpu);
        kc_emulator_peers(1);
        kc_emulator_devices(1, 1);
}

static void reached_by_users(void **state)
{
        (void)state;
        reach(true);
        reach(false);
}

static void expect_trouble(int code, const char *message)
{
        struct kc_gpu gpu;
        error = {};
        kc_emulator_kernels(code);
        assert_int_equal(kc_gpu_open(&gpu, 0, 0, err), KC_EDEVICE);
        kc_emulator_kernels(cudaSuccess);
        kc_gpu_close(&gpu);
        assert_string_equal(error.message, message);
}

static void no_code_or_failed(void **state)
{
        (void)state;
        expect_trouble(cudaErrorNoKernelImageForDevice,
                       "this build has no code for the device cuda:0 (no kernel image is available "
                       "for execution on the device)");
        expect_trouble(cudaErrorIllegalAddress,
                       "the device cuda:0 has failed (an illegal memory access was encountered)");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(sets),
                cmocka_unit_test(reached_by_users),
                cmocka_unit_test(no_code_or_failed),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
