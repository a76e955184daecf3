/*
 * Ordering, compared with std::sort: both ways, and the choice between them.
 */
#include "gpu/order/order.cuh"
#include "gpu/order/order_internal.cuh"
#include "gpu/order/plan.cuh"
#include "tests/gpu/open_gpu.cuh"

#include <algorithm>
#include <numeric>
#include <vector>

template <class Key> struct pair_of {
        Key kmer;
        uint32_t count;
};

template <class Key> using pairs_of = std::vector<pair_of<Key>>;

enum way { CHOOSE, PLAINLY, BY_BUCKETS, BY_SAMPLE, BY_WRONG_SAMPLE };

/* ---- inputs ---- */

template <class Key> static Key random_key(uint64_t *state, int k)
{
        return any_key<Key>(state) & kc_key_mask<Key>(k);
}

/* Distributed like canonical k-mers: the smaller of two. */
template <class Key> static Key canonical_key(uint64_t *state, int k)
{
        Key a = random_key<Key>(state, k), b = random_key<Key>(state, k);
        return a < b ? a : b;
}

enum shape {
        UNIFORM,
        CANONICAL,
        ZIPF,
        ONE_CELL,
        ASCENDING,
        DESCENDING,
        CLUSTERS,
        EDGES,
        LARGE_COUNTS,
        FULL_BUCKETS,
        CROWDED,
        NSHAPES
};

static const char *const shape_names[] = { "uniform",      "canonical",    "zipf",     "one cell",
                                           "ascending",    "descending",   "clusters", "edges",
                                           "large counts", "full buckets", "crowded" };

/* Cells with CAP - 1, CAP, CAP + 1 pairs, in turn. */
template <class Key> static Key full_bucket_key(uint64_t *state, int k, size_t i)
{
        const size_t cap = kc_order_size<Key>::CAP;
        size_t round = i / (3 * cap), at = i % (3 * cap);
        size_t cell = 3 * round + (at < cap - 1 ? 0 : at < 2 * cap - 1 ? 1 : 2);
        int rest = 2 * k > 20 ? 2 * k - 20 : 0;
        Key key = (Key)(cell * 7919 % (1 << 20)) << rest;
        return (key | (random_key<Key>(state, k) & (((Key)1 << rest) - 1))) & kc_key_mask<Key>(k);
}

template <class Key> static Key shaped_key(enum shape shape, uint64_t *state, int k, size_t i)
{
        Key mask = kc_key_mask<Key>(k), key;
        switch (shape) {
        case CANONICAL:
                return canonical_key<Key>(state, k);
        case ZIPF: {
                uint64_t rank = UINT64_C(1) << next_random(state) % 22;
                uint64_t of = next_random(state) % rank + rank;
                return random_key<Key>(&of, k);
        }
        case ONE_CELL:
                return (mask & ~(Key)0xffffff) | (next_random(state) & 0xffffff & (uint64_t)mask);
        case CLUSTERS: {
                uint64_t of = next_random(state) % 40000;
                return random_key<Key>(&of, k) ^ (next_random(state) & 0xffff & (uint64_t)mask);
        }
        case EDGES:
                key = next_random(state) % 2 ? mask : 0;
                return next_random(state) % 3 ? key
                                              : key ^ (next_random(state) % 5 & (uint64_t)mask);
        case CROWDED: {
                uint64_t of = next_random(state) % 50;
                key = random_key<Key>(state, k);
                if (i % 4 != 0)
                        return key;
                return random_key<Key>(&of, k) ^ (key & 0xffffff);
        }
        case FULL_BUCKETS:
                return full_bucket_key<Key>(state, k, i);
        default:
                return random_key<Key>(state, k);
        }
}

template <class Key> static bool less(const pair_of<Key> &a, const pair_of<Key> &b)
{
        return a.kmer < b.kmer;
}

/* Keep each k-mer once, in the order of the pairs. */
template <class Key> static void make_distinct(pairs_of<Key> *pairs)
{
        std::vector<size_t> order(pairs->size());
        std::vector<bool> repeated(pairs->size());
        size_t n = 0;
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(),
                         [&](size_t a, size_t b) { return less((*pairs)[a], (*pairs)[b]); });
        for (size_t i = 1; i < order.size(); i++)
                repeated[order[i]] = (*pairs)[order[i - 1]].kmer == (*pairs)[order[i]].kmer;
        for (size_t i = 0; i < pairs->size(); i++)
                if (!repeated[i])
                        (*pairs)[n++] = (*pairs)[i];
        pairs->resize(n);
}

/* At most n. */
template <class Key> static pairs_of<Key> make_pairs(enum shape shape, int k, size_t n)
{
        uint64_t state = (uint64_t)shape * 1000 + k;
        pairs_of<Key> pairs(n);
        for (size_t i = 0; i < n; i++) {
                uint64_t x = next_random(&state);
                pairs[i].kmer = shaped_key<Key>(shape, &state, k, i);
                pairs[i].count = x % 16 ? 1 + x / 16 % 60 : 1 + x / 16 % 3000;
                if (shape == LARGE_COUNTS && x % 1000 == 0)
                        pairs[i].count = i % 3 == 0 ? UINT32_MAX : (uint32_t)(x >> 32) | 1;
        }
        make_distinct(&pairs);
        if (shape == ASCENDING || shape == DESCENDING)
                std::sort(pairs.begin(), pairs.end(), less<Key>);
        if (shape == DESCENDING)
                std::reverse(pairs.begin(), pairs.end());
        return pairs;
}

/* ---- order ---- */

template <class Key>
static void put_pairs(struct kc_order_input<Key> *in, const pairs_of<Key> &pairs)
{
        struct kc_error err = {};
        std::vector<Key> kmers(in->n);
        std::vector<uint32_t> counts(in->n);
        for (size_t i = 0; i < in->n; i++) {
                kmers[i] = pairs[i].kmer;
                counts[i] = pairs[i].count;
        }
        expect_ok(kc_gpu_new(&gpu, &in->kmers, in->n, &err), &err);
        expect_ok(kc_gpu_new(&gpu, &in->counts, in->n, &err), &err);
        expect_ok(kc_gpu_new(&gpu, &in->kmers_tmp, std::max(in->n, in->cap), &err), &err);
        expect_ok(kc_gpu_new(&gpu, &in->counts_tmp, in->n, &err), &err);
        cudaStreamSynchronize(gpu.stream);
        cudaMemcpy(in->kmers, kmers.data(), in->n * sizeof(Key), cudaMemcpyHostToDevice);
        cudaMemcpy(in->counts, counts.data(), in->n * sizeof(uint32_t), cudaMemcpyHostToDevice);
        cudaDeviceSynchronize(); /* gpu.stream does not wait for other streams */
}

template <class Key> static void drop_pairs(struct kc_order_input<Key> *in)
{
        kc_gpu_delete(&gpu, in->kmers, in->n);
        kc_gpu_delete(&gpu, in->counts, in->n);
        kc_gpu_delete(&gpu, in->kmers_tmp, std::max(in->n, in->cap));
        kc_gpu_delete(&gpu, in->counts_tmp, in->n);
}

template <class Key>
static void expect_run(const struct kc_gpu_run<Key> *run, const pairs_of<Key> &expected,
                       const char *name, int k)
{
        std::vector<Key> kmers(run->n);
        std::vector<uint32_t> counts(run->n);
        cudaStreamSynchronize(gpu.stream);
        cudaMemcpy(kmers.data(), run->kmers, run->n * sizeof(Key), cudaMemcpyDeviceToHost);
        cudaMemcpy(counts.data(), run->counts, run->n * sizeof(uint32_t), cudaMemcpyDeviceToHost);
        if (cudaGetLastError() != cudaSuccess)
                fail_msg("%s k=%d: CUDA failed", name, k);
        if (run->n != expected.size())
                fail_msg("%s k=%d: %zu k-mers for %zu", name, k, run->n, expected.size());
        for (size_t i = 0; i < run->n; i++)
                if (kmers[i] != expected[i].kmer || counts[i] != expected[i].count)
                        fail_msg("%s k=%d: pair %zu of %zu differs: count %u for %u", name, k, i,
                                 run->n, counts[i], expected[i].count);
        assert_int_equal(run->cap, run->n);
}

/* Put the pairs of the smallest k-mers where the sample is taken, in one row of every 16, so that
 * the sample misleads. */
template <class Key> static void mislead(pairs_of<Key> *pairs)
{
        enum { ROW = 512, STEP = 16 };
        std::sort(pairs->begin(), pairs->end(), less<Key>);
        const pairs_of<Key> sorted = *pairs;
        size_t low = 0, high = sorted.size();
        for (size_t i = 0; i < sorted.size(); i++)
                (*pairs)[i] = i / ROW % STEP == 0 ? sorted[low++] : sorted[--high];
}

/* Returns whether `way` could be taken. */
template <class Key> static bool try_order(enum way way, enum shape shape, int k, size_t n)
{
        struct kc_error err = {};
        size_t used = gpu.used_nbytes;
        pairs_of<Key> pairs = make_pairs<Key>(shape, k, n);
        struct kc_order_input<Key> in = {
                k, pairs.size(), NULL, NULL, NULL, NULL, 0
        };
        struct kc_gpu_run<Key> run;
        bool done = true;
        if (way == BY_SAMPLE || way == BY_WRONG_SAMPLE)
                in.cap = in.n + in.n / 32 + (KC_ORDER_FANOUT + 256) * kc_order_size<Key>::CAP;
        if (way == BY_WRONG_SAMPLE)
                mislead(&pairs);
        put_pairs(&in, pairs);
        if (way == CHOOSE)
                expect_ok(kc_gpu_order(&gpu, k, in.kmers, in.counts, in.kmers_tmp, in.counts_tmp,
                                       in.n, in.n, &run, &err),
                          &err);
        else if (way == PLAINLY)
                expect_ok(kc_order_plainly(&gpu, &in, &run, &err), &err);
        else
                expect_ok(kc_order_by_buckets(&gpu, &in, &run, &done, (cudaEvent_t *)NULL, &err),
                          &err);
        if (done) {
                std::sort(pairs.begin(), pairs.end(), less<Key>);
                expect_run(&run, pairs, shape_names[shape], k);
        }
        kc_gpu_run_free(&gpu, &run);
        drop_pairs(&in);
        assert_int_equal(gpu.used_nbytes, used);
        return done;
}

static bool try_any(enum way way, enum shape shape, int k, size_t n)
{
        return kc_key_choose(k,
                             [&](auto key) { return try_order<decltype(key)>(way, shape, k, n); });
}

/* ---- tests ---- */

enum { LEAST = 1 << 19 }; /* the fewest pairs for which buckets are chosen */

static const int ks[] = { 1, 2, 5, 12, 16, 31, 32, 33, 55, 64, 65, 77, 96, 97, 101, 128 };

static void sizes(void **)
{
        const size_t ns[] = { 0,    1,    2,    31,   32,   33,   2047, 2048,
                              2049, 4095, 4096, 4097, 8191, 8192, 8193, 100000 };
        for (size_t n : ns)
                for (int k : ks)
                        try_any(CHOOSE, UNIFORM, k, n);
}

static void by_buckets_small(void **)
{
        const size_t ns[] = { 1,    2,    31,   32,   33,   2047, 2048,  2049,
                              4095, 4096, 4097, 8191, 8192, 8193, 100000 };
        size_t number = 0;
        for (size_t n : ns)
                for (int k : ks)
                        for (int shape = 0; shape < NSHAPES; shape++)
                                if (k >= KC_ORDER_MIN_K && test_takes(number++, 331))
                                        try_any(BY_BUCKETS, (enum shape)shape, k, n);
}

static void shapes_plainly(void **)
{
        for (int k : ks)
                for (int shape = 0; shape < NSHAPES; shape++)
                        try_any(PLAINLY, (enum shape)shape, k, 50000);
}

static void shapes_large(void **)
{
        const size_t n = test_small() ? LEAST : 3000000;
        for (size_t shape = 0; shape < NSHAPES; shape++) {
                if (test_takes(shape, 9))
                        try_any(CHOOSE, (enum shape)shape, 16, n);
                if (test_takes(shape + 3, 9))
                        try_any(CHOOSE, (enum shape)shape, 31, n);
                if (test_takes(shape + 6, 9))
                        try_any(CHOOSE, (enum shape)shape, 64, n / 3 * 2);
                if (test_takes(shape + 1, 9))
                        try_any(CHOOSE, (enum shape)shape, 96, LEAST);
                if (test_takes(shape + 4, 9))
                        try_any(CHOOSE, (enum shape)shape, 101, LEAST);
        }
        for (size_t i = 0; i < sizeof ks / sizeof *ks; i++)
                if (test_takes(i, 9))
                        try_any(CHOOSE, CANONICAL, ks[i], test_small() ? LEAST : 1000000);
}

/* There are so many pairs that those of a prefix do not fit in a split that was expected to be
 * empty. */
static void samples(void **)
{
        for (int wrong = 0; wrong < 2; wrong++) {
                const enum way way = wrong ? BY_WRONG_SAMPLE : BY_SAMPLE;
                assert_true(try_any(way, UNIFORM, 31, 5 << 19));
                assert_true(try_any(way, CANONICAL, 77, LEAST));
                assert_true(try_any(way, LARGE_COUNTS, 101, LEAST / 4 * 5));
        }
        assert_true(try_any(BY_SAMPLE, CANONICAL, 16, LEAST));
        assert_true(try_any(BY_SAMPLE, ZIPF, 55, LEAST));
}

static void ways_taken(void **)
{
        const size_t n = test_small() ? LEAST : 1000000, many = test_small() ? LEAST : 3000000;
        assert_true(try_any(BY_BUCKETS, CANONICAL, 31, many));
        assert_true(try_any(BY_BUCKETS, FULL_BUCKETS, 31, many));
        assert_true(try_any(BY_BUCKETS, CLUSTERS, 31, n));
        assert_true(try_any(BY_BUCKETS, ZIPF, 55, n));
        assert_true(try_any(BY_BUCKETS, CANONICAL, 77, n));
        assert_true(try_any(BY_BUCKETS, ZIPF, 101, n));
        assert_false(try_any(BY_BUCKETS, ONE_CELL, 31, n));
}

/* A device bound that leaves room for the pairs, the run and little more. */
static void little_memory(void **)
{
        size_t limit = gpu.limit_nbytes;
        gpu.limit_nbytes = 64 << 10;
        for (int k : ks)
                try_any(CHOOSE, ZIPF, k, 33);
        const size_t n = test_small() ? LEAST : 3000000, pair = 12;
        gpu.limit_nbytes = 2 * n * pair + n * pair + (4 << 20);
        assert_true(try_any(CHOOSE, CANONICAL, 31, n));
        gpu.limit_nbytes = 2 * n * pair + n * pair + (20 << 20);
        assert_true(try_any(BY_BUCKETS, CANONICAL, 31, n));
        gpu.limit_nbytes = 2 * n * pair + n * pair + (8 << 20);
        try_any(BY_BUCKETS, ZIPF, 31, n);
        gpu.limit_nbytes = limit;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(sizes),          cmocka_unit_test(by_buckets_small),
                cmocka_unit_test(shapes_plainly), cmocka_unit_test(shapes_large),
                cmocka_unit_test(samples),        cmocka_unit_test(ways_taken),
                cmocka_unit_test(little_memory),
        };
        need_device();
        cmocka_set_test_filter(getenv("KC_TEST"));
        return cmocka_run_group_tests(tests, open_gpu, close_gpu);
}
