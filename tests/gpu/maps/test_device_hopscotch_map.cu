/*
 * GLHT on the device: bulk operations compared with a set on the host, and histories of concurrent
 * operations, for all group sizes.
 */
#include "tests/gpu/maps/hopscotch_support.cuh"
#include "tests/gpu/maps/map_support.cuh"

#include <set>

#define ALL_GROUPS(name) \
        static void name##_1(void **) \
        { \
                name<1>(); \
        } \
        static void name##_32(void **) \
        { \
                name<32>(); \
        }

static struct kc_gpu gpu;

/* Each test reopens the device, so that one test's leftovers are not blamed on another. */
static int open_device(void **)
{
        struct kc_error err = {};
        expect_ok(kc_gpu_open(&gpu, 0, 0, &err), &err);
        return 0;
}

static int close_device(void **)
{
        kc_gpu_close(&gpu);
        return 0;
}

#define UNIT_TEST(name)  cmocka_unit_test_setup_teardown(name, open_device, close_device)
#define UNIT_TESTS(name) UNIT_TEST(name##_1), UNIT_TEST(name##_32)

template <class T> static std::vector<T> download(const T *memory, size_t n)
{
        struct kc_error error = {}, *err = &error;
        expect_ok(KC_CUDA(cudaStreamSynchronize(gpu.stream)), err);
        return to_host(memory, n);
}

/* A seed for a test. KC_TEST_SEED=N in the environment selects other keys and operations. */
static uint64_t seed_of(uint64_t number)
{
        const char *first = getenv("KC_TEST_SEED");
        return number + (first != NULL ? strtoull(first, NULL, 10) * 1000 : 0);
}

/* ---- a table and what must be in it ---- */

struct both {
        struct kc_hopscotch_map *map;
        std::set<uint32_t> keys;
};

static void begin_both(struct both *b, uint64_t nslots, int group)
{
        struct kc_error err = {};
        struct kc_hopscotch_options options = { nslots };
        expect_ok(kc_hopscotch_new(&b->map, &gpu, &options, gpu.stream, &err), &err);
        b->map->group = group;
        b->keys.clear();
}

/* Check all keys, and that the table's words are valid. */
static void expect_keys(const struct both *b)
{
        struct kc_error err = {};
        uint32_t *keys = NULL;
        assert_int_equal(b->map->size, b->keys.size());
        expect_ok(kc_gpu_new(&gpu, &keys, b->keys.size(), &err), &err);
        uint64_t n;
        expect_ok(kc_hopscotch_export(b->map, keys, NULL, b->keys.size(), &n, &err), &err);
        assert_int_equal(n, b->keys.size());
        std::vector<uint32_t> got = down(&gpu, keys, b->keys.size(), b->keys.size());
        std::sort(got.begin(), got.end());
        assert_true(std::equal(got.begin(), got.end(), b->keys.begin()));
        expect_in_order(download(b->map->words, (size_t)1 << b->map->hash.bits));
}

static void end_both(struct both *b)
{
        expect_keys(b);
        kc_hopscotch_free(b->map);
        assert_int_equal(gpu.used_nbytes, 0);
}

/* Report a key with impossible results. If it was present before, that is an event from 0 to 1. */
static void tell_key(const struct both *b, uint32_t key, const std::vector<history_event> &events)
{
        const struct kc_hopscotch_key at = kc_hopscotch_split(key, b->map->hash);
        print_error("key %08x, home %x, item %06x, %d lanes an operation:\n", key, at.home, at.item,
                    b->map->group);
        tell_events(events);
        tell_neighbourhood(at.home, download(b->map->words, (size_t)1 << b->map->hash.bits));
}

/* Check the results of a call, key by key: all its operations are concurrent. */
static void expect_results(struct both *b, const std::vector<uint8_t> &ops,
                           const std::vector<uint32_t> &keys, const std::vector<uint8_t> &results)
{
        std::map<uint32_t, std::vector<history_event>> of_key;
        size_t nwrong = 0;
        for (size_t i = 0; i < keys.size(); i++) {
                std::vector<history_event> &events = of_key[keys[i]];
                if (events.empty() && b->keys.count(keys[i]))
                        events.push_back({ keys[i], KC_HOPSCOTCH_INSERT, KC_HOP_YES, 0, 1 });
                assert_true(results[i] <= KC_HOP_FULL_TABLE);
                events.push_back({ keys[i], ops[i], results[i], 2, 3 });
        }
        for (auto &entry : of_key) {
                bool there;
                if (!is_linearizable(entry.second, &there) && nwrong++ < 4)
                        tell_key(b, entry.first, entry.second);
                if (there)
                        b->keys.insert(entry.first);
                else
                        b->keys.erase(entry.first);
        }
        if (nwrong > 0)
                fail_msg("%zu of %zu keys have results that no order of the operations gives",
                         nwrong, of_key.size());
}

static uint64_t do_mixed(struct both *b, const std::vector<uint8_t> &ops,
                         const std::vector<uint32_t> &keys)
{
        struct kc_error err = {};
        uint64_t nfull = 0;
        uint8_t *device_ops = up(&gpu, ops), *device_results = up(&gpu, ops);
        uint32_t *device_keys = up(&gpu, keys);
        expect_ok(kc_hopscotch_mixed(b->map, device_ops, KC_HOPSCOTCH_FIND, device_keys,
                                     keys.size(), device_results, &nfull, &err),
                  &err);
        std::vector<uint8_t> results = down(&gpu, device_results, ops.size(), ops.size());
        kc_gpu_delete(&gpu, device_ops, ops.size());
        kc_gpu_delete(&gpu, device_keys, keys.size());
        assert_int_equal(std::count(results.begin(), results.end(), (uint8_t)KC_HOP_FULL_TABLE),
                         nfull);
        expect_results(b, ops, keys, results);
        return nfull;
}

static uint64_t do_all(struct both *b, enum kc_hopscotch_op op, const std::vector<uint32_t> &keys)
{
        return do_mixed(b, std::vector<uint8_t>(keys.size(), op), keys);
}

static std::vector<uint32_t> some_keys(size_t n, uint64_t seed, uint32_t below = UINT32_MAX)
{
        std::vector<uint32_t> keys(n);
        for (uint32_t &key : keys)
                key = (uint32_t)(next_random(&seed) % below);
        return keys;
}

/* Random operations of all three kinds. */
static std::vector<uint8_t> any_ops(size_t n, uint64_t seed)
{
        std::vector<uint8_t> ops(n);
        for (uint8_t &op : ops)
                op = (uint8_t)(next_random(&seed) % 3);
        return ops;
}

/* ---- tests ---- */

template <int G> static void few_keys(void)
{
        for (size_t n : { 0, 1, 2, 31, 32, 33, 127, 128, 129, 255, 256, 257 }) {
                struct both b;
                begin_both(&b, 512, G);
                b.map->nthreads = 128;
                std::vector<uint32_t> keys = some_keys(n, n + 1);
                do_all(&b, KC_HOPSCOTCH_FIND, keys);
                assert_int_equal(do_all(&b, KC_HOPSCOTCH_INSERT, keys), 0);
                do_all(&b, KC_HOPSCOTCH_INSERT, keys);
                do_all(&b, KC_HOPSCOTCH_FIND, keys);
                do_all(&b, KC_HOPSCOTCH_FIND, some_keys(n, 99));
                do_all(&b, KC_HOPSCOTCH_ERASE, some_keys(n / 2, n + 1));
                do_all(&b, KC_HOPSCOTCH_ERASE, keys);
                assert_int_equal(b.map->size, 0);
                end_both(&b);
        }
}
ALL_GROUPS(few_keys)

/* Calls of one kind: finds have their own kernel, the others are called without results. */
template <int G> static void plain_calls(void)
{
        struct kc_error err = {};
        struct both b;
        begin_both(&b, 4096, G);
        std::vector<uint32_t> keys = some_keys(3000, seed_of(5));
        uint32_t *device_keys = up(&gpu, keys);
        uint8_t *device_results = up(&gpu, std::vector<uint8_t>(keys.size()));
        expect_ok(kc_hopscotch_insert(b.map, device_keys, NULL, keys.size(), &err), &err);
        b.keys.insert(keys.begin(), keys.end());
        expect_keys(&b);
        expect_ok(kc_hopscotch_erase(b.map, device_keys, 1000, &err), &err);
        for (size_t i = 0; i < 1000; i++)
                b.keys.erase(keys[i]);
        expect_keys(&b);
        expect_ok(kc_hopscotch_find(b.map, device_keys, device_results, keys.size(), &err), &err);
        std::vector<uint8_t> results = down(&gpu, device_results, keys.size(), keys.size());
        for (size_t i = 0; i < keys.size(); i++)
                assert_int_equal(results[i], b.keys.count(keys[i]) ? KC_HOP_YES : KC_HOP_NO);
        expect_ok(kc_hopscotch_clear(b.map, &err), &err);
        b.keys.clear();
        kc_gpu_delete(&gpu, device_keys, keys.size());
        end_both(&b);
}
ALL_GROUPS(plain_calls)

/* No key is reserved; a key may occur many times in a call. */
template <int G> static void odd_keys(void)
{
        struct both b;
        begin_both(&b, 256, G);
        const uint32_t odd[] = { 0, UINT32_MAX, 1, UINT32_MAX - 1, 0x80000000u, 0x7fffffffu };
        std::vector<uint32_t> keys = some_keys(20, 9);
        for (size_t i = 0; i < 300; i++)
                keys.push_back(odd[i % 6]);
        for (uint32_t op : { KC_HOPSCOTCH_INSERT, KC_HOPSCOTCH_FIND, KC_HOPSCOTCH_ERASE })
                do_all(&b, (enum kc_hopscotch_op)op, keys);
        assert_int_equal(b.map->size, 0);
        for (uint64_t seed = 1; seed < 6; seed++)
                do_mixed(&b, any_ops(keys.size(), seed_of(seed)), keys);
        end_both(&b);
}
ALL_GROUPS(odd_keys)

/* A long-used table, at loads up to 0.95, with new and repeated keys. */
template <int G> static void mixed_calls(void)
{
        const uint64_t nslots = test_small() ? 1024 : 65536;
        struct both b;
        begin_both(&b, nslots, G);
        uint64_t state = seed_of(7), nfull = 0;
        for (int call = 0; call < 12; call++) {
                size_t n = nslots / 3 + next_random(&state) % 100;
                uint32_t below = (uint32_t)(nslots * 5 / 4);
                std::vector<uint32_t> keys = some_keys(n, state, below);
                std::vector<uint8_t> ops(n);
                for (uint8_t &op : ops) {
                        uint64_t luck = next_random(&state) % 10;
                        op = luck < 2                            ? KC_HOPSCOTCH_FIND
                             : luck < 9 - (unsigned)call / 8 * 4 ? KC_HOPSCOTCH_INSERT
                                                                 : KC_HOPSCOTCH_ERASE;
                }
                nfull += do_mixed(&b, ops, keys);
                expect_keys(&b);
        }
        assert_true(nfull < nslots / 20);
        end_both(&b);
}
ALL_GROUPS(mixed_calls)

/* Keys that find no room are reported, and fit after a rebuild. */
template <int G> static void full_tables(void)
{
        struct kc_error err = {};
        struct both b;
        begin_both(&b, 256, G);
        std::vector<uint32_t> keys = some_keys(700, seed_of(8));
        uint64_t nfull = do_all(&b, KC_HOPSCOTCH_INSERT, keys);
        assert_true(nfull >= 700 - 256);
        assert_true(b.map->size > 256 * 8 / 10);
        expect_keys(&b);
        expect_ok(kc_hopscotch_rebuild(b.map, 1, &err), &err);
        assert_true(b.map->hash.bits >= 8);
        expect_keys(&b);
        expect_ok(kc_hopscotch_rebuild(b.map, 1024, &err), &err);
        assert_int_equal(b.map->hash.bits, 10);
        expect_keys(&b);
        b.map->group = G;
        assert_int_equal(do_all(&b, KC_HOPSCOTCH_INSERT, keys), 0);
        assert_int_equal(b.map->size, std::set<uint32_t>(keys.begin(), keys.end()).size());
        end_both(&b);
}
ALL_GROUPS(full_tables)

/* More keys of one home than fit there: with another hash function, they fit in as many slots. */
static void crowded_homes(void **)
{
        struct kc_error err = {};
        struct both b;
        begin_both(&b, 256, 1);
        std::vector<uint32_t> keys;
        for (uint32_t item = 0; item < 40; item++)
                keys.push_back(kc_hopscotch_join({ 200, item }, b.map->hash));
        assert_int_equal(do_all(&b, KC_HOPSCOTCH_INSERT, keys), 8);
        expect_ok(kc_hopscotch_rebuild(b.map, 256, &err), &err);
        assert_int_equal(b.map->hash.bits, 8);
        assert_int_not_equal(b.map->hash.seed, 0);
        expect_keys(&b);
        assert_int_equal(do_all(&b, KC_HOPSCOTCH_INSERT, keys), 0);
        assert_int_equal(b.map->size, 40);
        end_both(&b);
}

/* Operations that give up at once are done in further rounds, finally by one thread. */
template <int G> static void many_rounds(void)
{
        struct both b;
        begin_both(&b, 256, G);
        b.map->max_tries = 1;
        for (uint64_t seed = 1; seed < 5; seed++) {
                std::vector<uint32_t> keys = some_keys(2048, seed_of(seed), 200);
                do_mixed(&b, any_ops(keys.size(), seed_of(seed)), keys);
        }
        end_both(&b);
}
ALL_GROUPS(many_rounds)

/* Words that no thread will ever unlock, or that are nonsense: every loop still ends. */
template <int G> static void broken_tables(void)
{
        for (uint64_t word :
             { (uint64_t)KC_HOP_MULTIPLE_LOCK, (uint64_t)KC_HOP_SWAP_LOCK, UINT64_MAX,
               (uint64_t)UINT32_MAX, (uint64_t)KC_HOP_FULL | UINT32_MAX }) {
                struct kc_error error = {}, *err = &error;
                struct kc_hopscotch_map *map;
                std::vector<uint32_t> keys = some_keys(40, 3);
                std::vector<uint64_t> words(256, word);
                uint32_t *device_keys = up(&gpu, keys);
                struct kc_hopscotch_options options = { words.size() };
                expect_ok(kc_hopscotch_new(&map, &gpu, &options, gpu.stream, err), err);
                expect_ok(KC_CUDA(cudaMemcpyAsync(map->words, words.data(), words.size() * 8,
                                                  cudaMemcpyHostToDevice, gpu.stream)),
                          err);
                map->group = G;
                map->max_tries = 3;
                expect_ok(kc_hopscotch_mixed(map, NULL, KC_HOPSCOTCH_FIND, device_keys, keys.size(),
                                             NULL, NULL, err),
                          err);
                for (enum kc_hopscotch_op op : { KC_HOPSCOTCH_INSERT, KC_HOPSCOTCH_ERASE }) {
                        enum kc_status status = kc_hopscotch_mixed(map, NULL, op, device_keys,
                                                                   keys.size(), NULL, NULL, err);
                        if (op == KC_HOPSCOTCH_INSERT && kc_hop_is_locked(word) &&
                            word != UINT64_MAX)
                                assert_int_equal(status, KC_EDEVICE);
                        error = {};
                }
                kc_gpu_delete(&gpu, device_keys, keys.size());
                kc_hopscotch_free(map);
        }
}
ALL_GROUPS(broken_tables)

static void wrong_sizes(void **)
{
        struct kc_error err = {};
        struct kc_hopscotch_map *map = NULL;
        struct kc_hopscotch_options options = { (UINT64_C(1) << 31) + 1 };
        assert_int_equal(kc_hopscotch_new(&map, &gpu, &options, gpu.stream, &err), KC_EUSAGE);
        options.capacity = 1 << 20;
        err = {};
        const size_t limit = gpu.limit_nbytes;
        gpu.limit_nbytes = 1 << 20;
        assert_int_equal(kc_hopscotch_new(&map, &gpu, &options, gpu.stream, &err), KC_ENOMEM);
        gpu.limit_nbytes = limit;
        assert_null(map);
        assert_int_equal(gpu.used_nbytes, 0);
        kc_hopscotch_free(NULL);
}

/* ---- histories: operations with their times ---- */

template <int G>
__global__ static void history_kernel(struct kc_hop_table table, history_setup setup, unsigned nops,
                                      history_event *events, unsigned *clock)
{
        const kc_hop<kc_lanes<G>, KC_SCOPE_DEVICE> hop = { table, {} };
        const kc_lanes<G> lanes = {};
        const unsigned number = (blockIdx.x * blockDim.x + threadIdx.x) / G;
        uint64_t state = kc_key_hash((kc_key64)(setup.seed << 32 | number));
        for (unsigned i = 0; i < nops; i++) {
                history_event e;
                history_choose(setup, &state, &e);
                e.begin = lanes.rank() == 0 ? atomicAdd(clock, 1u) : 0;
                e.begin = lanes.from(e.begin, 0); /* no lane is ahead of the clock */
                __threadfence();
                e.result = history_do(hop, setup, e);
                __threadfence();
                e.end = lanes.rank() == 0 ? atomicAdd(clock, 1u) : 0;
                if (lanes.rank() == 0)
                        events[(size_t)number * nops + i] = e;
        }
}

/* `nwriters` groups work at the same time; each does nops operations one after the other. */
template <int G>
static void run_history(const history_setup &setup, uint32_t nslots, unsigned nwriters,
                        unsigned nops)
{
        struct kc_error error = {}, *err = &error;
        const unsigned nthreads = nwriters * G, block = std::min(nthreads, 1024u);
        const unsigned nblocks = nthreads / block;
        uint64_t *words = up(&gpu, std::vector<uint64_t>(nslots));
        history_event *events = up(&gpu, std::vector<history_event>((size_t)nwriters * nops));
        unsigned *clock = up(&gpu, std::vector<unsigned>(1));
        struct kc_hop_table table = { words, nslots - 1, std::min(nslots - 1, 500u) };
        history_kernel<G><<<nblocks, block, 0, gpu.stream>>>(table, setup, nops, events, clock);
        expect_ok(KC_LAUNCHED(), err);
        const size_t nevents = (size_t)nwriters * nops;
        expect_history(setup, down(&gpu, events, nevents, nevents),
                       down(&gpu, words, nslots, nslots));
        kc_gpu_delete(&gpu, clock, 1);
}

template <int G> static void histories(void)
{
        const unsigned nwriters = (test_small() ? 1024 : 16384) / G, nops = 30;
        for (uint64_t seed = seed_of(1); seed <= seed_of(3); seed++) {
                run_history<G>({ 8, 1, 60, 40, 30, 64, seed }, 64, 32, nops);
                run_history<G>({ 40, 3, 62, 40, 30, 64, seed }, 64, 32, nops);
                run_history<G>({ 60, 60, 0, 30, 45, 64, seed }, 64, nwriters, nops);
                run_history<G>({ 50, 10, 50, 40, 40, 64, seed }, 64, 32, 4 * nops);
                run_history<G>({ 500, 500, 0, 20, 60, 64, seed }, 512, nwriters, nops);
                run_history<G>({ 480, 480, 500, 20, 70, 3, seed }, 512, nwriters, nops);
                run_history<G>({ 4000, 1000, 500, 20, 60, 64, seed }, 4096, nwriters, nops);
        }
}
ALL_GROUPS(histories)

int main(void)
{
        const struct CMUnitTest tests[] = {
                UNIT_TESTS(few_keys),    UNIT_TESTS(plain_calls), UNIT_TESTS(odd_keys),
                UNIT_TESTS(mixed_calls), UNIT_TESTS(full_tables), UNIT_TEST(crowded_homes),
                UNIT_TESTS(many_rounds), UNIT_TESTS(histories),   UNIT_TESTS(broken_tables),
                UNIT_TEST(wrong_sizes),
        };
        need_device();
        cmocka_set_test_filter(getenv("KC_TEST"));
        return cmocka_run_group_tests(tests, NULL, NULL);
}
