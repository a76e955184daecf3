/*
 * The arithmetic of ordering: packing, cells, sub-buckets.
 */
#include "gpu/order/plan.cuh"
#include "tests/gpu/support.cuh"

#include <vector>

static uint64_t state = 1;

template <class Key> static Key random_key(int k)
{
        return any_key<Key>(&state) & kc_key_mask<Key>(k);
}

/* Keys at both ends, and others. */
template <class Key> static Key some_key(int k, int i)
{
        if (i < 3)
                return (Key)i & kc_key_mask<Key>(k);
        if (i < 6)
                return kc_key_mask<Key>(k) - (Key)(i - 3);
        return random_key<Key>(k);
}

template <class Key> static void check_packing(int k)
{
        struct kc_order_packing packing = kc_order_packing_for<Key>(k);
        assert_true(packing.count_bits >= 8 && packing.count_bits <= packing.shift);
        for (int i = 0; i < 300; i++) {
                Key a = some_key<Key>(k, i), b = some_key<Key>(k, (i + 7) % 300);
                uint32_t max = kc_order_max_count(packing), count = i % 2 ? max : 1 + i % max;
                uint32_t prefix = kc_order_coarse(a, k) >> 4;
                Key packed = kc_order_pack(a, count, packing);
                assert_true(kc_order_kmer(packed, prefix, packing) == a);
                assert_int_equal(kc_order_count(packed, packing), count);
                assert_int_equal(prefix << 12 | kc_order_local(packed),
                                 (uint32_t)(a >> (2 * k - KC_ORDER_CELL_BITS)));
                if (kc_order_coarse(b, k) >> 4 != prefix || a == b)
                        continue;
                assert_true((packed < kc_order_pack(b, 1u, packing)) == (a < b));
        }
}

static void packing(void **)
{
        for (int k = KC_ORDER_MIN_K; k <= 32; k++)
                check_packing<kc_key64>(k);
        for (int k = KC_ORDER_MIN_K; k <= 64; k++)
                check_packing<kc_key128>(k);
        for (int k = KC_ORDER_MIN_K; k <= 96; k++)
                check_packing<kc_key192>(k);
        for (int k = KC_ORDER_MIN_K; k <= 128; k++)
                check_packing<kc_key256>(k);
}

/* Packed pairs at both ends of a bucket's cells and in between: sub-buckets ascend and are in
 * range. */
template <class Key> static void check_scale(struct kc_order_bucket bucket, uint32_t nsubs)
{
        const int shift = 8 * (int)sizeof(Key) - KC_ORDER_LOCAL_BITS;
        struct kc_order_scale scale = kc_order_scale_for(bucket, nsubs);
        Key low = (Key)(bucket.cell % KC_ORDER_NLOCAL) << shift;
        Key step = (Key)bucket.ncells << (shift - 8);
        uint32_t last = 0;
        Key at = low;
        for (int i = 0; i < 256; i++, at = at + step) {
                for (int off = i == 0 ? 1 : 0; off <= 2; off++) { /* one before, at, one after */
                        uint32_t sub = kc_order_sub((Key)(at + (Key)(uint64_t)off - 1), scale);
                        assert_true(sub >= last);
                        last = sub;
                }
        }
        last = kc_order_sub((Key)(at - 1), scale);
        assert_in_range(last, nsubs / 2, nsubs - 1);
}

static void sub_buckets(void **)
{
        for (int i = 0; i < 200; i++) {
                uint32_t cell = next_random(&state) % KC_ORDER_NCELLS;
                uint32_t most = KC_ORDER_NLOCAL - cell % KC_ORDER_NLOCAL;
                uint32_t ncells = i % 3 == 0 ? most : 1 + next_random(&state) % most;
                for (uint32_t nsubs = 4096; nsubs <= 65536; nsubs += 1024) {
#define CHECK(Key) check_scale<Key>({ 0, 0, cell, ncells }, nsubs);
                        KC_GPU_KEYS(CHECK)
#undef CHECK
                }
        }
        check_scale<kc_key64>({ 0, 0, 0, KC_ORDER_NLOCAL }, 16384);
        check_scale<kc_key64>({ 0, 0, KC_ORDER_NCELLS - 1, 1 }, 16384);
}

static void splits(void **)
{
        const uint32_t npairs[] = { 5, 5, 0, 1, 20, 20, 3, 0 };
        assert_int_equal(kc_order_split_end(npairs, 0, 8, 10), 3);
        assert_int_equal(kc_order_split_end(npairs, 3, 8, 10), 4);
        assert_int_equal(kc_order_split_end(npairs, 4, 8, 10), 5);
        assert_int_equal(kc_order_split_end(npairs, 6, 8, 10), 8);
        assert_int_equal(kc_order_split_end(npairs, 0, 2, 1000), 2);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(packing),
                cmocka_unit_test(sub_buckets),
                cmocka_unit_test(splits),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
