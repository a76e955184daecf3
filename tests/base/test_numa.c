/*
 * Where memory is: on a machine with only one NUMA node, it is on that node, if the system says.
 */
#include "base/numa.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* The kernel's list of nodes: "0" if there is only one. */
static int has_one_node(void)
{
        char text[64] = "";
        FILE *file = fopen("/sys/devices/system/node/online", "r");
        if (file == NULL)
                return 0;
        const int read = fscanf(file, "%63s", text);
        fclose(file);
        return read == 1 && strcmp(text, "0") == 0;
}

static void memory_is_somewhere(void **state)
{
        char page[1] = { 1 };
        const int node = kc_numa_node(page);
        (void)state;
        assert_in_range(node + 1, 0, has_one_node() ? 1 : 1024);
}

static void no_memory(void **state)
{
        (void)state;
        assert_int_equal(kc_numa_node(NULL), -1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(memory_is_somewhere),
                cmocka_unit_test(no_memory),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
