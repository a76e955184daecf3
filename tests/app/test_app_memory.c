/* How the bound on memory is divided. */
#include "app/library/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* If no thread fits, the error names the least bound in which one does. */
static void test_threads_that_fit(void **state)
{
        (void)state;
        const uint64_t sizes[] = { 233 * MEMORY_MIB, 300 * MEMORY_MIB + 1, 5000 * MEMORY_MIB };
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
                struct kc_error err = { 0 }, again = { 0 };
                int nthreads = 4;
                assert_int_equal(kc_memory_limit_threads(256 * MEMORY_MIB, sizes[i], "the work",
                                                         &nthreads, &err),
                                 KC_ENOMEM);
                assert_string_equal(err.message, "a bound of 256 MiB is not enough for the work");
                assert_int_equal(err.remedies, KC_REMEDY_MORE_MEMORY);
                assert_int_equal(kc_memory_limit_threads(err.needed_nbytes - 1, sizes[i],
                                                         "the work", &nthreads, &again),
                                 KC_ENOMEM);
                assert_int_equal(nthreads, 4);
                assert_int_equal(kc_memory_limit_threads(err.needed_nbytes, sizes[i], "the work",
                                                         &nthreads, NULL),
                                 KC_OK);
                assert_int_equal(nthreads, 1);
        }
}

static void test_fewer_threads(void **state)
{
        (void)state;
        int nthreads = 8;
        assert_int_equal(kc_memory_limit_threads(256 * MEMORY_MIB, 64 * MEMORY_MIB, "the work",
                                                 &nthreads, NULL),
                         KC_OK);
        assert_int_equal(nthreads, 3);
        assert_int_equal(kc_memory_limit_threads(UINT64_MAX / 2, 64 * MEMORY_MIB, "the work",
                                                 &nthreads, NULL),
                         KC_OK);
        assert_int_equal(nthreads, 3);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_threads_that_fit),
                cmocka_unit_test(test_fewer_threads),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
