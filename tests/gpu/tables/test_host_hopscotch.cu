/*
 * Hopscotch on the host: words, keys, sequential operations compared with a std::set, and
 * concurrent ones.
 */
#include <atomic>
#include <cstdint>
#include <set>
#include <thread>

/* Between any two accesses, other threads may get to run. */
static thread_local uint64_t step_state;

[[maybe_unused]] static void test_step(void)
{
        if (step_state == 0)
                return;
        step_state = step_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        if (step_state >> 60 == 0)
                std::this_thread::yield();
}

#undef KC_ATOMIC_STEP /* the emulator has another one */
#define KC_ATOMIC_STEP() test_step()

#include "bench/tables/cpu_hopscotch.cuh"
#include "tests/gpu/maps/hopscotch_support.cuh"

typedef kc_hop<kc_lanes<1>, KC_SCOPE_DEVICE> hop_alone;

static hop_alone hop_of(std::vector<uint64_t> *words, uint32_t reach)
{
        uint32_t mask = (uint32_t)words->size() - 1;
        return { { words->data(), mask, std::min(reach, mask) }, {} };
}

/* ---- words and keys ---- */

static void test_words(void **unused)
{
        (void)unused;
        for (uint64_t other : { UINT64_C(0), UINT64_C(0x80000001), (uint64_t)KC_HOP_SWAP_LOCK,
                                (uint64_t)KC_HOP_MULTIPLE_LOCK | UINT32_MAX })
                for (uint32_t offset : { 0u, 1u, 15u, 30u, 31u })
                        for (uint32_t item : { 0u, 1u, 0xfffffeu, 0xffffffu }) {
                                uint64_t word = kc_hop_put(other, item, offset);
                                assert_int_equal(kc_hop_item(word), item);
                                assert_int_equal(kc_hop_offset(word), offset);
                                assert_true(kc_hop_is_of(word, offset));
                                assert_false(kc_hop_is_of(word, offset ^ 1));
                                assert_false(kc_hop_is_open(word));
                                assert_int_equal(kc_hop_bitmap(word), kc_hop_bitmap(other));
                                assert_int_equal(kc_hop_is_locked(word), kc_hop_is_locked(other));
                                assert_true(
                                        kc_hop_put(kc_hop_put(other, ~item & 0xffffff, 31 - offset),
                                                   item, offset) == word);
                                assert_true(kc_hop_empty(word) == other);
                                assert_false(kc_hop_is_of(kc_hop_empty(word), offset));
                                assert_true(kc_hop_unlocked(word) ==
                                            kc_hop_put(kc_hop_unlocked(other), item, offset));
                        }
        for (uint32_t i = 0; i < 32; i++) {
                assert_int_equal(kc_hop_bitmap(kc_hop_with(0, i)), 1u << i);
                assert_true(kc_hop_without(UINT64_MAX, i) == (UINT64_MAX ^ UINT64_C(1) << i));
        }
}

/* The earliest item that can move to the target. */
static void test_movable(void **unused)
{
        uint64_t state = 1;
        (void)unused;
        for (int i = 0; i < 1000; i++) {
                uint64_t home = next_random(&state) & next_random(&state) & next_random(&state);
                for (uint32_t distance = 1; distance < 32; distance++) {
                        uint32_t first = KC_HOP_NONE;
                        for (uint32_t j = distance; j-- > 0;)
                                if (home >> j & 1)
                                        first = j;
                        assert_int_equal(kc_hop_movable(home, distance), first);
                }
        }
        assert_int_equal(kc_hop_movable(UINT64_C(1) << 31, 31), KC_HOP_NONE);
        assert_int_equal(kc_hop_movable(UINT64_MAX << 32, 31), KC_HOP_NONE);
}

static void test_keys_come_back(void **unused)
{
        uint64_t state = 2;
        (void)unused;
        for (uint32_t bits = KC_HOPSCOTCH_MIN_BITS; bits <= KC_HOPSCOTCH_MAX_BITS; bits++)
                for (int i = 0; i < 2000; i++) {
                        uint32_t key = i == 0   ? 0
                                       : i == 1 ? UINT32_MAX
                                                : (uint32_t)next_random(&state);
                        kc_hopscotch_hash hash = { bits, i % 2 * (uint32_t)next_random(&state) };
                        kc_hopscotch_key split = kc_hopscotch_split(key, hash);
                        assert_true(split.home < UINT64_C(1) << bits);
                        assert_true(split.item < 1u << KC_HOP_ITEM_BITS);
                        assert_int_equal(kc_hopscotch_join(split, hash), key);
                }
}

/* ---- one operation after the other ---- */

struct model {
        history_setup setup;
        std::vector<uint64_t> words;
        hop_alone hop;
        std::set<uint32_t> keys;
        size_t nfull;
};

static void begin_model(struct model *m, const history_setup &setup, size_t nslots, uint32_t reach)
{
        m->setup = setup;
        m->words.assign(nslots, 0);
        m->hop = hop_of(&m->words, reach);
        m->keys.clear();
        m->nfull = 0;
}

/* Do the operation in the table and in the set, which, unlike the table, is never full. */
static void do_both(struct model *m, const history_event &e)
{
        uint32_t result = history_do(m->hop, m->setup, e), want;
        bool there = m->keys.count(e.key) > 0;
        want = (e.op == KC_HOPSCOTCH_INSERT ? !there : there) ? KC_HOP_YES : KC_HOP_NO;
        if (result == KC_HOP_FULL_TABLE && want == KC_HOP_YES && e.op == KC_HOPSCOTCH_INSERT) {
                m->nfull++;
                return;
        }
        assert_int_equal(result, want);
        if (e.op == KC_HOPSCOTCH_INSERT)
                m->keys.insert(e.key);
        else if (e.op == KC_HOPSCOTCH_ERASE)
                m->keys.erase(e.key);
}

static void expect_same_keys(const struct model *m)
{
        std::vector<std::pair<uint32_t, uint32_t>> want;
        for (uint32_t key : m->keys)
                want.push_back(
                        { history_home(m->setup, key) & (uint32_t)(m->words.size() - 1), key });
        std::sort(want.begin(), want.end());
        assert_true(expect_in_order(m->words) == want);
}

static void test_against_a_set(void **unused)
{
        static const struct {
                uint32_t nslots, nkeys, nhomes, first_home, reach;
        } cases[] = {
                { 64, 20, 1, 60, 63 },      /* one home, around the end */
                { 64, 40, 1, 0, 63 },       /* more than a neighbourhood */
                { 64, 120, 64, 0, 63 },     /* more keys than slots */
                { 256, 256, 256, 0, 255 },  /* as many */
                { 256, 300, 40, 230, 255 }, /* crowded, around the end */
                { 1024, 1000, 1024, 0, 40 }, { 4096, 8000, 4096, 7, 500 },
        };
        uint64_t state = 3;
        (void)unused;
        for (const auto &c : cases) {
                struct model m;
                begin_model(&m, { c.nkeys, c.nhomes, c.first_home, 30, 40, 1, 0 }, c.nslots,
                            c.reach);
                for (size_t i = 0, n = 60 * (size_t)c.nkeys; i < n; i++) {
                        history_event e;
                        m.setup.percent_insert = i / c.nkeys % 4 == 3 ? 10 : 60;
                        history_choose(m.setup, &state, &e);
                        do_both(&m, e);
                        if (i % c.nkeys == 0)
                                expect_same_keys(&m);
                }
                expect_same_keys(&m);
                if (c.nkeys > c.nslots)
                        assert_true(m.nfull > 0);
        }
}

/* Exactly 32 keys of one home fit; after one has been erased, exactly one more. */
static void test_a_full_neighbourhood(void **unused)
{
        (void)unused;
        for (uint32_t home : { 0u, 1u, 100u, 225u, 255u }) {
                struct model m;
                begin_model(&m, { 40, 1, home, 0, 100, 1, 0 }, 256, 255);
                for (uint32_t key = 0; key < 40; key++)
                        do_both(&m, { key, KC_HOPSCOTCH_INSERT });
                assert_int_equal(m.keys.size(), 32);
                assert_int_equal(m.nfull, 8);
                do_both(&m, { 13, KC_HOPSCOTCH_ERASE });
                do_both(&m, { 39, KC_HOPSCOTCH_INSERT });
                do_both(&m, { 38, KC_HOPSCOTCH_INSERT });
                assert_int_equal(m.nfull, 9);
                for (uint32_t key = 0; key < 40; key++)
                        do_both(&m, { key, KC_HOPSCOTCH_FIND });
                expect_same_keys(&m);
        }
}

/* A distant open slot is brought near, move by move, so that nearly all slots fill up. */
static void test_to_the_last_slot(void **unused)
{
        const uint32_t nslots = 1024;
        (void)unused;
        struct model m;
        begin_model(&m, { nslots, nslots, 5, 0, 100, 1, 0 }, nslots, nslots - 1);
        uint64_t state = 4;
        for (uint32_t i = 0; i < nslots; i++) {
                uint32_t key = (uint32_t)(next_random(&state) % (1 << 24));
                m.setup.nkeys = 1 << 24;
                do_both(&m, { key, KC_HOPSCOTCH_INSERT });
        }
        assert_true(m.keys.size() > nslots * 9 / 10);
        expect_same_keys(&m);
}

/* ---- by threads ---- */

enum { NTHREADS = 4 };

/* Run operations on all threads; do_one(event) does one. */
template <class DoOne>
static std::vector<history_event> run_threads(const history_setup &setup, size_t nops,
                                              const DoOne &do_one)
{
        std::vector<history_event> events(NTHREADS * nops);
        std::vector<std::thread> threads;
        std::atomic<uint32_t> clock(0);
        for (uint64_t t = 0; t < NTHREADS; t++)
                threads.emplace_back([&, t] {
                        uint64_t state = setup.seed * 1000 + t;
                        step_state = next_random(&state) | 1;
                        for (size_t i = 0; i < nops; i++) {
                                history_event *e = &events[t * nops + i];
                                history_choose(setup, &state, e);
                                e->begin = clock++;
                                e->result = do_one(*e);
                                e->end = clock++;
                        }
                });
        for (std::thread &thread : threads)
                thread.join();
        return events;
}

static void history_of_threads(const history_setup &setup, size_t nslots, uint32_t reach,
                               size_t nops)
{
        std::vector<uint64_t> words(nslots);
        const hop_alone hop = hop_of(&words, reach);
        std::vector<history_event> events = run_threads(
                setup, nops, [&](const history_event &e) { return history_do(hop, setup, e); });
        expect_history(setup, events, words);
}

static void test_threads(void **unused)
{
        (void)unused;
        size_t nops = test_small() ? 6000 : 20000;
        for (uint64_t seed = 1; seed <= 4; seed++) {
                history_of_threads({ 50, 10, 50, 40, 40, 64, seed }, 64, 63, 2 * nops);
                history_of_threads({ 8, 1, 60, 40, 30, 64, seed }, 64, 63, nops);
                history_of_threads({ 40, 3, 62, 40, 30, 64, seed }, 64, 63, nops);
                history_of_threads({ 60, 60, 0, 30, 45, 64, seed }, 64, 63, nops);
                history_of_threads({ 128, 40, 30, 20, 50, 64, seed }, 128, 100, nops);
                history_of_threads({ 500, 500, 0, 20, 70, 64, seed }, 512, 511, nops);
                history_of_threads({ 100, 2, 62, 20, 40, 1, seed }, 64, 63, nops);
        }
}

/* The table that the benchmark compares with. It hashes keys itself, so homes cannot be chosen. */
static void test_the_other_table(void **unused)
{
        (void)unused;
        for (uint64_t seed = 1; seed <= 2; seed++)
                for (uint32_t nkeys : { 8, 100, 250, 400 }) {
                        cpu_hopscotch table(8);
                        history_setup setup = { nkeys, 1, 0, 30, 40, 1, seed };
                        std::vector<std::vector<history_event>> of_key(nkeys);
                        for (const history_event &e :
                             run_threads(setup, test_small() ? 5000 : 20000,
                                         [&](const history_event &event) {
                                                 test_step();
                                                 return (uint32_t)table(
                                                         (enum kc_hopscotch_op)event.op, event.key);
                                         }))
                                of_key[e.key].push_back(e);
                        for (uint32_t key = 0; key < nkeys; key++) {
                                bool there;
                                assert_true(is_linearizable(of_key[key], &there));
                                assert_int_equal(table(KC_HOPSCOTCH_FIND, key),
                                                 there ? KC_HOP_YES : KC_HOP_NO);
                        }
                }
}

/* An open slot is used if it is within the table's reach, and only then. */
static void test_reach(void **unused)
{
        (void)unused;
        for (uint32_t reach : { 1, 30, 31, 32, 33, 63, 64, 100 })
                for (uint32_t home : { 0, 100, 250 })
                        for (uint32_t distance = 1; distance <= 110; distance++) {
                                std::vector<uint64_t> words(256);
                                for (uint32_t i = 0; i < distance; i++)
                                        words[(home + i) & 255] =
                                                kc_hop_with(kc_hop_put(0, 7, 0), 0);
                                struct kc_hop_place place;
                                kc_hopscotch_item item = { 1 };
                                enum kc_hop_result result = kc_hop_insert(hop_of(&words, reach),
                                                                          home, item, item, &place);
                                assert_int_equal(result, distance <= reach ? KC_HOP_YES
                                                                           : KC_HOP_FULL_TABLE);
                                assert_int_equal(expect_in_order(words).size(),
                                                 distance + (distance <= reach));
                        }
}

/* The check of histories itself: it rejects impossible ones. */
static void test_impossible_histories(void **unused)
{
        bool there;
        const uint32_t find = KC_HOPSCOTCH_FIND, insert = KC_HOPSCOTCH_INSERT,
                       erase = KC_HOPSCOTCH_ERASE, yes = KC_HOP_YES, no = KC_HOP_NO;
        (void)unused;
        assert_true(is_linearizable({ { 0, insert, yes, 0, 3 }, { 0, find, yes, 1, 2 } }, &there));
        assert_true(there);
        assert_true(is_linearizable({ { 0, insert, yes, 0, 3 }, { 0, find, no, 1, 2 } }, &there));
        assert_true(is_linearizable({ { 0, insert, yes, 0, 9 },
                                      { 0, erase, yes, 1, 5 },
                                      { 0, insert, yes, 2, 4 },
                                      { 0, find, no, 6, 7 } },
                                    &there));
        assert_true(there);
        assert_false(is_linearizable({ { 0, insert, yes, 0, 1 }, { 0, find, no, 2, 3 } }, &there));
        assert_false(is_linearizable({ { 0, find, yes, 0, 1 }, { 0, insert, yes, 2, 3 } }, &there));
        assert_false(
                is_linearizable({ { 0, insert, yes, 0, 3 }, { 0, insert, yes, 1, 2 } }, &there));
        assert_false(is_linearizable(
                { { 0, insert, yes, 0, 1 }, { 0, find, yes, 2, 9 }, { 0, find, no, 3, 4 } },
                &there));
        assert_true(is_linearizable({ { 0, insert, yes, 0, 1 },
                                      { 0, erase, yes, 2, 9 },
                                      { 0, find, no, 3, 4 },
                                      { 0, insert, yes, 5, 6 } },
                                    &there));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_words),
                cmocka_unit_test(test_movable),
                cmocka_unit_test(test_keys_come_back),
                cmocka_unit_test(test_against_a_set),
                cmocka_unit_test(test_a_full_neighbourhood),
                cmocka_unit_test(test_to_the_last_slot),
                cmocka_unit_test(test_reach),
                cmocka_unit_test(test_impossible_histories),
                cmocka_unit_test(test_threads),
                cmocka_unit_test(test_the_other_table),
        };
        cmocka_set_test_filter(getenv("KC_TEST"));
        return cmocka_run_group_tests(tests, NULL, NULL);
}
