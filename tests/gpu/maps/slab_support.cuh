/*
 * What the tests of the slab hash share: arrays on the device, and maps whose operations and
 * answers are in host arrays.
 */
#ifndef KC_TESTS_GPU_MAPS_SLAB_SUPPORT_CUH
#define KC_TESTS_GPU_MAPS_SLAB_SUPPORT_CUH

#include "gpu/maps/slab/map.cuh"
#include "tests/gpu/support.cuh"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

static inline void expect_cuda(cudaError_t code)
{
        if (code != cudaSuccess)
                fail_msg("%s", cudaGetErrorString(code));
}

/* An array on the device, released with the variable. It is filled on the default stream, for which
 * neither the host nor the streams of a kc_gpu wait by themselves. */
template <class T> struct device_array {
        T *data = NULL;
        size_t n = 0;

        explicit device_array(size_t n) : n(n)
        {
                expect_cuda(cudaMalloc(&data, (n + 1) * sizeof(T)));
                expect_cuda(cudaMemset(data, 0xa5, (n + 1) * sizeof(T)));
                expect_cuda(cudaDeviceSynchronize());
        }

        explicit device_array(const std::vector<T> &from) : device_array(from.size())
        {
                expect_cuda(cudaMemcpy(data, from.data(), n * sizeof(T), cudaMemcpyHostToDevice));
                expect_cuda(cudaDeviceSynchronize());
        }

        device_array(const device_array &) = delete;

        ~device_array()
        {
                (void)cudaFree(data);
        }

        std::vector<T> get() const
        {
                std::vector<T> to(n);
                expect_cuda(cudaDeviceSynchronize());
                expect_cuda(cudaMemcpy(to.data(), data, n * sizeof(T), cudaMemcpyDeviceToHost));
                return to;
        }
};

/* The device, closed with the variable, when nothing may be left on it. */
struct open_gpu {
        struct kc_gpu gpu = {};

        open_gpu()
        {
                struct kc_error err = {};
                expect_ok(kc_gpu_open(&gpu, 0, (size_t)1 << 30, &err), &err);
        }

        ~open_gpu()
        {
                assert_int_equal(gpu.used_nbytes, 0);
                kc_gpu_close(&gpu);
        }
};

/* An operation and its answer. */
template <class Layout> struct test_op {
        uint8_t kind;
        typename Layout::key key;
        uint32_t value, list;
        uint32_t result;
        bool hit;
};

template <class Layout> using test_ops = std::vector<test_op<Layout>>;

template <class Layout> struct test_map {
        typedef typename Layout::key key;
        struct kc_gpu *gpu;
        struct kc_slab_map<Layout> *map = NULL;
        struct kc_error err = {};
        std::vector<uint32_t> found_numbers, found_values; /* of the last run */
        uint64_t nfound = 0, nrefused = 0;
        bool asks = true; /* requests hits and results */

        test_map(struct kc_gpu *gpu, const struct kc_slab_options &options) : gpu(gpu)
        {
                expect_ok(kc_slab_new(&map, gpu, &options, gpu->stream, &err), &err);
        }

        ~test_map()
        {
                kc_slab_free(map);
        }

        /* Do all in one launch; one_kind: all have the kind of the first. */
        enum kc_status run(test_ops<Layout> &ops, bool one_kind = false, bool resume = false)
        {
                size_t n = ops.size(), cap = 4 * n + 100;
                std::vector<uint8_t> kinds;
                std::vector<key> keys;
                std::vector<uint32_t> values, lists;
                for (const test_op<Layout> &op : ops) {
                        kinds.push_back(op.kind);
                        keys.push_back(op.key);
                        values.push_back(op.value);
                        lists.push_back(op.list);
                }
                device_array<uint8_t> device_kinds(kinds);
                device_array<key> device_keys(keys);
                device_array<uint32_t> device_values(values), device_lists(lists), results(n),
                        hits((n + 31) / 32), numbers(cap), found(cap);
                kc_slab_ops<Layout> device = {};
                device.n = n;
                device.kind = n > 0 ? (enum kc_slab_kind)kinds[0] : KC_SLAB_SEARCH;
                device.kinds = one_kind ? NULL : device_kinds.data;
                device.keys = device_keys.data;
                device.values = device_values.data;
                device.lists = map->options.named ? device_lists.data : NULL;
                device.results = asks ? results.data : NULL;
                device.hits = asks ? hits.data : NULL;
                device.found_numbers = one_kind ? NULL : numbers.data;
                device.found_values = found.data;
                device.found_cap = cap;
                err = {};
                enum kc_status status = resume ? kc_slab_resume(map, &device, &err)
                                               : kc_slab_run(map, &device, &err);
                nfound = device.nfound;
                nrefused = device.nrefused;
                if (asks)
                        read_answers(ops, results.get(), hits.get());
                found_numbers = numbers.get();
                found_values = found.get();
                return status;
        }

        void run_ok(test_ops<Layout> &ops, bool one_kind = false)
        {
                expect_ok(run(ops, one_kind), &err);
        }

        /* Clear n bytes of the lists' first slabs, from byte `first` on. */
        void clear_bytes(size_t first, size_t n)
        {
                expect_cuda(cudaMemsetAsync(map->heads + first, 0, n, gpu->stream));
        }

        struct kc_slab_stats stats()
        {
                struct kc_slab_stats stats;
                expect_ok(kc_slab_measure(map, &stats, &err), &err);
                return stats;
        }

        uint64_t nused()
        {
                uint64_t n;
                expect_ok(kc_slab_pool_nused(&map->pool, &n, &err), &err);
                return n;
        }

        /* All elements, ascending. */
        std::vector<std::pair<key, uint32_t>> dump()
        {
                size_t cap = (size_t)stats().nelements;
                device_array<key> keys(cap);
                device_array<uint32_t> values(cap), lists(cap);
                uint64_t n;
                expect_ok(kc_slab_export_lists(map, keys.data, values.data, lists.data, cap, &n,
                                               &err),
                          &err);
                assert_int_equal(n, cap);
                std::vector<key> all = keys.get();
                std::vector<uint32_t> all_values = values.get();
                std::vector<std::pair<key, uint32_t>> elements;
                for (size_t i = 0; i < cap; i++)
                        elements.push_back({ all[i], all_values[i] });
                std::sort(elements.begin(), elements.end());
                return elements;
        }

      private:
        static void read_answers(test_ops<Layout> &ops, const std::vector<uint32_t> &results,
                                 const std::vector<uint32_t> &hits)
        {
                for (size_t i = 0; i < ops.size(); i++) {
                        ops[i].result = results[i];
                        ops[i].hit = hits[i / 32] >> i % 32 & 1;
                }
        }
};

/* Options with a small pool that grows. */
static inline struct kc_slab_options map_options(uint32_t nlists, int nlanes = 0)
{
        struct kc_slab_options options = {};
        options.nlists = nlists;
        options.nlanes = nlanes;
        options.seed = 12345;
        options.pool.nblocks = 2;
        options.pool.light = nlists % 2 == 0;
        return options;
}

template <class Key> static Key random_key(uint64_t *state)
{
        return (Key)next_random(state);
}

/* Define test_NAME_LAYOUT for every layout; it calls name<Layout>(lanes of a group) for every
 * supported group size. */
#define SLAB_TEST(name, layout) \
        static void test_##name##_##layout(void **unused) \
        { \
                (void)unused; \
                name<kc_slab_##layout>(8); \
                name<kc_slab_##layout>(4); \
        }
#define SLAB_TESTS(name) \
        SLAB_TEST(name, key32) \
        SLAB_TEST(name, pair32) \
        SLAB_TEST(name, key64) \
        SLAB_TEST(name, pair64)
#define SLAB_UNIT_TESTS(name) \
        cmocka_unit_test(test_##name##_key32), cmocka_unit_test(test_##name##_pair32), \
                cmocka_unit_test(test_##name##_key64), cmocka_unit_test(test_##name##_pair64)

/* The kinds that keep keys unique and that the layout supports. */
template <class Layout> static std::vector<uint8_t> unique_kinds(void)
{
        std::vector<uint8_t> kinds = { KC_SLAB_SEARCH, KC_SLAB_REPLACE, KC_SLAB_DELETE,
                                       KC_SLAB_SEARCH_ALL, KC_SLAB_DELETE_ALL };
        if (Layout::VALUES)
                kinds.push_back(KC_SLAB_ADD);
        return kinds;
}

/* Keys that are special values, either themselves or when mixed. */
template <class Key> static std::vector<Key> odd_keys(uint64_t seed)
{
        std::vector<Key> keys;
        for (Key key : { (Key)0, (Key)1, (Key)2, (Key) ~(Key)0, (Key) ~(Key)1, (Key) ~(Key)2,
                         (Key)((Key)1 << (8 * sizeof(Key) - 1)), (Key)(~(Key)0 >> 1) }) {
                keys.push_back(key);
                keys.push_back((Key)(kc_slab_unmix(key) ^ (Key)seed));
        }
        std::sort(keys.begin(), keys.end());
        keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
        return keys;
}

template <class Key> static std::vector<Key> distinct_keys(size_t n, uint64_t seed)
{
        std::vector<Key> keys = odd_keys<Key>(seed);
        std::set<Key> seen(keys.begin(), keys.end());
        uint64_t state = seed;
        while (keys.size() < n) {
                Key key = random_key<Key>(&state);
                if (seen.insert(key).second)
                        keys.push_back(key);
        }
        keys.resize(n);
        return keys;
}

#endif
