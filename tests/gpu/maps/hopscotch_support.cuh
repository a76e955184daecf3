/*
 * What the tests of hopscotch share: histories of concurrent operations, whether they are possible,
 * and whether a table at rest is valid.
 */
#ifndef KC_TESTS_GPU_MAPS_HOPSCOTCH_SUPPORT_CUH
#define KC_TESTS_GPU_MAPS_HOPSCOTCH_SUPPORT_CUH

#include "gpu/maps/hopscotch/map.cuh"
#include "tests/gpu/support.cuh"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

/* An operation; `begin` is before its first step, `end` after its last, by a clock that all threads
 * share. */
struct history_event {
        uint32_t key, op, result;
        uint32_t begin, end;
};

/* The keys of a history: each has its home among `nhomes`, and is a distinct item. */
struct history_setup {
        uint32_t nkeys, nhomes, first_home;
        uint32_t percent_find, percent_insert; /* the rest erase */
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

/* Choose a random key and operation. */
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

/* ---- is the history possible? ---- */

/* Whether the result means that the key was present before the operation. Not for BUSY results,
 * with which nothing was done. */
static inline bool event_needs(const history_event &e)
{
        return e.op == KC_HOPSCOTCH_INSERT ? e.result == KC_HOP_NO : e.result == KC_HOP_YES;
}

static inline bool event_changes(const history_event &e)
{
        return e.op != KC_HOPSCOTCH_FIND && e.result == KC_HOP_YES;
}

static inline bool began_before(const history_event &a, const history_event &b)
{
        return a.begin < b.begin;
}

/* Operations that may be next, indexed by what they need: the numbers of those that change nothing;
 * ends and numbers of those that do. */
struct next_events {
        std::vector<size_t> steady[2];
        std::set<std::pair<uint32_t, size_t>> changing[2];
};

/*
 * Whether there is an order of one key's operations that gives these results, and in which an
 * operation that ended before another began comes before it. Operations that change nothing are
 * best placed as early as possible; of those that make the same change, the one that ends first
 * goes first. So there is never a choice. *there: the key is present in the end.
 */
static inline bool is_linearizable(std::vector<history_event> events, bool *there)
{
        const size_t n = events.size();
        std::vector<std::pair<uint32_t, size_t>> ends; /* of all operations, placed or not */
        std::vector<bool> placed(n);
        struct next_events next;
        size_t begun = 0, ended = 0;
        *there = false;
        std::sort(events.begin(), events.end(), began_before);
        for (size_t i = 0; i < n; i++)
                ends.push_back({ events[i].end, i });
        std::sort(ends.begin(), ends.end());
        for (;;) {
                while (ended < n && placed[ends[ended].second])
                        ended++;
                if (ended == n)
                        return true;
                for (; begun < n && events[begun].begin <= ends[ended].first; begun++) {
                        const bool needs = event_needs(events[begun]);
                        if (event_changes(events[begun]))
                                next.changing[needs].insert({ events[begun].end, begun });
                        else
                                next.steady[needs].push_back(begun);
                }
                auto &changing = next.changing[*there];
                if (next.steady[*there].empty() && changing.empty())
                        return false;
                if (next.steady[*there].empty()) {
                        placed[changing.begin()->second] = true;
                        changing.erase(changing.begin());
                        *there = !*there;
                        continue;
                }
                for (size_t i : next.steady[*there])
                        placed[i] = true;
                next.steady[*there].clear();
        }
}

/* Print the operations on a key to stderr. */
static inline void tell_events(std::vector<history_event> events)
{
        static const char *const OPS[] = { "find", "insert", "erase" };
        static const char *const RESULTS[] = { "no", "yes", "full", "busy" };
        std::sort(events.begin(), events.end(), began_before);
        for (const history_event &e : events)
                print_error("  %10u to %10u: %-6s %s\n", e.begin, e.end, OPS[e.op],
                            RESULTS[e.result % 4]);
}

static inline void tell_word(const char *what, uint32_t slot, uint64_t word)
{
        print_error("  %s %8x: bitmap %08x, item %06x, offset %2u%s%s%s\n", what, slot,
                    kc_hop_bitmap(word), kc_hop_item(word), kc_hop_offset(word),
                    word & KC_HOP_FULL ? ", full" : "", word & KC_HOP_SWAP_LOCK ? ", swap" : "",
                    word & KC_HOP_MULTIPLE_LOCK ? ", multiple" : "");
}

/* Print the current slots where an item of this home may be. */
static inline void tell_neighbourhood(uint32_t home, const std::vector<uint64_t> &words)
{
        const uint32_t mask = (uint32_t)words.size() - 1;
        for (uint32_t i = 0; i < KC_HOP_NEIGHBOURS; i++)
                tell_word(i == 0 ? "home" : "slot", (home + i) & mask, words[(home + i) & mask]);
}

/* ---- a table at rest ---- */

/* Returns the items, as pairs of home and item, in order. Checks that each is in its home's bitmap
 * and occurs once. */
static inline std::vector<std::pair<uint32_t, uint32_t>> expect_in_order(
        const std::vector<uint64_t> &words)
{
        const uint32_t mask = (uint32_t)words.size() - 1;
        std::vector<std::pair<uint32_t, uint32_t>> items;
        size_t nbits = 0;
        for (uint32_t slot = 0; slot <= mask; slot++) {
                uint64_t word = words[slot];
                if (kc_hop_is_locked(word)) {
                        tell_word("slot", slot, word);
                        fail_msg("a table at rest has a lock");
                }
                nbits += (size_t)__builtin_popcount(kc_hop_bitmap(word));
                if (!kc_hop_is_full(word))
                        continue;
                uint32_t home = (slot - kc_hop_offset(word)) & mask;
                if (!(kc_hop_bitmap(words[home]) >> kc_hop_offset(word) & 1)) {
                        tell_neighbourhood(home, words);
                        fail_msg("the item in slot %x is not in its home's bitmap", slot);
                }
                items.push_back({ home, kc_hop_item(word) });
        }
        assert_int_equal(nbits, items.size());
        std::sort(items.begin(), items.end());
        assert_true(std::adjacent_find(items.begin(), items.end()) == items.end());
        return items;
}

/* Check a complete history, which began with an empty table, and the resulting table. */
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
                if (!is_linearizable(of_key[key], &there)) {
                        tell_events(of_key[key]);
                        tell_neighbourhood(history_home(setup, key), words);
                        fail_msg("key %u: no order of its %zu operations gives their results", key,
                                 of_key[key].size());
                }
                if (there)
                        want.push_back(
                                { history_home(setup, key) & (uint32_t)(words.size() - 1), key });
        }
        std::sort(want.begin(), want.end());
        assert_true(expect_in_order(words) == want);
        assert_true(nbusy < events.size());
}

#endif
