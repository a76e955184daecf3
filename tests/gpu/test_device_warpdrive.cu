/*
 * The WarpDrive table on the device, against a count on the host, for all group sizes.
 */
#include "gpu/warpdrive.cuh"
#include "tests/gpu/table_support.cuh"

enum { CAPACITY = 4096 };
enum { MIN_BLOCKS = 3 }; /* of 512 threads, when timing */

static table_launch launch_of(unsigned nblocks, unsigned nthreads, uint32_t capacity)
{
        return { nblocks, nthreads, 1, { capacity, NULL, 0 } };
}

template <class Key, int G>
static unsigned long long expect(const std::vector<Key> &keys, size_t bin_nkeys, unsigned nblocks,
                                 unsigned nthreads, uint32_t capacity)
{
        return expect_counts<kc_warpdrive<Key, G>, Key>(launch_of(nblocks, nthreads, capacity),
                                                        keys, equal_bins(keys.size(), bin_nkeys));
}

/* A test for all six group sizes and both widths. */
#define ALL_GROUPS(name)                                                                           \
        template <class Key> static void name##_groups(void)                                       \
        {                                                                                          \
                name<Key, 1>();                                                                    \
                name<Key, 2>();                                                                    \
                name<Key, 4>();                                                                    \
                name<Key, 8>();                                                                    \
                name<Key, 16>();                                                                   \
                name<Key, 32>();                                                                   \
        }                                                                                          \
        static void name##_64(void **unused)                                                       \
        {                                                                                          \
                (void)unused;                                                                      \
                name##_groups<kc_key64>();                                                         \
        }                                                                                          \
        static void name##_128(void **unused)                                                      \
        {                                                                                          \
                (void)unused;                                                                      \
                name##_groups<kc_key128>();                                                        \
        }

template <class Key, int G> static void few_keys(void)
{
        for (size_t n : { 0, 1, 31, 32, 33, 257 })
                assert_true((expect<Key, G>(random_keys<Key>(n, n), 128, 2, 128, 1024)) == 0);
}
ALL_GROUPS(few_keys)

/* At half load nothing is refused; at 0.95 the table may be drained early, but nothing is lost. */
template <class Key, int G> static void load_factors(void)
{
        for (unsigned percent : { 50, 80, 95, 100 }) {
                size_t bin_nkeys = CAPACITY * percent / 100;
                std::vector<Key> keys = random_keys<Key>(test_size(64 * bin_nkeys), percent);
                unsigned long long refused = expect<Key, G>(keys, bin_nkeys, 16, 512, CAPACITY);
                if (percent == 50)
                        assert_int_equal(refused, 0);
                print_message("K%zu, groups of %d, load %.2f: %llu of %zu tables full\n",
                              8 * sizeof(Key), G, percent / 100.0, refused,
                              keys.size() / bin_nkeys);
        }
}
ALL_GROUPS(load_factors)

template <class Key, int G> static void skewed_keys(void)
{
        std::vector<Key> from = random_keys<Key>(CAPACITY * 3 / 4, 4);
        size_t n = test_size(1 << 18);
        expect<Key, G>(zipf_draws(from, n, 5), n / 8 + 1, 8, 1024, CAPACITY);
        expect<Key, G>(uniform_draws(from, n, 6), n / 2 + 1, 2, 256, CAPACITY);
}
ALL_GROUPS(skewed_keys)

template <class Key, int G> static void weighted_keys(void)
{
        std::vector<Key> keys = zipf_draws(random_keys<Key>(1500, 13), test_size(1 << 17), 14);
        table_launch launch = launch_of(8, 512, CAPACITY);
        launch.max_weight = 1000;
        expect_counts<kc_warpdrive<Key, G>, Key>(launch, keys, equal_bins(keys.size(), 1 << 14));
}
ALL_GROUPS(weighted_keys)

template <class Key, int G> static void equal_keys(void)
{
        for (Key key : { (Key)0, (Key)~(Key)0, (Key)12345 }) {
                std::vector<Key> keys(test_size(1 << 16), key);
                assert_int_equal((expect<Key, G>(keys, 1 << 13, 8, 1024, 1024)), 0);
        }
}
ALL_GROUPS(equal_keys)

/* 0 and all-ones among others, and words of them. */
template <class Key, int G> static void odd_keys(void)
{
        std::vector<Key> from = random_keys<Key>(500, 7);
        Key half = (Key)UINT32_MAX << (4 * sizeof(Key) - 32);
        for (Key key : { (Key)0, (Key)~(Key)0, half, (Key)~half, (Key)1, (Key)~(Key)1 })
                from.push_back(key);
        expect<Key, G>(from, from.size(), 1, 128, 1024);
        expect<Key, G>(uniform_draws(from, test_size(1 << 16), 8), 5000, 8, 1024, 1024);
}
ALL_GROUPS(odd_keys)

/* Far more keys than slots. */
template <class Key, int G> static void full_tables(void)
{
        assert_true((expect<Key, G>(random_keys<Key>(20000, 9), 10000, 2, 512, 1024)) > 0);
}
ALL_GROUPS(full_tables)

/* ---- timing: with KC_TEST_TIMING=LOG2 in the environment only this, with 2^LOG2 keys */

template <class Key, int G> static void timing(void)
{
        size_t nkeys = timing_nkeys(18);
        const unsigned bin_nkeys = 8192;
        Key *keys = new_device_array<Key>(nkeys);
        make_timing_keys<<<(unsigned)((nkeys + 255) / 256), 256>>>(keys, nkeys, bin_nkeys);
        for (uint32_t capacity : { 2048, 4096 }) {
                char name[64];
                snprintf(name, sizeof name, "warpdrive, groups of %d, %u slots", G, capacity);
                report_time<kc_warpdrive<Key, G>, Key, MIN_BLOCKS>(
                        name, launch_of(0, 512, capacity), keys, nkeys, bin_nkeys);
        }
        cudaFree(keys);
}
ALL_GROUPS(timing)

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(few_keys_64),     cmocka_unit_test(few_keys_128),
                cmocka_unit_test(load_factors_64), cmocka_unit_test(load_factors_128),
                cmocka_unit_test(skewed_keys_64),  cmocka_unit_test(skewed_keys_128),
                cmocka_unit_test(weighted_keys_64), cmocka_unit_test(weighted_keys_128),
                cmocka_unit_test(equal_keys_64),   cmocka_unit_test(equal_keys_128),
                cmocka_unit_test(odd_keys_64),     cmocka_unit_test(odd_keys_128),
                cmocka_unit_test(full_tables_64),  cmocka_unit_test(full_tables_128),
                cmocka_unit_test(timing_64),       cmocka_unit_test(timing_128),
        };
        need_device();
        if (getenv("KC_TEST_TIMING") != NULL)
                cmocka_set_test_filter("timing*");
        return cmocka_run_group_tests(tests, NULL, NULL);
}
