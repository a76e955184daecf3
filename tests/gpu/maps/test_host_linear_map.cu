/*
 * The simple hash table's arithmetic on the host.
 */
#include "gpu/maps/linear/map.cuh"
#include "tests/gpu/support.cuh"

#include <vector>

/* The number of slots probed, also when the probes wrap around. */
static void probes(void **unused)
{
        (void)unused;
        for (uint64_t mask : { 31ull, 1023ull, 0xffffffffull }) {
                for (kc_key64 key = 1; key < 1000; key += 7) {
                        uint64_t home = kc_linear_hash(key) & mask;
                        assert_int_equal(kc_linear_probes(key, home, mask), 1);
                        assert_int_equal(kc_linear_probes(key, (home + 5) & mask, mask), 6);
                        assert_int_equal(kc_linear_probes(key, (home - 1) & mask, mask), mask + 1);
                }
        }
}

/* Consecutive keys, and keys that differ only in their top bits, spread over all slots. */
template <class Key> static void expect_spread(Key step)
{
        std::vector<int> filled(1024);
        for (int i = 0; i < 1 << 16; i++)
                filled[kc_linear_hash((Key)(i * step)) & 1023]++;
        for (int n : filled)
                assert_in_range(n, 20, 140); /* of 64 */
}

static void spread(void **unused)
{
        (void)unused;
        expect_spread<uint32_t>(1);
        expect_spread<uint32_t>(1 << 16);
        expect_spread<kc_key64>(1);
        expect_spread<kc_key64>(UINT64_C(1) << 48);
}

/* A read of 16 bytes never tears a slot. */
static void layout(void **unused)
{
        (void)unused;
        assert_int_equal(sizeof(kc_linear_slot<uint32_t>), 8);
        assert_int_equal(sizeof(kc_linear_slot<kc_key64>), 16);
        assert_int_equal(offsetof(kc_linear_slot<kc_key64>, value), 8);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(probes),
                cmocka_unit_test(spread),
                cmocka_unit_test(layout),
        };
        cmocka_set_test_filter(getenv("KC_TEST"));
        return cmocka_run_group_tests(tests, NULL, NULL);
}
