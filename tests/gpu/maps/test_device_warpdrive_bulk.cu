/*
 * Bulk operations of the WarpDrive map on the device, compared with a map on the host, for all
 * layouts and group sizes.
 */
#include "tests/gpu/maps/warpdrive_support.cuh"

#include <cmath>

/* Maps with various numbers of parts, in bulk. */
template <class Layout> static void bulk(uint32_t group)
{
        for (int part_bits : { 0, 1, 5, 9, 12 }) {
                size_t n = test_size(part_bits < 10 ? 1 << 15 : 1 << 18) + 5;
                if (n >> part_bits < 50) /* parts would differ too much */
                        continue;
                both<Layout> b;
                struct kc_wd_options options = options_of(2 * n, group);
                options.part_bits = part_bits;
                options.linear = part_bits == 5 ? 32 / group : 1;
                options.max_rebuilds = 4;
                open_both(&b, &options);
                std::vector<typename Layout::key> keys = some_keys<Layout>(n, 21), few;
                few.assign(keys.begin(), keys.begin() + n / 30);
                insert(&b, keys, some_values(n, 22), BULK);
                add(&b, zipf_draws(few, n, 23), {}, BULK);
                add(&b, uniform_draws(few, n, 24), some_values(n, 25), BULK);
                expect_same(&b);
                expect_retrieved(&b, keys, BULK);
                expect_retrieved(&b, some_keys<Layout>(n, 26), BULK);
                expect_retrieved(&b, keys, DIRECT);
                close_both(&b);
        }
}
FOR_ALL(bulk)

/* So many parts that splitting takes two passes; and batches whose keys are all of one part. */
template <class Layout> static void bulk_many_parts(uint32_t group)
{
        if (group == 2 || group > 4) /* splitting does not depend on the group */
                return;
        size_t n = test_size(1 << 20) + 7;
        both<Layout> b;
        struct kc_wd_options options = options_of(3 * n, group);
        options.part_bits = 11;
        open_both(&b, &options);
        std::vector<typename Layout::key> keys = some_keys<Layout>(n, 31);
        std::vector<typename Layout::key> one(n, keys[0]);
        insert(&b, keys, some_values(n, 32), BULK);
        add(&b, one, {}, BULK);
        expect_same(&b);
        expect_retrieved(&b, keys, BULK);
        expect_retrieved(&b, one, BULK);
        expect_retrieved(&b, some_keys<Layout>(n, 33), BULK);
        expect_retrieved(&b, keys, DIRECT);
        close_both(&b);
}
FOR_ALL(bulk_many_parts)

/* Bulk and direct operations in turn, with tombstones, and with memory for only part of a batch. */
template <class Layout> static void bulk_by_turns(uint32_t group)
{
        size_t n = test_size(group == 1 || group == 4 ? 1 << 16 : 1 << 13) + 3;
        uint64_t state = group;
        both<Layout> b;
        struct kc_wd_options options = options_of(n + n / 8, group);
        options.part_bits = 1;
        open_both(&b, &options);
        std::vector<typename Layout::key> from = some_keys<Layout>(n, group);
        for (int i = 0; i < 12; i++) {
                size_t limit_nbytes = b.gpu.limit_nbytes;
                enum how how = i % 3 == 2 ? DIRECT : BULK;
                auto keys = uniform_draws(from, n / 2 + next_random(&state) % n, state);
                if (how == BULK && i % 2 == 1 && !Layout::COUNTS_ONLY) /* wraps take memory */
                        b.gpu.limit_nbytes = b.gpu.used_nbytes + 60 * n;
                if (i % 4 < 2)
                        add(&b, keys, some_values(keys.size(), state), how);
                else
                        insert(&b, keys, some_values(keys.size(), state), how);
                expect_retrieved(&b, keys, BULK);
                b.gpu.limit_nbytes = limit_nbytes;
                expect_same(&b);
                keys.resize(keys.size() / 3);
                erase(&b, keys);
                expect_retrieved(&b, from, how);
        }
        close_both(&b);
}
FOR_ALL(bulk_by_turns)

/* Bound the device's memory: leave room for a batch of n keys, what insert() needs, and `more`. */
template <class Layout> static void leave(both<Layout> *b, size_t n, size_t more)
{
        size_t batch = n * (sizeof(typename Layout::key) + sizeof(uint32_t) + 1), lookups = 5 * n;
        b->gpu.limit_nbytes = b->gpu.used_nbytes + batch + lookups + more;
}

/* The sum by which a map of counts bounds its wraps has every weight once. */
template <class Layout> static void expect_weight(const both<Layout> *b, uint64_t weight)
{
        if (Layout::COUNTS_ONLY)
                assert_int_equal(b->map->weight, weight);
}

/* If parts overflow, the map is rebuilt, and all keys fit, as long as there are slots; also if
 * there is memory for a second table but not for slices of the batch in addition. */
template <class Layout> static void bulk_overflow(uint32_t group)
{
        uint64_t nrebuilds[2] = {};
        for (int i = 0; i < 16; i++) {
                both<Layout> b;
                struct kc_wd_options options = options_of(8 * 160, group);
                options.part_bits = 3;
                options.max_rebuilds = 20;
                open_both(&b, &options);
                double part = (double)b.map->nslots / 8;
                size_t n = (size_t)(8 * (part - 1.6 * sqrt(part)));
                std::vector<typename Layout::key> keys = some_keys<Layout>(n, i + 1);
                std::vector<uint32_t> values = some_values(n, i);
                size_t limit_nbytes = b.gpu.limit_nbytes, table_nbytes = b.gpu.used_nbytes;
                size_t moved_nbytes = b.map->nslots * (sizeof(keys[0]) + sizeof(uint32_t));
                if (Layout::COUNTS_ONLY) /* wraps take memory, too */
                        values.assign(n, 1);
                if (i % 2 == 1)
                        leave(&b, n, (table_nbytes + moved_nbytes) * 6 / 5);
                insert(&b, keys, values, BULK);
                b.gpu.limit_nbytes = limit_nbytes;
                expect_same(&b);
                expect_weight(&b, n);
                expect_retrieved(&b, keys, BULK);
                nrebuilds[i % 2] += b.map->nrebuilds;
                close_both(&b);
        }
        assert_true(nrebuilds[0] > 0 && nrebuilds[1] > 0);
}
FOR_ALL(bulk_overflow)

/* Without memory for worthwhile slices, keys are put and looked up directly. */
template <class Layout> static void bulk_scarce(uint32_t group)
{
        size_t n = 4000;
        both<Layout> b;
        struct kc_wd_options options = options_of(2 * n, group);
        options.part_bits = 2;
        open_both(&b, &options);
        std::vector<typename Layout::key> keys = some_keys<Layout>(n, 41);
        size_t limit_nbytes = b.gpu.limit_nbytes;
        leave(&b, n, 3000);
        insert(&b, keys, std::vector<uint32_t>(n, 1), BULK);
        expect_weight(&b, n);
        expect_retrieved(&b, keys, BULK);
        b.gpu.limit_nbytes = limit_nbytes;
        expect_same(&b);
        close_both(&b);
}
FOR_ALL(bulk_scarce)

/* More keys than slots, each several times, in slices: refused occurrences are reported, all others
 * are in, and after a retry with only the refused ones each has counted exactly once. */
template <class Layout> static void bulk_full(uint32_t group)
{
        typedef typename Layout::key Key;
        both<Layout> b;
        struct kc_wd_options options = options_of(1000, group);
        options.part_bits = 2;
        options.max_rebuilds = group % 3 == 1 ? -1 : 1;
        open_both(&b, &options);
        std::vector<Key> keys = some_keys<Layout>(b.map->nslots + 100, 11), left;
        std::vector<uint32_t> refused, left_weights;
        for (size_t i = 0, n = keys.size(); i < 2 * n; i++)
                keys.push_back(keys[i % n]);
        std::vector<uint32_t> weights = some_values(keys.size(), 12);
        for (uint32_t &weight : weights)
                weight %= 1000;
        size_t limit_nbytes = b.gpu.limit_nbytes;
        if (group == 4) /* besides the batch, for lookups and for slices of part of it */
                b.gpu.limit_nbytes =
                        b.gpu.used_nbytes + (sizeof(Key) + 4 + 1 + 5 + 12) * keys.size();
        assert_int_equal(put(&b, KC_WD_ADD, keys, weights, BULK, &refused), KC_ENOMEM);
        b.gpu.limit_nbytes = limit_nbytes;
        assert_true(b.err.message[0] != '\0');
        b.err = {};
        for (size_t i = 0; i < keys.size(); i++) {
                if (refused[i / 32] >> i % 32 & 1) {
                        left.push_back(keys[i]);
                        left_weights.push_back(weights[i]);
                } else {
                        b.want[keys[i]] += weights[i];
                }
        }
        assert_true(left.size() >= 100);
        assert_true(b.want.size() >= 800);
        expect_same(&b);
        expect_ok(kc_wd_rebuild(b.map, 2 * b.map->nslots, &b.err), &b.err);
        add(&b, left, left_weights, BULK);
        expect_same(&b);
        close_both(&b);
}
FOR_ALL(bulk_full)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TESTS(bulk),          TESTS(bulk_many_parts), TESTS(bulk_by_turns),
                TESTS(bulk_overflow), TESTS(bulk_scarce),     TESTS(bulk_full),
        };
        need_device();
        cmocka_set_test_filter(getenv("KC_TEST"));
        return cmocka_run_group_tests(tests, NULL, NULL);
}
