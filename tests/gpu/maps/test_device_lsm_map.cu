/*
 * The LSM dictionary, compared with std::map: histories of mixed batches, with all queries in
 * between; sizes around those of nodes, tiles, warps and chunks; many elements with one key; memory
 * that runs out.
 */
#include "gpu/runs/merge_tile.cuh"
#include "tests/gpu/maps/lsm_map_support.cuh"

/* ---- tests */

/* Batches of up to b keys, which repeat within and among batches; occasionally a cleanup. */
template <class Word>
static void try_history(size_t b, uint64_t nkeys, int nbatches, unsigned deletions_in_8,
                        uint64_t *state)
{
        struct subject<Word> s(b, 0);
        for (int i = 0; i < nbatches; i++) {
                size_t n = next_random(state) % 3 == 0 ? 1 + next_random(state) % b : b;
                s.update(random_batch<Word>(n, nkeys, deletions_in_8, state));
                if (i % 5 == 4 || i < 2)
                        expect_all(&s, nkeys, 40, state);
                if (i % 9 == 8) {
                        s.cleanup();
                        expect_all(&s, nkeys, 40, state);
                }
        }
        s.cleanup();
        s.cleanup();
        expect_all(&s, nkeys, 40, state);
}

template <class Word> static void try_histories(uint64_t seed)
{
        const size_t tile = kc_merge_shape<Word>::LENGTH;
        const size_t sizes[] = { 1,  2,   7,   8,   9,    31,       32,   33,
                                 64, 255, 256, 257, 1000, tile - 1, tile, tile + 1 };
        uint64_t state = seed;
        size_t number = 0;
        for (size_t b : sizes)
                for (uint64_t nkeys : { b / 4 + 3, 4 * b + 40 })
                        if (test_takes(number++, 4))
                                try_history<Word>(b, nkeys, b < 300 ? 30 : 12,
                                                  (unsigned)(number % 5), &state);
        if (!test_small())
                try_history<Word>(100000, 300000, 20, 2, &state);
}

static void test_histories_pairs(void **)
{
        try_histories<uint32_t>(1);
}

static void test_histories_counts(void **)
{
        try_histories<kc_key64>(2);
}

static void test_histories_wide_counts(void **)
{
        try_histories<kc_key128>(3);
}

/* Queries of an empty dictionary, and empty batches and queries. */
template <class Word> static void try_empty(void)
{
        uint64_t state = 4;
        struct kc_error err = {};
        struct subject<Word> s(10, 0);
        expect_all(&s, 20, 10, &state);
        s.update({});
        s.build({});
        s.cleanup();
        expect_found(&s, {});
        expect_ranges(&s, {});
        s.update({ { 5, 1, true } });
        expect_all(&s, 20, 10, &state);
        s.cleanup(); /* it held only a tombstone */
        assert_int_equal(kc_lsm_nelements(s.map), 0);
        array<Word> key(std::vector<Word>{ 5 });
        array<uint32_t> value(1);
        expect_ok(kc_lsm_find(s.map, key.at, value.at, 1, &err), &err);
        check(cudaStreamSynchronize(s.gpu.stream));
        assert_int_equal(value.host()[0], 0);
}

static void test_empty(void **)
{
        try_empty<uint32_t>();
        try_empty<kc_key64>();
        try_empty<kc_key128>();
}

/* The paper's rules 3 to 6, one by one. */
template <class Word> static void try_rules(void)
{
        uint64_t state = 5;
        struct subject<Word> s(4, 0);
        const Word k = 7, m = kind<Word>::MAX_KEY;
        s.update({ { k, 1, false }, { m, 2, false } });
        s.update({ { k, 10, false } }); /* later values replace earlier ones, or are added */
        expect_all(&s, 10, 4, &state);
        s.update({ { k, 3, false }, { k, 4, false }, { k, 5, false } });
        expect_all(&s, 10, 4, &state);
        s.update({ { k, 0, true }, { k, 0, true }, { m, 9, false } });
        expect_all(&s, 10, 4, &state);
        expect_found(&s, { k, m, 0, 6, 8 });
        s.update({ { k, 8, false }, { k, 8, true }, { 6, 1, false } });
        expect_found(&s, { k, 6 });
        s.update({ { k, 11, false } });
        expect_found(&s, { k, 6, m });
        s.cleanup();
        expect_all(&s, 10, 4, &state);
        s.update({ { m, 1, true } }); /* the batch is filled up with placebos of this key */
        expect_found(&s, { k, 6, m });
        s.update({ { m, 12, false } });
        s.cleanup();
        expect_found(&s, { k, 6, m });
        expect_all(&s, 10, 4, &state);
}

static void test_rules(void **)
{
        try_rules<uint32_t>();
        try_rules<kc_key64>();
        try_rules<kc_key128>();
}

/* Many levels of only one or two keys: more elements than a warp handles at a time. */
template <class Word> static void try_one_key(Word key)
{
        uint64_t state = 6;
        struct subject<Word> s(300, 0);
        for (int i = 0; i < 13; i++) {
                batch<Word> batch;
                for (uint32_t k = 0; k < 300; k++)
                        batch.push_back({ k % 150 == 149 ? (Word)(key ^ 1) : key,
                                          1000 * (uint32_t)i + k + 1, false });
                if (i == 5)
                        batch[17].deletes = true;
                s.update(batch);
                if (i % 4 == 3 || i == 5)
                        expect_all(&s, 10, 4, &state);
                expect_found(&s, { key, (Word)(key ^ 1) });
        }
        expect_ranges(&s, { { key, key }, { 0, key }, { key, kind<Word>::MAX_KEY } });
        s.cleanup();
        expect_found(&s, { key, (Word)(key ^ 1) });
        s.update({ { key, 4, true } });
        expect_ranges(&s, { { key, key }, { 0, key }, { key, kind<Word>::MAX_KEY } });
}

static void test_one_key(void **)
{
        try_one_key<uint32_t>(0);
        try_one_key<uint32_t>(KC_LSM_MAX_KEY32);
        try_one_key<uint32_t>(12345);
        try_one_key<kc_key64>(0);
        try_one_key<kc_key64>(UINT64_MAX);
        try_one_key<kc_key128>(kind<kc_key128>::MAX_KEY);
}

/* Many tombstones of one key, each in a separate batch. */
template <class Word> static void try_tombstones(void)
{
        struct subject<Word> s(1, 0);
        for (uint32_t i = 0; i < 1500; i++)
                s.update({ { 9, i % 300 + 1, i % 350 == 2 } });
        expect_found(&s, { 8, 9, 10 });
        expect_ranges(&s, { { 9, 9 }, { 0, 8 }, { 0, 9 }, { 10, 11 }, { 9, 11 } });
        s.update({ { 9, 1, true } });
        expect_found(&s, { 9 });
        expect_ranges(&s, { { 9, 9 } });
        s.cleanup();
}

static void test_tombstones(void **)
{
        try_tombstones<uint32_t>();
        try_tombstones<kc_key64>();
}

/* Bulk builds with sizes around those of levels; afterwards, everything works as usual. */
template <class Word> static void try_build(size_t b, size_t n)
{
        uint64_t state = n;
        struct kc_error err = {};
        struct subject<Word> s(b, 0);
        s.build(random_batch<Word>(n, 2 * n, 1, &state));
        expect_all(&s, 2 * n, 20, &state);
        if (s.map->nbatches > 0)
                assert_int_equal(s.feed({ { 1, 1, false } }, true, &err), KC_EUSAGE);
        s.update(random_batch<Word>(b, 2 * n, 3, &state));
        s.update(random_batch<Word>(b, 2 * n, 3, &state));
        expect_all(&s, 2 * n, 20, &state);
        s.cleanup();
        expect_all(&s, 2 * n, 20, &state);
}

static void test_build(void **)
{
        for (size_t n : { 1, 31, 32, 33, 95, 96, 97, 1000, 5000 }) {
                try_build<uint32_t>(32, n);
                if (n % 2 == 0)
                        try_build<kc_key64>(32, n);
        }
        try_build<kc_key128>(33, 500);
        if (!test_small())
                try_build<uint32_t>(5000, 1 << 20);
}

/* Ranges with lengths around those of a warp and of a chunk, over one level and over several. */
template <class Word> static void try_lengths(int nbatches)
{
        const Word lengths[] = { 1,   2,   30,   31,   32,   33,   34,   63,   64,  127,
                                 128, 129, 255,  256,  257,  479,  480,  481,  511, 512,
                                 513, 514, 1023, 1024, 1025, 1119, 1120, 1121, 3000 };
        struct subject<Word> s(1000, 0);
        std::vector<interval<Word>> intervals;
        for (int i = 0; i < nbatches; i++) {
                batch<Word> batch;
                for (uint32_t k = 0; k < 1000; k++)
                        batch.push_back({ (Word)(k * (uint32_t)nbatches + (uint32_t)i), k + 1,
                                          k % 50 == 7 });
                s.update(batch);
        }
        for (Word length : lengths)
                for (Word from : { 0, 1, 500, 977 })
                        intervals.push_back({ from, (Word)(from + length - 1) });
        expect_ranges(&s, intervals);
}

static void test_lengths(void **)
{
        for (int nbatches : { 1, 2, 3, 7, 8 }) {
                try_lengths<uint32_t>(nbatches);
                if (test_takes((size_t)nbatches, 3))
                        try_lengths<kc_key64>(nbatches);
                if (test_takes((size_t)nbatches, 2))
                        try_lengths<kc_key128>(nbatches);
        }
}

/* Batches with lengths around those of a tile and of all tiles at once, with many keys, few or one.
 */
template <class Word> static void try_batches(size_t n, uint64_t nkeys)
{
        uint64_t state = n + nkeys;
        struct subject<Word> s(n, 0);
        for (size_t i = 0; i < 3; i++)
                s.update(random_batch<Word>(n - i % 2, nkeys, 1, &state));
        expect_all(&s, nkeys, 20, &state);
        s.cleanup();
        expect_all(&s, nkeys, 20, &state);
}

static void test_batches(void **)
{
        const size_t sizes[] = {
                2047, 2048, 2049, 4097, 8192, 8193, 65537, 262144, 600000, 1100000
        };
        for (size_t n : sizes) {
                if (test_small() && n > 8193)
                        break;
                try_batches<uint32_t>(n, 4 * n);
                if (test_small())
                        continue;
                try_batches<uint32_t>(n, 100);
                if (n > 300000)
                        continue;
                try_batches<uint32_t>(n, 1);
                try_batches<kc_key64>(n, n);
                try_batches<kc_key128>(n, 5000);
        }
}

/* Keys of only a few bits, like those of short k-mers. */
template <class Word> static void try_short_keys(int key_nbits)
{
        uint64_t state = 9;
        struct subject<Word> s(100, 0, key_nbits);
        std::vector<Word> keys;
        const uint64_t nkeys = UINT64_C(1) << key_nbits;
        for (uint64_t i = 0; i < std::min(nkeys + 9, (uint64_t)1500); i++)
                keys.push_back((Word)i);
        for (int i = 0; i < 10; i++) {
                batch<Word> batch;
                for (uint32_t k = 0; k < 100; k++)
                        batch.push_back({ (Word)(next_random(&state) % nkeys), k + 1, k % 9 == 4 });
                s.update(batch);
                if (i == 8)
                        s.cleanup();
                expect_found(&s, keys);
                expect_ranges(&s,
                              { { 0, (Word)(nkeys - 1) }, { 1, 1 }, { 0, kind<Word>::MAX_KEY } });
        }
}

static void test_short_keys(void **)
{
        for (int key_nbits : { 1, 2, 10, 15, 16, 17 }) {
                try_short_keys<uint32_t>(key_nbits);
                try_short_keys<kc_key64>(key_nbits);
        }
        try_short_keys<kc_key64>(42);
        try_short_keys<kc_key128>(62);
}

/* More queries than are processed at a time. */
static void test_many_queries(void **)
{
        uint64_t state = 7;
        struct subject<uint32_t> s(1000, 0);
        for (int i = 0; i < 3; i++)
                s.update(random_batch<uint32_t>(1000, 5000, 1, &state));
        size_t n = test_small() ? 1000 : (1 << 20) + 333;
        expect_ranges(&s, intervals_to_ask<uint32_t>(100000, n, &state));
}

/* If memory runs out, the dictionary is unchanged, and can go on when there is memory again. */
template <class Word> static void try_scarcity(void)
{
        enum { B = 2000 };
        uint64_t state = 8;
        struct kc_error err = {};
        struct subject<Word> s(B, (size_t)2 << 20);
        void *hog;
        int nbatches = 0;
        enum kc_status status = KC_OK;
        for (size_t left : { 400000, 250000, 100000, 20000, 100 }) {
                size_t nbytes = kc_gpu_room(&s.gpu) > left ? kc_gpu_room(&s.gpu) - left : 0;
                expect_ok(kc_gpu_alloc(&s.gpu, &hog, nbytes, &err), &err);
                for (status = KC_OK; status == KC_OK && nbatches < 60; nbatches++) {
                        batch<Word> batch = random_batch<Word>(B, 3 * B, 1, &state);
                        err = {};
                        status = s.feed(batch, false, &err);
                        if (status == KC_OK)
                                s.model.update(batch);
                }
                assert_int_equal(status, KC_ENOMEM);
                err = {};
                status = kc_lsm_cleanup(s.map, &err);
                assert_true(status == KC_OK || status == KC_ENOMEM);
                err = {};
                kc_gpu_release(&s.gpu, hog, nbytes);
                expect_found(&s, keys_to_look_up<Word>(3 * B, &state));
        }
        s.cleanup();
        s.update(random_batch<Word>(B, 3 * B, 1, &state));
        expect_found(&s, keys_to_look_up<Word>(3 * B, &state));
}

static void test_scarcity(void **)
{
        try_scarcity<uint32_t>();
        try_scarcity<kc_key64>();
}

static void test_wrong_use(void **)
{
        struct kc_gpu gpu = open_gpu(0);
        struct kc_lsm_map<uint32_t> *map;
        struct kc_error err = {};
        const struct kc_lsm_options wrong[] = {
                { 0, 31 }, { 8, 32 }, { 8, -1 }, { UINT64_C(1) << 32, 31 }
        };
        const struct kc_lsm_options options = { 8, 31 };
        for (const struct kc_lsm_options &one : wrong) {
                assert_int_equal(kc_lsm_new(&map, &gpu, &one, gpu.stream, &err), KC_EUSAGE);
                assert_null(map);
        }
        err = {};
        expect_ok(kc_lsm_new(&map, &gpu, &options, gpu.stream, &err), &err);
        array<uint32_t> nine(9);
        assert_int_equal(kc_lsm_update(map, nine.at, nine.at, 9, &err), KC_EUSAGE);
        assert_int_equal(map->nbatches, 0);
        kc_lsm_free(map);
        kc_lsm_free((struct kc_lsm_map<uint32_t> *)NULL);
        close_gpu(&gpu);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_empty),
                cmocka_unit_test(test_rules),
                cmocka_unit_test(test_build),
                cmocka_unit_test(test_lengths),
                cmocka_unit_test(test_one_key),
                cmocka_unit_test(test_tombstones),
                cmocka_unit_test(test_histories_pairs),
                cmocka_unit_test(test_histories_counts),
                cmocka_unit_test(test_histories_wide_counts),
                cmocka_unit_test(test_batches),
                cmocka_unit_test(test_short_keys),
                cmocka_unit_test(test_many_queries),
                cmocka_unit_test(test_scarcity),
                cmocka_unit_test(test_wrong_use),
        };
        need_device();
        cmocka_set_test_filter(getenv("KC_TEST"));
        return cmocka_run_group_tests(tests, NULL, NULL);
}
