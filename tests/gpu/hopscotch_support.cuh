/*
 * What the tests of hopscotch share: histories of concurrent operations, whether they can have
 * happened, and whether a table at rest is in order.
 */
#ifndef KC_TESTS_GPU_HOPSCOTCH_SUPPORT_CUH
#define KC_TESTS_GPU_HOPSCOTCH_SUPPORT_CUH

#include "gpu/hopscotch_map.cuh"
#include "tests/gpu/support.cuh"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

/* An operation, from before its first step to after its last, by a clock of all threads. */
struct history_event {
        uint32_t key, op, result;
        uint32_t begin, end;
};

/* Which keys a history is about: key i has a home among `nhomes`, and is an item of its own. */
struct history_setup {
        uint32_t nkeys, nhomes, first_home;
        uint32_t percent_find, percent_insert; /* the others erase */
        uint32_t max_tries;
        uint64_t seed;
};

KC_HD uint32_t history_draw(uint64_t *state)
{
        *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return (uint32_t)(*state >> 33);
}

KC_HD uint32_t history_home(const history_setup &setup, uint32_t key)
{
        return setup.first_home + key % setup.nhomes;
}

/* Any operation. */
KC_HD void history_choose(const history_setup &setup, uint64_t *state, history_event *event)
{
        uint32_t luck = history_draw(state) % 100;
        event->key = history_draw(state) % setup.nkeys;
        event->op = luck < setup.percent_find                          ? KC_HOPSCOTCH_FIND
                    : luck < setup.percent_find + setup.percent_insert ? KC_HOPSCOTCH_INSERT
                                                                       : KC_HOPSCOTCH_ERASE;
}

#pragma nv_exec_check_disable
template <class Hop>
KC_HD uint32_t history_do(const Hop &hop, const history_setup &setup, const history_event &event)
{
        struct kc_hop_place place;
        kc_hopscotch_item item = { event.key };
        uint32_t home = history_home(setup, event.key) & hop.table.mask;
        if (event.op == KC_HOPSCOTCH_FIND)
                return hop.find(home, item, &place) ? KC_HOP_YES : KC_HOP_NO;
        if (event.op == KC_HOPSCOTCH_ERASE)
                return kc_hop_erase(hop, home, item, setup.max_tries);
        return kc_hop_insert(hop, home, item, item, &place, setup.max_tries);
}

/* ---- can it have happened? ---- */

/* The key was there before the operation; and it is after it. What was BUSY did nothing. */
static inline bool event_needs(const history_event &e)
{
        return e.op == KC_HOPSCOTCH_INSERT ? e.result == KC_HOP_NO : e.result == KC_HOP_YES;
}

static inline bool event_changes(const history_event &e)
{
        return e.op != KC_HOPSCOTCH_FIND && e.result == KC_HOP_YES;
}

/*
 * Is there an order of one key's operations, in which those that ended before another began come
 * before it, that gives these results? Those that change nothing are best put where they first
 * can be; of those that change the same, the one that ends first goes first. So there is never a
 * choice. *there: the key is there in the end.
 */
static inline bool is_linearizable(std::vector<history_event> events, bool *there)
{
        *there = false;
        while (!events.empty()) {
                uint32_t first_end = UINT32_MAX;
                for (const history_event &e : events)
                        first_end = std::min(first_end, e.end);
                size_t next = events.size();
                for (size_t i = 0; i < events.size(); i++) {
                        const history_event &e = events[i];
                        if (e.begin > first_end || event_needs(e) != *there)
                                continue;
                        if (next == events.size() ||
                            std::make_pair(event_changes(e), e.end) <
                                    std::make_pair(event_changes(events[next]), events[next].end))
                                next = i;
                }
                if (next == events.size())
                        return false;
                *there ^= event_changes(events[next]);
                events[next] = events.back();
                events.pop_back();
        }
        return true;
}

/* ---- a table at rest ---- */

/* Its items by home and what they are; each is in place, in its home's bitmap, and there once. */
static inline std::vector<std::pair<uint32_t, uint32_t>> expect_in_order(
        const std::vector<uint64_t> &words)
{
        const uint32_t mask = (uint32_t)words.size() - 1;
        std::vector<std::pair<uint32_t, uint32_t>> items;
        size_t nbits = 0;
        for (uint32_t slot = 0; slot <= mask; slot++) {
                uint64_t word = words[slot];
                assert_false(kc_hop_is_locked(word));
                nbits += (size_t)__builtin_popcount(kc_hop_bitmap(word));
                if (!kc_hop_is_full(word))
                        continue;
                uint32_t home = (slot - kc_hop_offset(word)) & mask;
                assert_true(kc_hop_bitmap(words[home]) >> kc_hop_offset(word) & 1);
                items.push_back({ home, kc_hop_item(word) });
        }
        assert_int_equal(nbits, items.size());
        std::sort(items.begin(), items.end());
        assert_true(std::adjacent_find(items.begin(), items.end()) == items.end());
        return items;
}

/* All of a history that began with an empty table, and the table as it is now. */
static inline void expect_history(const history_setup &setup, std::vector<history_event> events,
                                  const std::vector<uint64_t> &words)
{
        std::vector<std::vector<history_event>> of_key(setup.nkeys);
        std::vector<std::pair<uint32_t, uint32_t>> want;
        size_t nbusy = 0;
        for (const history_event &e : events)
                if (e.result == KC_HOP_BUSY)
                        nbusy++;
                else
                        of_key[e.key].push_back(e);
        for (uint32_t key = 0; key < setup.nkeys; key++) {
                bool there;
                if (!is_linearizable(of_key[key], &there))
                        fail_msg("key %u: no order of its %zu operations gives their results", key,
                                 of_key[key].size());
                if (there)
                        want.push_back(
                                { history_home(setup, key) & (uint32_t)(words.size() - 1), key });
        }
        std::sort(want.begin(), want.end());
        assert_true(expect_in_order(words) == want);
        assert_true(nbusy < events.size());
}

#endif
