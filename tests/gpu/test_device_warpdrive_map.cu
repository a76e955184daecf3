/*
 * The WarpDrive map on the device against one of the host, for all layouts and group sizes.
 */
#include "gpu/warpdrive_map.cuh"
#include "tests/gpu/map_support.cuh"

#include <algorithm>
#include <cmath>

enum { WORDS_KEY_BITS = 42, MISSING = 0x7fffffff };

/* ---- a map on both sides ---- */

/* What is to be in the map: linear probing, as std::map's nodes would take most of a test's time.
 * Places of erased keys stay theirs. */
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
        kc_wd_map<Layout> map;
        reference<key> want;
};

template <class Layout> static void open_both(both<Layout> *b, const struct kc_wd_options *options)
{
        b->gpu = {};
        b->err = {};
        expect_ok(kc_gpu_open(&b->gpu, 0, 0, &b->err), &b->err);
        struct kc_wd_options own = *options;
        own.key_bits = WORDS_KEY_BITS;
        expect_ok(kc_wd_new(&b->map, &b->gpu, &own, &b->err), &b->err);
}

template <class Layout> static void close_both(both<Layout> *b)
{
        kc_wd_free(&b->map);
        assert_int_equal(b->gpu.used_nbytes, 0);
        kc_gpu_close(&b->gpu);
}

static struct kc_wd_options options_of(uint64_t capacity, uint32_t group)
{
        struct kc_wd_options options = {};
        options.capacity = capacity;
        options.group = group;
        return options;
}

enum how { DIRECT, BULK };

/* Put on the device alone; *refused: bits. */
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
        enum kc_status status = how == BULK ? kc_wd_bulk_put(&b->map, mode, device_keys, weights,
                                                             keys.size(), &b->err)
                                            : kc_wd_put(&b->map, mode, device_keys, weights,
                                                        keys.size(), bits, &b->err);
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
                expect_ok(kc_wd_bulk_retrieve(&b->map, device_keys, keys.size(), MISSING, values,
                                              &nfound, &b->err),
                          &b->err);
        else
                expect_ok(kc_wd_retrieve(&b->map, device_keys, keys.size(), MISSING, values, found,
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

/* All keys that should be there are, with their values, and no others. */
template <class Layout> static void expect_same(both<Layout> *b)
{
        typedef typename Layout::key Key;
        size_t cap = b->want.size() + 64;
        uint64_t n;
        Key *keys = up(&b->gpu, std::vector<Key>(cap));
        uint32_t *values = up(&b->gpu, std::vector<uint32_t>(cap));
        expect_ok(kc_wd_export(&b->map, keys, values, cap, &n, &b->err), &b->err);
        std::vector<Key> host_keys = down(&b->gpu, keys, std::min(n, (uint64_t)cap), cap);
        std::vector<uint32_t> host_values = down(&b->gpu, values, host_keys.size(), cap);
        assert_int_equal(n, b->want.size());
        assert_int_equal(b->map.nkeys, b->want.size());
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

static uint32_t sum_of_counts(uint32_t a, uint32_t b)
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

/* Values are small; of those for one key, any may stay, and is then the one that is wanted. */
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
        uint64_t nerased, nwanted = 0;
        auto *device_keys = up(&b->gpu, keys);
        expect_ok(kc_wd_erase(&b->map, device_keys, keys.size(), &nerased, &b->err), &b->err);
        kc_gpu_delete(&b->gpu, device_keys, keys.size());
        for (auto key : keys)
                nwanted += b->want.erase(key);
        assert_int_equal(nerased, nwanted);
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

/* The key that is `mixed` in the map. */
template <class Layout>
static typename Layout::key key_for(const both<Layout> *b, typename Layout::key mixed)
{
        const struct kc_wd_shape *shape = &b->map.view.shape;
        return kc_wd_unmix(mixed, shape->seed, shape->key_bits);
}

/* ---- tests: each for all layouts and groups ---- */

/* KC_TEST_GROUP=N in the environment: windows of N slots only. */
static uint32_t only_group(void)
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

/* In two batches, the second one with keys of the first. linear 1, and as many as in the paper. */
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

/* Many of a few keys: one of the values, and all of the weights. */
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

/* Counts stop at UINT32_MAX, whatever is added together or later. */
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
        expect_ok(kc_wd_rebuild(&b.map, 500, &b.err), &b.err);
        expect_same(&b);
        erase(&b, from);
        add(&b, from, {}, DIRECT);
        expect_same(&b);
        close_both(&b);
}
FOR_ALL(saturated)

/* Batches of all kinds, among few keys in a crowded table: tombstones are everywhere. */
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

/* Keys that begin at one window and take the same way from there. */
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

/* Keys that look like free slots and tombstones. Where they have no place of their own, the map is
 * rebuilt, and then they are others. */
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
        assert_int_equal(b.map.nrebuilds > 0, sizeof(Key) == 16);
        expect_ok(kc_wd_rebuild(&b.map, 0, &b.err), &b.err);
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

/* More keys than slots: who was refused is told, all others are in; with more room, all. */
template <class Layout> static void full(uint32_t group)
{
        typedef typename Layout::key Key;
        both<Layout> b;
        struct kc_wd_options options = options_of(500, group);
        options.max_rebuilds = group % 3 == 1 ? -1 : 1;
        open_both(&b, &options);
        size_t nslots = b.map.nslots;
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
        if (group > 1) /* else a probe sequence ends before all slots were seen */
                assert_int_equal(left.size(), 100);
        expect_same(&b);
        expect_retrieved(&b, keys, DIRECT);
        expect_ok(kc_wd_rebuild(&b.map, 1000, &b.err), &b.err);
        insert(&b, left, left_values, DIRECT);
        expect_same(&b);
        close_both(&b);
}
FOR_ALL(full)

/* No slot is free any more, all are tombstones: nothing is found, and there is room for all. */
template <class Layout> static void tombstones(uint32_t group)
{
        both<Layout> b;
        struct kc_wd_options options = options_of(100, group);
        open_both(&b, &options);
        std::vector<typename Layout::key> keys = some_keys<Layout>(b.map.nslots, 1);
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

/* In parts, and in bulk. */
template <class Layout> static void bulk(uint32_t group)
{
        for (int part_bits : { 0, 1, 5, 9, 12 }) {
                size_t n = test_size(part_bits < 10 ? 1 << 15 : 1 << 18) + 5;
                if (n >> part_bits < 50) /* parts that are not alike */
                        continue;
                both<Layout> b;
                struct kc_wd_options options = options_of(2 * n, group);
                options.part_bits = part_bits;
                options.max_rebuilds = 4;
                open_both(&b, &options);
                std::vector<typename Layout::key> keys = some_keys<Layout>(n, 21), few;
                few.assign(keys.begin(), keys.begin() + n / 30);
                insert(&b, keys, some_values(n, 22), BULK);
                add(&b, zipf_draws(few, n, 23), {}, BULK);
                add(&b, uniform_draws(few, n, 24), some_values(n, 25), BULK);
                expect_same(&b);
                expect_retrieved(&b, keys, BULK);
                expect_retrieved(&b, some_keys<Layout>(n, 26), BULK);
                expect_retrieved(&b, keys, DIRECT);
                close_both(&b);
        }
}
FOR_ALL(bulk)

/* So many parts that they are split by in two passes; and keys of one part, all in one tile. */
template <class Layout> static void bulk_many_parts(uint32_t group)
{
        if (group == 2 || group > 4) /* groups have no part in the splitting */
                return;
        size_t n = test_size(1 << 20) + 7;
        both<Layout> b;
        struct kc_wd_options options = options_of(3 * n, group);
        options.part_bits = 11;
        open_both(&b, &options);
        std::vector<typename Layout::key> keys = some_keys<Layout>(n, 31);
        std::vector<typename Layout::key> one(n, keys[0]);
        insert(&b, keys, some_values(n, 32), BULK);
        add(&b, one, {}, BULK);
        expect_same(&b);
        expect_retrieved(&b, keys, BULK);
        expect_retrieved(&b, one, BULK);
        expect_retrieved(&b, some_keys<Layout>(n, 33), BULK);
        expect_retrieved(&b, keys, DIRECT);
        close_both(&b);
}
FOR_ALL(bulk_many_parts)

/* In bulk and not by turns, with tombstones, and with memory for a part of a batch at a time. */
template <class Layout> static void bulk_by_turns(uint32_t group)
{
        size_t n = test_size(1 << 16) + 3;
        uint64_t state = group;
        both<Layout> b;
        struct kc_wd_options options = options_of(n + n / 8, group);
        options.part_bits = 1;
        open_both(&b, &options);
        std::vector<typename Layout::key> from = some_keys<Layout>(n, group);
        for (int i = 0; i < 12; i++) {
                size_t limit_nbytes = b.gpu.limit_nbytes;
                enum how how = i % 3 == 2 ? DIRECT : BULK;
                auto keys = uniform_draws(from, n / 2 + next_random(&state) % n, state);
                if (how == BULK && i % 2 == 1 && !Layout::COUNTS_ONLY) /* wraps take memory */
                        b.gpu.limit_nbytes = b.gpu.used_nbytes + 60 * n;
                if (i % 4 < 2)
                        add(&b, keys, some_values(keys.size(), state), how);
                else
                        insert(&b, keys, some_values(keys.size(), state), how);
                expect_retrieved(&b, keys, BULK);
                b.gpu.limit_nbytes = limit_nbytes;
                expect_same(&b);
                keys.resize(keys.size() / 3);
                erase(&b, keys);
                expect_retrieved(&b, from, how);
        }
        close_both(&b);
}
FOR_ALL(bulk_by_turns)

/* Parts that overflow: the map is rebuilt, and all keys are in, as long as there are slots. */
template <class Layout> static void bulk_overflow(uint32_t group)
{
        uint64_t nrebuilds = 0;
        for (int i = 0; i < 16; i++) {
                both<Layout> b;
                struct kc_wd_options options = options_of(8 * 160, group);
                options.part_bits = 3;
                options.max_rebuilds = 20;
                open_both(&b, &options);
                double part = (double)b.map.nslots / 8;
                size_t n = (size_t)(8 * (part - 1.6 * sqrt(part)));
                std::vector<typename Layout::key> keys = some_keys<Layout>(n, i + 1);
                insert(&b, keys, some_values(keys.size(), i), BULK);
                expect_same(&b);
                expect_retrieved(&b, keys, BULK);
                nrebuilds += b.map.nrebuilds;
                close_both(&b);
        }
        assert_true(nrebuilds > 0);
}
FOR_ALL(bulk_overflow)

template <class Layout> static void bulk_full(uint32_t group)
{
        typedef typename Layout::key Key;
        both<Layout> b;
        struct kc_wd_options options = options_of(1000, group);
        options.part_bits = 2;
        options.max_rebuilds = group % 3 == 1 ? -1 : 1;
        open_both(&b, &options);
        std::vector<Key> keys = some_keys<Layout>(b.map.nslots + 100, 11);
        std::vector<uint32_t> values = some_values(keys.size(), 12), unused;
        enum kc_wd_mode mode = Layout::COUNTS_ONLY ? KC_WD_ADD : KC_WD_INSERT;
        assert_int_equal(put(&b, mode, keys, values, BULK, &unused), KC_ENOMEM);
        assert_true(b.err.message[0] != '\0');
        b.err = {};
        for (size_t i = 0; i < keys.size(); i++)
                b.want[keys[i]] = values[i];
        Key *device_keys = up(&b.gpu, keys);
        uint32_t *device_values = up(&b.gpu, values);
        uint8_t *found = up(&b.gpu, std::vector<uint8_t>(keys.size()));
        uint64_t nfound;
        expect_ok(kc_wd_retrieve(&b.map, device_keys, keys.size(), MISSING, device_values, found,
                                 &nfound, &b.err),
                  &b.err);
        kc_gpu_delete(&b.gpu, device_keys, keys.size());
        kc_gpu_delete(&b.gpu, device_values, keys.size());
        std::vector<uint8_t> flags = down(&b.gpu, found, keys.size(), keys.size());
        for (size_t i = 0; i < keys.size(); i++)
                if (!flags[i])
                        b.want.erase(keys[i]);
        assert_int_equal(nfound, b.want.size());
        assert_true(nfound >= 800);
        expect_same(&b);
        close_both(&b);
}
FOR_ALL(bulk_full)

static void wrong_options(void **unused)
{
        struct kc_gpu gpu;
        struct kc_error err = {};
        kc_wd_map<kc_wd_words> words;
        (void)unused;
        expect_ok(kc_gpu_open(&gpu, 0, 0, &err), &err);
        struct kc_wd_options options = options_of(100, 4);
        options.key_bits = 64; /* 25 windows: 60 bits of remainder */
        assert_int_equal(kc_wd_new(&words, &gpu, &options, &err), KC_EUSAGE);
        options.key_bits = 50;
        err = {};
        expect_ok(kc_wd_new(&words, &gpu, &options, &err), &err);
        assert_int_equal(kc_wd_put<kc_wd_words>(&words, KC_WD_INSERT, NULL, NULL, 1, NULL, &err),
                         KC_EUSAGE);
        kc_wd_free(&words);
        options.group = 3;
        assert_int_equal(kc_wd_new(&words, &gpu, &options, &err), KC_EUSAGE);
        options.group = 64;
        assert_int_equal(kc_wd_new(&words, &gpu, &options, &err), KC_EUSAGE);
        kc_wd_free(&words);
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
                TESTS(bulk),
                TESTS(bulk_many_parts),
                TESTS(bulk_by_turns),
                TESTS(bulk_overflow),
                TESTS(bulk_full),
                cmocka_unit_test(wrong_options),
        };
        need_device();
        if (getenv("KC_TEST") != NULL)
                cmocka_set_test_filter(getenv("KC_TEST"));
        return cmocka_run_group_tests(tests, NULL, NULL);
}
