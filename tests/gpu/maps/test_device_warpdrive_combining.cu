/*
 * Equal keys of a tile in the WarpDrive map over several members: combined or not, with all
 * distributions.
 */
#include "tests/gpu/maps/warpdrive_several_support.cuh"

#include "gpu/maps/warpdrive/tile_leaders.cuh"

enum distribution { DIFFERENT, ZIPF, ALL_EQUAL };

template <class Layout>
static std::vector<typename Layout::key> draws(enum distribution distribution, size_t n,
                                               uint64_t seed)
{
        std::vector<typename Layout::key> keys = different_keys<Layout>(n, seed);
        if (distribution == ZIPF)
                return zipf_draws(keys, n, seed + 1);
        return distribution == ALL_EQUAL ? std::vector<typename Layout::key>(n, keys[n / 2]) : keys;
}

/* Keys that remain if equal keys of a tile are combined. */
template <class Key> static uint64_t nleaders_of(const dealt<Key> &d, int nmembers)
{
        const size_t size = kc_wd_tile<Key>::NKEYS;
        uint64_t n = 0;
        for (int i = 0; i < nmembers; i++)
                for (size_t at = 0; at < d.keys[i].size(); at += size) {
                        auto begin = d.keys[i].begin() + (ptrdiff_t)at;
                        std::vector<Key> tile(
                                begin, begin + (ptrdiff_t)std::min(size, d.keys[i].size() - at));
                        std::sort(tile.begin(), tile.end());
                        n += (uint64_t)(std::unique(tile.begin(), tile.end()) - tile.begin());
                }
        return n;
}

/* Put keys, and return how many were sent; *nleaders: how many remain if equal keys are
 * combined. */
template <class Layout>
static uint64_t put_and_count(setting<Layout> *t, enum kc_wd_mode mode,
                              const std::vector<typename Layout::key> &keys,
                              const std::vector<uint32_t> &values, uint64_t *nleaders)
{
        dealt<typename Layout::key> d;
        deal(t, keys, values, &d);
        *nleaders = nleaders_of(d, t->links.n);
        const uint64_t before = t->several->nsent;
        expect_ok(kc_wd_several_put(t->several, d.shares, mode, NULL, err), err);
        (void)collect(t, &d, keys.size());
        return t->several->nsent - before;
}

/* A put that combines sends exactly the leaders. Different keys are not worth combining, equal ones
 * are. */
static void expect_sent(enum kc_wd_combining combining, enum distribution distribution, uint64_t n,
                        uint64_t nleaders, uint64_t nsent)
{
        if (combining == KC_WD_COMBINE_ALWAYS)
                assert_int_equal(nsent, nleaders);
        else if (combining == KC_WD_COMBINE_NEVER || distribution == DIFFERENT)
                assert_int_equal(nsent, n);
        else if (distribution == ALL_EQUAL)
                assert_int_equal(nsent, nleaders);
        else
                assert_true(nsent == nleaders || nsent == n);
}

/* Weights of all sizes; with large ones most sums saturate, some only when tiles are added up. */
static std::vector<uint32_t> weights_of(size_t n, uint32_t most, uint64_t seed)
{
        std::vector<uint32_t> weights;
        for (size_t i = 0; i < n; i++)
                weights.push_back((uint32_t)next_random(&seed) % (most + 1));
        return weights;
}

template <class Layout>
static void combined_sums(int nmembers, enum way way, enum kc_wd_combining combining,
                          enum distribution distribution, size_t n = test_size(1 << 15) + 5)
{
        struct kc_wd_options options = options_of(3 * n, 0);
        std::vector<typename Layout::key> keys = draws<Layout>(distribution, n, 91);
        setting<Layout> t;
        open_setting(&t, nmembers, way, &options);
        t.several->combining = combining;
        for (uint32_t most : { 0u, 1u, 9u, 1u << 20, UINT32_MAX - 1 }) {
                std::vector<uint32_t> weights = weights_of(keys.size(), most, most);
                if (most == 1)
                        weights.clear(); /* 1 each */
                uint64_t nleaders, nsent = put_and_count(&t, KC_WD_ADD, keys, weights, &nleaders);
                for (size_t i = 0; i < keys.size(); i++)
                        t.want[keys[i]] =
                                sum_of_counts(t.want[keys[i]], weights.empty() ? 1 : weights[i]);
                if (nmembers > 1)
                        expect_sent(combining, distribution, keys.size(), nleaders, nsent);
                expect_same(&t);
        }
        expect_retrieved(&t, keys);
        close_setting(&t);
}

/* One of the values of each key stays. */
template <class Layout>
static void combined_values(int nmembers, enum way way, enum kc_wd_combining combining,
                            enum distribution distribution)
{
        typedef typename Layout::key Key;
        const size_t n = test_size(1 << 15) + 5;
        struct kc_wd_options options = options_of(3 * n, 0);
        std::vector<Key> keys = draws<Layout>(distribution, n, 92);
        std::vector<uint32_t> values = some_values(keys.size(), 93);
        std::vector<std::pair<Key, uint32_t>> brought;
        uint64_t nleaders, nfound;
        setting<Layout> t;
        open_setting(&t, nmembers, way, &options);
        t.several->combining = combining;
        uint64_t nsent = put_and_count(&t, KC_WD_INSERT, keys, values, &nleaders);
        if (nmembers > 1)
                expect_sent(combining, distribution, keys.size(), nleaders, nsent);
        for (size_t i = 0; i < keys.size(); i++)
                brought.push_back({ keys[i], values[i] });
        std::sort(brought.begin(), brought.end());
        std::vector<uint32_t> got = retrieve(&t, keys, &nfound);
        assert_int_equal(nfound, keys.size());
        for (size_t i = 0; i < keys.size(); i++) {
                std::pair<Key, uint32_t> one = { keys[i], got[i] };
                assert_true(std::binary_search(brought.begin(), brought.end(), one));
                t.want[keys[i]] = got[i];
        }
        expect_same(&t);
        (void)put_and_count(&t, KC_WD_INSERT, keys, {}, &nleaders);
        for (Key key : keys)
                t.want[key] = 1;
        expect_same(&t);
        close_setting(&t);
}

static void equal_keys(void **state)
{
        (void)state;
        for (enum distribution distribution : { DIFFERENT, ZIPF, ALL_EQUAL })
                for (auto combining :
                     { KC_WD_COMBINE_IF_IT_PAYS, KC_WD_COMBINE_ALWAYS, KC_WD_COMBINE_NEVER })
                        for (int nmembers : { 1, 2, 3, 4 }) {
                                const enum way way = (enum way)(nmembers % 3);
                                combined_sums<kc_wd_near64>(nmembers, way, combining, distribution);
                                combined_values<kc_wd_near64>(nmembers, way, combining,
                                                              distribution);
                        }
}

static void equal_keys_of_all_layouts(void **state)
{
        (void)state;
        for (enum distribution distribution : { ZIPF, ALL_EQUAL }) {
                combined_sums<kc_wd_pair32>(3, WRITTEN, KC_WD_COMBINE_ALWAYS, distribution);
                combined_sums<kc_wd_words>(3, COPIED, KC_WD_COMBINE_ALWAYS, distribution);
                combined_sums<kc_wd_apart64>(2, STAGED, KC_WD_COMBINE_ALWAYS, distribution);
                combined_sums<kc_wd_apart128>(4, WRITTEN, KC_WD_COMBINE_ALWAYS, distribution);
                combined_values<kc_wd_pair32>(2, COPIED, KC_WD_COMBINE_ALWAYS, distribution);
                combined_values<kc_wd_apart128>(3, WRITTEN, KC_WD_COMBINE_ALWAYS, distribution);
        }
}

/* Several tiles of each member; and so many that the sample leaves some out. */
static void equal_keys_of_many_tiles(void **state)
{
        (void)state;
        for (enum distribution distribution : { ZIPF, ALL_EQUAL }) {
                combined_sums<kc_wd_near64>(2, COPIED, KC_WD_COMBINE_ALWAYS, distribution, 40000);
                combined_sums<kc_wd_apart128>(3, WRITTEN, KC_WD_COMBINE_IF_IT_PAYS, distribution,
                                              40000);
        }
        const size_t n = (KC_WD_SAMPLE_NTILES + 3) * kc_wd_tile<kc_key128>::NKEYS;
        setting<kc_wd_apart128> t;
        struct kc_wd_options options = options_of(3000, 0);
        open_setting(&t, 2, COPIED, &options);
        std::vector<kc_key128> keys = different_keys<kc_wd_apart128>(1000, 94);
        add(&t, uniform_draws(keys, 2 * n, 95), {});
        assert_true(t.several->nsent < n);
        expect_same(&t);
        close_setting(&t);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(equal_keys),
                cmocka_unit_test(equal_keys_of_all_layouts),
                cmocka_unit_test(equal_keys_of_many_tiles),
        };
        need_device();
        cmocka_set_test_filter(getenv("KC_TEST"));
        return cmocka_run_group_tests(tests, NULL, NULL);
}
