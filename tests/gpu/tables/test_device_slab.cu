/*
 * The slab hash on the device, compared with a count on the host.
 */
#include "gpu/tables/slab.cuh"
#include "tests/gpu/tables/table_support.cuh"

enum { SMALL_ARENA = 256 << 10, LARGE_ARENA = 1 << 20 };
enum { MIN_BLOCKS = 3 }; /* of 512 threads, when timing */

static table_launch launch_of(unsigned nblocks, unsigned nthreads, size_t arena_nbytes)
{
        return { nblocks, nthreads, 1, { 0, NULL, arena_nbytes } };
}

template <class Key>
static unsigned long long expect(const std::vector<Key> &keys, size_t bin_nkeys, unsigned nblocks,
                                 unsigned nthreads, size_t arena_nbytes)
{
        return expect_counts<kc_slab<Key>, Key>(launch_of(nblocks, nthreads, arena_nbytes), keys,
                                                equal_bins(keys.size(), bin_nkeys));
}

#define ALL_WIDTHS(name) \
        static void name##_64(void **unused) \
        { \
                (void)unused; \
                name<kc_key64>(); \
        } \
        static void name##_128(void **unused) \
        { \
                (void)unused; \
                name<kc_key128>(); \
        } \
        static void name##_192(void **unused) \
        { \
                (void)unused; \
                name<kc_key192>(); \
        } \
        static void name##_256(void **unused) \
        { \
                (void)unused; \
                name<kc_key256>(); \
        }

#define TESTS(name) \
        cmocka_unit_test(name##_64), cmocka_unit_test(name##_128), cmocka_unit_test(name##_192), \
                cmocka_unit_test(name##_256)

template <class Key> static void few_keys(void)
{
        for (size_t n : { 0, 1, 2, 31, 32, 33, 255, 256, 257, 1000 })
                assert_int_equal(expect(random_keys<Key>(n, n + 1), 128, 2, 128, SMALL_ARENA), 0);
}
ALL_WIDTHS(few_keys)

template <class Key> static void unique_keys(void)
{
        std::vector<Key> keys = random_keys<Key>(test_size(1 << 19), 1);
        assert_int_equal(expect(keys, 4096, 64, 512, SMALL_ARENA), 0);
        assert_int_equal(expect(keys, 5000, 1, 1024, SMALL_ARENA), 0);
        assert_int_equal(expect(keys, 10000, 7, 256, LARGE_ARENA), 0);
}
ALL_WIDTHS(unique_keys)

template <class Key> static void uniform_keys(void)
{
        std::vector<Key> keys = uniform_draws(random_keys<Key>(2000, 2), test_size(1 << 20), 3);
        assert_int_equal(expect(keys, 1 << 16, 16, 1024, SMALL_ARENA), 0);
        assert_int_equal(expect(keys, 8192, 100, 64, SMALL_ARENA), 0);
}
ALL_WIDTHS(uniform_keys)

template <class Key> static void zipf_keys(void)
{
        std::vector<Key> keys = zipf_draws(random_keys<Key>(3000, 4), test_size(1 << 20), 5);
        assert_int_equal(expect(keys, 1 << 17, 8, 1024, SMALL_ARENA), 0);
        assert_int_equal(expect(keys, keys.size(), 1, 512, LARGE_ARENA), 0);
}
ALL_WIDTHS(zipf_keys)

template <class Key> static void weighted_keys(void)
{
        std::vector<Key> keys = zipf_draws(random_keys<Key>(3000, 13), test_size(1 << 18), 14);
        table_launch launch = launch_of(8, 512, SMALL_ARENA);
        launch.max_weight = 1000;
        expect_counts<kc_slab<Key>, Key>(launch, keys, equal_bins(keys.size(), 1 << 14));
}
ALL_WIDTHS(weighted_keys)

template <class Key> static void equal_keys(void)
{
        for (Key key : { (Key)0, (Key) ~(Key)0, (Key)12345 }) {
                std::vector<Key> keys(test_size(1 << 18), key);
                assert_int_equal(expect(keys, 1 << 14, 8, 1024, SMALL_ARENA), 0);
        }
}
ALL_WIDTHS(equal_keys)

/* Keys with words that are all ones, zero, or like the blank words of other buckets. */
template <class Key> static void odd_words(void)
{
        const uint32_t words[] = { 0, 1, 0x7fffffff, 0x80000000, 0xffffffff };
        std::vector<Key> all;
        uint64_t state = 6;
        size_t n = sizeof(Key) == 8 ? 25 : 625;
        for (size_t i = 0; i < n; i++) {
                Key key = 0;
                for (size_t j = 0, rest = i; j < sizeof(Key) / 4; j++, rest /= 5)
                        key |= (Key)words[rest % 5] << 32 * j;
                all.push_back(key);
                all.push_back(kc_slab_unmix(key));
                if (sizeof(Key) > 16) {
                        all.push_back(key << (8 * (int)sizeof(Key) - 128));
                        all.push_back(kc_slab_unmix(all.back()));
                }
                all.push_back(random_key<Key>(&state));
        }
        assert_int_equal(expect(all, all.size(), 1, 256, SMALL_ARENA), 0);
        assert_int_equal(
                expect(uniform_draws(all, test_size(1 << 18), 7), 4000, 32, 1024, SMALL_ARENA), 0);
}
ALL_WIDTHS(odd_words)

/* The longest chains: all keys have the same bucket bits. */
template <class Key> static std::vector<Key> keys_of_one_bucket(size_t n)
{
        std::vector<Key> keys = random_keys<Key>(n, 8);
        for (Key &key : keys) {
                Key mask = 0;
                for (size_t word = 0; word < sizeof(Key) / 4; word++)
                        mask |= (Key)0xffff << 32 * word;
                key = kc_slab_unmix((Key)(key & mask));
        }
        return keys;
}

template <class Key> static void one_bucket(void)
{
        std::vector<Key> distinct = keys_of_one_bucket<Key>(800);
        assert_int_equal(expect(distinct, 800, 1, 1024, SMALL_ARENA), 0);
        assert_int_equal(expect(uniform_draws(distinct, test_size(1 << 15), 9), 1 << 13, 4, 1024,
                                SMALL_ARENA),
                         0);
}
ALL_WIDTHS(one_bucket)

/* More keys than the slabs hold: the table reports that, is drained, and nothing is lost. */
template <class Key> static void full_tables(void)
{
        size_t n = 100000;
        assert_true(expect(random_keys<Key>(n, 10), n / 2, 2, 1024, SMALL_ARENA) > 0);
        assert_true(expect(uniform_draws(random_keys<Key>(n, 11), 2 * n, 12), n, 2, 512,
                           SMALL_ARENA) > 0);
        n = test_size(20000);
        bool full = expect(keys_of_one_bucket<Key>(n), n, 1, 1024, SMALL_ARENA) > 0;
        assert_true(full || n < 11000);
}
ALL_WIDTHS(full_tables)

/* ---- timing: with KC_TEST_TIMING=LOG2 in the environment, only this runs, with 2^LOG2 keys */

template <class Key> static void timing(void)
{
        size_t nkeys = timing_nkeys(20);
        Key *keys = new_device_array<Key>(nkeys);
        for (unsigned bin_nkeys : { 8192, 65536 }) {
                make_timing_keys<<<(unsigned)((nkeys + 255) / 256), 256>>>(keys, nkeys, bin_nkeys);
                for (size_t arena : { 160 << 10, 192 << 10, 256 << 10 }) {
                        char name[64];
                        snprintf(name, sizeof name, "slab, arenas of %zu KiB", arena >> 10);
                        report_time<kc_slab<Key>, Key, MIN_BLOCKS>(name, launch_of(0, 512, arena),
                                                                   keys, nkeys, bin_nkeys);
                }
        }
        cudaFree(keys);
}
ALL_WIDTHS(timing)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TESTS(few_keys),      TESTS(unique_keys), TESTS(uniform_keys), TESTS(zipf_keys),
                TESTS(weighted_keys), TESTS(equal_keys),  TESTS(odd_words),    TESTS(one_bucket),
                TESTS(full_tables),   TESTS(timing),
        };
        need_device();
        if (getenv("KC_TEST_TIMING") != NULL)
                cmocka_set_test_filter("timing*");
        return cmocka_run_group_tests(tests, NULL, NULL);
}
