/*
 * The WarpDrive map over several members: all ways of transposing and shares of members, keys on
 * the host, and too little memory.
 */
#include "tests/gpu/maps/warpdrive_several_support.cuh"

#include "gpu/maps/warpdrive/cascade.cuh"
#include "gpu/maps/warpdrive/tile.cuh"

#include <cmath>

/* All operations, with distributions that are equal, skewed and as skewed as can be. */
template <class Layout> static void operations(int nmembers, enum way way, int part_bits)
{
        setting<Layout> t;
        const size_t n = test_size(1 << 14) + 7;
        struct kc_wd_options options = options_of(2 * n, 0);
        options.part_bits = part_bits;
        open_setting(&t, nmembers, way, &options);
        std::vector<typename Layout::key> keys = different_keys<Layout>(n, 11), few, one;
        few.assign(keys.begin() + (ptrdiff_t)keys.size() / 2, keys.end());
        one.assign(n / 2, keys[3]);
        insert(&t, keys, some_values(keys.size(), 12));
        add(&t, zipf_draws(few, n, 13), {});
        add(&t, uniform_draws(few, n, 14), some_values(n, 15));
        add(&t, one, {});
        expect_same(&t);
        expect_retrieved(&t, keys);
        expect_retrieved(&t, one);
        expect_retrieved(&t, some_keys<Layout>(n, 16));
        erase(&t, few);
        expect_same(&t);
        expect_retrieved(&t, keys);
        close_setting(&t);
}

static void all_ways(void **state)
{
        (void)state;
        for (int nmembers : { 1, 2, 3, 4, 8 })
                for (enum way way : { WRITTEN, COPIED, STAGED })
                        operations<kc_wd_near64>(nmembers, way, nmembers == 3 ? 3 : 0);
}

/* As many members as there can be, and full tiles, so that the gaps between the parts of a tile
 * take the most memory. */
template <class Layout> static void full_tiles(uint64_t seed)
{
        setting<Layout> t;
        const size_t n = 17 * (size_t)kc_wd_tile<typename Layout::key>::NKEYS;
        const struct kc_wd_options options = options_of(2 * n, 0);
        open_setting(&t, KC_GPU_MAX_DEVICES, WRITTEN, &options);
        const std::vector<typename Layout::key> keys = different_keys<Layout>(n, seed);
        insert(&t, keys, some_values(n, seed + 1));
        expect_retrieved(&t, keys);
        close_setting(&t);
}

static void full_tiles_of_many_members(void **state)
{
        (void)state;
        full_tiles<kc_wd_near64>(41);
        full_tiles<kc_wd_apart128>(43);
}

static void all_layouts(void **state)
{
        (void)state;
        for (enum way way : { WRITTEN, STAGED }) {
                operations<kc_wd_pair32>(3, way, 0);
                operations<kc_wd_words>(3, way, 2);
                operations<kc_wd_apart64>(3, way, 2);
                operations<kc_wd_apart128>(3, way, 0);
        }
}

/* Batches that go through the parts of the owners' maps: from one stretch of parts to several, with
 * one bit for each pass, and with more for the second. */
static void by_parts(void **state)
{
        (void)state;
        for (enum way way : { PARTS, STAGED }) {
                operations<kc_wd_near64>(2, way, 1);
                operations<kc_wd_apart64>(2, way, 7);
                operations<kc_wd_near64>(5, way, 4);
                operations<kc_wd_pair32>(8, way, 3);
                operations<kc_wd_apart128>(3, way, 3);
                operations<kc_wd_words>(2, way, 5);
        }
}

typedef kc_wd_near64 layout;
typedef layout::key key;

/* Some parts overflow: their owners rebuild their maps, and then no batch goes through the parts of
 * all, until the others are rebuilt, too. */
static void parts_overflow(void **state)
{
        uint64_t nrebuilds = 0;
        (void)state;
        for (uint64_t i = 0; i < 4; i++) {
                setting<layout> t;
                struct kc_wd_options options = options_of(3 * 8 * 160, 1);
                options.part_bits = 3;
                options.max_rebuilds = 20;
                open_setting(&t, 3, PARTS, &options);
                const double part = (double)t.several->maps[0]->nslots / 8;
                const size_t n = (size_t)(3 * 8 * (part - 1.9 * std::sqrt(part)));
                const std::vector<key> keys = different_keys<layout>(n, 91 + i);
                insert(&t, keys, some_values(n, 92));
                expect_same(&t);
                expect_retrieved(&t, keys);
                for (const auto *map : t.several->maps)
                        nrebuilds += map == NULL ? 0 : map->nrebuilds;
                close_setting(&t);
        }
        assert_true(nrebuilds > 0);
}

static void empty_batches(void **state)
{
        setting<layout> t;
        struct kc_wd_options options = options_of(100, 0);
        (void)state;
        open_setting(&t, 3, WRITTEN, &options);
        for (size_t n : { 0, 1, 2 }) {
                insert(&t, different_keys<layout>(n, 21 + n), some_values(n, 22));
                expect_same(&t);
                expect_retrieved(&t, different_keys<layout>(n, 21 + n));
                erase(&t, different_keys<layout>(n, 23));
        }
        expect_same(&t);
        close_setting(&t);
}

/* A batch in many slices, and sizes around those of warps and tiles. */
static void sizes(void **state)
{
        (void)state;
        for (enum way way : { WRITTEN, STAGED }) {
                setting<layout> t;
                struct kc_wd_options options = options_of(1 << 16, 0);
                open_setting(&t, 2, way, &options);
                for (size_t n : { 31, 32, 33, 8191, 8192, 8193, 16385 }) {
                        std::vector<key> keys = different_keys<layout>(n, n);
                        insert(&t, keys, some_values(n, n));
                        expect_retrieved(&t, keys);
                }
                t.several->most_nkeys = 700;
                std::vector<key> keys = different_keys<layout>(5000, 31);
                insert(&t, keys, some_values(keys.size(), 32));
                add(&t, zipf_draws(keys, 5000, 33), {});
                expect_retrieved(&t, keys);
                erase(&t, { keys.begin(), keys.begin() + 3000 });
                expect_same(&t);
                close_setting(&t);
        }
}

/* A copy in pinned memory, which copies use while the host goes on; to be freed with
 * cudaFreeHost. */
template <class T> static T *pin(const std::vector<T> &values)
{
        T *pinned;
        expect_ok(KC_CUDA(cudaMallocHost((void **)&pinned, values.size() * sizeof(T))), err);
        std::copy(values.begin(), values.end(), pinned);
        return pinned;
}

/* Keys and answers on the host, in batches one after the other and overlapping; the last batch is
 * smaller, and a batch may have fewer keys than there are members. */
static void host_sided(int nmembers, enum way way, const struct kc_wd_cascades *cascades)
{
        setting<layout> t;
        uint64_t nfound;
        struct kc_wd_options options = options_of(1 << 14, 0);
        options.part_bits = way == PARTS ? 2 : 0;
        open_setting(&t, nmembers, way, &options);
        std::vector<key> keys = different_keys<layout>(4001, 61), sought = keys;
        std::vector<key> others = some_keys<layout>(500, 62), doubled = zipf_draws(keys, 3000, 64);
        std::vector<uint32_t> values = some_values(keys.size(), 63);
        expect_ok(kc_wd_several_put_host(t.several, keys.data(), values.data(), keys.size(),
                                         KC_WD_INSERT, cascades, err),
                  err);
        for (size_t i = 0; i < keys.size(); i++)
                t.want[keys[i]] = values[i];
        expect_ok(kc_wd_several_put_host(t.several, doubled.data(), NULL, doubled.size(), KC_WD_ADD,
                                         cascades, err),
                  err);
        for (key one : doubled)
                t.want[one]++;
        expect_same(&t);
        sought.insert(sought.begin() + 1234, others.begin(), others.end());
        key *pinned = pin(sought);
        uint32_t *got = pin(std::vector<uint32_t>(sought.size(), 77));
        expect_ok(kc_wd_several_retrieve_host(t.several, pinned, got, sought.size(), MISSING,
                                              &nfound, cascades, err),
                  err);
        assert_int_equal(nfound, keys.size());
        for (size_t i = 0; i < sought.size(); i++) {
                const uint32_t *want = t.want.find(sought[i]);
                assert_int_equal(got[i], want == NULL ? MISSING : *want);
        }
        expect_ok(KC_CUDA(cudaFreeHost(pinned)), err);
        expect_ok(KC_CUDA(cudaFreeHost(got)), err);
        close_setting(&t);
}

static void cascades_overlap(void **state)
{
        (void)state;
        for (int nmembers : { 1, 2, 3 })
                for (int in_flight : { 1, 2, 5 }) {
                        const struct kc_wd_cascades cascades = { 999, in_flight };
                        host_sided(nmembers, nmembers == 2 ? STAGED : WRITTEN, &cascades);
                }
        const struct kc_wd_cascades bulk = { 2500, 2 }; /* the last batch is put directly */
        host_sided(3, PARTS, &bulk);
        const struct kc_wd_cascades tiny = { 2, 3 };
        setting<layout> t;
        struct kc_wd_options options = options_of(100, 0);
        const key keys[] = { 5, 6, 7 };
        uint32_t values[3] = { 1, 2, 3 }, got[3];
        open_setting(&t, 3, WRITTEN, &options);
        expect_ok(kc_wd_several_put_host(t.several, keys, values, 3, KC_WD_INSERT, &tiny, err),
                  err);
        expect_ok(kc_wd_several_put_host(t.several, keys, values, 0, KC_WD_INSERT, NULL, err), err);
        expect_ok(kc_wd_several_retrieve_host(t.several, keys, got, 3, 0, NULL, NULL, err), err);
        assert_memory_equal(got, values, sizeof got);
        close_setting(&t);
}

/* Set how much the members may still allocate; SIZE_MAX: as much as at first. */
static void set_room(struct kc_links *links, size_t nbytes)
{
        for (int i = 0; i < links->n; i++) {
                struct kc_gpu *gpu = &links->gpus[i];
                gpu->limit_nbytes =
                        std::min(gpu->bound_nbytes - gpu->used_nbytes, nbytes) + gpu->used_nbytes;
        }
}

/* Batches with less and less memory: slices become smaller, from some point on they do not go
 * through parts, and in the end nothing is possible. No earlier key is lost, nothing remains
 * allocated, and with memory the same batch goes in. */
static void little_memory(void **state)
{
        (void)state;
        for (enum way way : { PARTS, WRITTEN, STAGED }) {
                setting<layout> t;
                int nthrough = 0, nfailed = 0;
                struct kc_wd_options options = options_of(way == PARTS ? 1 << 15 : 1 << 17, 0);
                options.part_bits = way == PARTS ? 2 : 0;
                open_setting(&t, 3, way, &options);
                std::vector<key> early = different_keys<layout>(3000, 41);
                insert(&t, early, some_values(early.size(), 42));
                for (size_t nbytes = (size_t)1 << 20; nbytes > 4; nbytes = nbytes / 5 * 3) {
                        std::vector<key> keys = different_keys<layout>(4000, nbytes);
                        std::vector<uint32_t> values = some_values(keys.size(), nbytes);
                        struct kc_error failure = {};
                        dealt<key> d;
                        deal(&t, keys, values, &d);
                        const size_t used = t.links.gpus[2].used_nbytes;
                        set_room(&t.links, nbytes);
                        enum kc_status status = kc_wd_several_put(t.several, d.shares, KC_WD_INSERT,
                                                                  NULL, &failure);
                        assert_true(status == KC_OK || status == KC_ENOMEM);
                        assert_int_equal(t.links.gpus[2].used_nbytes, used);
                        set_room(&t.links, SIZE_MAX);
                        nthrough += status == KC_OK;
                        nfailed += status != KC_OK;
                        (void)collect(&t, &d, keys.size());
                        expect_retrieved(&t, early);
                        insert(&t, keys, values);
                        if (options.part_bits != 0) /* in maps as small as the batch */
                                erase(&t, keys);
                }
                expect_same(&t);
                assert_true(nthrough > 3 && nfailed > 3);
                close_setting(&t);
        }
}

/* Batches that do not fit in memory, too many of them, and too many keys. */
static void cascades_fail(void **state)
{
        setting<layout> t;
        struct kc_wd_options options = options_of(3000, 0);
        struct kc_wd_cascades cascades = { 1000, 3 };
        std::vector<key> keys = different_keys<layout>(5000, 71);
        std::vector<uint32_t> got(keys.size());
        uint64_t nfound;
        (void)state;
        options.max_rebuilds = -1;
        for (size_t nbytes : { 1 << 10, 1 << 14, 1 << 15, 1 << 20 }) {
                struct kc_error failure = {};
                open_setting(&t, 3, STAGED, &options);
                set_room(&t.links, nbytes);
                assert_int_equal(kc_wd_several_put_host(t.several, keys.data(), NULL, keys.size(),
                                                        KC_WD_INSERT, &cascades, &failure),
                                 KC_ENOMEM);
                set_room(&t.links, SIZE_MAX);
                expect_ok(kc_wd_several_retrieve_host(t.several, keys.data(), got.data(),
                                                      keys.size(), MISSING, &nfound, &cascades,
                                                      err),
                          err);
                assert_int_equal(nfound, kc_wd_several_nkeys(t.several));
                assert_true(nbytes < 1 << 20 || nfound > 2800);
                close_setting(&t);
        }
        open_setting(&t, 2, WRITTEN, &options);
        struct kc_error failure = {};
        cascades.in_flight = KC_WD_MAX_IN_FLIGHT + 1;
        assert_int_equal(kc_wd_several_put_host(t.several, keys.data(), NULL, 10, KC_WD_INSERT,
                                                &cascades, &failure),
                         KC_EUSAGE);
        close_setting(&t);
}

/* If one owner's map is full, the others take their keys, and the values that are there are right;
 * after it has grown, all keys go in. */
static void full_map(void **state)
{
        setting<layout> t;
        struct kc_error failure = {};
        struct kc_wd_options options = options_of(3000, 0);
        (void)state;
        options.max_rebuilds = -1;
        open_setting(&t, 3, WRITTEN, &options);
        std::vector<key> keys = different_keys<layout>(4000, 51), early;
        std::vector<uint32_t> values = some_values(keys.size(), 52);
        early.assign(keys.begin(), keys.begin() + 1000);
        insert(&t, early, some_values(1000, 53));
        assert_int_equal(put(&t, KC_WD_INSERT, keys, values, &failure), KC_ENOMEM);
        assert_non_null(strstr(failure.message, "no room"));
        uint64_t nfound;
        std::vector<uint32_t> got = retrieve(&t, keys, &nfound);
        assert_true(nfound > 2800 && nfound < keys.size());
        for (size_t i = 0; i < keys.size(); i++)
                assert_true(got[i] == values[i] || (got[i] == MISSING && i >= early.size()));
        for (int i = 0; i < 3; i++) {
                expect_ok(kc_links_use(&t.links, i, err), err);
                expect_ok(kc_wd_rebuild(t.several->maps[i], 3000, err), err);
        }
        expect_ok(kc_links_use(&t.links, 0, err), err);
        insert(&t, keys, values);
        expect_same(&t);
        expect_retrieved(&t, keys);
        close_setting(&t);
}

/* Add keys of which not all have room, or with little memory: those that are not refused count, and
 * with room, the refused ones can be added. */
static void refused_keys(int nmembers, enum way way, size_t room, uint64_t most_nkeys,
                         enum kc_wd_combining combining)
{
        setting<layout> t;
        struct kc_wd_options options = options_of(3000, 0);
        options.max_rebuilds = -1;
        open_setting(&t, nmembers, way, &options);
        t.several->most_nkeys = most_nkeys;
        t.several->combining = combining;
        std::vector<key> keys = zipf_draws(different_keys<layout>(9000, 81), 20000, 82), again;
        std::vector<uint32_t> weights = some_values(keys.size(), 83), weights_again;
        struct kc_error failure = {};
        uint32_t *refused[KC_GPU_MAX_DEVICES];
        dealt<key> d;
        deal(&t, keys, weights, &d);
        for (int i = 0; i < nmembers; i++) {
                expect_ok(kc_links_use(&t.links, i, err), err);
                refused[i] = up(&t.links.gpus[i],
                                std::vector<uint32_t>(d.keys[i].size() / 32 + 1, UINT32_MAX));
        }
        set_room(&t.links, room);
        assert_int_equal(kc_wd_several_put(t.several, d.shares, KC_WD_ADD, refused, &failure),
                         KC_ENOMEM);
        set_room(&t.links, SIZE_MAX);
        for (int i = 0; i < nmembers; i++) {
                const size_t nwords = d.keys[i].size() / 32 + 1;
                expect_ok(kc_links_use(&t.links, i, err), err);
                std::vector<uint32_t> bits = down(&t.links.gpus[i], refused[i], nwords, nwords);
                for (size_t j = 0; j < d.keys[i].size(); j++) {
                        if (bits[j / 32] >> j % 32 & 1) {
                                again.push_back(d.keys[i][j]);
                                weights_again.push_back(d.values[i][j]);
                        } else {
                                uint32_t *want = &t.want[d.keys[i][j]];
                                *want = sum_of_counts(*want, d.values[i][j]);
                        }
                }
        }
        (void)collect(&t, &d, keys.size());
        assert_true(!again.empty() && (room != SIZE_MAX || again.size() < keys.size() / 2));
        expect_same(&t);
        for (int i = 0; i < nmembers; i++) {
                expect_ok(kc_links_use(&t.links, i, err), err);
                expect_ok(kc_wd_rebuild(t.several->maps[i], 20000, err), err);
        }
        expect_ok(kc_links_use(&t.links, 0, err), err);
        add(&t, again, weights_again);
        expect_same(&t);
        close_setting(&t);
}

static void keys_refused(void **state)
{
        (void)state;
        for (enum way way : { WRITTEN, COPIED, STAGED }) {
                refused_keys(3, way, SIZE_MAX, 0, KC_WD_COMBINE_ALWAYS);
                refused_keys(4, way, SIZE_MAX, 700, KC_WD_COMBINE_NEVER);
        }
        refused_keys(1, WRITTEN, SIZE_MAX, 0, KC_WD_COMBINE_IF_IT_PAYS);
        refused_keys(2, WRITTEN, 1 << 8, 0, KC_WD_COMBINE_IF_IT_PAYS);
        refused_keys(3, STAGED, (size_t)30 << 10, 0, KC_WD_COMBINE_ALWAYS);
}

static void refusals(void **state)
{
        setting<layout> t;
        kc_wd_several<kc_wd_words> *words = NULL;
        struct kc_wd_options options = options_of(1000, 0), wrong = options_of(1000, 3);
        struct kc_error failure = {};
        (void)state;
        open_setting(&t, 2, WRITTEN, &options);
        kc_wd_several<layout> *none = NULL;
        assert_int_equal(kc_wd_several_new(&none, &t.links, KC_WD_WRITTEN, &wrong, &failure),
                         KC_EUSAGE);
        assert_null(none);
        failure = {};
        key *keys = up(&t.links.gpus[0], std::vector<key>(5, 9));
        uint32_t *values = up(&t.links.gpus[0], std::vector<uint32_t>(5, 9));
        kc_wd_share<key> shares[2] = { { keys, values, 5 }, { keys, NULL, 5 } };
        assert_int_equal(kc_wd_several_put(t.several, shares, KC_WD_INSERT, NULL, &failure),
                         KC_EUSAGE);
        options.key_bits = WORDS_KEY_BITS;
        expect_ok(kc_wd_several_new(&words, &t.links, KC_WD_WRITTEN, &options, err), err);
        shares[1].n = 0;
        failure = {};
        assert_int_equal(kc_wd_several_put(words, shares, KC_WD_INSERT, NULL, &failure), KC_EUSAGE);
        kc_wd_several_free(words);
        kc_gpu_delete(&t.links.gpus[0], keys, 5);
        kc_gpu_delete(&t.links.gpus[0], values, 5);
        close_setting(&t);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(all_ways),
                cmocka_unit_test(all_layouts),
                cmocka_unit_test(by_parts),
                cmocka_unit_test(parts_overflow),
                cmocka_unit_test(full_tiles_of_many_members),
                cmocka_unit_test(empty_batches),
                cmocka_unit_test(sizes),
                cmocka_unit_test(little_memory),
                cmocka_unit_test(full_map),
                cmocka_unit_test(cascades_overlap),
                cmocka_unit_test(cascades_fail),
                cmocka_unit_test(keys_refused),
                cmocka_unit_test(refusals),
        };
        need_device();
        cmocka_set_test_filter(getenv("KC_TEST"));
        return cmocka_run_group_tests(tests, NULL, NULL);
}
