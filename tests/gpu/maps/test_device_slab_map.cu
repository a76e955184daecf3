/*
 * The slab hash and the slab list, compared with plain containers on the host.
 */
#include "tests/gpu/maps/slab_support.cuh"

/* ---- one operation per key and launch, so that there is only one outcome */

/* The number of slabs that a pool can give out without growing. */
static uint64_t nslabs(const struct kc_slab_pool *pool)
{
        return (uint64_t)pool->nsupers * pool->params.nblocks * KC_SLAB_BLOCK_NSLABS - 1;
}

template <class Layout> using reference = std::map<typename Layout::key, uint32_t>;

template <class Layout>
static void expect_answer(const reference<Layout> &map, const test_op<Layout> &op)
{
        auto found = map.find(op.key);
        bool hit = found != map.end();
        bool counts = op.kind == KC_SLAB_SEARCH_ALL || op.kind == KC_SLAB_DELETE_ALL;
        assert_int_equal(op.hit, hit);
        if (counts || !Layout::VALUES)
                assert_int_equal(op.result, hit);
        else if (!(Layout::APART && kc_slab_deletes(op.kind)))
                assert_int_equal(op.result, hit ? found->second : 0);
}

template <class Layout> static void apply(reference<Layout> &map, const test_op<Layout> &op)
{
        if (kc_slab_deletes(op.kind))
                map.erase(op.key);
        if (op.kind == KC_SLAB_REPLACE)
                map[op.key] = op.value;
        if (op.kind == KC_SLAB_ADD)
                map[op.key] = kc_count_add(map[op.key], op.value);
}

template <class Layout>
static void expect_contents(test_map<Layout> &map, const reference<Layout> &wanted)
{
        std::vector<std::pair<typename Layout::key, uint32_t>> got = map.dump();
        assert_int_equal(got.size(), wanted.size());
        size_t i = 0;
        for (const auto &element : wanted) {
                assert_true(got[i].first == element.first);
                if (Layout::VALUES)
                        assert_int_equal(got[i].second, element.second);
                i++;
        }
        struct kc_slab_stats stats = map.stats();
        assert_int_equal(map.nused(), stats.nslabs - map.map->options.nlists);
}

/* Some of the keys, in any order, each once. */
template <class Layout>
static test_ops<Layout> random_ops(const std::vector<typename Layout::key> &keys,
                                   const std::vector<uint8_t> &kinds, uint64_t *state)
{
        test_ops<Layout> ops;
        for (typename Layout::key key : keys)
                if (next_random(state) % 4 != 0)
                        ops.push_back({ kinds[next_random(state) % kinds.size()], key,
                                        (uint32_t)next_random(state) | 1, 0, 0, false });
        for (size_t i = ops.size(); i > 1; i--)
                std::swap(ops[i - 1], ops[next_random(state) % i]);
        return ops;
}

template <class Layout>
static void check_batches(int nlanes, size_t nkeys, uint32_t nlists, int nbatches)
{
        open_gpu gpu;
        struct kc_slab_options options = map_options(nlists, nlanes);
        test_map<Layout> map(&gpu.gpu, options);
        reference<Layout> wanted;
        uint64_t state = nkeys * 31 + nlists;
        std::vector<typename Layout::key> keys =
                distinct_keys<typename Layout::key>(nkeys, options.seed);
        std::vector<uint8_t> kinds = unique_kinds<Layout>();
        for (int i = 0; i < nbatches; i++) {
                bool one_kind = i % 3 == 0;
                std::vector<uint8_t> of = { i % 6 == 0
                                                    ? (uint8_t)KC_SLAB_REPLACE
                                                    : kinds[next_random(&state) % kinds.size()] };
                test_ops<Layout> ops = random_ops<Layout>(keys, one_kind ? of : kinds, &state);
                map.asks = i % 5 != 1 && i % 7 != 3;
                map.run_ok(ops, one_kind);
                for (const test_op<Layout> &op : ops) {
                        if (map.asks)
                                expect_answer(wanted, op);
                        apply(wanted, op);
                }
                if (i % 4 == 3) {
                        uint64_t nslabs;
                        expect_ok(kc_slab_flush(map.map, 0, UINT32_MAX, &nslabs, &map.err),
                                  &map.err);
                        assert_int_equal(map.stats().ndeleted, 0);
                }
                expect_contents(map, wanted);
        }
}

/* Around the sizes of warps, blocks and slabs, in lists that are short, long, and very long. */
template <class Layout> static void batches(int nlanes)
{
        for (size_t n : { 0, 1, 2, 9, 10, 11, 14, 15, 16, 29, 30, 31, 32, 33, 63, 255, 256, 257 })
                check_batches<Layout>(nlanes, n, n % 2 ? 2 : 3, 4);
        check_batches<Layout>(nlanes, 1000, 2, 5);
        check_batches<Layout>(nlanes, 1000, 64, 5);
        check_batches<Layout>(nlanes, test_size(1 << 17) + 500, 100, 8);
}

SLAB_TESTS(batches)

static void test_many_batches(void **unused)
{
        (void)unused;
        check_batches<kc_slab_pair32>(8, 300, 7, test_small() ? 40 : 200);
        check_batches<kc_slab_pair64>(4, 300, 7, test_small() ? 40 : 200);
}

/* ---- several operations on a key in one launch */

/* Of n replacements with different values, each but one finds another's value, and the value that
 * none finds remains. */
template <class Layout> static void same_key_replaced(int nlanes)
{
        open_gpu gpu;
        for (typename Layout::key key : odd_keys<typename Layout::key>(12345)) {
                test_map<Layout> map(&gpu.gpu, map_options(3, nlanes));
                test_ops<Layout> ops;
                for (uint32_t i = 0; i < 300; i++)
                        ops.push_back({ KC_SLAB_REPLACE, key, i + 1, 0, 0, false });
                map.run_ok(ops);
                std::set<uint32_t> left;
                unsigned nhits = 0;
                for (const test_op<Layout> &op : ops)
                        left.insert(op.value);
                for (const test_op<Layout> &op : ops) {
                        nhits += op.hit;
                        if (Layout::VALUES && op.hit)
                                assert_int_equal(left.erase(op.result), 1);
                }
                auto elements = map.dump();
                assert_int_equal(nhits, ops.size() - 1);
                assert_int_equal(elements.size(), 1);
                assert_true(elements[0].first == key);
                if (Layout::VALUES) {
                        assert_int_equal(left.size(), 1);
                        assert_int_equal(elements[0].second, *left.begin());
                }
        }
}

SLAB_TESTS(same_key_replaced)

/* Counting, with keys drawn such that the first ones occur most often. */
template <class Layout> static void counting(int nlanes)
{
        open_gpu gpu;
        test_map<Layout> map(&gpu.gpu, map_options(20, nlanes));
        auto keys = distinct_keys<typename Layout::key>(500, 12345);
        reference<Layout> wanted;
        uint64_t state = 8;
        for (int launch = 0; launch < 2; launch++) {
                test_ops<Layout> ops;
                for (size_t i = 0; i < test_size(1 << 18); i++) {
                        size_t range = 1 + next_random(&state) % keys.size();
                        ops.push_back({ KC_SLAB_ADD, keys[next_random(&state) % range],
                                        1 + (uint32_t)next_random(&state) % 9, 0, 0, false });
                        wanted[ops.back().key] += ops.back().value;
                }
                map.run_ok(ops, launch == 0);
                expect_contents(map, wanted);
        }
}

static void test_counting(void **unused)
{
        (void)unused;
        counting<kc_slab_pair32>(8);
        counting<kc_slab_pair32>(4);
        counting<kc_slab_pair64>(8);
        counting<kc_slab_pair64>(4);
}

/* However sums overflow on the way, the count ends at UINT32_MAX. */
template <class Layout> static void saturation(int nlanes)
{
        open_gpu gpu;
        test_map<Layout> map(&gpu.gpu, map_options(2, nlanes));
        test_ops<Layout> ops;
        for (uint32_t i = 0; i < 200; i++) {
                ops.push_back({ KC_SLAB_ADD, 7, UINT32_MAX / 3 + i, 0, 0, false });
                ops.push_back({ KC_SLAB_ADD, 8, UINT32_MAX / 400, 0, 0, false });
                ops.push_back({ KC_SLAB_ADD, 9, 1, 0, 0, false });
        }
        map.run_ok(ops);
        auto elements = map.dump();
        assert_int_equal(elements.size(), 3);
        assert_int_equal(elements[0].second, UINT32_MAX);
        assert_int_equal(elements[1].second, UINT32_MAX / 400 * 200);
        assert_int_equal(elements[2].second, 200);
        ops = { { KC_SLAB_ADD, 7, 1, 0, 0, false } };
        map.run_ok(ops);
        assert_int_equal(ops[0].result, UINT32_MAX);
        assert_int_equal(map.dump()[0].second, UINT32_MAX);
        ops.clear(); /* searches in the same launch may see sums that have wrapped, others not */
        for (uint32_t i = 0; i < 300; i++) {
                ops.push_back({ KC_SLAB_ADD, 10, UINT32_MAX / 100, 0, 0, false });
                ops.push_back({ KC_SLAB_SEARCH, 10, 0, 0, 0, false });
        }
        map.run_ok(ops);
        ops.assign(40, { KC_SLAB_SEARCH, 10, 0, 0, 0, false });
        map.run_ok(ops, true);
        for (const test_op<Layout> &op : ops)
                assert_int_equal(op.result, UINT32_MAX);
}

static void test_saturation(void **unused)
{
        (void)unused;
        saturation<kc_slab_pair32>(8);
        saturation<kc_slab_pair32>(4);
        saturation<kc_slab_pair64>(8);
        saturation<kc_slab_pair64>(4);
}

/* ---- elements with equal keys */

/* The oldest is found and deleted first; SEARCH_ALL finds and reports all of them. */
template <class Layout> static void equal_keys(int nlanes)
{
        if (Layout::APART)
                return;
        open_gpu gpu;
        for (uint32_t n : { 1, 14, 15, 16, 29, 30, 31, 61, 100 }) {
                test_map<Layout> map(&gpu.gpu, map_options(2, nlanes));
                for (uint32_t i = 0; i < n; i++) {
                        test_ops<Layout> ops = { { KC_SLAB_INSERT, 5, 100 + i, 0, 0, false },
                                                 { KC_SLAB_INSERT, 6, i, 0, 0, false } };
                        map.run_ok(ops);
                        assert_false(ops[0].hit);
                }
                for (uint32_t i = 0; i < n; i++) {
                        test_ops<Layout> look = { { KC_SLAB_SEARCH, 5, 0, 0, 0, false },
                                                  { KC_SLAB_SEARCH_ALL, 5, 0, 0, 0, false } };
                        map.run_ok(look);
                        assert_int_equal(look[0].result, Layout::VALUES ? 100 + i : 1);
                        assert_int_equal(look[1].result, n - i);
                        assert_int_equal(map.nfound, n - i);
                        std::set<uint32_t> values(map.found_values.begin(),
                                                  map.found_values.begin() + (n - i));
                        for (uint32_t j = 0; j < n - i; j++)
                                assert_int_equal(map.found_numbers[j], 1);
                        if (Layout::VALUES)
                                for (uint32_t j = i; j < n; j++)
                                        assert_int_equal(values.count(100 + j), 1);
                        test_ops<Layout> less = { { KC_SLAB_DELETE, 5, 0, 0, 0, false } };
                        map.run_ok(less);
                        assert_int_equal(less[0].result, Layout::VALUES ? 100 + i : 1);
                        if (i % 8 == 5)
                                expect_ok(kc_slab_flush(map.map, 0, 2, NULL, &map.err), &map.err);
                }
                test_ops<Layout> end = { { KC_SLAB_DELETE, 5, 0, 0, 0, false },
                                         { KC_SLAB_DELETE_ALL, 6, 0, 0, 0, false } };
                map.run_ok(end);
                assert_false(end[0].hit);
                assert_int_equal(end[1].result, n);
                assert_int_equal(map.stats().nelements, 0);
        }
}

SLAB_TESTS(equal_keys)

/* Concurrent operations: every inserted element is either deleted once or present in the end. */
template <class Layout> static void equal_keys_at_once(int nlanes)
{
        if (Layout::APART)
                return;
        open_gpu gpu;
        test_map<Layout> map(&gpu.gpu, map_options(2, nlanes));
        uint64_t state = 3, nelements = 0;
        for (int launch = 0; launch < 4; launch++) {
                test_ops<Layout> ops;
                const uint8_t kinds[] = { KC_SLAB_INSERT, KC_SLAB_INSERT, KC_SLAB_DELETE,
                                          KC_SLAB_DELETE_ALL };
                for (uint32_t i = 0; i < 700; i++)
                        ops.push_back({ kinds[next_random(&state) % (i % 100 == 0 ? 4 : 3)],
                                        (typename Layout::key)(next_random(&state) % 3), i, 0, 0,
                                        false });
                map.run_ok(ops);
                for (const test_op<Layout> &op : ops)
                        if (op.kind == KC_SLAB_INSERT)
                                nelements++;
                        else
                                nelements -= op.kind == KC_SLAB_DELETE ? op.hit : op.result;
                assert_int_equal(map.stats().nelements, nelements);
        }
        test_ops<Layout> ops;
        for (uint32_t key = 0; key < 3; key++)
                ops.push_back({ KC_SLAB_DELETE_ALL, (typename Layout::key)key, 0, 0, 0, false });
        map.run_ok(ops);
        assert_int_equal(ops[0].result + ops[1].result + ops[2].result, nelements);
}

SLAB_TESTS(equal_keys_at_once)

/* With reuse, lists do not grow because of deleted elements. */
template <class Layout> static void reuse(int nlanes)
{
        if (Layout::APART)
                return;
        open_gpu gpu;
        struct kc_slab_options options = map_options(4, nlanes);
        options.reuse = true;
        test_map<Layout> map(&gpu.gpu, options);
        auto keys = distinct_keys<typename Layout::key>(500, options.seed);
        uint64_t nslabs = 0;
        for (int round = 0; round < 6; round++) {
                test_ops<Layout> ops;
                for (auto key : keys)
                        ops.push_back(
                                { round % 2 ? (uint8_t)KC_SLAB_DELETE : (uint8_t)KC_SLAB_INSERT,
                                  key, (uint32_t)round, 0, 0, false });
                map.run_ok(ops);
                for (const test_op<Layout> &op : ops)
                        assert_int_equal(op.hit, round % 2);
                struct kc_slab_stats stats = map.stats();
                assert_int_equal(stats.nelements, round % 2 ? 0 : keys.size());
                assert_int_equal(stats.ndeleted, 0);
                assert_true(round == 0 || stats.nslabs == nslabs);
                nslabs = stats.nslabs;
        }
        test_ops<Layout> ops = { { KC_SLAB_REPLACE, 1, 1, 0, 0, false },
                                 { KC_SLAB_INSERT, 3, 4, 0, 0, false },
                                 { KC_SLAB_ADD, 2, 1, 0, 0, false } };
        assert_int_equal(map.run(ops), KC_EUSAGE);
        assert_int_equal(map.nrefused, 2);
        assert_int_equal(map.stats().nelements, 1);
}

SLAB_TESTS(reuse)

/* ---- what operations see while others are at work, constructed by hand */

/* An element after an empty place was read later than that place, and does not count yet. */
template <class Layout> static void holes(int nlanes)
{
        typedef typename Layout::key key;
        open_gpu gpu;
        for (uint32_t hole = 0; hole + 1 < Layout::NPLACES; hole++) {
                struct kc_slab_options options = map_options(1, nlanes);
                options.named = true;
                test_map<Layout> map(&gpu.gpu, options);
                test_ops<Layout> ops;
                for (uint32_t i = 0; i < Layout::NPLACES; i++)
                        ops.push_back({ KC_SLAB_REPLACE, (key)i, 5, 0, 0, false });
                for (test_op<Layout> op : ops) { /* in order */
                        test_ops<Layout> one = { op };
                        map.run_ok(one);
                }
                uint32_t byte = nlanes == 4 ? kc_slab_places<Layout, 4>::byte_of_place(hole)
                                            : kc_slab_places<Layout, 8>::byte_of_place(hole);
                map.clear_bytes(byte, sizeof(typename Layout::word));
                for (test_op<Layout> &op : ops)
                        op.kind = op.key % 3 == 1 ? KC_SLAB_DELETE : KC_SLAB_SEARCH;
                map.run_ok(ops);
                for (const test_op<Layout> &op : ops)
                        assert_int_equal(op.hit, op.key < hole);
        }
}

SLAB_TESTS(holes)

/* A key whose value is not written yet is absent; adding to it writes the value. */
static void test_unwritten_values(void **unused)
{
        (void)unused;
        open_gpu gpu;
        test_map<kc_slab_pair64> map(&gpu.gpu, map_options(2));
        test_ops<kc_slab_pair64> ops = { { KC_SLAB_REPLACE, 5, 7, 0, 0, false } };
        map.run_ok(ops);
        map.clear_bytes(KC_SLAB_VALUES_BYTE, 4);
        map.clear_bytes(KC_SLAB_NBYTES + KC_SLAB_VALUES_BYTE, 4);
        for (uint8_t kind : { KC_SLAB_SEARCH, KC_SLAB_SEARCH_ALL, KC_SLAB_DELETE,
                              KC_SLAB_DELETE_ALL, KC_SLAB_ADD }) {
                ops[0].kind = kind;
                map.run_ok(ops);
                assert_false(ops[0].hit);
                assert_int_equal(ops[0].result, 0);
        }
        ops[0].kind = KC_SLAB_SEARCH;
        map.run_ok(ops);
        assert_int_equal(ops[0].result, 7);
}

/* ---- flushing */

/* Lists have as few slabs as hold their elements, whichever elements were deleted. */
template <class Layout> static void flush(int nlanes)
{
        open_gpu gpu;
        uint64_t state = 77;
        for (uint32_t n : { 0, 1, 9, 10, 11, 15, 16, 30, 31, 45, 60, 61, 150 }) {
                struct kc_slab_options options = map_options(5, nlanes);
                options.named = true;
                test_map<Layout> map(&gpu.gpu, options);
                test_ops<Layout> ops, less;
                std::vector<uint32_t> left(options.nlists, n);
                for (uint32_t list = 0; list < options.nlists; list++)
                        for (uint32_t i = 0; i < n; i++) {
                                ops.push_back({ KC_SLAB_REPLACE, (typename Layout::key)i, i + 1,
                                                list, 0, false });
                                if (next_random(&state) % 5 < list + 1) {
                                        less.push_back(ops.back());
                                        less.back().kind = KC_SLAB_DELETE;
                                        left[list]--;
                                }
                        }
                map.run_ok(ops);
                map.run_ok(less);
                auto before = map.dump();
                uint64_t nslabs = map.stats().nslabs, freed;
                expect_ok(kc_slab_flush(map.map, 0, 2, &freed, &map.err), &map.err);
                uint64_t more;
                expect_ok(kc_slab_flush(map.map, 2, UINT32_MAX, &more, &map.err), &map.err);
                uint64_t wanted = 0;
                for (uint32_t count : left)
                        wanted += std::max(1u, (count + Layout::NPLACES - 1) / Layout::NPLACES);
                assert_int_equal(map.stats().nslabs, wanted);
                assert_int_equal(nslabs - freed - more, wanted);
                assert_int_equal(map.nused(), wanted - options.nlists);
                assert_int_equal(map.stats().ndeleted, 0);
                assert_true(before == map.dump());
                map.run_ok(ops); /* slabs given back were left empty */
                assert_int_equal(map.stats().nelements, n * options.nlists);
        }
}

SLAB_TESTS(flush)

/* ---- lists by name */

template <class Layout> static void named_lists(int nlanes)
{
        typedef typename Layout::key key;
        open_gpu gpu;
        struct kc_slab_options options = map_options(1, nlanes);
        options.named = true;
        {
                test_map<Layout> one(&gpu.gpu, options);
                test_ops<Layout> ops;
                for (uint32_t i = 0; i < 500; i++)
                        ops.push_back({ KC_SLAB_REPLACE, (key)i, i + 1, 0, 0, false });
                one.run_ok(ops);
                assert_int_equal(one.stats().longest,
                                 (500 + Layout::NPLACES - 1) / Layout::NPLACES);
                assert_int_equal(one.dump().size(), 500);
        }
        options.nlists = 3;
        test_map<Layout> map(&gpu.gpu, options);
        test_ops<Layout> ops;
        for (uint32_t list = 0; list < 4; list++)
                for (key key : { (key)0, (key) ~(key)2, (key) ~(key)1, (key) ~(key)0 })
                        ops.push_back({ KC_SLAB_REPLACE, key, list + 1, list, 0, false });
        assert_int_equal(map.run(ops), KC_EUSAGE);
        assert_int_equal(map.nrefused, 10);
        assert_int_equal(map.stats().nelements, 6);
        for (test_op<Layout> &op : ops)
                op.kind = KC_SLAB_SEARCH;
        assert_int_equal(map.run(ops), KC_EUSAGE);
        for (size_t i = 0; i < ops.size(); i++) {
                assert_int_equal(ops[i].hit, i < 12 && i % 4 < 2);
                assert_int_equal(ops[i].result, !ops[i].hit ? 0 : Layout::VALUES ? i / 4 + 1 : 1);
        }
}

SLAB_TESTS(named_lists)

/* ---- too little memory */

/* Operations that find no slab are reported, and the others are done; all are done once there is
 * room. */
template <class Layout> static void exhaustion(int nlanes)
{
        open_gpu gpu;
        struct kc_slab_options options = map_options(100, nlanes);
        options.pool.nblocks = 1;
        options.pool.max_supers = 1;
        test_map<Layout> map(&gpu.gpu, options);
        auto keys = distinct_keys<typename Layout::key>(1126 * Layout::NPLACES + 500, 12345);
        test_ops<Layout> others, ops;
        for (size_t i = 0; i < keys.size(); i++)
                (i < 133 * Layout::NPLACES ? others : ops)
                        .push_back({ KC_SLAB_REPLACE, keys[i], 9, 0, 0, false });
        map.run_ok(others);
        assert_int_equal(map.run(ops), KC_ENOMEM);
        struct kc_slab_stats stats = map.stats();
        uint64_t npending = map.map->npending;
        assert_true(npending > 0);
        assert_int_equal(stats.nelements, others.size() + ops.size() - npending);
        assert_int_equal(stats.nslabs, 100 + nslabs(&map.map->pool));
        assert_int_equal(map.run(ops, false, true), KC_ENOMEM); /* as before */
        assert_int_equal(map.map->npending, npending);
        for (test_op<Layout> &op : others)
                op.kind = KC_SLAB_DELETE;
        map.run_ok(others); /* forgets pending operations */
        expect_ok(kc_slab_flush(map.map, 0, 100, NULL, &map.err), &map.err);
        map.run_ok(ops);
        for (const test_op<Layout> &op : ops)
                assert_true(!op.hit || !Layout::VALUES || op.result == 9);
        for (test_op<Layout> &op : ops)
                op.kind = KC_SLAB_SEARCH;
        map.run_ok(ops, true);
        for (const test_op<Layout> &op : ops)
                assert_true(op.hit);
}

static void test_exhaustion(void **unused)
{
        (void)unused;
        exhaustion<kc_slab_pair32>(8);
        exhaustion<kc_slab_pair32>(4);
        if (test_small())
                return;
        exhaustion<kc_slab_key32>(8);
        exhaustion<kc_slab_pair64>(4);
}

/* If the device has no memory for the pool to grow, the rest is done when there is some. */
static void test_resume(void **unused)
{
        (void)unused;
        open_gpu gpu;
        struct kc_slab_options options = map_options(201);
        options.pool.nblocks = 1;
        test_map<kc_slab_pair32> map(&gpu.gpu, options);
        test_ops<kc_slab_pair32> ops;
        for (uint32_t key : distinct_keys<uint32_t>(20000, 12345))
                ops.push_back({ KC_SLAB_ADD, key, 7, 0, 0, false });
        ops.push_back({ KC_SLAB_NKINDS, 1, 1, 0, 0, false });
        size_t limit = gpu.gpu.limit_nbytes;
        gpu.gpu.limit_nbytes = gpu.gpu.used_nbytes + 65536;
        assert_int_equal(map.run(ops), KC_ENOMEM);
        assert_int_equal(map.nrefused, 1);
        ops.pop_back();
        gpu.gpu.limit_nbytes = limit;
        assert_int_equal(map.dump().size(), ops.size() - map.map->npending);
        assert_int_equal(map.run(ops, false, true),
                         KC_EUSAGE); /* the invalid one counts as before */
        assert_int_equal(map.nrefused, 1);
        assert_int_equal(map.map->npending, 0);
        auto elements = map.dump();
        assert_int_equal(elements.size(), ops.size());
        for (const auto &element : elements)
                assert_int_equal(element.second, 7);
}

/* Pools of either form grow while operations wait. */
static void test_growth(void **unused)
{
        (void)unused;
        open_gpu gpu;
        for (bool light : { false, true }) {
                struct kc_slab_options options = map_options(600);
                options.pool.nblocks = 1;
                options.pool.max_changes = 1;
                options.pool.light = light;
                test_map<kc_slab_pair32> map(&gpu.gpu, options);
                reference<kc_slab_pair32> wanted;
                test_ops<kc_slab_pair32> ops;
                for (uint32_t key : distinct_keys<uint32_t>(40000, 12345))
                        ops.push_back({ KC_SLAB_REPLACE, key, key ^ 5, 0, 0, false });
                map.run_ok(ops);
                for (const auto &op : ops) {
                        assert_false(op.hit);
                        wanted[op.key] = op.value;
                }
                assert_true(map.map->pool.nsupers > 2);
                expect_contents(map, wanted);
                expect_ok(kc_slab_clear(map.map, &map.err), &map.err);
                expect_contents(map, {});
                map.run_ok(ops);
                expect_contents(map, wanted);
        }
}

/* ---- invalid use */

template <class Layout>
static void expect_refused(struct kc_gpu *gpu, struct kc_slab_options options)
{
        struct kc_slab_map<Layout> *map;
        struct kc_error err = {};
        assert_int_equal(kc_slab_new(&map, gpu, &options, gpu->stream, &err), KC_EUSAGE);
        assert_null(map);
}

static void test_usage(void **unused)
{
        (void)unused;
        open_gpu gpu;
        expect_refused<kc_slab_key32>(&gpu.gpu, map_options(1));
        expect_refused<kc_slab_key32>(&gpu.gpu, map_options(KC_SLAB_MAX_LISTS + 1));
        expect_refused<kc_slab_key32>(&gpu.gpu, map_options(2, 2));
        expect_refused<kc_slab_pair64>(&gpu.gpu, map_options(2, 16));
        struct kc_slab_options options = map_options(2);
        options.reuse = true;
        expect_refused<kc_slab_pair64>(&gpu.gpu, options);
        options = map_options(2);
        options.pool.nblocks = KC_SLAB_POOL_MAX_BLOCKS + 1;
        expect_refused<kc_slab_key64>(&gpu.gpu, options);
        test_map<kc_slab_key32> keys(&gpu.gpu, map_options(2));
        test_ops<kc_slab_key32> add = { { KC_SLAB_ADD, 1, 1, 0, 0, false } };
        assert_int_equal(keys.run(add, true), KC_EUSAGE);
        assert_int_equal(keys.run(add), KC_EUSAGE);
        assert_int_equal(keys.nrefused, 1);
        test_map<kc_slab_pair64> pairs(&gpu.gpu, map_options(2));
        test_ops<kc_slab_pair64> ops = { { KC_SLAB_INSERT, 1, 1, 0, 0, false },
                                         { KC_SLAB_REPLACE, 1, 0, 0, 0, false },
                                         { KC_SLAB_NKINDS, 1, 1, 0, 0, false },
                                         { 255, 1, 1, 0, 0, false },
                                         { KC_SLAB_SEARCH, 1, 0, 0, 0, false } };
        assert_int_equal(pairs.run(ops), KC_EUSAGE);
        assert_int_equal(pairs.nrefused, 4);
}

/* Elements for which SEARCH_ALL has no room are still counted. */
static void test_found_beyond_room(void **unused)
{
        (void)unused;
        open_gpu gpu;
        test_map<kc_slab_pair32> map(&gpu.gpu, map_options(2));
        test_ops<kc_slab_pair32> ops(500, { KC_SLAB_INSERT, 3, 1, 0, 0, false });
        map.run_ok(ops);
        ops = { { KC_SLAB_SEARCH_ALL, 3, 0, 0, 0, false } };
        map.run_ok(ops);
        assert_int_equal(map.nfound, 500);
        assert_int_equal(ops[0].result, 500);
        for (size_t i = 0; i < map.found_numbers.size(); i++)
                assert_int_equal(map.found_numbers[i], i < 104 ? 0 : 0xa5a5a5a5);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                SLAB_UNIT_TESTS(batches),
                cmocka_unit_test(test_many_batches),
                SLAB_UNIT_TESTS(same_key_replaced),
                cmocka_unit_test(test_counting),
                cmocka_unit_test(test_saturation),
                SLAB_UNIT_TESTS(equal_keys),
                SLAB_UNIT_TESTS(equal_keys_at_once),
                SLAB_UNIT_TESTS(reuse),
                SLAB_UNIT_TESTS(holes),
                cmocka_unit_test(test_unwritten_values),
                SLAB_UNIT_TESTS(flush),
                SLAB_UNIT_TESTS(named_lists),
                cmocka_unit_test(test_exhaustion),
                cmocka_unit_test(test_resume),
                cmocka_unit_test(test_growth),
                cmocka_unit_test(test_usage),
                cmocka_unit_test(test_found_beyond_room),
        };
        need_device();
        cmocka_set_test_filter(getenv("KC_TEST"));
        return cmocka_run_group_tests(tests, NULL, NULL);
}
