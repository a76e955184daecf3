/*
 * WarpDrive's probing sequence, on the host.
 */
#include "gpu/tables/warpdrive.cuh"
#include "tests/gpu/support.cuh"

#include <algorithm>
#include <vector>

/* In capacity / group steps, every window is visited once, whatever the hash. */
static void visit_all(uint64_t hash, uint32_t capacity, uint32_t group)
{
        uint32_t nwindows = capacity / group;
        std::vector<bool> visited(nwindows);
        kc_probing p = kc_probing_begin(hash, capacity, group);
        for (uint32_t i = 0; i < nwindows; i++, kc_probing_next(&p)) {
                assert_true(p.window < nwindows);
                assert_false(visited[p.window]);
                visited[p.window] = true;
        }
        assert_int_equal(p.window, kc_probing_begin(hash, capacity, group).window);
}

static void test_every_window_is_visited(void **unused)
{
        uint64_t state = 1;
        (void)unused;
        for (uint32_t group = 1; group <= 32; group *= 2)
                for (uint32_t capacity = 32; capacity <= 16384; capacity *= 2)
                        for (int i = 0; i < 8; i++)
                                visit_all(next_random(&state), capacity, group);
}

static void test_odd_hashes(void **unused)
{
        const uint64_t hashes[] = { 0,
                                    1,
                                    2,
                                    UINT64_MAX,
                                    UINT64_C(0xffffffff00000000),
                                    0xffffffff,
                                    UINT64_C(0x8000000080000000) };
        (void)unused;
        for (uint64_t hash : hashes)
                for (uint32_t group = 1; group <= 32; group *= 2) {
                        visit_all(hash, 4096, group);
                        visit_all(hash, group, group); /* a single window */
                }
}

static void test_sequences_wrap_around(void **unused)
{
        uint64_t last = UINT64_C(63) << 32 | 6; /* window 63 of 64, step 7 */
        (void)unused;
        kc_probing p = kc_probing_begin(last, 256, 4);
        assert_int_equal(p.window, 63);
        kc_probing_next(&p);
        assert_int_equal(p.window, 6);
        kc_probing_next(&p);
        assert_int_equal(p.window, 13);
}

/* Keys with the same first window continue to different ones, so there are no clusters. */
static void test_sequences_part(void **unused)
{
        enum { CAPACITY = 1024, N = 100000 };
        std::vector<uint32_t> second(CAPACITY);
        uint32_t n = 0, most = 0;
        (void)unused;
        for (uint64_t key = 0; key < N; key++) {
                kc_probing p = kc_probing_begin(kc_key_hash((kc_key64)key), CAPACITY, 1);
                if (p.window != 17)
                        continue;
                kc_probing_next(&p);
                most = std::max(most, ++second[p.window]);
                n++;
        }
        assert_in_range(n, N / CAPACITY / 2, N / CAPACITY * 2);
        assert_true(most <= n / 8 + 2);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_every_window_is_visited),
                cmocka_unit_test(test_odd_hashes),
                cmocka_unit_test(test_sequences_wrap_around),
                cmocka_unit_test(test_sequences_part),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
