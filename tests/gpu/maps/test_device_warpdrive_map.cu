/*
 * The WarpDrive map on the device, compared with a map on the host, for all layouts and group
 * sizes.
 */
#include "tests/gpu/maps/warpdrive_support.cuh"

template <class Layout> static void few_keys(uint32_t group)
{
        for (size_t n : { 0, 1, 31, 32, 33, 255, 257 }) {
                both<Layout> b;
                struct kc_wd_options options = options_of(n, group);
                open_both(&b, &options);
                std::vector<typename Layout::key> keys = some_keys<Layout>(n, n + 1);
                insert(&b, keys, some_values(n, 2), DIRECT);
                expect_same(&b);
                expect_retrieved(&b, keys, DIRECT);
                expect_retrieved(&b, some_keys<Layout>(n, 77), DIRECT);
                erase(&b, keys);
                expect_same(&b);
                close_both(&b);
        }
}
FOR_ALL(few_keys)

/* Two batches, the second with keys of the first. linear is 1, or as in the paper. */
template <class Layout> static void loads(uint32_t group)
{
        size_t n = test_size(group == 1 || group == 4 ? 1 << 17 : 1 << 14);
        std::vector<typename Layout::key> keys = some_keys<Layout>(n, group);
        std::vector<typename Layout::key> again(keys.begin() + n / 3, keys.end());
        keys.resize(n / 2);
        for (double load : { 0.4, 0.8, 0.95, 0.99 }) {
                both<Layout> b;
                struct kc_wd_options options = options_of((uint64_t)((double)n / load) + 1, group);
                options.linear = load < 0.9 ? 32 / group : 1;
                open_both(&b, &options);
                insert(&b, keys, some_values(keys.size(), 1), DIRECT);
                insert(&b, again, some_values(again.size(), 2), DIRECT);
                expect_same(&b);
                expect_retrieved(&b, keys, DIRECT);
                expect_retrieved(&b, some_keys<Layout>(n / 4, group + 100), DIRECT);
                close_both(&b);
        }
}
FOR_ALL(loads)

/* Many occurrences of a few keys: one of the values stays, and all weights are added. */
template <class Layout> static void duplicates(uint32_t group)
{
        size_t n = test_size(1 << 18);
        both<Layout> b;
        struct kc_wd_options options = options_of(600, group);
        open_both(&b, &options);
        std::vector<typename Layout::key> from = some_keys<Layout>(500, 3);
        std::vector<typename Layout::key> one(n / 4, from[0]);
        add(&b, zipf_draws(from, n, 4), {}, DIRECT);
        add(&b, one, {}, DIRECT);
        add(&b, uniform_draws(from, n, 5), some_values(n, 6), DIRECT);
        expect_same(&b);
        insert(&b, zipf_draws(from, n, 7), some_values(n, 8), DIRECT);
        insert(&b, one, some_values(one.size(), 9), DIRECT);
        expect_same(&b);
        close_both(&b);
}
FOR_ALL(duplicates)

/* Counts stop at UINT32_MAX, whether weights are added together or later. */
template <class Layout> static void saturated(uint32_t group)
{
        both<Layout> b;
        struct kc_wd_options options = options_of(300, group);
        open_both(&b, &options);
        std::vector<typename Layout::key> from = some_keys<Layout>(200, 3);
        for (uint32_t weight : { UINT32_MAX, UINT32_MAX - 1, 1u, 1u << 31, 1000000000u }) {
                std::vector<uint32_t> weights(from.size(), 1);
                for (size_t i = 0; i < from.size(); i += 1 + weight % 5)
                        weights[i] = weight;
                add(&b, from, weights, DIRECT);
                expect_same(&b);
        }
        add(&b, uniform_draws(from, 3000, 1), some_values(3000, 2), DIRECT);
        expect_same(&b);
        expect_ok(kc_wd_rebuild(b.map, 500, &b.err), &b.err);
        expect_same(&b);
        erase(&b, from);
        add(&b, from, {}, DIRECT);
        expect_same(&b);
        close_both(&b);
}
FOR_ALL(saturated)

/* Batches of all kinds, on few keys in a crowded table: tombstones are everywhere. */
template <class Layout> static void histories(uint32_t group)
{
        uint64_t state = group;
        std::vector<typename Layout::key> from = some_keys<Layout>(290, group);
        both<Layout> b;
        struct kc_wd_options options = options_of(300, group);
        open_both(&b, &options);
        size_t nbatches = test_small() ? 40 : 400;
        for (size_t i = 0; i < nbatches; i++) {
                size_t n = next_random(&state) % 400;
                std::vector<typename Layout::key> keys = uniform_draws(from, n, state);
                switch (next_random(&state) % 4) {
                case 0:
                        insert(&b, keys, some_values(n, state), DIRECT);
                        break;
                case 1:
                        add(&b, keys, {}, DIRECT);
                        break;
                case 2:
                        erase(&b, keys);
                        break;
                default:
                        expect_retrieved(&b, keys, DIRECT);
                }
                if (i % 8 == 7)
                        expect_same(&b);
        }
        expect_same(&b);
        close_both(&b);
}
FOR_ALL(histories)

/* Keys that begin at the same window and follow the same probe sequence. */
template <class Layout> static void crowded(uint32_t group)
{
        both<Layout> b;
        struct kc_wd_options options = options_of(2048, group);
        options.max_probes = 8;
        open_both(&b, &options);
        std::vector<typename Layout::key> keys;
        const int high = 4 * (int)sizeof(typename Layout::key);
        for (size_t i = 0; i < 700; i++) {
                typename Layout::key mixed = Layout::COUNTS_ONLY ? i : i << high % 64;
                keys.push_back(key_for(&b, (typename Layout::key)(mixed | 5)));
        }
        insert(&b, keys, some_values(keys.size(), 2), DIRECT);
        expect_same(&b);
        expect_retrieved(&b, keys, DIRECT);
        close_both(&b);
}
FOR_ALL(crowded)

/* Keys that look like free slots and tombstones. In layouts with no special place for them, the map
 * is rebuilt, and then other keys look so. */
template <class Layout> static void marks(uint32_t group)
{
        typedef typename Layout::key Key;
        both<Layout> b;
        struct kc_wd_options options = options_of(64, group);
        open_both(&b, &options);
        std::vector<Key> keys = some_keys<Layout>(20, 1);
        std::vector<Key> odd = { (Key) ~(Key)0,
                                 (Key) ~(Key)1,
                                 (Key)UINT32_MAX,
                                 (Key)UINT64_MAX,
                                 (Key)((Key)UINT32_MAX << (8 * sizeof(Key) - 32)),
                                 (Key)((kc_key128)UINT64_MAX << (8 * sizeof(Key) - 64) % 128),
                                 0,
                                 1 };
        for (Key mixed : odd) {
                keys.push_back(key_for(&b, fit<Layout>(mixed)));
                keys.push_back(fit<Layout>(mixed));
        }
        insert(&b, keys, some_values(keys.size(), 2), DIRECT);
        expect_same(&b);
        expect_retrieved(&b, keys, DIRECT);
        assert_int_equal(b.map->nrebuilds > 0, sizeof(Key) == 16);
        expect_ok(kc_wd_rebuild(b.map, 0, &b.err), &b.err);
        expect_same(&b);
        add(&b, keys, {}, DIRECT);
        expect_same(&b);
        erase(&b, keys);
        expect_same(&b);
        expect_retrieved(&b, keys, DIRECT);
        add(&b, keys, {}, DIRECT);
        expect_same(&b);
        close_both(&b);
}
FOR_ALL(marks)

/* More keys than slots: the refused ones are reported, all others are in; with more room, all. */
template <class Layout> static void full(uint32_t group)
{
        typedef typename Layout::key Key;
        both<Layout> b;
        struct kc_wd_options options = options_of(500, group);
        options.max_rebuilds = group % 3 == 1 ? -1 : 1;
        open_both(&b, &options);
        size_t nslots = b.map->nslots;
        std::vector<Key> keys = some_keys<Layout>(nslots + 100, 11), left;
        std::vector<uint32_t> values = some_values(keys.size(), 12), refused, left_values;
        enum kc_wd_mode mode = Layout::COUNTS_ONLY ? KC_WD_ADD : KC_WD_INSERT;
        assert_int_equal(put(&b, mode, keys, values, DIRECT, &refused), KC_ENOMEM);
        assert_true(b.err.message[0] != '\0');
        b.err = {};
        for (size_t i = 0; i < keys.size(); i++) {
                if (refused[i / 32] >> i % 32 & 1) {
                        left.push_back(keys[i]);
                        left_values.push_back(values[i]);
                } else {
                        b.want[keys[i]] = values[i];
                }
        }
        assert_true(left.size() >= 100);
        if (group > 1) /* otherwise a probe sequence ends before it has visited all slots */
                assert_int_equal(left.size(), 100);
        expect_same(&b);
        expect_retrieved(&b, keys, DIRECT);
        expect_ok(kc_wd_rebuild(b.map, 1000, &b.err), &b.err);
        insert(&b, left, left_values, DIRECT);
        expect_same(&b);
        close_both(&b);
}
FOR_ALL(full)

/* Without the memory to begin, all keys are refused, and nothing is put. */
template <class Layout> static void refused_all(uint32_t group)
{
        both<Layout> b;
        struct kc_wd_options options = options_of(500, group);
        open_both(&b, &options);
        std::vector<typename Layout::key> keys = some_keys<Layout>(400, 1);
        std::vector<uint32_t> refused;
        size_t limit_nbytes = b.gpu.limit_nbytes;
        b.gpu.limit_nbytes = b.gpu.used_nbytes + keys.size() * sizeof(keys[0]) + 13 * 4;
        for (enum how how : { DIRECT, BULK }) {
                assert_int_equal(put(&b, KC_WD_ADD, keys, {}, how, &refused), KC_ENOMEM);
                b.err = {};
                for (size_t i = 0; i < keys.size(); i++)
                        assert_true(refused[i / 32] >> i % 32 & 1);
        }
        b.gpu.limit_nbytes = limit_nbytes;
        expect_same(&b);
        close_both(&b);
}
FOR_ALL(refused_all)

/* No slot is free any more, all are tombstones: no key is found, and there is room for all keys. */
template <class Layout> static void tombstones(uint32_t group)
{
        both<Layout> b;
        struct kc_wd_options options = options_of(100, group);
        open_both(&b, &options);
        std::vector<typename Layout::key> keys = some_keys<Layout>(b.map->nslots, 1);
        for (int i = 0; i < 3; i++) {
                insert(&b, keys, some_values(keys.size(), 2), DIRECT);
                expect_same(&b);
                erase(&b, keys);
                expect_same(&b);
                expect_retrieved(&b, keys, DIRECT);
        }
        close_both(&b);
}
FOR_ALL(tombstones)

static void wrong_options(void **unused)
{
        struct kc_gpu gpu;
        struct kc_error err = {};
        kc_wd_map<kc_wd_words> *words;
        (void)unused;
        expect_ok(kc_gpu_open(&gpu, 0, 0, &err), &err);
        struct kc_wd_options options = options_of(100, 4);
        options.key_bits = 64; /* 25 windows: 60 bits of remainder */
        assert_int_equal(kc_wd_new(&words, &gpu, &options, gpu.stream, &err), KC_EUSAGE);
        options.key_bits = 50;
        err = {};
        expect_ok(kc_wd_new(&words, &gpu, &options, gpu.stream, &err), &err);
        assert_int_equal(kc_wd_insert<kc_wd_words>(words, NULL, NULL, 1, &err), KC_EUSAGE);
        kc_wd_free(words);
        options.group = 3;
        assert_int_equal(kc_wd_new(&words, &gpu, &options, gpu.stream, &err), KC_EUSAGE);
        options.group = 64;
        assert_int_equal(kc_wd_new(&words, &gpu, &options, gpu.stream, &err), KC_EUSAGE);
        kc_wd_free(words);
        assert_int_equal(gpu.used_nbytes, 0);
        kc_gpu_close(&gpu);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                TESTS(few_keys),
                TESTS(loads),
                TESTS(duplicates),
                TESTS(saturated),
                TESTS(histories),
                TESTS(crowded),
                TESTS(marks),
                TESTS(full),
                TESTS(tombstones),
                TESTS(refused_all),
                cmocka_unit_test(wrong_options),
        };
        need_device();
        cmocka_set_test_filter(getenv("KC_TEST"));
        return cmocka_run_group_tests(tests, NULL, NULL);
}
