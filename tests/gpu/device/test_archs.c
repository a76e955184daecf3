/* Which devices a build has machine code for, given the architectures that CMake compiled for. */
#include "gpu/device/archs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct arch_case {
        const char *archs;
        int major, minor;
};

static void check(const struct arch_case *cases, size_t n, bool covered)
{
        for (size_t i = 0; i < n; i++)
                if (kc_archs_cover(cases[i].archs, cases[i].major, cases[i].minor) != covered)
                        fail_msg("%s has %scode for %d.%d", cases[i].archs, covered ? "no " : "",
                                 cases[i].major, cases[i].minor);
}

static void test_covered(void **state)
{
        (void)state;
        static const struct arch_case cases[] = {
                { "90", 9, 0 },         { "90-real", 9, 0 },       { "90a-real", 9, 0 },
                { "80-real,90", 9, 0 }, { "80-real,90", 8, 0 },    { "80", 8, 6 },
                { "80-real,90", 8, 9 }, { "100", 10, 0 },          { "100f", 10, 3 },
                { "120-real", 12, 1 },  { "80-virtual,90", 9, 0 }, { "75,80-real", 8, 0 },
        };
        check(cases, sizeof cases / sizeof *cases, true);
}

static void test_compiled_at_start(void **state)
{
        (void)state;
        static const struct arch_case cases[] = {
                { "", 9, 0 },           { "80", 9, 0 },          { "80-real", 9, 0 },
                { "90-virtual", 9, 0 }, { "86", 8, 0 },          { "90a", 9, 1 },
                { "90", 10, 0 },        { "100", 9, 0 },         { "native", 9, 0 },
                { "all", 9, 0 },        { "80,86-real", 9, 0 },  { "9", 9, 0 },
                { "-virtual", 0, 0 },   { "80-virtual,", 8, 0 },
        };
        check(cases, sizeof cases / sizeof *cases, false);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_covered),
                cmocka_unit_test(test_compiled_at_start),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
