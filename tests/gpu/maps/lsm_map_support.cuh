/*
 * An LSM dictionary and a model of it in a std::map: expected contents, and all queries of both.
 */
#ifndef KC_TESTS_GPU_MAPS_LSM_MAP_SUPPORT_CUH
#define KC_TESTS_GPU_MAPS_LSM_MAP_SUPPORT_CUH

#include "gpu/maps/lsm/map.cuh"
#include "tests/gpu/support.cuh"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

/* ---- the device */

static void check(cudaError_t code)
{
        if (code != cudaSuccess)
                fail_msg("CUDA: %s", cudaGetErrorString(code));
}

static struct kc_gpu open_gpu(size_t limit_nbytes)
{
        struct kc_gpu gpu;
        struct kc_error err = {};
        expect_ok(kc_gpu_open(&gpu, 0, limit_nbytes, &err), &err);
        return gpu;
}

/* Checks that all memory has been released. */
static void close_gpu(struct kc_gpu *gpu)
{
        assert_int_equal(gpu->used_nbytes, 0);
        kc_gpu_close(gpu);
}

/* A gpu's streams do not wait for the default stream; neither does the host, because a memset or a
 * copy to the device may return before it is done. */
static void wait_for_default_stream(void)
{
        check(cudaStreamSynchronize(NULL));
}

/* An array on the device, not counted against gpu's bound. */
template <class T> struct array {
        T *at = NULL;
        size_t n;

        explicit array(size_t n) : n(n)
        {
                check(cudaMalloc(&at, (n + 1) * sizeof(T)));
                check(cudaMemset(at, 0xee, (n + 1) * sizeof(T)));
                wait_for_default_stream();
        }

        explicit array(const std::vector<T> &from) : array(from.size())
        {
                check(cudaMemcpy(at, from.data(), n * sizeof(T), cudaMemcpyHostToDevice));
                wait_for_default_stream();
        }

        ~array()
        {
                cudaFree(at);
        }

        std::vector<T> host(void) const
        {
                std::vector<T> to(n);
                check(cudaMemcpy(to.data(), at, n * sizeof(T), cudaMemcpyDeviceToHost));
                return to;
        }
};

/* ---- expected contents */

template <class Word> struct kind {
        static constexpr bool SUMS = true;
        static constexpr Word MAX_KEY = (Word) ~(Word)0;
        static constexpr int KEY_NBITS = 8 * sizeof(Word);
};

template <> struct kind<uint32_t> {
        static constexpr bool SUMS = false;
        static constexpr uint32_t MAX_KEY = KC_LSM_MAX_KEY32;
        static constexpr int KEY_NBITS = 31;
};

template <class Word> struct item {
        Word key;
        uint32_t value;
        bool deletes;
};

template <class Word> using batch = std::vector<item<Word>>;

static uint32_t word_of(const item<uint32_t> &item)
{
        return item.deletes ? kc_lsm_deletion(item.key) : kc_lsm_insertion(item.key);
}

template <class Word> static Word word_of(const item<Word> &item)
{
        return item.key;
}

template <class Word> static uint32_t value_of(const item<Word> &item)
{
        return kind<Word>::SUMS && item.deletes ? 0 : item.value;
}

/* A key's value is one of several: if a batch inserts a key repeatedly, any value may stay. */
template <class Word> struct model {
        std::map<Word, std::vector<uint32_t>> pairs;

        void update(const batch<Word> &batch)
        {
                std::map<Word, std::vector<item<Word>>> by_key;
                for (const item<Word> &item : batch)
                        by_key[item.key].push_back(item);
                for (const auto &entry : by_key)
                        update(entry.first, entry.second);
        }

        void update(Word key, const std::vector<item<Word>> &items)
        {
                std::vector<uint32_t> values;
                for (const item<Word> &item : items) {
                        if (item.deletes) {
                                pairs.erase(key);
                                return;
                        }
                        values.push_back(item.value);
                }
                if (kind<Word>::SUMS) {
                        uint64_t sum = pairs.count(key) ? pairs[key][0] : 0;
                        for (uint32_t value : values)
                                sum += value;
                        values = { (uint32_t)std::min(sum, (uint64_t)UINT32_MAX) };
                }
                pairs[key] = values;
        }
};

/* A dictionary and its model. */
template <class Word> struct subject {
        struct kc_gpu gpu;
        struct kc_lsm_map<Word> *map;
        struct model<Word> model;
        size_t b;

        subject(size_t b, size_t limit_nbytes, int key_nbits = kind<Word>::KEY_NBITS)
            : gpu(open_gpu(limit_nbytes)), b(b)
        {
                struct kc_error err = {};
                struct kc_lsm_options options = { b, key_nbits };
                expect_ok(kc_lsm_new(&map, &gpu, &options, gpu.stream, &err), &err);
        }

        ~subject()
        {
                kc_lsm_free(map);
                close_gpu(&gpu);
        }

        enum kc_status feed(const batch<Word> &batch, bool build, struct kc_error *err)
        {
                std::vector<Word> words;
                std::vector<uint32_t> values;
                for (const item<Word> &item : batch) {
                        words.push_back(word_of(item));
                        values.push_back(value_of(item));
                }
                array<Word> device_words(words);
                array<uint32_t> device_values(values);
                enum kc_status status =
                        (build ? kc_lsm_build<Word> : kc_lsm_update<Word>)(map, device_words.at,
                                                                           device_values.at,
                                                                           batch.size(), err);
                check(cudaStreamSynchronize(gpu.stream));
                assert_true(device_words.host() == words);
                return status;
        }

        void update(const batch<Word> &batch)
        {
                struct kc_error err = {};
                uint64_t nbatches = map->nbatches;
                expect_ok(feed(batch, false, &err), &err);
                model.update(batch);
                assert_int_equal(map->nbatches, nbatches + !batch.empty());
        }

        /* Only valid elements and placebos are left. */
        void expect_clean(void)
        {
                size_t wanted = (model.pairs.size() + b - 1) / b;
                assert_int_equal(map->nbatches, wanted);
                assert_int_equal(kc_lsm_nelements(map), wanted * b);
        }

        void build(const batch<Word> &batch)
        {
                struct kc_error err = {};
                expect_ok(feed(batch, true, &err), &err);
                model.update(batch);
                expect_clean();
        }

        void cleanup(void)
        {
                struct kc_error err = {};
                expect_ok(kc_lsm_cleanup(map, &err), &err);
                expect_clean();
        }
};

/* ---- queries */

static void print_hint(const char *what, size_t i)
{
        print_message("%s of query %zu\n", what, i);
}

template <class Word>
static void expect_right(const struct model<Word> &model, Word key, bool found, uint32_t value,
                         size_t i)
{
        auto wanted = model.pairs.find(key);
        bool right = found == (wanted != model.pairs.end());
        if (right && found)
                right = std::count(wanted->second.begin(), wanted->second.end(), value) > 0;
        else if (right)
                right = value == 0;
        if (!right)
                print_hint("lookup", i);
        assert_true(right);
}

template <class Word>
static void expect_found(struct subject<Word> *s, const std::vector<Word> &keys)
{
        array<Word> queries(keys);
        for (enum kc_lsm_order order : { KC_LSM_AS_GIVEN, KC_LSM_SORTED_FIRST }) {
                struct kc_error err = {};
                array<uint32_t> values(keys.size());
                array<uint8_t> found(keys.size());
                expect_ok(kc_lsm_retrieve(s->map, queries.at, values.at, keys.size(), order,
                                          found.at, &err),
                          &err);
                check(cudaStreamSynchronize(s->gpu.stream));
                std::vector<uint32_t> got = values.host();
                std::vector<uint8_t> there = found.host();
                for (size_t i = 0; i < keys.size(); i++)
                        expect_right(s->model, keys[i], there[i] == 1, got[i], i);
        }
}

template <class Word> struct interval {
        Word from, to;
};

/* The pairs of one range. */
template <class Word>
static void expect_pairs(const struct subject<Word> *s, const struct interval<Word> &interval,
                         const Word *keys, const uint32_t *values, uint64_t n, size_t i)
{
        auto wanted = s->model.pairs.lower_bound(interval.from);
        for (uint64_t k = 0; k < n; k++, ++wanted) {
                bool right = wanted != s->model.pairs.end() && wanted->first <= interval.to &&
                             interval.from <= interval.to && wanted->first == keys[k];
                if (!right)
                        print_hint("range", i);
                assert_true(right);
                expect_right(s->model, keys[k], true, values[k], i);
        }
        assert_true(interval.from > interval.to || wanted == s->model.pairs.end() ||
                    wanted->first > interval.to);
}

template <class Word>
static void expect_ranges(struct subject<Word> *s, const std::vector<interval<Word>> &intervals)
{
        struct kc_error err = {};
        size_t n = intervals.size();
        std::vector<Word> from, to;
        for (const interval<Word> &interval : intervals) {
                from.push_back(interval.from);
                to.push_back(interval.to);
        }
        array<Word> device_from(from), device_to(to);
        array<uint64_t> starts(n + 1), counts(n), only_counts(n);
        kc_lsm_ranges<Word> ranges = {};
        ranges.starts = starts.at;
        ranges.counts = counts.at;
        enum kc_status status =
                kc_lsm_range(s->map, device_from.at, device_to.at, n, &ranges, &err);
        assert_int_equal(status, ranges.needed == 0 ? KC_OK : KC_ENOMEM);
        err = {};
        array<Word> keys(ranges.needed);
        array<uint32_t> values(ranges.needed);
        ranges.keys = keys.at;
        ranges.values = values.at;
        ranges.cap = ranges.needed;
        expect_ok(kc_lsm_range(s->map, device_from.at, device_to.at, n, &ranges, &err), &err);
        expect_ok(kc_lsm_count(s->map, device_from.at, device_to.at, only_counts.at, n, &err),
                  &err);
        check(cudaStreamSynchronize(s->gpu.stream));
        std::vector<uint64_t> start = starts.host(), count = counts.host();
        start.push_back(ranges.needed);
        assert_true(only_counts.host() == count);
        std::vector<Word> all_keys = keys.host();
        std::vector<uint32_t> all_values = values.host();
        for (size_t i = 0; i < n; i++) {
                assert_in_range(start[i] + count[i], start[i], start[i + 1]);
                expect_pairs(s, intervals[i], all_keys.data() + start[i],
                             all_values.data() + start[i], count[i], i);
        }
}

/* ---- keys */

/* Key number i: spread over the key space, including both ends. */
template <class Word> static Word key_of(uint64_t i)
{
        Word key = 0;
        uint64_t state = i;
        if (i < 2)
                return i == 0 ? (Word)0 : kind<Word>::MAX_KEY;
        for (size_t k = 0; k < sizeof(Word); k += 4)
                key = (Word)((uint64_t)key << 16 << 16) | (Word)(next_random(&state) >> 32);
        if (sizeof(Word) == 16)
                key = (Word)((kc_key128)key << 64) | (Word)next_random(&state);
        return key & kind<Word>::MAX_KEY;
}

template <class Word>
static batch<Word> random_batch(size_t n, uint64_t nkeys, unsigned deletions_in_8, uint64_t *state)
{
        batch<Word> batch;
        for (size_t i = 0; i < n; i++) {
                uint64_t draw = next_random(state);
                uint32_t value = (uint32_t)(draw >> 32);
                if (kind<Word>::SUMS) /* some saturate */
                        value = draw % 64 == 0 ? value | 1u << 31 : 1 + value % 100;
                batch.push_back({ key_of<Word>(next_random(state) % nkeys), value,
                                  draw / 64 % 8 < deletions_in_8 });
        }
        return batch;
}

/* Keys that may be present, and others next to them. */
template <class Word> static std::vector<Word> keys_to_look_up(uint64_t nkeys, uint64_t *state)
{
        std::vector<Word> keys;
        for (uint64_t i = 0; i < std::min(nkeys, (uint64_t)600); i++) {
                Word key = key_of<Word>(nkeys <= 600 ? i : next_random(state) % nkeys);
                keys.push_back(key);
                keys.push_back((Word)(key + 1)); /* also beyond the largest */
        }
        return keys;
}

template <class Word>
static std::vector<interval<Word>> intervals_to_ask(uint64_t nkeys, size_t n, uint64_t *state)
{
        const Word max = kind<Word>::MAX_KEY, beyond = (Word) ~(Word)0;
        std::vector<interval<Word>> intervals = {
                { 0, max },      { 0, beyond },         { 0, 0 }, { max, max }, { max, 0 },
                { max, beyond }, { 1, (Word)(max - 1) }
        };
        for (size_t i = 0; i < n; i++) {
                Word from = key_of<Word>(next_random(state) % nkeys), to = from;
                if (i % 3 == 0 && i < 60)
                        to = key_of<Word>(next_random(state) % nkeys);
                else if (i % 3 == 1) /* a few of the keys that are present */
                        to = (Word)(from + max / (Word)nkeys * (Word)(next_random(state) % 64));
                intervals.push_back({ from, to });
        }
        return intervals;
}

template <class Word>
static void expect_all(struct subject<Word> *s, uint64_t nkeys, size_t nintervals, uint64_t *state)
{
        expect_found(s, keys_to_look_up<Word>(nkeys, state));
        expect_ranges(s, intervals_to_ask<Word>(nkeys, nintervals, state));
}

#endif
