/*
 * The interface that the five maps share: the same calls with the same arguments, compared with
 * std::map, on a stream other than the device's own.
 */
#include "gpu/maps/hopscotch/map.cuh"
#include "gpu/maps/linear/map.cuh"
#include "gpu/maps/lsm/map.cuh"
#include "gpu/maps/slab/map.cuh"
#include "gpu/maps/warpdrive/map.cuh"
#include "tests/gpu/maps/map_support.cuh"

#include <set>

/* ---- the maps ---- */

/* What insert does to the value of a present key. */
enum meaning { REPLACES, ADDS, IS_SET /* no values */ };

/* The functions of a map, as the tests call them; a map with a different order of arguments does
 * not compile. */
#define FORWARD_AS(prefix, name, as) \
        template <class... Args> static enum kc_status as(Args... args) \
        { \
                return kc_##prefix##_##name(args...); \
        }
#define FORWARD(prefix, name) FORWARD_AS(prefix, name, name)
#define COMMON_PART(prefix) \
        FORWARD_AS(prefix, new, make) \
        static void destroy(map *map) \
        { \
                kc_##prefix##_free(map); \
        } \
        FORWARD(prefix, clear) \
        FORWARD(prefix, insert) \
        FORWARD(prefix, find) \
        FORWARD(prefix, erase) \
        FORWARD_AS(prefix, export, export_) \
        FORWARD(prefix, rebuild)

template <class Layout> struct warpdrive {
        typedef kc_wd_map<Layout> map;
        typedef typename Layout::key key;
        typedef uint32_t value;
        typedef struct kc_wd_options options;
        static constexpr enum meaning MEANING = REPLACES;
        static constexpr value ABSENT = KC_WD_ABSENT;
        static constexpr key MAX_KEY = (key) ~(key)0;
        static constexpr size_t NFULL = 800; /* more keys than a full() map has room for */
        static constexpr bool NEW_ALLOCATES = true;
        COMMON_PART(wd)

        static options roomy(size_t n)
        {
                options o = {};
                o.capacity = n + n / 4;
                return o;
        }

        static options full(void)
        {
                options o = roomy(400);
                o.max_rebuilds = -1;
                return o;
        }

        static options invalid(void)
        {
                options o = roomy(400);
                o.group = 3;
                return o;
        }
};

template <class Layout> struct slab {
        typedef kc_slab_map<Layout> map;
        typedef typename Layout::key key;
        typedef uint32_t value;
        typedef struct kc_slab_options options;
        static constexpr enum meaning MEANING = Layout::VALUES ? REPLACES : IS_SET;
        static constexpr value ABSENT = KC_SLAB_ABSENT;
        static constexpr key MAX_KEY = (key) ~(key)0;
        static constexpr size_t NFULL = 1290 * Layout::NPLACES;
        static constexpr bool NEW_ALLOCATES = true;
        COMMON_PART(slab)

        static options roomy(size_t n)
        {
                options o = {};
                o.nlists = kc_slab_nlists<Layout>(n, 0.7);
                o.pool.nblocks = 2;
                return o;
        }

        static options full(void)
        {
                options o = {};
                o.nlists = 256; /* plus 1023 slabs of the pool */
                o.pool.nblocks = o.pool.max_supers = 1;
                return o;
        }

        static options invalid(void)
        {
                return {};
        }
};

template <class Key> struct linear {
        typedef kc_linear_map<Key> map;
        typedef Key key;
        typedef uint32_t value;
        typedef struct kc_linear_options options;
        static constexpr enum meaning MEANING = REPLACES;
        static constexpr value ABSENT = KC_LINEAR_ABSENT;
        static constexpr key MAX_KEY = (key) ~(key)0;
        static constexpr size_t NFULL = 800;
        static constexpr bool NEW_ALLOCATES = true;
        COMMON_PART(linear)

        static options roomy(size_t n)
        {
                options o = {};
                o.capacity = 2 * n;
                o.grows = true;
                return o;
        }

        static options full(void)
        {
                options o = {};
                o.capacity = 512;
                return o;
        }

        static options invalid(void)
        {
                return roomy(SIZE_MAX / 2);
        }
};

struct hopscotch {
        typedef struct kc_hopscotch_map map;
        typedef uint32_t key;
        typedef uint8_t value;
        typedef struct kc_hopscotch_options options;
        static constexpr enum meaning MEANING = IS_SET;
        static constexpr value ABSENT = KC_HOPSCOTCH_ABSENT;
        static constexpr key MAX_KEY = UINT32_MAX;
        static constexpr size_t NFULL = 800;
        static constexpr bool NEW_ALLOCATES = true;
        COMMON_PART(hopscotch)

        static options roomy(size_t n)
        {
                return { 2 * n };
        }

        static options full(void)
        {
                return { 512 };
        }

        static options invalid(void)
        {
                return { (UINT64_C(1) << 31) + 1 };
        }
};

/* Batches of all sizes, from less than b to several times b. */
template <class Word, enum meaning WHAT, Word MAX> struct lsm {
        typedef kc_lsm_map<Word> map;
        typedef Word key;
        typedef uint32_t value;
        typedef struct kc_lsm_options options;
        static constexpr enum meaning MEANING = WHAT;
        static constexpr value ABSENT = KC_LSM_ABSENT;
        static constexpr key MAX_KEY = MAX;
        static constexpr size_t NFULL = 900;
        static constexpr bool NEW_ALLOCATES = false;
        COMMON_PART(lsm)

        static options roomy(size_t n)
        {
                options o = {};
                o.batch = n / 3 + 1;
                return o;
        }

        static options full(void)
        {
                options o = {};
                o.batch = 1000;
                return o;
        }

        static options invalid(void)
        {
                return {};
        }
};

typedef warpdrive<kc_wd_pair32> warpdrive_32;
typedef warpdrive<kc_wd_near64> warpdrive_64;
typedef slab<kc_slab_key32> slab_set;
typedef slab<kc_slab_pair32> slab_32;
typedef slab<kc_slab_pair64> slab_64;
typedef linear<uint32_t> linear_32;
typedef linear<kc_key64> linear_64;
typedef lsm<uint32_t, REPLACES, KC_LSM_MAX_KEY32> lsm_32;
typedef lsm<kc_key64, ADDS, UINT64_MAX> lsm_counts;

/* ---- a map and what must be in it ---- */

template <class Map> struct both {
        typedef typename Map::key key;
        typedef typename Map::value value;
        typedef std::vector<key> keys;
        typedef std::vector<uint32_t> values;

        struct kc_gpu gpu = {};
        struct kc_gpu_stream on = {};
        struct kc_error err = {};
        typename Map::map *map = NULL;
        std::map<key, uint32_t> want;

        explicit both(const typename Map::options &options)
        {
                open();
                expect_ok(Map::make(&map, &gpu, &options, on.stream, &err), &err);
                assert_non_null(map);
        }

        ~both()
        {
                Map::destroy(map);
                assert_int_equal(gpu.used_nbytes, 0);
                (void)cudaStreamDestroy(on.stream);
                kc_gpu_close(&gpu);
        }

        /* Insert the batch with the values at the same places, and check that all are found. */
        void insert(const keys &batch, const values &brought)
        {
                expect_ok(try_insert(batch, brought), &err);
                note(batch, brought);
        }

        enum kc_status try_insert(const keys &batch, const values &brought)
        {
                key *device_keys = up(on, batch);
                value *device_values = up(on, std::vector<value>(brought.begin(), brought.end()));
                enum kc_status status =
                        Map::insert(map, (const key *)device_keys, (const value *)device_values,
                                    (uint64_t)batch.size(), &err);
                kc_gpu_delete(on, device_values, brought.size());
                kc_gpu_delete(on, device_keys, batch.size());
                return status;
        }

        void erase(const keys &batch)
        {
                key *device_keys = up(on, batch);
                expect_ok(Map::erase(map, (const key *)device_keys, (uint64_t)batch.size(), &err),
                          &err);
                kc_gpu_delete(on, device_keys, batch.size());
                for (key one : batch)
                        want.erase(one);
        }

        std::vector<value> find(const keys &batch)
        {
                key *device_keys = up(on, batch);
                value *found = up(on, std::vector<value>(batch.size(), 77));
                expect_ok(Map::find((const typename Map::map *)map, (const key *)device_keys, found,
                                    (uint64_t)batch.size(), &err),
                          &err);
                kc_gpu_delete(on, device_keys, batch.size());
                return down(on, found, batch.size(), batch.size());
        }

        void expect_found(const keys &batch)
        {
                std::vector<value> found = find(batch);
                for (size_t i = 0; i < batch.size(); i++) {
                        auto at = want.find(batch[i]);
                        assert_int_equal(found[i], at == want.end() ? Map::ABSENT : at->second);
                }
        }

        /* Export at most `cap` pairs; *n: the number of all pairs. */
        std::map<key, uint32_t> export_some(size_t cap, uint64_t *n)
        {
                key *device_keys = up(on, keys(cap));
                value *device_values = up(on, std::vector<value>(cap, 1));
                expect_ok(Map::export_((const typename Map::map *)map, device_keys, device_values,
                                       (uint64_t)cap, n, &err),
                          &err);
                size_t ncopied = std::min((size_t)*n, cap);
                keys got = down(on, device_keys, ncopied, cap);
                std::vector<value> got_values = down(on, device_values, ncopied, cap);
                std::map<key, uint32_t> pairs;
                for (size_t i = 0; i < ncopied; i++)
                        pairs[got[i]] = got_values[i];
                assert_int_equal(pairs.size(), ncopied);
                return pairs;
        }

        /* Exactly the expected pairs are present. */
        void expect_same(void)
        {
                uint64_t n;
                auto pairs = export_some(want.size() + 40, &n);
                assert_int_equal(n, want.size());
                assert_true(pairs == want);
        }

        void rebuild(uint64_t capacity)
        {
                expect_ok(Map::rebuild(map, capacity, &err), &err);
                expect_same();
        }

      private:
        void open(void)
        {
                struct kc_error *err = &this->err;
                expect_ok(kc_gpu_open(&gpu, 0, 0, err), err);
                on.gpu = &gpu;
                expect_ok(KC_CUDA(cudaStreamCreateWithFlags(&on.stream, cudaStreamNonBlocking)),
                          err);
        }

        /* Of several values for a key, any may stay; the one found is then the expected one. */
        void note(const keys &batch, const values &brought)
        {
                std::map<key, std::set<uint32_t>> one_of;
                std::vector<value> found = find(batch);
                for (size_t i = 0; i < batch.size(); i++) {
                        if (Map::MEANING == ADDS)
                                want[batch[i]] += brought[i];
                        else
                                one_of[batch[i]].insert(Map::MEANING == IS_SET ? 1 : brought[i]);
                }
                for (size_t i = 0; i < batch.size() && Map::MEANING != ADDS; i++) {
                        assert_int_equal(one_of[batch[i]].count(found[i]), 1);
                        want[batch[i]] = found[i];
                }
                expect_found(batch);
        }
};

/* Distinct keys; none is below 1000 or among the highest. */
template <class Map> static std::vector<typename Map::key> some_keys(size_t n, uint64_t seed)
{
        std::set<typename Map::key> seen;
        std::vector<typename Map::key> keys;
        while (keys.size() < n) {
                typename Map::key key = (typename Map::key)next_random(&seed) & Map::MAX_KEY;
                if (key >= 1000 && key < Map::MAX_KEY - 1000 && seen.insert(key).second)
                        keys.push_back(key);
        }
        return keys;
}

/* From 1 to a million: values that all maps accept and whose sums do not exceed 2^32. */
static std::vector<uint32_t> values_for(size_t n, uint64_t seed)
{
        std::vector<uint32_t> values = some_values(n, seed);
        for (uint32_t &value : values)
                value = 1 + value % 1000000;
        return values;
}

/* ---- tests: each for all maps ---- */

template <class Map> static void nothing(void)
{
        both<Map> b(Map::roomy(100));
        b.expect_same();
        b.insert({}, {});
        b.erase({});
        b.expect_found({});
        b.rebuild(0);
        expect_ok(Map::clear(b.map, &b.err), &b.err);
        b.expect_same();
        b.expect_found(some_keys<Map>(10, 1));
        b.erase(some_keys<Map>(10, 1));
        b.expect_same();
        Map::destroy(NULL);
}

template <class Map> static void batches(void)
{
        for (size_t n : { 1, 31, 32, 33, 255, 257 }) {
                both<Map> b(Map::roomy(n));
                auto keys = some_keys<Map>(n, n), others = some_keys<Map>(n, n + 1000);
                b.insert(keys, values_for(n, 1));
                b.expect_same();
                b.expect_found(others);
                keys.resize(n / 2);
                b.erase(keys);
                b.expect_same();
                b.expect_found(keys);
                b.insert(keys, values_for(keys.size(), 2));
                b.expect_same();
        }
}

/* Batches of keys that are already present, and of keys that occur often. */
template <class Map> static void again(void)
{
        const size_t n = 300;
        both<Map> b(Map::roomy(n));
        auto keys = some_keys<Map>(n, 3);
        b.insert(keys, values_for(n, 4));
        b.insert(keys, values_for(n, 5));
        b.expect_same();
        auto few = uniform_draws(keys, 1000, 6);
        b.insert(few, values_for(few.size(), 7));
        b.expect_same();
        b.erase(few);
        b.erase(few);
        b.expect_same();
        b.expect_found(keys);
        b.insert(few, values_for(few.size(), 8));
        b.expect_same();
}

/* No key is reserved. */
template <class Map> static void special_keys(void)
{
        typedef typename Map::key key;
        std::vector<key> keys = { 0,
                                  1,
                                  2,
                                  Map::MAX_KEY,
                                  Map::MAX_KEY - 1,
                                  Map::MAX_KEY - 2,
                                  (key)(Map::MAX_KEY / 2),
                                  (key)(Map::MAX_KEY / 2 + 1) };
        for (key half : { (key)UINT32_MAX, (key)(UINT32_MAX - 1) })
                if (half < Map::MAX_KEY - 2) /* of a wide key: one half all ones */
                        keys.insert(keys.end(), { half, (key)(Map::MAX_KEY - half) });
        both<Map> b(Map::roomy(50));
        b.expect_found(keys);
        b.insert(keys, values_for(keys.size(), 1));
        b.expect_same();
        b.rebuild(0);
        b.expect_found(keys);
        b.erase({ keys[0], keys[3] });
        b.expect_same();
        b.expect_found(keys);
        b.insert(keys, values_for(keys.size(), 2));
        b.expect_same();
        b.erase(keys);
        b.expect_same();
        b.expect_found(keys);
}

template <class Map> static void cleared(void)
{
        both<Map> b(Map::roomy(200));
        auto keys = some_keys<Map>(200, 1);
        for (int i = 0; i < 2; i++) {
                b.insert(keys, values_for(200, 2));
                expect_ok(Map::clear(b.map, &b.err), &b.err);
                b.want.clear();
                b.expect_same();
                b.expect_found(keys);
        }
        b.insert(keys, values_for(200, 3));
        b.expect_same();
}

/* Rebuild with more room and with less, with erased keys and without. */
template <class Map> static void rebuilt(void)
{
        const size_t n = 700;
        both<Map> b(Map::roomy(n));
        auto keys = some_keys<Map>(n, 1), half = keys;
        half.resize(n / 2);
        b.insert(keys, values_for(n, 2));
        b.rebuild(5 * n);
        b.rebuild(0);
        b.erase(half);
        b.expect_same();
        b.rebuild(n - n / 4);
        b.rebuild(n - n / 4);
        b.expect_found(keys);
        b.rebuild(3 * n);
        b.insert(half, values_for(half.size(), 3));
        b.expect_same();
        b.expect_found(keys);
}

/* Export into less room than there are pairs. */
template <class Map> static void some_exported(void)
{
        both<Map> b(Map::roomy(300));
        b.insert(some_keys<Map>(300, 1), values_for(300, 2));
        for (size_t cap : { 0, 1, 100, 299, 300 }) {
                uint64_t n;
                auto pairs = b.export_some(cap, &n);
                assert_int_equal(n, 300);
                assert_int_equal(pairs.size(), cap);
                for (const auto &pair : pairs)
                        assert_int_equal(b.want.at(pair.first), pair.second);
        }
        b.expect_same();
}

/* A batch for which there is too little room: no earlier pair is lost, none is invented, and the
 * batch can be inserted again when there is room. */
template <class Map> static void full(void)
{
        both<Map> b(Map::full());
        auto before = some_keys<Map>(60, 1), keys = some_keys<Map>(Map::NFULL, 2);
        auto values = values_for(keys.size(), 3);
        b.insert(before, values_for(before.size(), 4));
        const size_t limit_nbytes = b.gpu.limit_nbytes;
        if (!Map::NEW_ALLOCATES)
                b.gpu.limit_nbytes =
                        b.gpu.used_nbytes + keys.size() * (sizeof(keys[0]) + sizeof(uint32_t) + 1);
        assert_int_equal(b.try_insert(keys, values), KC_ENOMEM);
        assert_true(b.err.message[0] != '\0');
        b.err = {};
        b.gpu.limit_nbytes = limit_nbytes;
        auto all = b.want;
        uint64_t n;
        for (size_t i = 0; i < keys.size(); i++)
                all[keys[i]] = Map::MEANING == IS_SET ? 1 : values[i];
        auto pairs = b.export_some(all.size(), &n);
        assert_true(n < all.size());
        for (const auto &pair : pairs)
                assert_int_equal(all.at(pair.first), pair.second);
        for (const auto &pair : b.want)
                assert_int_equal(pairs.count(pair.first), 1);
        b.want = pairs;
        b.expect_found(keys);
        b.rebuild(2 * all.size());
        b.insert(keys, values);
        b.expect_same();
        assert_true(b.want == all);
}

template <class Map> static void not_made(void)
{
        struct kc_gpu gpu;
        struct kc_error err = {};
        typename Map::options wrong = Map::invalid(), right = Map::roomy(10000);
        typename Map::map *map = (typename Map::map *)&gpu;
        expect_ok(kc_gpu_open(&gpu, 0, 0, &err), &err);
        assert_int_equal(Map::make(&map, &gpu, &wrong, gpu.stream, &err), KC_EUSAGE);
        assert_null(map);
        assert_true(err.message[0] != '\0');
        err = {};
        map = (typename Map::map *)&gpu;
        gpu.limit_nbytes = 10000;
        if (Map::NEW_ALLOCATES) {
                assert_int_equal(Map::make(&map, &gpu, &right, gpu.stream, &err), KC_ENOMEM);
                assert_null(map);
        }
        assert_int_equal(gpu.used_nbytes, 0);
        kc_gpu_close(&gpu);
}

/* Batches of all kinds on few keys. */
template <class Map> static void histories(void)
{
        uint64_t state = 5;
        both<Map> b(Map::roomy(600));
        auto from = some_keys<Map>(600, 9);
        for (int i = 0; i < (test_small() ? 24 : 200); i++) {
                auto keys = uniform_draws(from, next_random(&state) % 700, state);
                uint64_t luck = next_random(&state) % 8;
                if (luck < 4)
                        b.insert(keys, values_for(keys.size(), state));
                else if (luck < 7)
                        b.erase(keys);
                else
                        b.rebuild(next_random(&state) % 2 * 1500);
                b.expect_found(from);
        }
        b.expect_same();
}

#define TEST(name, map) \
        static void name##_##map(void **) \
        { \
                name<map>(); \
        }
#define FOR_ALL_MAPS(what, name) \
        what(name, warpdrive_32) what(name, warpdrive_64) what(name, slab_set) what(name, slab_32) \
                what(name, slab_64) what(name, linear_32) what(name, linear_64) \
                        what(name, hopscotch) what(name, lsm_32) what(name, lsm_counts)
#define UNIT_TEST(name, map) cmocka_unit_test(name##_##map),

FOR_ALL_MAPS(TEST, nothing)
FOR_ALL_MAPS(TEST, batches)
FOR_ALL_MAPS(TEST, again)
FOR_ALL_MAPS(TEST, special_keys)
FOR_ALL_MAPS(TEST, cleared)
FOR_ALL_MAPS(TEST, rebuilt)
FOR_ALL_MAPS(TEST, some_exported)
FOR_ALL_MAPS(TEST, full)
FOR_ALL_MAPS(TEST, not_made)
FOR_ALL_MAPS(TEST, histories)

int main(void)
{
        const struct CMUnitTest tests[] = {
                FOR_ALL_MAPS(UNIT_TEST, nothing) FOR_ALL_MAPS(UNIT_TEST, batches)
                        FOR_ALL_MAPS(UNIT_TEST, again) FOR_ALL_MAPS(UNIT_TEST, special_keys)
                                FOR_ALL_MAPS(UNIT_TEST, cleared) FOR_ALL_MAPS(UNIT_TEST, rebuilt)
                                        FOR_ALL_MAPS(UNIT_TEST, some_exported)
                                                FOR_ALL_MAPS(UNIT_TEST, full)
                                                        FOR_ALL_MAPS(UNIT_TEST, not_made)
                                                                FOR_ALL_MAPS(UNIT_TEST, histories)
        };
        need_device();
        cmocka_set_test_filter(getenv("KC_TEST"));
        return cmocka_run_group_tests(tests, NULL, NULL);
}
