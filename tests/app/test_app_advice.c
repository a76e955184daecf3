/* What the user can do about a failure, as each command puts it. */
#include "app/advice.h"
#include "app/command.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* main.c, which has the table of commands, is not in the library. */
static const struct command *const commands[] = {
        &command_count, &command_dump,  &command_hist,      &command_query,    &command_range,
        &command_info,  &command_check, &command_add,       &command_remove,   &command_compact,
        &command_merge, &command_union, &command_intersect, &command_subtract,
};
const struct command *const command_table[] = { NULL };

const struct command *command_find(const char *name)
{
        (void)name;
        return NULL;
}

static void expect(const struct command *command, const struct kc_error *failure, const char *want)
{
        char text[ADVICE_NBYTES];
        assert_string_equal(advice_text(command, failure, text), want);
}

static void test_options(void **state)
{
        (void)state;
        struct kc_error err = { .remedies = 0 };
        expect(&command_count, &err, "");
        err.remedies = KC_REMEDY_REPLACE | KC_REMEDY_OTHER_OUTPUT;
        expect(&command_count, &err, "; name another file with -o, or replace it with --force");
        expect(&command_dump, &err, "; name another file with -o");
        expect(&command_check, &err,
               "; name another file with --repair, or replace it with --force");
        expect(&command_hist, &err, "");
        expect(NULL, &err, "");
        err.remedies = KC_REMEDY_CPU;
        expect(&command_merge, &err, "; use --device cpu");
        expect(&command_dump, &err, "");
}

static void test_sizes(void **state)
{
        (void)state;
        struct kc_error err = { .remedies = KC_REMEDY_MORE_MEMORY | KC_REMEDY_IGNORE_QUALITIES };
        expect(&command_add, &err, "; allow more memory with -m, or count without -q");
        err.needed_nbytes = (256 << 20) + 1;
        expect(&command_count, &err, "; allow more memory with -m 257M, or count without -q");
        expect(&command_compact, &err, "; allow more memory with -m 257M");
        err.remedies = KC_REMEDY_STATE_GPU_MEMORY | KC_REMEDY_CPU;
        err.needed_nbytes = 256 << 20;
        expect(&command_count, &err,
               "; make the batches smaller with --gpu-memory 256M, or use --device cpu");
}

static void test_filters(void **state)
{
        (void)state;
        struct kc_error err = { .remedies = KC_REMEDY_FILTER, .filter = "xz -dc FILE" };
        expect(&command_count, &err, "; try: xz -dc FILE | kcount ... -");
        expect(&command_add, &err, "; try: xz -dc FILE | kcount ... -");
        expect(&command_query, &err, "; try: xz -dc FILE | kcount query ... -f -");
        expect(NULL, &err, "; try: xz -dc FILE | kcount ... -");
        err.remedies = KC_REMEDY_FILTER_HEAD;
        expect(&command_count, &err,
               "; to read only what comes before: xz -dc FILE | kcount ... -");
        err.remedies = KC_REMEDY_MORE_MEMORY | KC_REMEDY_FILTER;
        expect(&command_query, &err, "; try: xz -dc FILE | kcount query ... -f -");
}

/* Each remedy has advice for some command, and all of them together do not overflow. */
static void test_every_remedy(void **state)
{
        (void)state;
        char text[ADVICE_NBYTES];
        struct kc_error err = { .filter = "xz" };
        for (unsigned remedy = 1; remedy <= KC_REMEDY_FILTER_WHOLE; remedy <<= 1) {
                size_t ncommands = 0;
                err.remedies = remedy;
                for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
                        ncommands += advice_text(commands[i], &err, text)[0] != '\0';
                if (ncommands == 0)
                        fail_msg("no command has advice for the remedy 0x%x", remedy);
        }
        err.remedies = UINT32_MAX;
        memset(err.filter, 'x', sizeof err.filter - 1);
        assert_true(strlen(advice_text(&command_count, &err, text)) < ADVICE_NBYTES);
}

/* The first failure's message is kept, with its status, remedies and filter. */
static void test_first_failure(void **state)
{
        (void)state;
        struct kc_error first = { 0 }, err = { 0 };
        assert_int_equal(kc_fail_filter(&first, KC_REMEDY_FILTER, "a %s", "no %d", 1), KC_EINPUT);
        assert_int_equal(kc_fail_remedy(&first, KC_EIO, KC_REMEDY_CPU, "later"), KC_EIO);
        assert_int_equal(kc_fail_as(&err, &first), KC_EINPUT);
        assert_int_equal(kc_fail_as(&err, &(struct kc_error){ .status = KC_EIO }), KC_EIO);
        assert_int_equal(err.remedies, KC_REMEDY_FILTER);
        assert_string_equal(err.filter, "a %s");
        assert_string_equal(err.message, "no 1");
        assert_int_equal(kc_fail_as(NULL, &first), KC_EINPUT);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_options),       cmocka_unit_test(test_sizes),
                cmocka_unit_test(test_filters),       cmocka_unit_test(test_every_remedy),
                cmocka_unit_test(test_first_failure),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
