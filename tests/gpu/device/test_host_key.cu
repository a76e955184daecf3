/*
 * Keys of several words: their operators, compared with the same arithmetic done bit by bit.
 */
#include "gpu/device/key.cuh"
#include "kmer/kmer.h"
#include "tests/gpu/support.cuh"

#include <vector>

/* Bits, lowest first. */
typedef std::vector<bool> bits;

template <class Key> static bits bits_of(const Key &key)
{
        bits all;
        for (size_t i = 0; i < 8 * sizeof(Key); i++)
                all.push_back(kc_key_word(key, (int)(i / 64)) >> i % 64 & 1);
        return all;
}

/* a + b, or with `carry` and the complement of b: a - b. */
static bits sum_of(const bits &a, const bits &b, bool carry)
{
        bits sum;
        for (size_t i = 0; i < a.size(); i++) {
                int all = a[i] + b[i] + carry;
                sum.push_back(all & 1);
                carry = all > 1;
        }
        return sum;
}

static bits shifted(const bits &a, int by)
{
        bits result;
        for (int i = 0; i < (int)a.size(); i++)
                result.push_back(i - by >= 0 && i - by < (int)a.size() && a[(size_t)(i - by)]);
        return result;
}

static bool is_below(const bits &a, const bits &b)
{
        for (size_t i = a.size(); i-- > 0;)
                if (a[i] != b[i])
                        return b[i];
        return false;
}

/* Random words, of which some are all zeros or ones, so that carries run far, and equal words are
 * compared. */
template <class Key> static Key some_key(uint64_t *state)
{
        uint64_t words[sizeof(Key) / 8];
        for (uint64_t &word : words) {
                uint64_t random = next_random(state);
                word = random % 3 == 0 ? 0 : random % 3 == 1 ? UINT64_MAX : next_random(state);
        }
        Key key;
        kc_key_set(&key, words);
        return key;
}

template <class Key> static void check_operators(const Key &a, const Key &b)
{
        const bits x = bits_of(a), y = bits_of(b);
        bits both, any, one, none;
        for (size_t i = 0; i < x.size(); i++) {
                both.push_back(x[i] && y[i]);
                any.push_back(x[i] || y[i]);
                one.push_back(x[i] != y[i]);
                none.push_back(!y[i]);
        }
        assert_true(bits_of<Key>(a & b) == both);
        assert_true(bits_of<Key>(a | b) == any);
        assert_true(bits_of<Key>(a ^ b) == one);
        assert_true(bits_of<Key>(~b) == none);
        assert_true(bits_of<Key>(a + b) == sum_of(x, y, false));
        assert_true(bits_of<Key>(a - b) == sum_of(x, none, true));
        assert_int_equal(a == b, x == y);
        assert_int_equal(a != b, x != y);
        assert_int_equal(a < b, is_below(x, y));
        assert_int_equal(a > b, is_below(y, x));
        assert_int_equal(a <= b, !is_below(y, x));
        assert_int_equal(a >= b, !is_below(x, y));
        assert_true((uint64_t)a == kc_key_word(a, 0));
        assert_true((uint32_t)a == (uint32_t)kc_key_word(a, 0));
}

template <class Key> static void check_shifts(const Key &a)
{
        for (int n = 0; n < 8 * (int)sizeof(Key); n++) {
                assert_true(bits_of<Key>(a << n) == shifted(bits_of(a), n));
                assert_true(bits_of<Key>(a >> n) == shifted(bits_of(a), -n));
        }
}

template <class Key> static void check_key(void)
{
        uint64_t state = 1;
        for (int i = 0; i < 1000; i++) {
                Key a = some_key<Key>(&state), b = some_key<Key>(&state);
                check_operators(a, b);
                check_operators(a, a);
                if (i % 100 == 0)
                        check_shifts(a);
        }
        check_operators((Key)0, (Key)1);
        check_operators((Key) ~(Key)0, (Key)1);
}

static void operators(void **)
{
#define CHECK(Key) check_key<Key>();
        KC_GPU_KEYS(CHECK)
#undef CHECK
}

/* The hash depends on every bit. */
template <class Key> static void check_hash(void)
{
        uint64_t state = 2;
        Key key = any_key<Key>(&state);
        for (int i = 0; i < 8 * (int)sizeof(Key); i++)
                assert_true(kc_key_hash(key) != kc_key_hash((Key)(key ^ (Key)1 << i)));
}

static void hashes(void **)
{
#define CHECK(Key) check_hash<Key>();
        KC_GPU_KEYS(CHECK)
#undef CHECK
}

/* The key chosen for a k is the narrowest, and as long as the host's k-mer. */
static void choices(void **)
{
        for (int k = 1; k <= KC_GPU_ENGINE_MAX_K; k++) {
                size_t nbytes = kc_key_choose(k, [](auto key) { return sizeof key; });
                assert_int_equal(nbytes, kc_kmer_nwords(k) * sizeof(uint64_t));
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(operators),
                cmocka_unit_test(hashes),
                cmocka_unit_test(choices),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
