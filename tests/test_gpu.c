/*
 * The door to CUDA answers on every machine: devices, or a reason why there is none.
 */
#include "gpu/gpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void devices_or_a_reason(void **state)
{
        struct kc_gpu_device devices[2] = { 0 };
        struct kc_error err = { 0 };
        int n = -1;
        (void)state;

        enum kc_status status = kc_gpu_devices(devices, 2, &n, &err);
        if (status == KC_OK) {
                assert_true(n >= 1);
                assert_true(devices[0].name[0] != '\0' && devices[0].major >= 5);
                assert_true(devices[0].memory_nbytes >= devices[0].free_nbytes);
                assert_true(devices[0].nmultiprocessors >= 1);
        } else {
                print_message("%s\n", err.message);
                assert_int_equal(status, KC_EDEVICE);
                assert_int_equal(n, 0);
                assert_true(strlen(err.message) > 0);
        }
}

static void no_room_still_tells_how_many(void **state)
{
        struct kc_error err = { 0 };
        int n = -1;
        (void)state;

        enum kc_status status = kc_gpu_devices(NULL, 0, &n, &err);
        assert_true(status == KC_OK ? n >= 1 : status == KC_EDEVICE && n == 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(devices_or_a_reason),
                cmocka_unit_test(no_room_still_tells_how_many),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
