/*
 * What the tests of the WarpDrive map share: a map on the device and one on the host, which gets
 * the same operations.
 */
#ifndef KC_TESTS_GPU_MAPS_WARPDRIVE_SUPPORT_CUH
#define KC_TESTS_GPU_MAPS_WARPDRIVE_SUPPORT_CUH

#include "gpu/maps/warpdrive/map.cuh"
#include "tests/gpu/maps/map_support.cuh"

#include <algorithm>

enum { WORDS_KEY_BITS = 42, MISSING = 0x7fffffff };

/* ---- a map on both sides ---- */

/* The expected contents, with linear probing: std::map's nodes would take most of a test's time. An
 * erased key keeps its place. */
template <class Key> struct reference {
        struct entry {
                Key key;
                uint32_t value;
                bool taken, there;
        };
        std::vector<entry> entries;
        size_t ntaken = 0, nthere = 0;

        explicit reference(size_t n = 0)
        {
                size_t nentries = 64;
                while (nentries < 2 * n)
                        nentries *= 2;
                entries.resize(nentries);
        }

        /* NULL: no such key. */
        const uint32_t *find(Key key) const
        {
                const entry &e = entries[place_of(key)];
                return e.there ? &e.value : NULL;
        }

        size_t count(Key key) const
        {
                return find(key) != NULL;
        }

        size_t size(void) const
        {
                return nthere;
        }

        uint32_t &operator[](Key key)
        {
                if (2 * ntaken >= entries.size())
                        grow();
                entry *e = &entries[place_of(key)];
                ntaken += !e->taken;
                nthere += !e->there;
                if (!e->there)
                        *e = { key, 0, true, true };
                return e->value;
        }

        size_t erase(Key key)
        {
                entry *e = &entries[place_of(key)];
                bool was = e->there;
                e->there = false;
                nthere -= was;
                return was;
        }

        bool operator==(const reference &other) const
        {
                for (const entry &e : entries) {
                        const uint32_t *value = e.there ? other.find(e.key) : NULL;
                        if (e.there && (value == NULL || *value != e.value))
                                return false;
                }
                return nthere == other.nthere;
        }

      private:
        size_t place_of(Key key) const
        {
                kc_key128 wide = key;
                size_t i = ((uint64_t)wide ^ (uint64_t)(wide >> 64) * 3) * KC_WD_SCATTER >> 20;
                for (;; i++) {
                        i &= entries.size() - 1;
                        if (!entries[i].taken || entries[i].key == key)
                                return i;
                }
        }

        void grow(void)
        {
                reference larger(entries.size());
                for (const entry &e : entries)
                        if (e.there)
                                larger[e.key] = e.value;
                std::swap(*this, larger);
        }
};

template <class Layout> struct both {
        typedef typename Layout::key key;
        struct kc_gpu gpu;
        struct kc_error err;
        kc_wd_map<Layout> *map;
        reference<key> want;
};

template <class Layout> static void open_both(both<Layout> *b, const struct kc_wd_options *options)
{
        b->gpu = {};
        b->err = {};
        expect_ok(kc_gpu_open(&b->gpu, 0, 0, &b->err), &b->err);
        struct kc_wd_options own = *options;
        own.key_bits = WORDS_KEY_BITS;
        expect_ok(kc_wd_new(&b->map, &b->gpu, &own, b->gpu.stream, &b->err), &b->err);
}

template <class Layout> static void close_both(both<Layout> *b)
{
        kc_wd_free(b->map);
        assert_int_equal(b->gpu.used_nbytes, 0);
        kc_gpu_close(&b->gpu);
}

static inline struct kc_wd_options options_of(uint64_t capacity, uint32_t group)
{
        struct kc_wd_options options = {};
        options.capacity = capacity;
        options.group = group;
        return options;
}

enum how { DIRECT, BULK };

/* Put keys on the device only; *refused: a bit per key. */
template <class Layout>
static enum kc_status put(both<Layout> *b, enum kc_wd_mode mode,
                          const std::vector<typename Layout::key> &keys,
                          const std::vector<uint32_t> &values, enum how how,
                          std::vector<uint32_t> *refused)
{
        auto *device_keys = up(&b->gpu, keys);
        uint32_t *device_values = up(&b->gpu, values);
        uint32_t *bits = up(&b->gpu, std::vector<uint32_t>((keys.size() + 31) / 32));
        const uint32_t *weights = values.empty() ? NULL : device_values;
        enum kc_status status = (how == BULK ? kc_wd_bulk_put<Layout>
                                             : kc_wd_put<Layout>)(b->map, device_keys, weights,
                                                                  keys.size(), mode, bits, &b->err);
        *refused = down(&b->gpu, bits, (keys.size() + 31) / 32, (keys.size() + 31) / 32);
        kc_gpu_delete(&b->gpu, device_values, values.size());
        kc_gpu_delete(&b->gpu, device_keys, keys.size());
        return status;
}

template <class Layout>
static std::vector<uint32_t> retrieve(both<Layout> *b,
                                      const std::vector<typename Layout::key> &keys, enum how how)
{
        uint64_t nfound = 0, nflags = 0;
        auto *device_keys = up(&b->gpu, keys);
        uint32_t *values = up(&b->gpu, std::vector<uint32_t>(keys.size()));
        uint8_t *found = up(&b->gpu, std::vector<uint8_t>(keys.size()));
        if (how == BULK)
                expect_ok(kc_wd_bulk_retrieve(b->map, device_keys, values, keys.size(), MISSING,
                                              &nfound, &b->err),
                          &b->err);
        else
                expect_ok(kc_wd_retrieve(b->map, device_keys, values, keys.size(), MISSING, found,
                                         &nfound, &b->err),
                          &b->err);
        kc_gpu_delete(&b->gpu, device_keys, keys.size());
        for (uint8_t flag : down(&b->gpu, found, keys.size(), keys.size()))
                nflags += flag;
        if (how == DIRECT)
                assert_int_equal(nflags, nfound);
        for (auto key : keys)
                nfound -= b->want.count(key);
        assert_int_equal(nfound, 0);
        return down(&b->gpu, values, keys.size(), keys.size());
}

/* Exactly the expected keys are present, with their values. */
template <class Layout> static void expect_same(both<Layout> *b)
{
        typedef typename Layout::key Key;
        size_t cap = b->want.size() + 64;
        uint64_t n;
        Key *keys = up(&b->gpu, std::vector<Key>(cap));
        uint32_t *values = up(&b->gpu, std::vector<uint32_t>(cap));
        expect_ok(kc_wd_export(b->map, keys, values, cap, &n, &b->err), &b->err);
        std::vector<Key> host_keys = down(&b->gpu, keys, std::min(n, (uint64_t)cap), cap);
        std::vector<uint32_t> host_values = down(&b->gpu, values, host_keys.size(), cap);
        assert_int_equal(n, b->want.size());
        assert_int_equal(b->map->nkeys, b->want.size());
        reference<Key> got(n);
        for (size_t i = 0; i < n; i++)
                got[host_keys[i]] = host_values[i];
        assert_true(got == b->want);
}

template <class Layout>
static void expect_retrieved(both<Layout> *b, const std::vector<typename Layout::key> &keys,
                             enum how how)
{
        std::vector<uint32_t> got = retrieve(b, keys, how);
        for (size_t i = 0; i < keys.size(); i++) {
                const uint32_t *want = b->want.find(keys[i]);
                assert_int_equal(got[i], want == NULL ? MISSING : *want);
        }
}

static inline uint32_t sum_of_counts(uint32_t a, uint32_t b)
{
        return (uint64_t)a + b > UINT32_MAX ? UINT32_MAX : a + b;
}

template <class Layout>
static void add(both<Layout> *b, const std::vector<typename Layout::key> &keys,
                const std::vector<uint32_t> &weights, enum how how)
{
        std::vector<uint32_t> refused;
        expect_ok(put(b, KC_WD_ADD, keys, weights, how, &refused), &b->err);
        for (size_t i = 0; i < keys.size(); i++)
                b->want[keys[i]] =
                        sum_of_counts(b->want[keys[i]], weights.empty() ? 1 : weights[i]);
}

/* Values are small. Of several for one key, any may stay; it is then the expected one. */
template <class Layout>
static void insert(both<Layout> *b, const std::vector<typename Layout::key> &keys,
                   const std::vector<uint32_t> &values, enum how how)
{
        typedef typename Layout::key Key;
        if (Layout::COUNTS_ONLY) {
                add(b, keys, values, how);
                return;
        }
        std::vector<uint32_t> refused;
        std::vector<std::pair<Key, uint32_t>> brought;
        expect_ok(put(b, KC_WD_INSERT, keys, values, how, &refused), &b->err);
        for (size_t i = 0; i < keys.size(); i++) {
                brought.push_back({ keys[i], values[i] });
                b->want[keys[i]] = values[i];
        }
        std::sort(brought.begin(), brought.end());
        std::vector<uint32_t> got = retrieve(b, keys, how);
        for (size_t i = 0; i < keys.size(); i++) {
                std::pair<Key, uint32_t> one = { keys[i], got[i] };
                assert_true(std::binary_search(brought.begin(), brought.end(), one));
                b->want[keys[i]] = got[i];
        }
}

template <class Layout>
static void erase(both<Layout> *b, const std::vector<typename Layout::key> &keys)
{
        uint64_t nkeys = b->map->nkeys, nwanted = 0;
        auto *device_keys = up(&b->gpu, keys);
        expect_ok(kc_wd_erase(b->map, device_keys, keys.size(), &b->err), &b->err);
        kc_gpu_delete(&b->gpu, device_keys, keys.size());
        for (auto key : keys)
                nwanted += b->want.erase(key);
        assert_int_equal(nkeys - b->map->nkeys, nwanted);
}

/* ---- keys ---- */

template <class Layout> static typename Layout::key fit(typename Layout::key key)
{
        return Layout::COUNTS_ONLY ? key & kc_key_mask<typename Layout::key>(WORDS_KEY_BITS / 2)
                                   : key;
}

template <class Layout> static std::vector<typename Layout::key> some_keys(size_t n, uint64_t seed)
{
        std::vector<typename Layout::key> keys;
        for (size_t i = 0; i < n; i++) {
                uint64_t low = next_random(&seed);
                kc_key128 wide = (kc_key128)next_random(&seed) << 64 | low;
                keys.push_back(fit<Layout>((typename Layout::key)wide));
        }
        return keys;
}

/* The key that the map mixes to `mixed`. */
template <class Layout>
static typename Layout::key key_for(const both<Layout> *b, typename Layout::key mixed)
{
        const struct kc_wd_shape *shape = &b->map->view.shape;
        return kc_wd_unmix(mixed, shape->seed, shape->key_bits);
}

/* ---- tests: each for all layouts and groups ---- */

/* KC_TEST_GROUP=N in the environment: only windows of N slots. */
static inline uint32_t only_group(void)
{
        const char *group = getenv("KC_TEST_GROUP");
        return group == NULL ? 0 : (uint32_t)atoi(group);
}

#define FOR_GROUPS(name, Layout) \
        static void name##_##Layout(void **unused) \
        { \
                (void)unused; \
                for (uint32_t group = 1; group <= 32; group *= 2) \
                        if (only_group() == 0 || only_group() == group) \
                                name<kc_wd_##Layout>(group); \
        }
#define FOR_ALL(name) \
        FOR_GROUPS(name, pair32) \
        FOR_GROUPS(name, words) \
        FOR_GROUPS(name, apart64) \
        FOR_GROUPS(name, near64) \
        FOR_GROUPS(name, apart128)
#define TESTS(name) \
        cmocka_unit_test(name##_pair32), cmocka_unit_test(name##_words), \
                cmocka_unit_test(name##_apart64), cmocka_unit_test(name##_near64), \
                cmocka_unit_test(name##_apart128)

#endif
