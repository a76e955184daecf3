/*
 * The simple hash table on the device, compared with std::map.
 */
#include "gpu/maps/linear/map.cuh"
#include "tests/gpu/maps/map_support.cuh"

#include <set>

template <class Key> struct both {
        struct kc_gpu gpu;
        struct kc_error err;
        kc_linear_map<Key> *map;
        std::map<Key, uint32_t> want; /* erased keys are ABSENT */
};

template <class Key>
static void open_both(both<Key> *b, uint64_t capacity, bool grows, uint32_t max_probes = 0)
{
        struct kc_linear_options options = {};
        options.capacity = capacity;
        options.grows = grows;
        options.max_probes = max_probes;
        b->gpu = {};
        b->err = {};
        expect_ok(kc_gpu_open(&b->gpu, 0, 0, &b->err), &b->err);
        expect_ok(kc_linear_new(&b->map, &b->gpu, &options, b->gpu.stream, &b->err), &b->err);
}

template <class Key> static void close_both(both<Key> *b)
{
        kc_linear_free(b->map);
        assert_int_equal(b->gpu.used_nbytes, 0);
        kc_gpu_close(&b->gpu);
}

/* Do the operations; lookups return what they found in values. */
template <class Key>
static enum kc_status run_mixed(both<Key> *b, const std::vector<enum kc_linear_op> &ops,
                                const std::vector<Key> &keys, std::vector<uint32_t> *values)
{
        size_t n = keys.size();
        enum kc_linear_op *device_ops = up(&b->gpu, ops);
        Key *device_keys = up(&b->gpu, keys);
        uint32_t *device_values = up(&b->gpu, *values);
        enum kc_status status =
                kc_linear_mixed(b->map, device_ops, device_keys, device_values, n, &b->err);
        *values = down(&b->gpu, device_values, n, n);
        kc_gpu_delete(&b->gpu, device_keys, n);
        kc_gpu_delete(&b->gpu, device_ops, n);
        return status;
}

template <class Key> static std::vector<uint32_t> lookup(both<Key> *b, const std::vector<Key> &keys)
{
        Key *device_keys = up(&b->gpu, keys);
        uint32_t *values = up(&b->gpu, std::vector<uint32_t>(keys.size()));
        expect_ok(kc_linear_find(b->map, device_keys, values, keys.size(), &b->err), &b->err);
        kc_gpu_delete(&b->gpu, device_keys, keys.size());
        return down(&b->gpu, values, keys.size(), keys.size());
}

template <class Key>
static enum kc_status try_insert(both<Key> *b, const std::vector<Key> &keys,
                                 const std::vector<uint32_t> &values)
{
        Key *device_keys = up(&b->gpu, keys);
        uint32_t *device_values = up(&b->gpu, values);
        enum kc_status status =
                kc_linear_insert(b->map, device_keys, device_values, keys.size(), &b->err);
        kc_gpu_delete(&b->gpu, device_values, keys.size());
        kc_gpu_delete(&b->gpu, device_keys, keys.size());
        return status;
}

template <class Key>
static void insert(both<Key> *b, const std::vector<Key> &keys, const std::vector<uint32_t> &values)
{
        std::map<Key, std::set<uint32_t>> brought;
        expect_ok(try_insert(b, keys, values), &b->err);
        std::vector<uint32_t> got = lookup(b, keys);
        for (size_t i = 0; i < keys.size(); i++)
                brought[keys[i]].insert(values[i]);
        for (size_t i = 0; i < keys.size(); i++) {
                assert_int_equal(brought[keys[i]].count(got[i]), 1);
                b->want[keys[i]] = got[i];
        }
}

template <class Key> static void erase(both<Key> *b, const std::vector<Key> &keys)
{
        Key *device_keys = up(&b->gpu, keys);
        expect_ok(kc_linear_erase(b->map, device_keys, keys.size(), &b->err), &b->err);
        kc_gpu_delete(&b->gpu, device_keys, keys.size());
        for (Key key : keys)
                b->want.erase(key);
}

template <class Key> static void expect_found(both<Key> *b, const std::vector<Key> &keys)
{
        std::vector<uint32_t> got = lookup(b, keys);
        for (size_t i = 0; i < keys.size(); i++) {
                auto at = b->want.find(keys[i]);
                assert_int_equal(got[i], at == b->want.end() ? KC_LINEAR_ABSENT : at->second);
        }
}

template <class Key> static void expect_same(both<Key> *b)
{
        size_t cap = b->want.size() + 64;
        uint64_t n;
        Key *keys = up(&b->gpu, std::vector<Key>(cap));
        uint32_t *values = up(&b->gpu, std::vector<uint32_t>(cap));
        expect_ok(kc_linear_export(b->map, keys, values, cap, &n, &b->err), &b->err);
        std::vector<Key> host_keys = down(&b->gpu, keys, std::min(n, (uint64_t)cap), cap);
        std::vector<uint32_t> host_values = down(&b->gpu, values, host_keys.size(), cap);
        std::map<Key, uint32_t> got;
        assert_int_equal(n, b->want.size());
        for (size_t i = 0; i < n; i++)
                got[host_keys[i]] = host_values[i];
        assert_true(got == b->want);
}

template <class Key> static std::vector<Key> some_keys(size_t n, uint64_t seed)
{
        std::vector<Key> keys;
        for (size_t i = 0; i < n; i++)
                keys.push_back((Key)next_random(&seed));
        return keys;
}

#define FOR_BOTH(name) \
        static void name##_32(void **unused) \
        { \
                (void)unused; \
                name<uint32_t>(); \
        } \
        static void name##_64(void **unused) \
        { \
                (void)unused; \
                name<kc_key64>(); \
        }

template <class Key> static void few_keys(void)
{
        for (size_t n : { 0, 1, 31, 32, 33, 64, 255, 257 }) {
                both<Key> b;
                open_both(&b, n, false);
                assert_true((b.map->capacity & (b.map->capacity - 1)) == 0);
                std::vector<Key> keys = some_keys<Key>(n, n + 1);
                insert(&b, keys, some_values(n, 2));
                assert_int_equal(b.map->nused, n);
                expect_same(&b);
                expect_found(&b, some_keys<Key>(n, 77));
                erase(&b, keys);
                erase(&b, some_keys<Key>(n, 78));
                expect_same(&b);
                assert_int_equal(b.map->nused, n); /* they keep their slots */
                insert(&b, keys, some_values(n, 3));
                assert_int_equal(b.map->nused, n);
                expect_same(&b);
                close_both(&b);
        }
}
FOR_BOTH(few_keys)

template <class Key> static void loads(void)
{
        for (double load : { 0.5, 0.8, 0.96 }) {
                both<Key> b;
                open_both(&b, test_size(1 << 18), false);
                size_t n = (size_t)((double)b.map->capacity * load);
                std::vector<Key> keys = some_keys<Key>(n, 5);
                insert(&b, keys, some_values(n, 6));
                insert(&b, uniform_draws(keys, n, 7), some_values(n, 8));
                expect_same(&b);
                expect_found(&b, keys);
                expect_found(&b, some_keys<Key>(n / 4, 9));
                close_both(&b);
        }
}
FOR_BOTH(loads)

/* Keys and a value that equal the table's special values. */
template <class Key> static void marks(void)
{
        both<Key> b;
        open_both(&b, 32, false);
        std::vector<Key> keys = { (Key) ~(Key)0, (Key) ~(Key)1, 0, 1, (Key)UINT32_MAX - 7 };
        expect_found(&b, keys);
        insert(&b, keys, { 1, 2, 3, 4, 5 });
        expect_same(&b);
        expect_found(&b, keys);
        expect_ok(try_insert<Key>(&b, { keys[0], keys[1] }, { KC_LINEAR_ABSENT, KC_LINEAR_ABSENT }),
                  &b.err);
        b.want.erase(keys[0]);
        b.want.erase(keys[1]);
        expect_same(&b);
        insert(&b, keys, { 0, 0, 0, 0, 0 });
        expect_ok(kc_linear_rebuild(b.map, 1000, &b.err), &b.err);
        expect_same(&b);
        erase(&b, keys);
        expect_same(&b);
        close_both(&b);
}
FOR_BOTH(marks)

/* Keys whose first slot is the last but one of 64, so that they wrap around. */
template <class Key> static std::vector<Key> bucket_keys(size_t n)
{
        std::vector<Key> keys;
        for (Key key = 1; keys.size() < n; key++)
                if ((kc_linear_hash(key) & 63) == 62)
                        keys.push_back(key);
        return keys;
}

template <class Key> static void one_bucket(void)
{
        both<Key> b;
        open_both(&b, 64, false);
        std::vector<Key> keys = bucket_keys<Key>(100), others(keys.begin() + 50, keys.end());
        keys.resize(50);
        insert(&b, keys, some_values(keys.size(), 1));
        expect_found(&b, keys);
        expect_found(&b, others);
        struct kc_linear_stats stats;
        expect_ok(kc_linear_get_stats(b.map, &stats, &b.err), &b.err);
        assert_int_equal(stats.nkeys, 50);
        assert_int_equal(stats.sum, 50 * 51 / 2);
        assert_int_equal(stats.most, 50);
        assert_int_equal(stats.buckets[0], 1);
        assert_int_equal(stats.buckets[4], 16);
        assert_int_equal(stats.buckets[5], 50 - 31);
        close_both(&b);
}
FOR_BOTH(one_bucket)

/* Exactly as many slots are probed as allowed, also when looking for absent keys. */
template <class Key> static void bounded(void)
{
        std::vector<Key> keys = bucket_keys<Key>(50);
        std::vector<uint32_t> values = some_values(keys.size(), 1);
        for (uint32_t max_probes : { 1, 2, 3, 7, 8, 9, 10, 33, 41, 49 }) {
                both<Key> b;
                open_both(&b, 64, false, max_probes);
                assert_int_equal(try_insert(&b, keys, values), KC_ENOMEM);
                b.err = {};
                assert_int_equal(b.map->nused, max_probes);
                std::vector<uint32_t> got = lookup(&b, keys);
                size_t nfound = 0;
                for (size_t i = 0; i < keys.size(); i++)
                        nfound += got[i] == values[i];
                assert_int_equal(nfound, max_probes);
                erase(&b, keys);
                expect_same(&b);
                close_both(&b);
        }
}
FOR_BOTH(bounded)

/* A full table reports that and keeps what it has; with more room it takes all. */
template <class Key> static void full(void)
{
        both<Key> b;
        open_both(&b, 256, false);
        std::vector<Key> keys = some_keys<Key>(300, 1);
        std::vector<uint32_t> values = some_values(300, 2);
        assert_int_equal(try_insert(&b, keys, values), KC_ENOMEM);
        b.err = {};
        assert_int_equal(b.map->nused, 256);
        std::vector<uint32_t> got = lookup(&b, keys);
        size_t nfound = 0;
        for (size_t i = 0; i < keys.size(); i++) {
                nfound += got[i] == values[i];
                assert_true(got[i] == values[i] || got[i] == KC_LINEAR_ABSENT);
        }
        assert_int_equal(nfound, 256);
        expect_ok(kc_linear_rebuild(b.map, 512, &b.err), &b.err);
        insert(&b, keys, values);
        expect_same(&b);
        close_both(&b);
}
FOR_BOTH(full)

/* The table grows by itself, and drops deleted keys. */
template <class Key> static void growing(void)
{
        both<Key> b;
        open_both(&b, 32, true);
        size_t n = test_size(1 << 16);
        std::vector<Key> keys = some_keys<Key>(n, 1);
        for (size_t at = 0; at < n; at += n / 8 + 1) {
                size_t end = std::min(at + n / 8 + 1, n);
                std::vector<Key> own(keys.begin() + at, keys.begin() + end);
                insert(&b, own, some_values(own.size(), at));
                own.resize(own.size() / 2);
                erase(&b, own);
        }
        expect_same(&b);
        expect_found(&b, keys);
        assert_true(b.map->capacity >= b.want.size());
        expect_ok(kc_linear_rebuild(b.map, 1, &b.err), &b.err);
        assert_int_equal(b.map->nused, b.want.size());
        expect_same(&b);
        close_both(&b);
}
FOR_BOTH(growing)

/* The values that a key may have while and after operations of one launch work on it. */
struct possible {
        std::set<uint32_t> values;
};

/*
 * Launches that mix all kinds of operations on a few keys. All operations of a launch are
 * concurrent, so a lookup may see a key's value from before the launch, or what any operation of
 * the launch leaves; after the launch, the value from before only if no operation set or erased it.
 */
template <class Key> static void histories(void)
{
        uint64_t state = 4;
        both<Key> b;
        open_both(&b, 256, false);
        std::vector<Key> from = some_keys<Key>(200, 3);
        from.push_back((Key) ~(Key)0);
        std::map<Key, uint32_t> now;
        for (Key key : from)
                now[key] = KC_LINEAR_ABSENT;
        for (int launch = 0; launch < (test_small() ? 30 : 300); launch++) {
                size_t n = next_random(&state) % 2000;
                std::vector<Key> keys = zipf_draws(from, n, state);
                std::vector<uint32_t> values = some_values(n, state), found = values;
                std::vector<enum kc_linear_op> ops;
                std::map<Key, possible> left;
                for (size_t i = 0; i < n; i++) {
                        ops.push_back((enum kc_linear_op)(next_random(&state) % 3));
                        if (ops[i] == KC_LINEAR_INSERT)
                                left[keys[i]].values.insert(values[i]);
                        else if (ops[i] == KC_LINEAR_ERASE)
                                left[keys[i]].values.insert(KC_LINEAR_ABSENT);
                }
                expect_ok(run_mixed(&b, ops, keys, &found), &b.err);
                for (size_t i = 0; i < n; i++)
                        if (ops[i] == KC_LINEAR_FIND)
                                assert_true(found[i] == now[keys[i]] ||
                                            left[keys[i]].values.count(found[i]) == 1);
                std::vector<uint32_t> after = lookup(&b, from);
                for (size_t i = 0; i < from.size(); i++) {
                        const possible &p = left[from[i]];
                        assert_true(p.values.empty() ? after[i] == now[from[i]]
                                                     : p.values.count(after[i]) == 1);
                        now[from[i]] = after[i];
                }
        }
        close_both(&b);
}
FOR_BOTH(histories)

static void wrong_options(void **unused)
{
        struct kc_gpu gpu;
        struct kc_error err = {};
        kc_linear_map<uint32_t> *map;
        struct kc_linear_options options = {};
        (void)unused;
        expect_ok(kc_gpu_open(&gpu, 0, 0, &err), &err);
        options.capacity = UINT64_C(1) << 50;
        assert_int_equal(kc_linear_new(&map, &gpu, &options, gpu.stream, &err), KC_EUSAGE);
        err = {};
        options.capacity = UINT64_C(1) << 40;
        assert_int_equal(kc_linear_new(&map, &gpu, &options, gpu.stream, &err), KC_ENOMEM);
        assert_int_equal(gpu.used_nbytes, 0);
        kc_gpu_close(&gpu);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(few_keys_32),   cmocka_unit_test(few_keys_64),
                cmocka_unit_test(loads_32),      cmocka_unit_test(loads_64),
                cmocka_unit_test(marks_32),      cmocka_unit_test(marks_64),
                cmocka_unit_test(one_bucket_32), cmocka_unit_test(one_bucket_64),
                cmocka_unit_test(bounded_32),    cmocka_unit_test(bounded_64),
                cmocka_unit_test(full_32),       cmocka_unit_test(full_64),
                cmocka_unit_test(growing_32),    cmocka_unit_test(growing_64),
                cmocka_unit_test(histories_32),  cmocka_unit_test(histories_64),
                cmocka_unit_test(wrong_options),
        };
        need_device();
        cmocka_set_test_filter(getenv("KC_TEST"));
        return cmocka_run_group_tests(tests, NULL, NULL);
}
