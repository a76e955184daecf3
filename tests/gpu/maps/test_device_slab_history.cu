/*
 * The slab list under concurrent operations of all kinds: the history of each key must be
 * linearizable.
 *
 * The kernel takes a ticket before and after each operation. Operations of other kinds on the same
 * lists interleave, and lists run out of slabs now and then.
 */
#include "tests/gpu/maps/history.cuh"
#include "tests/gpu/maps/slab_support.cuh"

#include <string>

enum { MAX_EVENTS = 32 }; /* per key in a launch */

/* Order all that the lanes did before all that they do next, whichever lane does it: lanes work for
 * each other. */
__device__ static void between_tickets(void)
{
        __threadfence();
        __syncwarp();
        __threadfence();
}

/* Thread t does events[t * nrounds] and so on; one in `every` lanes is active at a time. */
template <class Layout, uint32_t NLANES>
__global__ static void history_kernel(struct kc_slab_lists lists, struct kc_slab_pool_view view,
                                      event<kc_slab_op<Layout>> *events, uint32_t nrounds,
                                      uint32_t every, uint32_t *clock)
{
        __shared__ struct kc_slab_pool_shared shared;
        struct kc_slab_list_warp<Layout, NLANES> warp;
        struct kc_slab_found found = {};
        warp.begin(lists, view, &shared);
        size_t thread = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
        for (uint32_t i = 0; i < nrounds * every; i++) {
                bool active = (threadIdx.x + i) % every == 0;
                event<kc_slab_op<Layout>> *event = &events[thread * nrounds + i / every];
                kc_slab_op<Layout> op = event->op;
                if (active)
                        event->begin = atomicAdd(clock, 1u);
                between_tickets();
                bool left = warp.template run<KC_SLAB_ANY>(&op, active, found);
                between_tickets();
                if (active) {
                        event->end = atomicAdd(clock, 1u);
                        event->op = op;
                        if (left)
                                event->op.kind = KC_SLAB_NKINDS;
                }
        }
}

/* ---- what operations should do */

template <class Layout> static bool unique_step(const kc_slab_op<Layout> &op, history_state &state)
{
        bool hit = !state.empty();
        uint32_t before = hit ? state[0] : 0;
        bool told = Layout::VALUES && !(Layout::APART && op.kind == KC_SLAB_DELETE);
        if (op.kind == KC_SLAB_NKINDS) /* not done: found no slab */
                return true;
        if (op.hit != hit || (told && op.result != before))
                return false;
        if (op.kind == KC_SLAB_DELETE)
                state.clear();
        else if (op.kind == KC_SLAB_REPLACE)
                state = { Layout::VALUES ? op.value : 0 };
        else if (op.kind == KC_SLAB_ADD)
                state = { before + op.value };
        return true;
}

template <class Layout>
static bool multiple_step(const kc_slab_op<Layout> &op, history_state &state)
{
        if (op.kind == KC_SLAB_NKINDS)
                return true;
        if (op.kind == KC_SLAB_INSERT) {
                state.push_back(Layout::VALUES ? op.value : 0);
                return !op.hit;
        }
        if (op.hit != !state.empty())
                return false;
        if (op.hit && Layout::VALUES && op.result != state[0])
                return false;
        if (op.hit && op.kind == KC_SLAB_DELETE)
                state.erase(state.begin());
        return true;
}

/* ---- a launch */

struct shape {
        uint32_t nlists, nkeys; /* nkeys: of each list, the same in all */
        uint32_t nblocks, nthreads;
        int nlaunches;
};

template <class Layout> struct launch {
        std::vector<event<kc_slab_op<Layout>>> events;
        uint32_t nrounds, every;
};

/* Keys, in the form in which they are stored, are 2 and above. */
template <class Layout>
static launch<Layout> make_launch(const struct shape &shape, bool unique, uint64_t *state)
{
        launch<Layout> launch;
        launch.every = 2u << next_random(state) % 4;
        launch.nrounds = 1 + (uint32_t)next_random(state) % 2;
        std::vector<uint32_t> kinds = { KC_SLAB_SEARCH, KC_SLAB_DELETE };
        kinds.push_back(unique ? KC_SLAB_REPLACE : KC_SLAB_INSERT);
        kinds.push_back(!unique ? KC_SLAB_INSERT : Layout::VALUES ? KC_SLAB_ADD : KC_SLAB_REPLACE);
        std::vector<std::vector<unsigned>> sizes(shape.nlists, std::vector<unsigned>(shape.nkeys));
        size_t n = (size_t)shape.nblocks * shape.nthreads * launch.nrounds;
        for (size_t i = 0; i < n; i++) {
                kc_slab_op<Layout> op = {};
                do {
                        op.list = (uint32_t)(next_random(state) % shape.nlists);
                        op.key = (typename Layout::key)(next_random(state) % shape.nkeys);
                } while (++sizes[op.list][op.key] > MAX_EVENTS);
                op.key = op.key * 1000 + 2;
                op.kind = kinds[next_random(state) % kinds.size()];
                op.value = 1 + (uint32_t)next_random(state) % 1000;
                launch.events.push_back({ op, 0, 0 });
        }
        return launch;
}

template <class Layout, uint32_t NLANES>
static void run_launch(test_map<Layout> &map, const struct shape &shape, launch<Layout> &launch)
{
        device_array<event<kc_slab_op<Layout>>> events(launch.events);
        device_array<uint32_t> clock(std::vector<uint32_t>(1, 1));
        struct kc_slab_lists lists = { map.map->heads, map.map->options.nlists, false };
        map.map->pool.nlaunches++;
        struct kc_slab_pool_view view = kc_slab_pool_view_of(&map.map->pool);
        history_kernel<Layout, NLANES><<<shape.nblocks, shape.nthreads, 0, map.gpu->stream>>>(
                lists, view, events.data, launch.nrounds, launch.every, clock.data);
        expect_cuda(cudaGetLastError());
        launch.events = events.get();
}

/* ---- checking the results */

/* Indexed by list and stored key. */
template <class T> using by_key = std::map<std::pair<uint32_t, uint64_t>, T>;

/* The values of all elements. */
template <class Layout> static by_key<history_state> read_contents(test_map<Layout> &map)
{
        size_t cap = (size_t)map.stats().nelements;
        device_array<typename Layout::key> keys(cap);
        device_array<uint32_t> values(cap), lists(cap);
        uint64_t n;
        expect_ok(kc_slab_export_lists(map.map, keys.data, values.data, lists.data, cap, &n,
                                       &map.err),
                  &map.err);
        std::vector<typename Layout::key> all_keys = keys.get();
        std::vector<uint32_t> all_values = values.get(), all_lists = lists.get();
        by_key<history_state> contents;
        for (size_t i = 0; i < cap; i++) {
                typename Layout::key stored = (typename Layout::key) ~all_keys[i];
                contents[{ all_lists[i], stored }].push_back(all_values[i]);
        }
        return contents;
}

template <class Layout, class Step>
static void check_history(const std::vector<event<kc_slab_op<Layout>>> &events,
                          const history_state &begin, const history_state &end, Step step)
{
        if (is_linearizable(events, begin, end, step))
                return;
        for (const auto &event : events)
                printf("%u-%u: kind %u value %u: hit %d result %u\n", event.begin, event.end,
                       event.op.kind, event.op.value, event.op.hit, event.op.result);
        fail_msg("a history of %zu operations is not linearizable, from %zu elements to %zu",
                 events.size(), begin.size(), end.size());
}

template <class Layout, class Step>
static void check_launch(test_map<Layout> &map, const launch<Layout> &launch,
                         by_key<history_state> *contents, Step step)
{
        by_key<std::vector<event<kc_slab_op<Layout>>>> histories;
        for (const auto &event : launch.events)
                histories[{ event.op.list, event.op.key }].push_back(event);
        auto now = read_contents(map);
        for (const auto &history : histories)
                check_history(history.second, (*contents)[history.first], now[history.first], step);
        *contents = now;
}

/*
 * With unique keys, the map is flushed now and then. With equal ones, it is emptied after each
 * launch, because the order in which a key's elements were inserted is then unknown.
 */
template <class Layout, uint32_t NLANES>
static void check_histories(const struct shape &shape, bool unique)
{
        open_gpu gpu;
        struct kc_slab_options options = map_options(shape.nlists, NLANES);
        options.named = true;
        test_map<Layout> map(&gpu.gpu, options);
        by_key<history_state> contents;
        uint64_t state = NLANES + shape.nlists;
        auto step = unique ? unique_step<Layout> : multiple_step<Layout>;
        for (int i = 0; i < (test_small() ? shape.nlaunches / 8 : shape.nlaunches); i++) {
                setenv("KC_EMULATOR_SEED", std::to_string(i + 1).c_str(), 1);
                launch<Layout> launch = make_launch<Layout>(shape, unique, &state);
                run_launch<Layout, NLANES>(map, shape, launch);
                check_launch(map, launch, &contents, step);
                if (unique && i % 5 == 4)
                        expect_ok(kc_slab_flush(map.map, 0, shape.nlists, NULL, &map.err),
                                  &map.err);
                if (!unique)
                        expect_ok(kc_slab_clear(map.map, &map.err), &map.err);
                if (!unique)
                        contents.clear();
        }
        unsetenv("KC_EMULATOR_SEED");
}

/* Many keys and warps; and few, which conflict all the time. */
static const struct shape SHAPES[] = {
        { 64, 12, 16, 256, 16 },
        { 8, 16, 4, 256, 32 },
        { 1, 8, 1, 96, 160 },
        { 1, 5, 1, 64, 160 },
};

template <class Layout> static void histories(int nlanes, const struct shape &shape, bool unique)
{
        if (nlanes == 4)
                check_histories<Layout, 4>(shape, unique);
        else
                check_histories<Layout, 8>(shape, unique);
}

template <class Layout> static void unique_keys(int nlanes)
{
        for (const struct shape &shape : SHAPES)
                histories<Layout>(nlanes, shape, true);
}

SLAB_TESTS(unique_keys)

/* Fewer elements per key, because finding their order takes long. */
template <class Layout> static void equal_keys(int nlanes)
{
        for (struct shape shape : SHAPES) {
                shape.nkeys *= 2;
                if (!Layout::APART)
                        histories<Layout>(nlanes, shape, false);
        }
}

SLAB_TESTS(equal_keys)

/* The check itself: histories that are linearizable, and that are not. */
static void test_checker(void **unused)
{
        (void)unused;
        typedef kc_slab_op<kc_slab_pair32> op;
        auto step = unique_step<kc_slab_pair32>;
        op put = { 9, 0, 5, KC_SLAB_REPLACE, 0, false, 0 };
        op seen = { 9, 0, 0, KC_SLAB_SEARCH, 0, true, 5 };
        op missed = { 9, 0, 0, KC_SLAB_SEARCH, 0, false, 0 };
        std::vector<event<op>> events = { { put, 1, 2 }, { seen, 3, 4 } };
        assert_true(is_linearizable(events, {}, { 5 }, step));
        assert_false(is_linearizable(events, {}, {}, step));
        events = { { put, 1, 2 }, { missed, 3, 4 } };
        assert_false(is_linearizable(events, {}, { 5 }, step));
        events = { { put, 1, 3 }, { missed, 2, 4 } };
        assert_true(is_linearizable(events, {}, { 5 }, step));
        events = { { seen, 1, 2 }, { put, 3, 4 } };
        assert_false(is_linearizable(events, {}, { 5 }, step));
        events = { { put, 1, 6 }, { seen, 2, 3 }, { missed, 4, 5 } };
        assert_false(is_linearizable(events, {}, { 5 }, step));
        events = { { put, 1, 6 }, { missed, 2, 3 }, { seen, 4, 5 } };
        assert_true(is_linearizable(events, {}, { 5 }, step));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_checker),
                SLAB_UNIT_TESTS(unique_keys),
                SLAB_UNIT_TESTS(equal_keys),
        };
        need_device();
        cmocka_set_test_filter(getenv("KC_TEST"));
        return cmocka_run_group_tests(tests, NULL, NULL);
}
