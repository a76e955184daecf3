/*
 * The parts of the LSM dictionary that run on the host: the shape of fences, searches by them with
 * tops of all depths, lookups over levels.
 */
#include "gpu/maps/lsm/search.cuh"
#include "tests/gpu/support.cuh"

#include <algorithm>
#include <map>
#include <vector>

/* A level, laid out as on the device. Garbage follows its last word, up to the node's end. */
template <class Word> struct level {
        std::vector<Word> words, fences;
        std::vector<uint32_t> values;
        kc_lsm_tiers tiers;

        explicit level(const std::vector<Word> &from) : words(from), values(from.size(), 1)
        {
                const size_t fan = kc_lsm_fan<Word>::N;
                tiers = kc_lsm_tiers_of<Word>((uint32_t)from.size());
                fences.assign(tiers.nfences, 3);
                for (uint32_t t = 1; t <= tiers.ntiers; t++)
                        for (uint32_t i = 0; i < tiers.n[t]; i++)
                                fences[tiers.begin[t] + i] =
                                        words[kc_lsm_fence_rank<Word>(&tiers, t, i)];
                std::vector<Word> put(tiers.nfences, 3);
                for (uint32_t i = 0; i < tiers.n[0]; i++)
                        kc_lsm_put_fences(&tiers, put.data(), i, words[i]);
                assert_true(put == fences);
                words.resize((words.size() + fan - 1) / fan * fan, 3);
        }

        kc_lsm_level_view<Word> view(void) const
        {
                kc_lsm_level_view<Word> view = {};
                view.words = words.data();
                view.values = values.data();
                view.fences = fences.data();
                view.n = tiers.n[0];
                memcpy(view.begin, tiers.begin, sizeof view.begin);
                return view;
        }
};

/* The tops that a block would have in shared memory. */
template <class Word> static std::vector<Word> tops_of(const kc_lsm_view<Word> &view)
{
        std::vector<Word> tops;
        for (uint32_t i = 0; i < view.nlevels; i++) {
                const kc_lsm_level_view<Word> *level = &view.levels[i];
                const Word *tier = kc_lsm_tier(level, level->top);
                assert_int_equal(level->top_at, tops.size());
                tops.insert(tops.end(), tier, tier + level->top_n);
        }
        assert_int_equal(tops.size(), view.ntops);
        return tops;
}

template <class Word> static void expect_shape(uint32_t n)
{
        enum : uint32_t { FAN = kc_lsm_fan<Word>::N };
        kc_lsm_tiers tiers = kc_lsm_tiers_of<Word>(n);
        uint64_t end = 0, below = n;
        assert_in_range(tiers.ntiers, 0, KC_LSM_MAX_TIERS - 1);
        for (uint32_t t = 1; t <= tiers.ntiers; t++) {
                below = (below + FAN - 1) / FAN;
                assert_int_equal(tiers.n[t], below);
                assert_int_equal(tiers.begin[t], end);
                end += (below + FAN - 1) / FAN * FAN;
                assert_int_equal(kc_lsm_fence_rank<Word>(&tiers, t, tiers.n[t] - 1), n - 1);
                assert_int_equal(kc_lsm_fence_rank<Word>(&tiers, t, 0) + 1,
                                 std::min((uint64_t)n, (uint64_t)1 << t * kc_lsm_fan<Word>::BITS));
        }
        assert_in_range(tiers.n[tiers.ntiers], 0, FAN);
        assert_int_equal(tiers.nfences, end);
}

static void test_shapes(void **)
{
        for (uint64_t n = 0; n < 600; n++) {
                expect_shape<uint32_t>((uint32_t)n);
                expect_shape<kc_key128>((uint32_t)n);
        }
        for (int bit = 10; bit <= 32; bit++)
                for (int64_t more = -2; more <= 2; more++) {
                        uint64_t n = std::min((UINT64_C(1) << bit) + (uint64_t)more,
                                              (uint64_t)UINT32_MAX);
                        expect_shape<uint32_t>((uint32_t)n);
                        expect_shape<kc_key64>((uint32_t)n);
                        expect_shape<kc_key128>((uint32_t)n);
                }
}

/* The index of the first word, from `from` on, that is not below `least`. */
template <class Word>
static uint32_t find_plainly(const std::vector<Word> &words, uint32_t from, Word least)
{
        uint32_t at = from;
        while (at < words.size() && words[at] < least)
                at++;
        return at;
}

/* n words of about ndistinct keys, in order of only their keys. */
template <class Word>
static std::vector<Word> random_words(size_t n, uint64_t ndistinct, uint64_t *state)
{
        std::vector<Word> words;
        for (size_t i = 0; i < n; i++) {
                uint64_t which = next_random(state) % ndistinct;
                Word key = which == 0 ? kc_lsm_max_key<Word>()
                                      : (Word)(which * 12345) & kc_lsm_max_key<Word>();
                words.push_back(kc_lsm_kind<Word>::least(key));
        }
        std::sort(words.begin(), words.end());
        if (!kc_lsm_kind<Word>::SUMS)
                for (Word &word : words)
                        word |= next_random(state) & 1;
        return words;
}

template <class Word>
static void expect_searches(const std::vector<Word> &words, uint32_t room, uint64_t *state)
{
        struct level<Word> level(words);
        kc_lsm_view<Word> view = {};
        view.nlevels = 1;
        view.levels[0] = level.view();
        kc_lsm_choose_tops(&view, room);
        assert_in_range(view.ntops, 0, room);
        std::vector<Word> tops = tops_of(view);
        std::vector<Word> sought = { 0, 1, kc_lsm_max_key<Word>() };
        for (int i = 0; i < 30; i++) {
                Word key = kc_lsm_kind<Word>::key(words[next_random(state) % words.size()]);
                sought.insert(sought.end(), { key, (Word)(key - (key > 0)),
                                              (Word)(key + (key < kc_lsm_max_key<Word>())) });
        }
        for (Word key : sought) {
                Word least = kc_lsm_kind<Word>::least(key);
                uint32_t at = find_plainly(words, 0, least);
                assert_int_equal(kc_lsm_find_first(&view.levels[0], tops.data(), least), at);
                for (uint32_t back : { 0, 1, 5, 8, 15, 16, 17, 40, 1000 })
                        if (back <= at)
                                assert_int_equal(kc_lsm_find_from(&view.levels[0], tops.data(),
                                                                  at - back, least),
                                                 at);
        }
}

template <class Word> static void try_searches(void)
{
        const uint32_t fan = kc_lsm_fan<Word>::N;
        uint64_t state = 11;
        for (size_t n = 1; n < 700; n += n < 70 ? 1 : 37)
                for (uint32_t room : { fan, fan + 1, 100u, 1000u })
                        for (uint64_t ndistinct : { 3, 100000 })
                                expect_searches(random_words<Word>(n, ndistinct, &state), room,
                                                &state);
        for (size_t n : { 4095, 4096, 4097, 32769, 100000 })
                expect_searches(random_words<Word>(n, 1 << 20, &state), 64, &state);
}

static void test_searches(void **)
{
        try_searches<uint32_t>();
        try_searches<kc_key64>();
        try_searches<kc_key128>();
}

/* A typical dictionary: 127 batches of 2^20, three blocks per multiprocessor. */
static void test_depth_of_tops(void **)
{
        kc_lsm_view<uint32_t> view = {};
        const uint32_t fan = kc_lsm_fan<uint32_t>::N;
        uint32_t nnodes = 0;
        view.nlevels = 7;
        for (uint32_t i = 0; i < view.nlevels; i++)
                view.levels[i].n = 1u << (20 + i);
        kc_lsm_choose_tops(&view, (64 << 10) / 4);
        assert_in_range(view.ntops, 1, (64 << 10) / 4);
        for (uint32_t i = 0; i < view.nlevels; i++)
                nnodes += view.levels[i].top;
        assert_in_range(nnodes, 0, 28);
        kc_lsm_choose_tops(&view, view.nlevels * fan); /* the least room allowed */
        assert_in_range(view.ntops, 0, view.nlevels * fan);
}

/* What lookups in levels, newest first, should find: a key's value. */
template <class Word>
static std::map<Word, uint32_t> contents(const struct level<Word> *levels, size_t nlevels)
{
        std::map<Word, std::pair<uint32_t, bool>> known; /* value; a newer level ended the search */
        std::map<Word, uint32_t> values;
        for (size_t l = 0; l < nlevels; l++) {
                const struct level<Word> &level = levels[l];
                for (uint32_t i = 0; i < level.tiers.n[0]; i++) {
                        Word word = level.words[i];
                        auto *of = &known.insert({ kc_lsm_kind<Word>::key(word), { 0, false } })
                                            .first->second;
                        if (of->second)
                                continue;
                        bool tombstone = kc_lsm_kind<Word>::is_tombstone(word, level.values[i]);
                        of->first += tombstone ? 0 : level.values[i];
                        of->second = tombstone || !kc_lsm_kind<Word>::SUMS;
                }
        }
        for (const auto &entry : known)
                values[entry.first] = entry.second.first;
        return values;
}

/* Lookups in a few levels, beginning at each of them. */
template <class Word> static void try_lookups(uint64_t seed)
{
        uint64_t state = seed;
        std::vector<struct level<Word>> levels;
        kc_lsm_view<Word> view = {};
        for (size_t n : { 5, 64, 300 }) {
                levels.push_back(level<Word>(random_words<Word>(n, 200, &state)));
                for (uint32_t &value : levels.back().values)
                        value = (uint32_t)next_random(&state) % 4;
        }
        for (const struct level<Word> &level : levels)
                view.levels[view.nlevels++] = level.view();
        kc_lsm_choose_tops(&view, 64);
        std::vector<Word> tops = tops_of(view);
        for (uint32_t begin = 0; begin < view.nlevels; begin++) {
                auto values = contents(&levels[begin], view.nlevels - begin);
                for (const auto &entry : values) {
                        kc_lsm_answer answer = kc_lsm_seek(&view, tops.data(), begin, entry.first);
                        assert_int_equal(answer.value, entry.second);
                        Word other = (Word)(entry.first + 1);
                        if (!values.count(other))
                                assert_false(kc_lsm_seek(&view, tops.data(), begin, other).found);
                }
        }
}

static void test_lookups(void **)
{
        for (uint64_t seed = 0; seed < 20; seed++) {
                try_lookups<uint32_t>(seed);
                try_lookups<kc_key64>(seed);
                try_lookups<kc_key128>(seed);
        }
}

static void test_words(void **)
{
        for (uint32_t key : { 0u, 1u, 77u, (uint32_t)KC_LSM_MAX_KEY32 }) {
                uint32_t in = kc_lsm_insertion(key), gone = kc_lsm_deletion(key);
                assert_int_equal(kc_lsm_kind<uint32_t>::key(in), key);
                assert_int_equal(kc_lsm_kind<uint32_t>::key(gone), key);
                assert_true(kc_lsm_kind<uint32_t>::is_tombstone(gone, 5));
                assert_false(kc_lsm_kind<uint32_t>::is_tombstone(in, 0));
                assert_true(kc_lsm_ordered{ in } <= kc_lsm_ordered{ gone });
                assert_true(kc_lsm_ordered{ gone } <= kc_lsm_ordered{ in });
                assert_true(key == 0 ||
                            kc_lsm_ordered{ kc_lsm_insertion(key - 1) } <= kc_lsm_ordered{ gone });
                assert_false(key > 0 &&
                             kc_lsm_ordered{ gone } <= kc_lsm_ordered{ kc_lsm_insertion(key - 1) });
        }
        assert_int_equal(kc_lsm_placebo<uint32_t>(), kc_lsm_deletion(KC_LSM_MAX_KEY32));
        assert_true(kc_lsm_placebo<kc_key64>() == UINT64_MAX);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_words),    cmocka_unit_test(test_shapes),
                cmocka_unit_test(test_searches), cmocka_unit_test(test_depth_of_tops),
                cmocka_unit_test(test_lookups),
        };
        cmocka_set_test_filter(getenv("KC_TEST"));
        return cmocka_run_group_tests(tests, NULL, NULL);
}
