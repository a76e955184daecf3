/*
 * Histories of operations on one key of a map, and whether they are linearizable: whether there is
 * an order of the operations that preserves the order of those that did not overlap, and in which
 * each returns what it did return.
 *
 * Source: Wing and Gong, Testing and Verifying Concurrent Objects (1993); dead ends are remembered,
 * as in Lowe (2017).
 */
#ifndef KC_TESTS_GPU_MAPS_HISTORY_CUH
#define KC_TESTS_GPU_MAPS_HISTORY_CUH

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

/* An operation as observed; `begin` and `end` are tickets of one counter. */
template <class Op> struct event {
        Op op;
        uint32_t begin, end;
};

/* The values of a key's elements, oldest first: the state of a map for that key. */
typedef std::vector<uint32_t> history_state;

/*
 * Whether the events (at most 64), in some order, lead from `begin` to the values of `end`, whose
 * order does not matter. step(op, state) does the operation, and returns whether its recorded
 * answer is right in that state.
 */
template <class Op, class Step> struct history_search {
        const std::vector<event<Op>> &events;
        history_state end; /* ascending */
        Step step;
        std::set<std::pair<uint64_t, history_state>> dead;

        bool search(uint64_t done, const history_state &state)
        {
                if (done == all())
                        return sorted(state) == end;
                if (!dead.insert({ done, state }).second)
                        return false;
                uint32_t first_end = UINT32_MAX;
                for (size_t i = 0; i < events.size(); i++)
                        if (!(done >> i & 1) && events[i].end < first_end)
                                first_end = events[i].end;
                for (size_t i = 0; i < events.size(); i++) {
                        if ((done >> i & 1) || events[i].begin > first_end)
                                continue;
                        history_state next = state;
                        if (step(events[i].op, next) && search(done | UINT64_C(1) << i, next))
                                return true;
                }
                return false;
        }

        static history_state sorted(history_state state)
        {
                std::sort(state.begin(), state.end());
                return state;
        }

      private:
        uint64_t all() const
        {
                return events.size() == 64 ? UINT64_MAX : (UINT64_C(1) << events.size()) - 1;
        }
};

template <class Op, class Step>
static bool is_linearizable(const std::vector<event<Op>> &events, const history_state &begin,
                            const history_state &end, Step step)
{
        history_search<Op, Step> search = {
                events, history_search<Op, Step>::sorted(end), step, {}
        };
        return search.search(0, begin);
}

#endif
