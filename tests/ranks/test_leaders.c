/*
 * Which ranks count for others, and with which cores.
 */
#include "ranks/leaders.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { MAX_RANKS = 8 };

/* host and devices by a letter for each rank; cores: from `first` on, `n` of them. */
static void place(struct kc_rank_place *places, int rank, char host, char devices, int first, int n)
{
        places[rank] = (struct kc_rank_place){ .host = { host }, .devices = (uint64_t)devices };
        for (int core = first; core < first + n; core++)
                CPU_SET(core, &places[rank].cores);
}

static void first_of_those_that_see_the_same(void **state)
{
        static const struct {
                int nranks;
                const char *hosts, *devices;
                int leaders[MAX_RANKS];
        } cases[] = {
                { 1, "a", "x", { 0 } },
                { 2, "aa", "xx", { 0, 0 } },
                { 2, "aa", "xy", { 0, 1 } },
                { 2, "ab", "xx", { 0, 1 } },
                { 3, "aba", "xxx", { 0, 1, 0 } },
                { 3, "aaa", "xyx", { 0, 1, 0 } },
                { 8, "aaaabbbb", "xxxxxxxx", { 0, 0, 0, 0, 4, 4, 4, 4 } },
                { 8, "abababab", "xxyyxxyy", { 0, 1, 2, 3, 0, 1, 2, 3 } },
        };
        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct kc_rank_place places[MAX_RANKS];
                int leaders[MAX_RANKS];
                for (int j = 0; j < cases[i].nranks; j++)
                        place(places, j, cases[i].hosts[j], cases[i].devices[j], 0, 4);
                kc_leaders_elect(places, cases[i].nranks, leaders);
                assert_memory_equal(leaders, cases[i].leaders,
                                    (size_t)cases[i].nranks * sizeof *leaders);
        }
}

static void expect_share(const struct kc_rank_place *places, int nranks, int leader, int ncounted,
                         int ncores, int nthreads)
{
        int leaders[MAX_RANKS];
        kc_leaders_elect(places, nranks, leaders);
        const struct kc_leader_share share = kc_leader_share(places, nranks, leaders, leader);
        assert_int_equal(share.nranks, ncounted);
        assert_int_equal(CPU_COUNT(&share.cores), ncores);
        assert_int_equal(share.nthreads, nthreads);
}

static void cores_of_all_that_wait(void **state)
{
        struct kc_rank_place p[MAX_RANKS];
        (void)state;
        /* bound to a core each, as by mpirun */
        for (int i = 0; i < 8; i++)
                place(p, i, 'a', 'x', i, 1);
        expect_share(p, 8, 0, 8, 8, 8);
        expect_share(p, 3, 0, 3, 3, 3);
        /* not bound */
        for (int i = 0; i < 3; i++)
                place(p, i, 'a', 'x', 0, 32);
        expect_share(p, 1, 0, 1, 32, 32);
        expect_share(p, 3, 0, 3, 32, 32);
        /* other machines do not matter */
        place(p, 3, 'b', 'x', 0, 8);
        expect_share(p, 4, 0, 3, 32, 32);
        expect_share(p, 4, 3, 1, 8, 8);
}

static void cores_of_leaders_that_share_a_machine(void **state)
{
        struct kc_rank_place p[MAX_RANKS];
        (void)state;
        for (int i = 0; i < 3; i++)
                place(p, i, 'a', (char)('x' + i), 0, 32);
        expect_share(p, 2, 1, 1, 32, 16);
        expect_share(p, 3, 2, 1, 32, 10);
        /* more leaders than cores */
        for (int i = 0; i < 3; i++)
                place(p, i, 'a', (char)('x' + i), 0, 2);
        expect_share(p, 3, 0, 1, 2, 1);
        /* bound: nothing to share, or a part */
        place(p, 0, 'a', 'x', 0, 8);
        place(p, 1, 'a', 'y', 8, 8);
        place(p, 2, 'a', 'y', 4, 4);
        expect_share(p, 3, 0, 1, 8, 6);
        expect_share(p, 3, 1, 2, 12, 10);
}

static void lists_of_devices(void **state)
{
        (void)state;
        assert_true(kc_visible_devices("0,1") == kc_visible_devices("1,0"));
        assert_true(kc_visible_devices("GPU-1") == kc_visible_devices("GPU-1,"));
        assert_true(kc_visible_devices("0") != kc_visible_devices("1"));
        assert_true(kc_visible_devices("0,1") != kc_visible_devices("0"));
        assert_true(kc_visible_devices("1,2") != kc_visible_devices("12"));
        assert_true(kc_visible_devices(NULL) != kc_visible_devices(""));
        assert_true(kc_visible_devices(NULL) != kc_visible_devices("0,1"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(first_of_those_that_see_the_same),
                cmocka_unit_test(cores_of_all_that_wait),
                cmocka_unit_test(cores_of_leaders_that_share_a_machine),
                cmocka_unit_test(lists_of_devices),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
