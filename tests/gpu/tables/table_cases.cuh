/*
 * What every table in shared memory must count correctly, however it probes. Table: a table type of
 * gpu/tables/table.cuh; Key: its key type.
 */
#ifndef KC_TESTS_GPU_TABLES_TABLE_CASES_CUH
#define KC_TESTS_GPU_TABLES_TABLE_CASES_CUH

#include "gpu/tables/slab.cuh" /* mixes 64 bits as kc_key_hash does, invertibly */
#include "tests/gpu/tables/table_support.cuh"

#include <list>
#include <string>

/* Slots of a table that leaves little of a block's shared memory. */
template <class Key> static constexpr uint32_t most_slots()
{
        return sizeof(Key) <= 16 ? 4096 : 2048;
}

static table_launch launch_of(unsigned nblocks, unsigned nthreads, uint32_t capacity)
{
        return { nblocks, nthreads, 1, { capacity, NULL, 0 } };
}

template <class Table, class Key>
static unsigned long long expect(const std::vector<Key> &keys, size_t bin_nkeys, unsigned nblocks,
                                 unsigned nthreads, uint32_t capacity)
{
        return expect_counts<Table, Key>(launch_of(nblocks, nthreads, capacity), keys,
                                         equal_bins(keys.size(), bin_nkeys));
}

template <class Table, class Key> static void few_keys(void **)
{
        for (size_t n : { 0, 1, 31, 32, 33, 257 })
                assert_true((expect<Table>(random_keys<Key>(n, n), 128, 2, 128, 1024)) == 0);
}

/* At load 0.5 no key is refused; at 0.95 the table may be drained early, but nothing is lost. */
template <class Table, class Key> static void load_factors(void **title)
{
        const uint32_t capacity = most_slots<Key>();
        for (unsigned percent : { 50, 80, 95, 100 }) {
                size_t bin_nkeys = capacity * percent / 100;
                std::vector<Key> keys = random_keys<Key>(test_size(64 * bin_nkeys), percent);
                unsigned long long refused = expect<Table>(keys, bin_nkeys, 16, 512, capacity);
                if (percent == 50)
                        assert_int_equal(refused, 0);
                print_message("%s, load %.2f: %llu of %zu tables full\n", (const char *)*title,
                              percent / 100.0, refused, keys.size() / bin_nkeys);
        }
}

template <class Table, class Key> static void skewed_keys(void **)
{
        const uint32_t capacity = most_slots<Key>();
        std::vector<Key> from = random_keys<Key>(capacity * 3 / 4, 4);
        size_t n = test_size(1 << 18);
        expect<Table>(zipf_draws(from, n, 5), n / 8 + 1, 8, 1024, capacity);
        expect<Table>(uniform_draws(from, n, 6), n / 2 + 1, 2, 256, capacity);
}

template <class Table, class Key> static void weighted_keys(void **)
{
        std::vector<Key> keys = zipf_draws(random_keys<Key>(1500, 13), test_size(1 << 17), 14);
        table_launch launch = launch_of(8, 512, most_slots<Key>());
        launch.max_weight = 1000;
        expect_counts<Table, Key>(launch, keys, equal_bins(keys.size(), 1 << 14));
}

template <class Table, class Key> static void equal_keys(void **)
{
        for (Key key : { (Key)0, (Key) ~(Key)0, (Key)12345 }) {
                std::vector<Key> keys(test_size(1 << 16), key);
                assert_int_equal((expect<Table>(keys, 1 << 13, 8, 1024, 1024)), 0);
        }
}

/* Keys that are 0 or all ones, or contain such words, or differ in one word only, among others. */
template <class Table, class Key> static void odd_keys(void **)
{
        std::vector<Key> from = random_keys<Key>(500, 7);
        Key half = (Key)UINT32_MAX << (4 * sizeof(Key) - 32);
        for (Key key : { (Key)0, (Key) ~(Key)0, half, (Key)~half, (Key)1, (Key) ~(Key)1 })
                from.push_back(key);
        for (int at = 0; at < 8 * (int)sizeof(Key); at += 32)
                from.push_back((Key)7 << at);
        expect<Table>(from, from.size(), 1, 128, 1024);
        expect<Table>(uniform_draws(from, test_size(1 << 16), 8), 5000, 8, 1024, 1024);
        for (Key key : { (Key)0, (Key) ~(Key)0 }) { /* it comes first; then most slots are taken */
                std::vector<Key> crowd = random_keys<Key>(1000, 10);
                std::fill(crowd.begin(), crowd.begin() + 64, key);
                expect<Table>(crowd, crowd.size(), 1, 256, 1024);
        }
}

/* Far more keys than slots. */
template <class Table, class Key> static void full_tables(void **)
{
        assert_true((expect<Table>(random_keys<Key>(20000, 9), 10000, 2, 512, 1024)) > 0);
}

static inline kc_key64 key_with_hash(uint64_t hash, uint64_t, kc_key64)
{
        return kc_slab_unmix((kc_key64)hash);
}

static inline kc_key128 key_with_hash(uint64_t hash, uint64_t high, kc_key128)
{
        uint64_t low = kc_slab_unmix((kc_key64)hash) ^ high * UINT64_C(0xd6e8feb86659fd93);
        return (kc_key128)high << 64 | low;
}

template <int N>
static inline kc_key_wide<N> key_with_hash(uint64_t hash, uint64_t high, kc_key_wide<N>)
{
        kc_key_wide<N> key;
        for (int i = 0; i < N; i++)
                key.words[i] = high * (uint64_t)i;
        key.words[0] = kc_slab_unmix((kc_key64)hash) ^ kc_slab_above(key);
        return key;
}

/* All keys have the same home slot: their hashes differ only in the lowest bits; some keys of 128
 * bits or more have the same hash. Tried for several slots, up to the last. */
template <class Table, class Key> static void one_slot(void **)
{
        for (uint64_t slot : { 0, 17, 1023 })
                for (size_t nkeys : { 2, 31, 32, 33, 100, 300 }) {
                        std::vector<Key> from;
                        for (uint64_t i = 0; i < nkeys; i++) {
                                uint64_t hash = slot << 32 | UINT64_C(0x5a500000) | i / 2 * 2;
                                from.push_back(key_with_hash(sizeof(Key) == 8 ? hash + i % 2 : hash,
                                                             i, Key()));
                                assert_true(kc_key_hash(from.back()) >> 32 == slot);
                        }
                        expect<Table>(uniform_draws(from, nkeys * 20, nkeys), nkeys * 10, 2, 256,
                                      1024);
                }
}

/* With KC_TEST_TIMING=LOG2 in the environment, only this runs, with 2^LOG2 keys. */
template <class Table, class Key> static void timing(void **title)
{
        enum { MIN_BLOCKS = 3 }; /* of 512 threads */
        size_t nkeys = timing_nkeys(18);
        const unsigned bin_nkeys = 8192;
        Key *keys = new_device_array<Key>(nkeys);
        make_timing_keys<<<(unsigned)((nkeys + 255) / 256), 256>>>(keys, nkeys, bin_nkeys);
        for (uint32_t capacity = 2048; capacity <= most_slots<Key>(); capacity *= 2) {
                char name[64];
                snprintf(name, sizeof name, "%s, %u slots", (const char *)*title, capacity);
                report_time<Table, Key, MIN_BLOCKS>(name, launch_of(0, 512, capacity), keys, nkeys,
                                                    bin_nkeys);
        }
        cudaFree(keys);
}

/* ---- as a program ---- */

/* Append the cases for a table to `tests`; title: its name, such as "linear, K64". */
template <class Table, class Key>
static void add_cases(std::vector<CMUnitTest> *tests, const char *title)
{
        static const struct {
                const char *name;
                CMUnitTestFunction run;
        } cases[] = {
                { "few_keys", few_keys<Table, Key> },
                { "load_factors", load_factors<Table, Key> },
                { "skewed_keys", skewed_keys<Table, Key> },
                { "weighted_keys", weighted_keys<Table, Key> },
                { "equal_keys", equal_keys<Table, Key> },
                { "odd_keys", odd_keys<Table, Key> },
                { "full_tables", full_tables<Table, Key> },
                { "one_slot", one_slot<Table, Key> },
                { "timing", timing<Table, Key> },
        };
        static std::list<std::string> names; /* must outlive the tests */
        for (const auto &c : cases) {
                names.push_back(std::string(c.name) + ": " + title);
                tests->push_back({ names.back().c_str(), c.run, NULL, NULL, (void *)title });
        }
}

static inline int run_cases(const std::vector<CMUnitTest> &tests)
{
        need_device();
        cmocka_set_test_filter(getenv("KC_TEST_TIMING") != NULL ? "timing*" : getenv("KC_TEST"));
        return _cmocka_run_group_tests("tests", tests.data(), tests.size(), NULL, NULL);
}

#endif
