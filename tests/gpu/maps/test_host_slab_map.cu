/*
 * The slab hash's and SlabAlloc's arithmetic, on the host: where keys go, places in slabs,
 * addresses, and the memory blocks of warps.
 */
#include "tests/gpu/maps/slab_support.cuh"

#include <set>

template <class Key> static std::vector<Key> some_keys(void)
{
        std::vector<Key> keys;
        uint64_t state = 1;
        for (int i = 0; i < 20000; i++)
                keys.push_back(i < 64    ? (Key)((Key)i - 32)
                               : i < 128 ? kc_slab_unmix((Key)(i - 96))
                               : i < 192 ? (Key)((Key)1 << (i % (8 * sizeof(Key))))
                                         : random_key<Key>(&state));
        return keys;
}

template <class Key> static void check_homes(void)
{
        for (uint32_t nlists : { 2u, 3u, 7u, 1000u, 1u << 20, (1u << 31) - 1, 1u << 31 })
                for (uint64_t seed : { (uint64_t)0, UINT64_C(0x123456789abcdef0), UINT64_MAX })
                        for (Key key : some_keys<Key>()) {
                                struct kc_slab_home<Key> home =
                                        kc_slab_map_home((Key)(key ^ (Key)seed), nlists, seed);
                                assert_true(home.list < nlists);
                                assert_true(home.stored > KC_SLAB_DELETED);
                                assert_true((Key)(key ^ (Key)seed) ==
                                            kc_slab_map_key(home.list, home.stored, seed));
                        }
}

/* Not even keys that are mixed to 0 or 1 or to their complements. */
static void test_no_key_is_stored_as_empty_or_deleted(void **unused)
{
        (void)unused;
        check_homes<uint32_t>();
        check_homes<kc_key64>();
}

static void test_mixing_is_a_bijection(void **unused)
{
        (void)unused;
        for (uint32_t key : some_keys<uint32_t>()) {
                assert_int_equal(kc_slab_unmix(kc_slab_mix(key)), key);
                assert_int_equal(kc_slab_mix(kc_slab_unmix(key)), key);
        }
}

template <class Key> static void check_lists(void)
{
        enum { NLISTS = 100, N = 100000 };
        for (Key step : { (Key)1, (Key)64, (Key)1 << (4 * sizeof(Key)) }) {
                std::vector<uint32_t> sizes(NLISTS, 0);
                for (uint32_t i = 0; i < N; i++)
                        sizes[kc_slab_map_home((Key)(i * step), NLISTS, 5).list]++;
                if ((uint64_t)N * (uint64_t)step <= (uint64_t)(Key) ~(Key)0)
                        for (uint32_t size : sizes)
                                assert_in_range(size, 600, 1400);
        }
}

static void test_lists_are_even(void **unused)
{
        (void)unused;
        check_lists<uint32_t>();
        check_lists<kc_key64>();
}

/* Every place has its own bytes, before the values and the link. */
template <class Layout, uint32_t NLANES> static void check_places(void)
{
        typedef kc_slab_places<Layout, NLANES> places;
        std::set<uint32_t> seen;
        std::vector<uint32_t> in_order;
        for (uint32_t lane = 0; lane < NLANES; lane++)
                for (uint32_t i = 0; i < places::NELEMENTS; i++) {
                        uint32_t byte = places::byte(lane, i);
                        assert_true(byte + sizeof(typename Layout::word) <= KC_SLAB_NBYTES);
                        assert_int_equal(byte % sizeof(typename Layout::word), 0);
                        assert_int_equal(byte / 16 % NLANES, lane);
                        assert_int_equal(places::valid(lane) >> i & 1,
                                         places::number(lane, i) < Layout::NPLACES);
                        if (places::valid(lane) >> i & 1) {
                                assert_true(seen.insert(byte).second);
                                in_order.push_back(byte);
                        }
                }
        uint32_t end = Layout::APART ? (uint32_t)KC_SLAB_VALUES_BYTE : KC_SLAB_NEXT_BYTE - 4;
        assert_int_equal(seen.size(), Layout::NPLACES);
        assert_true(*seen.rbegin() + sizeof(typename Layout::word) <= end);
        for (uint32_t i = 0; i < Layout::NPLACES; i++)
                assert_int_equal(places::byte_of_place(i), in_order[i]);
        assert_true(!Layout::APART ||
                    KC_SLAB_VALUES_BYTE + 4 * Layout::NPLACES <= KC_SLAB_NEXT_BYTE - 4);
}

static void test_places(void **unused)
{
        (void)unused;
        check_places<kc_slab_key32, 8>();
        check_places<kc_slab_key32, 4>();
        check_places<kc_slab_pair32, 8>();
        check_places<kc_slab_pair32, 4>();
        check_places<kc_slab_key64, 8>();
        check_places<kc_slab_key64, 4>();
        check_places<kc_slab_pair64, 8>();
        check_places<kc_slab_pair64, 4>();
}

static void test_packing(void **unused)
{
        (void)unused;
        uint64_t word = kc_slab_pair32::pack(0x12345678, 0x9abcdef0);
        assert_int_equal(kc_slab_pair32::key_of(word), 0x12345678);
        assert_int_equal(kc_slab_pair32::value_of(word), 0x9abcdef0);
        assert_int_equal(word >> 32, 0x9abcdef0);
}

/* Super blocks of any number of memory blocks; the last slab ends where the bitmaps begin. */
static void test_addresses(void **unused)
{
        (void)unused;
        assert_int_equal(kc_slab_pool_address(255, 16383, 1023), UINT32_MAX);
        assert_int_equal(kc_slab_pool_address(0, 0, 0), 0);
        assert_int_equal(kc_slab_unit_of(kc_slab_pool_address(3, 2, 1)), 2049);
        for (uint32_t nblocks : { 1u, 256u, 16384u }) {
                assert_int_equal(kc_slab_bitmap_offset(nblocks, 0), (size_t)nblocks * 1024 * 128);
                assert_int_equal(kc_slab_bitmap_offset(nblocks, nblocks),
                                 kc_slab_super_nbytes(nblocks));
        }
}

/* As many changes as there are memory blocks lead through all of them. */
static void test_residence(void **unused)
{
        (void)unused;
        for (uint32_t ntotal : { 1, 2, 3, 6, 255, 256, 1000, 4194304 })
                for (uint32_t warp : { 0, 1, 77777 }) {
                        std::vector<bool> seen(ntotal, false);
                        uint32_t first = warp * 1000;
                        for (uint32_t i = 0; i < ntotal; i++)
                                seen[kc_slab_pool_resident(warp, warp % 7, first + i, ntotal)] =
                                        true;
                        assert_true(std::find(seen.begin(), seen.end(), false) == seen.end());
                }
}

/* Warps begin all over the pool, and at other blocks in the next launch. */
static void test_residence_is_spread(void **unused)
{
        (void)unused;
        enum { NTOTAL = 64, NWARPS = 6400 };
        unsigned same = 0;
        std::vector<uint32_t> sizes(NTOTAL, 0);
        for (uint32_t warp = 0; warp < NWARPS; warp++) {
                sizes[kc_slab_pool_resident(warp, 3, 0, NTOTAL)]++;
                same += kc_slab_pool_resident(warp, 3, 0, NTOTAL) ==
                        kc_slab_pool_resident(warp, 4, 0, NTOTAL);
        }
        for (uint32_t size : sizes)
                assert_in_range(size, 50, 160); /* 100 on average */
        assert_in_range(same, 0, NWARPS / 16);
}

static void test_bits(void **unused)
{
        (void)unused;
        assert_int_equal(kc_slab_nth_bit(1, 0), 0);
        assert_int_equal(kc_slab_nth_bit(0x80000001, 1), 31);
        assert_int_equal(kc_slab_nth_bit(UINT32_MAX, 31), 31);
        assert_int_equal(kc_slab_nth_bit(0x10f0, 3), 7);
        assert_int_equal(kc_slab_nth_bit(0x10f0, 4), 12);
}

static void test_lists_for_a_load(void **unused)
{
        (void)unused;
        assert_int_equal(kc_slab_nlists<kc_slab_pair32>(15000, 1.0), 1000);
        assert_int_equal(kc_slab_nlists<kc_slab_key32>(15000, 0.5), 1000);
        assert_int_equal(kc_slab_nlists<kc_slab_pair32>(0, 0.7), 2);
        assert_int_equal(kc_slab_nlists<kc_slab_pair32>((uint64_t)1 << 40, 0.1), INT32_MAX);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_no_key_is_stored_as_empty_or_deleted),
                cmocka_unit_test(test_mixing_is_a_bijection),
                cmocka_unit_test(test_lists_are_even),
                cmocka_unit_test(test_places),
                cmocka_unit_test(test_packing),
                cmocka_unit_test(test_addresses),
                cmocka_unit_test(test_residence),
                cmocka_unit_test(test_residence_is_spread),
                cmocka_unit_test(test_bits),
                cmocka_unit_test(test_lists_for_a_load),
        };
        cmocka_set_test_filter(getenv("KC_TEST"));
        return cmocka_run_group_tests(tests, NULL, NULL);
}
