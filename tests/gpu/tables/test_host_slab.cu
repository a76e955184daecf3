/*
 * The slab hash's layout and arithmetic, on the host: buckets, blank words, how a warp interprets a
 * slab, the allocator's bitmaps.
 */
#include "gpu/tables/slab.cuh"
#include "tests/gpu/support.cuh"

template <class Key> static void check_mixing(void)
{
        uint64_t state = 1;
        for (int i = 0; i < 10000; i++) {
                Key key = i == 0 ? 0 : i == 1 ? (Key) ~(Key)0 : any_key<Key>(&state);
                assert_true(kc_slab_unmix(kc_slab_mix(key)) == key);
                assert_true(kc_slab_mix(kc_slab_unmix(key)) == key);
        }
}

static void test_mixing_is_a_bijection(void **unused)
{
        (void)unused;
#define CHECK(Key) check_mixing<Key>();
        KC_GPU_KEYS(CHECK)
#undef CHECK
}

/* No key of a bucket contains the bucket's blank words, whatever the key's other bits are. */
template <class Key> static void check_blanks(void)
{
        uint64_t state = 2;
        for (int i = 0; i < 100000; i++) {
                Key mixed = any_key<Key>(&state);
                uint32_t bits = kc_slab_layout<Key>::MIN_BUCKET_BITS + (uint32_t)i % 16;
                if (i % 7 == 0) /* only the words' top bits remain */
                        for (uint32_t j = 0; j < 8 * sizeof(Key); j += 32)
                                mixed &= ~((Key)0x7fffffff << j);
                uint32_t bucket = kc_slab_bucket(mixed, bits);
                assert_true(bucket < 1u << bits);
                for (uint32_t j = 0; j < kc_slab_layout<Key>::NWORDS; j++)
                        assert_int_not_equal(kc_slab_word(mixed, j), kc_slab_blank(bucket, j));
        }
}

static void test_no_key_has_blank_words(void **unused)
{
        (void)unused;
#define CHECK(Key) check_blanks<Key>();
        KC_GPU_KEYS(CHECK)
#undef CHECK
}

template <class Key> static void check_buckets(void)
{
        enum : uint32_t {
                LEAST = kc_slab_layout<Key>::MIN_BUCKET_BITS,
                BITS = LEAST < 6 ? 6 : LEAST,
                N = 1000u << BITS
        };
        static uint32_t sizes[1u << BITS];
        memset(sizes, 0, sizeof(sizes));
        for (uint64_t i = 0; i < N; i++) /* consecutive, like k-mers with a common prefix */
                sizes[kc_slab_bucket(kc_slab_mix((Key)i), BITS)]++;
        for (uint32_t size : sizes)
                assert_in_range(size, 600, 1400); /* 1000 on average */
}

static void test_buckets_are_even(void **unused)
{
        (void)unused;
#define CHECK(Key) check_buckets<Key>();
        KC_GPU_KEYS(CHECK)
#undef CHECK
}

static void test_shapes_fit_their_arenas(void **unused)
{
        (void)unused;
        for (size_t nbytes = 160 << 10; nbytes <= 64 << 20; nbytes += 96 << 10) {
                kc_slab_shape shape = kc_slab_shape_of(nbytes);
                size_t nslabs =
                        ((size_t)1 << shape.bucket_bits) + shape.nblocks * KC_SLAB_BLOCK_NSLABS;
                assert_true(nslabs * KC_SLAB_NBYTES <= nbytes);
                assert_true(shape.bucket_bits >= kc_slab_layout<kc_key256>::MIN_BUCKET_BITS);
                assert_in_range(shape.nblocks, 1, KC_SLAB_MAX_BLOCKS);
                assert_int_equal(shape.nblocks & (shape.nblocks - 1), 0);
        }
        assert_int_equal(kc_slab_shape_of(160 << 10).bucket_bits, 8);
        assert_int_equal(kc_slab_shape_of(256 << 10).bucket_bits, 10);
        assert_int_equal(kc_slab_shape_of(256 << 10).nblocks, 1);
        assert_int_equal(kc_slab_shape_of(512 << 10).nblocks, 2);
}

/* The host reserves enough for what the device uses: a row for every thread, and the bitmaps. */
static void test_shared_memory(void **unused)
{
        kc_table_setup setup = {};
        (void)unused;
#define CHECK(Key) \
        assert_true(kc_slab<Key>::shared_nbytes(setup) >= \
                    kc_slab<Key>::MAX_THREADS * (sizeof(Key) + 8) + \
                            sizeof(struct kc_slab_alloc_shared));
        KC_GPU_KEYS(CHECK)
#undef CHECK
}

/* ---- a slab as a warp sees it, with ballots computed on the host */

template <class Key> struct host_slab {
        uint32_t words[KC_SLAB_NWORDS];
        uint32_t bucket;
};

template <class Key> static void make_fresh(host_slab<Key> *slab, uint32_t bucket)
{
        slab->bucket = bucket;
        for (uint32_t i = 0; i < KC_SLAB_NWORDS; i++)
                slab->words[i] = kc_slab_fresh<Key>(bucket, i);
}

template <class Key>
static void put_word(host_slab<Key> *slab, uint32_t place, Key mixed, uint32_t word)
{
        slab->words[word * kc_slab_layout<Key>::NPLACES + place] = kc_slab_word(mixed, word);
}

struct sight {
        uint32_t match, pending, used;
};

template <class Key> static sight look(const host_slab<Key> *slab, Key mixed)
{
        uint32_t equal = 0, blank = 0, nonzero = 0;
        for (uint32_t lane = 0; lane < KC_SLAB_NWORDS; lane++) {
                uint32_t word = lane / kc_slab_layout<Key>::NPLACES, data = slab->words[lane];
                equal |= (uint32_t)(data == kc_slab_word(mixed, word)) << lane;
                blank |= (uint32_t)(data == kc_slab_blank(slab->bucket, word)) << lane;
                nonzero |= (uint32_t)(data != 0) << lane;
        }
        uint32_t used = kc_slab_used<Key>(nonzero);
        return { kc_slab_all_words<Key>(equal), kc_slab_pending<Key>(equal | blank, used), used };
}

/* A key's words become visible in any order: the key is pending until all are visible, and no other
 * key is found in the meantime. */
template <class Key> static void check_visible_words(void)
{
        enum : uint32_t { BITS = 8, NWORDS = kc_slab_layout<Key>::NWORDS };
        uint64_t state = 3;
        host_slab<Key> slab;
        Key key = kc_slab_mix(any_key<Key>(&state));
        uint32_t bucket = kc_slab_bucket(key, BITS);
        Key same_words = key ^ 1, other = key ^ (Key)2 << (8 * sizeof(Key) - 32);
        assert_int_equal(kc_slab_bucket(same_words, BITS), bucket);
        assert_int_equal(kc_slab_bucket(other, BITS), bucket);
        for (uint32_t place = 0; place < kc_slab_layout<Key>::NPLACES; place++) {
                for (uint32_t seen = 0; seen < 1u << NWORDS; seen++) {
                        bool all = seen == (1u << NWORDS) - 1;
                        make_fresh(&slab, bucket);
                        sight before = look(&slab, key);
                        assert_int_equal(before.match | before.pending | before.used, 0);
                        slab.words[kc_slab_layout<Key>::COUNTS + place] = 7;
                        for (uint32_t i = 0; i < NWORDS; i++)
                                if (seen >> i & 1)
                                        put_word(&slab, place, key, i);
                        sight own = look(&slab, key);
                        assert_int_equal(own.used, 1u << place);
                        assert_int_equal(own.match, all ? 1u << place : 0);
                        assert_int_equal(own.pending, 1u << place);
                        sight low = look(&slab, same_words), high = look(&slab, other);
                        assert_int_equal(low.match | high.match, 0);
                        assert_int_equal(low.pending, seen & 1 ? 0 : 1u << place);
                        assert_int_equal(high.pending, seen >> (NWORDS - 1) ? 0 : 1u << place);
                }
        }
}

static void test_sights(void **unused)
{
        (void)unused;
#define CHECK(Key) check_visible_words<Key>();
        KC_GPU_KEYS(CHECK)
#undef CHECK
}

template <class Key> static void check_layout(void)
{
        typedef kc_slab_layout<Key> layout;
        uint32_t places = 0;
        host_slab<Key> slab;
        make_fresh(&slab, 5);
        assert_int_equal(slab.words[layout::NEXT], KC_SLAB_NONE);
        assert_true(layout::COUNTS + layout::NPLACES <= layout::NEXT);
        for (uint32_t i = 0; i < layout::NPLACES; i++) {
                assert_int_equal(kc_slab_first_free(places), i);
                places |= 1u << i;
        }
        assert_int_equal(places, layout::PLACES);
}

static void test_layout(void **unused)
{
        (void)unused;
#define CHECK(Key) check_layout<Key>();
        KC_GPU_KEYS(CHECK)
#undef CHECK
        assert_int_equal(kc_slab_layout<kc_key64>::NPLACES, 10);
        assert_int_equal(kc_slab_layout<kc_key128>::NPLACES, 6);
        assert_int_equal(kc_slab_layout<kc_key192>::NPLACES, 4);
        assert_int_equal(kc_slab_layout<kc_key256>::NPLACES, 3);
}

/* ---- the allocator */

static void test_first_free(void **unused)
{
        (void)unused;
        assert_int_equal(kc_slab_first_free(0), 0);
        assert_int_equal(kc_slab_first_free(1), 1);
        assert_int_equal(kc_slab_first_free(0x7fffffff), 31);
        assert_int_equal(kc_slab_first_free(0xfffffffe), 0);
        assert_int_equal(kc_slab_first_free(UINT32_MAX), 32);
}

static void test_changes_lead_through_all_memory_blocks(void **unused)
{
        (void)unused;
        for (uint32_t nblocks = 1; nblocks <= KC_SLAB_MAX_BLOCKS; nblocks *= 2) {
                uint32_t first = 0;
                for (uint32_t warp = 0; warp < 32; warp++) {
                        uint32_t visited = 0;
                        for (uint32_t changes = 5; changes < 5 + nblocks; changes++)
                                visited |= 1u << kc_slab_resident(warp, changes, nblocks);
                        assert_int_equal(visited, (1u << nblocks) - 1);
                        first |= 1u << kc_slab_resident(warp, 0, nblocks);
                }
                if (nblocks <= 4) /* warps begin in different blocks */
                        assert_int_equal(first, (1u << nblocks) - 1);
        }
}

static void test_addresses(void **unused)
{
        (void)unused;
        assert_int_equal(kc_slab_address(0, 0), 0);
        assert_int_equal(kc_slab_address(0, 1023), 1023);
        assert_int_equal(kc_slab_address(1, 0), 1024);
        assert_int_equal(kc_slab_address(15, 1023), 16383);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_mixing_is_a_bijection),
                cmocka_unit_test(test_no_key_has_blank_words),
                cmocka_unit_test(test_buckets_are_even),
                cmocka_unit_test(test_shapes_fit_their_arenas),
                cmocka_unit_test(test_shared_memory),
                cmocka_unit_test(test_sights),
                cmocka_unit_test(test_layout),
                cmocka_unit_test(test_first_free),
                cmocka_unit_test(test_changes_lead_through_all_memory_blocks),
                cmocka_unit_test(test_addresses),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
