/* Failures and progress of kcount.h, as commands see them. */
#include "app/cli/bridge.h"
#include "app/cli/command.h"
#include "app/library/library.h"
#include "kmer/remedy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What the pieces of app/cli refer to; no command is run. */
const struct command *const command_table[] = { NULL };

static void test_failures(void **state)
{
        (void)state;
        struct kc_error cause = { 0 }, err = { 0 };
        struct kcount_error *error = NULL;
        kc_fail_file(&cause, KC_EUNTIDY, KC_REMEDY_CHECK | KC_REMEDY_MORE_MEMORY, "a.kc",
                     "a.kc: %d is wrong", 3);
        cause.needed_nbytes = 17;
        strcpy(cause.filter, "cat FILE");
        assert_int_equal(bridge_check(KCOUNT_OK, &error, &err), KC_OK);
        assert_int_equal(err.status, KC_OK);
        const enum kcount_status status = kc_library_failed(&cause, &error);
        assert_int_equal(status, KCOUNT_EDAMAGED);
        assert_int_equal(bridge_check(status, &error, &err), KC_EUNTIDY);
        assert_null(error);
        assert_memory_equal(&err, &cause, sizeof err);
}

/* The first failure is kept, as by kc_fail. */
static void test_second_failure(void **state)
{
        (void)state;
        struct kc_error err = { 0 };
        struct kcount_error *error = NULL;
        kc_fail(&err, KC_EIO, "first");
        const enum kcount_status status = kcount_open(NULL, "missing.kc", &error);
        assert_int_equal(bridge_check(status, &error, &err), KC_EIO);
        assert_string_equal(err.message, "first");
}

static void test_progress(void **state)
{
        (void)state;
        static const char *const stages[] = { "reading", "counting", "writing" };
        struct kc_job job = { 0 };
        struct bridge_progress progress = { &job, stages, 3 };
        assert_true(bridge_progress(&progress, "counting", 4, 9));
        assert_int_equal(job.stage, 1);
        assert_int_equal(job.done, 4);
        assert_int_equal(job.total, 9);
        assert_true(bridge_progress(&progress, "reading", 0, 0));
        assert_int_equal(job.stage, 0);
        assert_int_equal(job.total, 0);
        atomic_store(&job.cancel, true);
        assert_false(bridge_progress(&progress, "writing", 0, 0));
        assert_int_equal(job.stage, 2);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_failures),
                cmocka_unit_test(test_second_failure),
                cmocka_unit_test(test_progress),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
