/*
 * Equal keys of a tile in threads of the host: for each key there is one leader, which all of its
 * equals find. And the arithmetic that decides whether to combine them.
 */
#include "gpu/maps/warpdrive/tile_leaders.cuh"
#include "tests/gpu/support.cuh"

#include <set>
#include <thread>
#include <vector>

struct host_slots {
        uint32_t *words;

        uint32_t load(uint32_t i) const
        {
                return __atomic_load_n(&words[i], __ATOMIC_RELAXED);
        }

        uint32_t swap(uint32_t i, uint32_t expected, uint32_t value) const
        {
                (void)__atomic_compare_exchange_n(&words[i], &expected, value, false,
                                                  __ATOMIC_RELAXED, __ATOMIC_RELAXED);
                return expected;
        }
};

enum hashing { BY_OWNER, ALL_EQUAL, TAGS_EQUAL };

template <class Key> static uint32_t hash_of(Key key, enum hashing hashing)
{
        const uint32_t hash = (uint32_t)kc_wd_owner_hash(key);
        if (hashing == ALL_EQUAL)
                return UINT32_MAX;
        return hashing == TAGS_EQUAL ? hash & (uint32_t)KC_WD_PLACE_MASK : hash;
}

/* Threads take the keys of a tile in turn, like the lanes of a block. */
template <class Key>
static std::vector<uint32_t> find_leaders(const std::vector<Key> &keys, uint32_t nslots,
                                          enum hashing hashing)
{
        enum { NTHREADS = 4 };
        std::vector<uint32_t> words(nslots), leaders(keys.size());
        std::vector<std::thread> threads;
        for (size_t t = 0; t < NTHREADS; t++)
                threads.emplace_back([&, t] {
                        for (size_t i = t; i < keys.size(); i += NTHREADS)
                                leaders[i] = kc_wd_find_leader(host_slots{ words.data() }, nslots,
                                                               keys.data(), (uint32_t)i,
                                                               hash_of(keys[i], hashing));
                });
        for (std::thread &thread : threads)
                thread.join();
        return leaders;
}

template <class Key>
static void expect_leaders(const std::vector<Key> &keys, uint32_t nslots, enum hashing hashing)
{
        const std::vector<uint32_t> leaders = find_leaders(keys, nslots, hashing);
        size_t nleaders = 0;
        for (size_t i = 0; i < keys.size(); i++) {
                assert_true(leaders[i] < keys.size());
                assert_true(keys[leaders[i]] == keys[i]);
                assert_int_equal(leaders[leaders[i]], leaders[i]);
                nleaders += leaders[i] == i;
        }
        assert_int_equal(nleaders, std::set<Key>(keys.begin(), keys.end()).size());
}

/* Random keys among `ndifferent`, which differ in all bits. */
template <class Key> static void tiles_of(size_t n, uint64_t ndifferent, uint32_t nslots)
{
        uint64_t state = n + ndifferent;
        std::vector<Key> keys;
        for (size_t i = 0; i < n; i++) {
                uint64_t number = next_random(&state) % ndifferent;
                uint64_t low = next_random(&number);
                keys.push_back((Key)((kc_key128)next_random(&number) << 64 | low));
        }
        expect_leaders(keys, nslots, BY_OWNER);
        if (n <= 600) {
                expect_leaders(keys, nslots, ALL_EQUAL);
                expect_leaders(keys, nslots, TAGS_EQUAL);
        }
}

template <class Key> static void tiles_of_type(void)
{
        const uint32_t full = kc_wd_tile<Key>::NKEYS, nslots = kc_wd_leaders_size<Key>::NSLOTS;
        for (uint64_t ndifferent : { (uint64_t)1, (uint64_t)2, (uint64_t)100, (uint64_t)1 << 31 })
                for (uint32_t n : { 0u, 1u, 31u, 33u, 600u, full - 1, full })
                        tiles_of<Key>(n, ndifferent, nslots);
        tiles_of<Key>(511, 300, 512);
}

static void tiles(void **unused)
{
        (void)unused;
        tiles_of_type<uint32_t>();
        tiles_of_type<kc_key64>();
        tiles_of_type<kc_key128>();
}

/* The sample is of every step-th tile, at most KC_WD_SAMPLE_NTILES of them. */
static void samples(void **unused)
{
        (void)unused;
        for (uint64_t n : { 1, 99, 100, 101, 6399, 6400, 6401, 12800, 12801, 1000000 }) {
                const uint32_t step = kc_wd_sample_step(n, 100);
                uint64_t want = 0, ntiles = 0;
                for (uint64_t i = 0; i < n; i++)
                        want += i / 100 % step == 0;
                for (uint64_t i = 0; i < n; i += (uint64_t)100 * step)
                        ntiles++;
                assert_int_equal(kc_wd_sample_nkeys(n, 100, step), want);
                assert_true(ntiles <= KC_WD_SAMPLE_NTILES);
                assert_true(2 * ntiles > KC_WD_SAMPLE_NTILES || step == 1);
        }
        assert_int_equal(kc_wd_sample_step(6400, 100), 1);
        assert_int_equal(kc_wd_sample_step(6401, 100), 2);
}

/* A quarter of the bytes must be saved: of keys with values, that is a quarter of the keys; where
 * only sums have values, more. */
static void costs(void **unused)
{
        const struct {
                struct kc_wd_combining_costs costs;
                bool pays;
        } cases[] = {
                { { 1000, 750, 12, 12 }, true },
                { { 1000, 751, 12, 12 }, false },
                { { 1000, 500, 8, 12 }, true },
                { { 1000, 501, 8, 12 }, false },
                { { (uint64_t)1 << 33, (uint64_t)1 << 33, 20, 20 }, false },
                { { (uint64_t)1 << 33, 1, 20, 20 }, true },
                { { 1, 1, 8, 8 }, false },
        };
        (void)unused;
        for (const auto &one : cases)
                assert_int_equal(kc_wd_combining_pays(&one.costs), one.pays);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(tiles),
                cmocka_unit_test(samples),
                cmocka_unit_test(costs),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
