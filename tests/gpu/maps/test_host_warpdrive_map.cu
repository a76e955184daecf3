/*
 * The WarpDrive map's arithmetic on the host: mixing and its inverse, probing, words of remainder
 * and count.
 */
#include "gpu/maps/warpdrive/probe.cuh"
#include "tests/gpu/support.cuh"

#include <set>
#include <vector>

static kc_key128 random_wide(uint64_t *state)
{
        uint64_t low = next_random(state);
        return (kc_key128)next_random(state) << 64 | low;
}

/* Mixing is inverted correctly for all widths; for few bits, it yields every number once. */
static void mixing(void **unused)
{
        uint64_t state = 1;
        (void)unused;
        for (int nbits = 1; nbits <= 64; nbits++) {
                for (int i = 0; i < 200; i++) {
                        uint64_t seed = next_random(&state);
                        uint64_t x = kc_wd_low_bits(next_random(&state), nbits);
                        uint64_t mixed = kc_wd_mix_bits(x, seed, nbits);
                        assert_true(nbits == 64 || mixed >> nbits == 0);
                        assert_true(kc_wd_unmix_bits(mixed, seed, nbits) == x);
                }
        }
        for (int i = 0; i < 1000; i++) {
                kc_key128 wide = random_wide(&state);
                uint32_t key = (uint32_t)wide;
                uint64_t seed = next_random(&state);
                assert_true(kc_wd_unmix(kc_wd_mix(wide, seed, 0), seed, 0) == wide);
                assert_int_equal(kc_wd_unmix(kc_wd_mix(key, seed, 0), seed, 0), key);
        }
        std::set<uint64_t> seen;
        for (uint64_t x = 0; x < 4096; x++)
                seen.insert(kc_wd_mix_bits(x, 99, 12));
        assert_int_equal(seen.size(), 4096);
}

static void primes(void **unused)
{
        (void)unused;
        assert_int_equal(kc_wd_prime_from(0), 1);
        assert_int_equal(kc_wd_prime_from(1), 1);
        assert_int_equal(kc_wd_prime_from(2), 2);
        assert_int_equal(kc_wd_prime_from(8), 11);
        assert_int_equal(kc_wd_prime_from(9409), 9413); /* 9409 = 97 * 97 */
        assert_int_equal(kc_wd_prime_from(1u << 31), 2147483659u);
}

/* Keys in turn are shared evenly by any number of owners; the keys of one owner are spread evenly
 * over a map, whatever its seed. */
static void owners(void **unused)
{
        enum { N = 60000, NPARTS = 64 };
        (void)unused;
        for (uint32_t nowners = 1; nowners <= 16; nowners++) {
                std::vector<int> counts(nowners), parts(NPARTS);
                for (uint32_t i = 0; i < N; i++) {
                        uint32_t owner = kc_wd_owner((kc_key64)i << 7, nowners);
                        assert_true(owner < nowners);
                        counts[owner]++;
                        if (owner == 0)
                                parts[kc_wd_part(kc_wd_hash(kc_wd_mix((kc_key64)i << 7, 0, 64), 64),
                                                 6)]++;
                }
                for (int count : counts)
                        assert_true(abs(count * (int)nowners - N) < N / 10);
                for (int count : parts)
                        assert_true(abs(count * NPARTS - counts[0]) < counts[0]);
        }
        assert_int_equal(kc_wd_owner((uint32_t)5, 3), kc_wd_owner((kc_key64)5, 3));
        assert_int_equal(kc_wd_owner((kc_key128)5, 3), kc_wd_owner((kc_key64)5, 3));
}

static struct kc_wd_shape shape_of(uint32_t nwindows, uint32_t group, uint32_t linear,
                                   int part_bits)
{
        struct kc_wd_shape shape = {};
        shape.nwindows = kc_wd_prime_from(nwindows);
        shape.group = group;
        shape.linear = linear;
        shape.part_bits = part_bits;
        shape.max_probes = shape.nwindows * linear;
        shape.key_bits = 64;
        return shape;
}

/* A key's windows are all those of its part, each once before any repeats. */
static void probing(void **unused)
{
        uint64_t state = 3;
        (void)unused;
        for (uint32_t nwindows : { 1, 2, 3, 7, 97, 1000 }) {
                for (int part_bits : { 0, 1, 7 }) {
                        struct kc_wd_shape shape = shape_of(nwindows, 4, 1, part_bits);
                        uint64_t hash = next_random(&state);
                        uint32_t part = kc_wd_part(hash, part_bits);
                        std::set<uint64_t> slots;
                        kc_wd_probing p = kc_wd_probing_begin(shape, hash);
                        for (uint32_t i = 0; i < shape.nwindows; i++) {
                                uint64_t slot = kc_wd_first_slot(p, shape.group) + 3;
                                assert_int_equal(p.number, i);
                                assert_int_equal(slot / 4 / shape.nwindows, part);
                                assert_true(slot < kc_wd_nslots(shape));
                                slots.insert(slot);
                                kc_wd_probing_next(shape, &p);
                        }
                        assert_int_equal(slots.size(), shape.nwindows);
                }
        }
}

/* Neighbouring windows first, then a step from the first of them. */
static void neighbours(void **unused)
{
        struct kc_wd_shape shape = shape_of(1009, 2, 3, 0);
        kc_wd_probing p = kc_wd_probing_begin(shape, UINT64_C(0x123456789abcdef0));
        uint32_t first = p.window, step = p.step;
        (void)unused;
        for (uint32_t i = 0; i < 3 * 1009; i++) {
                uint64_t want = (first + (uint64_t)(i / 3) * step + i % 3) % 1009;
                assert_int_equal(p.window, want);
                kc_wd_probing_next(shape, &p);
        }
}

/* Uniform hashes fill the windows evenly, and keys of one window take different steps. */
static void evenness(void **unused)
{
        struct kc_wd_shape shape = shape_of(1000, 1, 1, 2);
        std::vector<uint32_t> filled(4 * shape.nwindows);
        std::set<uint32_t> steps;
        (void)unused;
        for (uint32_t key = 0; key < 1u << 20; key++) {
                uint64_t hash = kc_wd_hash(kc_wd_mix(key, 7, 32), 32);
                kc_wd_probing p = kc_wd_probing_begin(shape, hash);
                uint64_t slot = kc_wd_first_slot(p, shape.group);
                filled[slot]++;
                if (slot == 77)
                        steps.insert(p.step);
        }
        for (uint32_t n : filled)
                assert_in_range(n, 160, 370); /* of 260 */
        assert_true(steps.size() > filled[77] * 3 / 4);
}

static void check_word(const struct kc_wd_shape *shape, const kc_wd_word_shape *word,
                       uint64_t mixed)
{
        uint64_t remainder;
        kc_wd_probing p = kc_wd_probing_words(*shape, mixed, &remainder);
        for (uint32_t i = 0; i < shape->max_probes; i++) {
                uint64_t slot = kc_wd_first_slot(p, shape->group) + i % shape->group;
                uint64_t count = i % ((uint64_t)1 << word->count_bits);
                uint64_t w = kc_wd_word_of(*word, remainder, p.number) |
                             count << (64 - word->count_bits);
                assert_true(slot < kc_wd_nslots(*shape));
                assert_int_equal(kc_wd_word_number(*word, w), i);
                assert_true(kc_wd_word_remainder(*word, w) == remainder);
                assert_true(kc_wd_word_count(*word, w) == count);
                assert_true(kc_wd_word_mixed(*shape, *word, slot, w) == mixed);
                kc_wd_probing_next(*shape, &p);
        }
}

/* Slot and word determine the mixed key, whatever the numbers of windows, parts and bits. */
static void words(void **unused)
{
        uint64_t state = 5;
        (void)unused;
        for (int key_bits : { 12, 24, 42, 62, 64 }) {
                for (uint32_t nwindows : { 1u, 2u, 101u, 4096u, 1000003u, 1u << 30 }) {
                        for (int part_bits : { 0, 4 }) {
                                struct kc_wd_shape shape =
                                        shape_of(nwindows, 4, 1 + part_bits / 2, part_bits);
                                shape.key_bits = key_bits;
                                shape.max_probes = key_bits % 4 == 0 ? 254 : 3000;
                                kc_wd_word_shape word = kc_wd_divide(&shape);
                                if (word.count_bits < (int)KC_WD_MIN_COUNT_BITS)
                                        continue;
                                check_word(&shape, &word, 0);
                                check_word(&shape, &word, kc_wd_low_bits(~UINT64_C(0), key_bits));
                                for (int i = 0; i < 20; i++)
                                        check_word(&shape, &word,
                                                   kc_wd_low_bits(next_random(&state), key_bits));
                        }
                }
        }
}

/* The free and tombstone words are no key's word, and their numbers are beyond all probes. */
static void word_marks(void **unused)
{
        struct kc_wd_shape shape = shape_of(1000, 4, 1, 0);
        shape.key_bits = 40;
        kc_wd_word_shape word = kc_wd_divide(&shape);
        (void)unused;
        assert_int_equal(kc_wd_word_number(word, KC_WD_FREE), 1023); /* 1009 probes: 10 bits */
        assert_int_equal(kc_wd_word_number(word, kc_wd_word_tombstone(word)), 1022);
        assert_int_equal(word.remainder_bits + word.count_bits + word.number_bits, 64);
        shape = shape_of(1, 4, 1, 0); /* one window: it saves no bits of the key */
        assert_true(kc_wd_divide(&shape).count_bits < (int)KC_WD_MIN_COUNT_BITS);
}

/* As many probes as requested while 16 bits remain for the count; at least 254, if requested. */
static void word_probes(void **unused)
{
        const struct {
                int key_bits;
                uint32_t asked, got;
                int number_bits, count_bits;
        } rows[] = {
                { 40, 10, 10, 8, 25 },      { 40, 254, 254, 8, 25 },  { 40, 255, 255, 9, 24 },
                { 40, 4096, 4096, 13, 20 }, { 48, 4096, 510, 9, 16 }, { 49, 4096, 254, 8, 16 },
                { 54, 4096, 254, 8, 11 },
        };
        (void)unused;
        for (auto row : rows) {
                struct kc_wd_shape shape = shape_of(1009, 4, 1, 0);
                shape.key_bits = row.key_bits;
                shape.max_probes = row.asked;
                kc_wd_word_shape word = kc_wd_divide(&shape);
                assert_int_equal(shape.max_probes, row.got);
                assert_int_equal(word.number_bits, row.number_bits);
                assert_int_equal(word.count_bits, row.count_bits);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(mixing),      cmocka_unit_test(primes),
                cmocka_unit_test(owners),      cmocka_unit_test(probing),
                cmocka_unit_test(neighbours),  cmocka_unit_test(evenness),
                cmocka_unit_test(words),       cmocka_unit_test(word_marks),
                cmocka_unit_test(word_probes),
        };
        cmocka_set_test_filter(getenv("KC_TEST"));
        return cmocka_run_group_tests(tests, NULL, NULL);
}
