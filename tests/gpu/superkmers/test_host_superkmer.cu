/*
 * The device's arithmetic on k-mers, minimizers, records and stretches, run on the host.
 */
#include "gpu/count/fold.cuh"
#include "kmer/kmer.h"
#include "tests/gpu/support.cuh"

#include <vector>

static std::vector<uint64_t> random_words(uint64_t *state, size_t n)
{
        std::vector<uint64_t> words(n);
        for (uint64_t &word : words)
                word = next_random(state);
        return words;
}

static unsigned base_at(const std::vector<uint64_t> &words, uint64_t i)
{
        return words[i / 32] >> (2 * (i % 32)) & 3;
}

/* The reference, from kmer/kmer.h: the k-mer at a position, canonical or not. */
template <class Key>
static Key reference_kmer(const std::vector<uint64_t> &words, uint64_t at, int k, bool stranded)
{
        char text[KC_MAX_K];
        uint64_t kmer[KC_MAX_WORDS] = {};
        for (int i = 0; i < k; i++)
                text[i] = "ACGT"[base_at(words, at + (uint64_t)i)];
        kc_kmer_parse(text, k, kmer);
        if (!stranded)
                kc_kmer_canonical(kmer, k);
        Key key = 0;
        memcpy(&key, kmer, sizeof key);
        return key;
}

template <class Key> static Key packed_at(const std::vector<uint64_t> &words, uint64_t at)
{
        Key packed = 0;
        for (uint64_t i = 0; i < 4 * sizeof(Key); i++)
                packed |= (Key)base_at(words, at + i) << (2 * i);
        return packed;
}

template <class Key> static void check_keys(int from, int to)
{
        uint64_t state = 1;
        std::vector<uint64_t> words = random_words(&state, 64);
        for (int k = from; k <= to; k++)
                for (uint64_t at = 0; at < 300; at++)
                        for (int stranded = 0; stranded < 2; stranded++) {
                                Key key = kc_key_from_packed(packed_at<Key>(words, at), k,
                                                             stranded != 0);
                                assert_true(key == reference_kmer<Key>(words, at, k, stranded));
                        }
}

static void keys_are_what_the_host_says(void **state)
{
        (void)state;
        check_keys<kc_key64>(1, 32);
        check_keys<kc_key128>(33, 64);
        check_keys<kc_key192>(65, 96);
        check_keys<kc_key256>(97, 128);
}

/* The 32 bases from `at` on, read on the given strand or on the other one. */
static kc_mmers mmers_of(const std::vector<uint64_t> &words, uint64_t at, bool other)
{
        kc_mmers mmers = {};
        for (uint64_t word = 0; word < 2; word++) {
                uint32_t bases = 0;
                for (uint64_t i = 16 * word; i < 16 * word + 16; i++) {
                        uint64_t base =
                                other ? 3 - base_at(words, at + 31 - i) : base_at(words, at + i);
                        bases |= (uint32_t)base << 2 * (i % 16);
                }
                kc_mmers_feed(&mmers, bases);
        }
        return mmers;
}

/* An m-mer has the same hash when it is fed from the other strand. */
static void minimizers_ignore_strands(void **state)
{
        uint64_t random = 2;
        std::vector<uint64_t> words = random_words(&random, 8);
        (void)state;
        for (int m = 1; m <= KC_GPU_MAX_MINIMIZER; m++)
                for (uint64_t at = 0; at < 100; at++)
                        for (uint32_t n = 1; n <= 16 && (int)n <= m; n++) {
                                const kc_mmers one = mmers_of(words, at, false);
                                const kc_mmers other = mmers_of(words, at, true);
                                /* it has n new bases on one strand, and m - n on the other */
                                kc_mmer there = kc_mmers_at(&one, 2 * n, m);
                                kc_mmer back = kc_mmers_at(&other, 2 * ((uint32_t)m - n), m);
                                uint32_t forward = 0;
                                for (uint64_t i = 16 + n - (uint64_t)m; i < 16 + n; i++)
                                        forward = forward << 2 | (uint32_t)base_at(words, at + i);
                                assert_int_equal(there.forward, forward);
                                assert_int_equal(there.forward, back.reverse);
                                assert_int_equal(there.reverse, back.forward);
                                assert_int_equal(kc_mmer_hash(&there), kc_mmer_hash(&back));
                        }
}

/* Minimizers, whose hashes are mostly small, divide the points evenly among bins. */
static void check_bins(uint32_t first, uint32_t width, uint32_t nbins)
{
        const uint64_t npoints = width == 0 ? UINT64_C(1) << 32 : width;
        const struct kc_bins bins = { first, width, (uint32_t)(((uint64_t)nbins << 32) / npoints) };
        std::vector<uint64_t> counts(nbins);
        uint64_t random = 3, n = 0;
        for (int i = 0; i < 2000000; i++) {
                const uint32_t hash = (uint32_t)next_random(&random) >> 10;
                const uint32_t point = kc_minimizer_point(hash);
                if (!kc_bins_have(&bins, point))
                        continue;
                assert_true(kc_bins_number(&bins, point) < nbins);
                counts[kc_bins_number(&bins, point)]++;
                n++;
        }
        assert_in_range(n, 2000000 * npoints / (UINT64_C(1) << 32) * 9 / 10,
                        2000000 * (npoints >> 16) / (UINT64_C(1) << 16) * 11 / 10);
        for (uint64_t count : counts)
                assert_in_range(count, n / nbins * 7 / 10, n / nbins * 13 / 10);
}

static void bins_are_in_range_and_even(void **state)
{
        (void)state;
        check_bins(0, 0, 64);
        check_bins(0, 0, 1);
        check_bins(5u << 20, 400u << 20, 16);
        check_bins(4000u << 20, 96u << 20, 2);
}

static void minimizers_grow_with_the_input(void **state)
{
        (void)state;
        assert_int_equal(kc_gpu_minimizer_length(31, UINT64_C(1) << 29), 13);
        assert_int_equal(kc_gpu_minimizer_length(31, UINT64_C(100000000000)), 15);
        assert_int_equal(kc_gpu_minimizer_length(31, 0), 15);
        assert_int_equal(kc_gpu_minimizer_length(21, UINT64_C(1) << 28), 11);
        assert_int_equal(kc_gpu_minimizer_length(31, UINT64_C(1) << 30), 15);
        assert_int_equal(kc_gpu_minimizer_length(21, UINT64_C(1) << 30), 15);
        for (uint64_t nbases : { UINT64_C(0), UINT64_C(1000), UINT64_C(1) << 40 })
                for (int k = 1; k <= KC_GPU_ENGINE_MAX_K; k++)
                        assert_in_range(kc_gpu_minimizer_length(k, nbases), 1, k);
}

static void check_record(uint64_t position, uint32_t nkmers, uint32_t bin, kc_record_form form)
{
        const uint64_t record = kc_record(position, nkmers, bin, form);
        assert_int_equal(kc_record_position(record, form), position);
        assert_int_equal(kc_record_chunk(record, form), position >> KC_CHUNK_BITS);
        assert_int_equal(kc_record_nkmers(record, form), nkmers);
        assert_int_equal(kc_record_bin(record, form), bin);
}

static void records_keep_what_they_are_given(void **state)
{
        (void)state;
        for (int length_bits : { 5, 6 })
                for (int bits = 37; bits <= KC_RECORD_MAX_POSITION_BITS; bits++)
                        for (uint64_t position :
                             { UINT64_C(0), UINT64_C(12345), (UINT64_C(1) << bits) - 1 })
                                for (uint32_t nkmers : { 1u, 31u, 1u << length_bits })
                                        for (uint32_t bin :
                                             { 0u, 77u, (1u << (64 - bits - length_bits)) - 1 })
                                                check_record(position, nkmers, bin,
                                                             { length_bits, bits });
}

/* Positions of as many bases, and bins for as many k-mers, as there can be. */
static void positions_grow_with_the_input(void **state)
{
        const uint64_t billion = 1000000000;
        (void)state;
        assert_int_equal(kc_record_position_bits(0), 37);
        assert_int_equal(kc_record_position_bits(100 * billion), 37);
        assert_int_equal(kc_record_position_bits(124 * billion), 38);
        assert_int_equal(kc_record_position_bits(250 * billion), 39);
        assert_int_equal(kc_record_position_bits(UINT64_MAX), KC_RECORD_MAX_POSITION_BITS);
        for (uint64_t n = billion; n < 800 * billion; n += billion)
                assert_true(n < (UINT64_C(1) << kc_record_position_bits(n)) / 8 * 7);
}

template <class Key>
static void check_stretch(const std::vector<uint64_t> &words, uint64_t at, uint32_t nbases, int k)
{
        const kc_record_form form = { kc_record_length_bits<Key>(), 37 + (int)(at % 4) };
        uint32_t nkmers = nbases - (uint32_t)k + 1;
        uint64_t record = kc_record(at, nkmers, 0, form);
        if (nkmers > 1u << form.length_bits)
                return;
        kc_stretch<Key> s = kc_stretch_read<Key>(words.data(), record, form.position_bits, k, true);
        assert_int_equal(kc_stretch_nkmers(&s), nkmers);
        for (uint32_t i = 0; i < nbases; i++)
                assert_int_equal(s.words[i / 32] >> (2 * (i % 32)) & 3, base_at(words, at + i));
        for (uint32_t i = nbases; i < s.MAX_NBASES; i++)
                assert_int_equal(s.words[i / 32] >> (2 * (i % 32)) & 3, 0);

        /* the same bases from the other strand make the same canonical stretch */
        std::vector<uint64_t> other(words.size() + 1);
        const uint64_t moved = 5;
        for (uint32_t i = 0; i < nbases; i++)
                other[(moved + i) / 32] |= (uint64_t)(3 - base_at(words, at + nbases - 1 - i))
                                           << (2 * ((moved + i) % 32));
        const uint64_t chunk = UINT64_C(3) << KC_CHUNK_BITS;
        uint64_t other_record = kc_record(chunk + moved, nkmers, 9, form);
        assert_int_equal(kc_record_chunk(record, form), 0);
        assert_int_equal(kc_record_chunk(other_record, form), 3);
        kc_stretch<Key> a =
                kc_stretch_read<Key>(words.data(), record, form.position_bits, k, false);
        kc_stretch<Key> b =
                kc_stretch_read<Key>(other.data(), other_record, form.position_bits, k, false);
        assert_memory_equal(a.words, b.words, sizeof a.words);
        assert_int_equal(kc_stretch_hash(&a), kc_stretch_hash(&b));
}

static void stretches_are_read_and_canonical(void **state)
{
        uint64_t random = 4;
        (void)state;
        std::vector<uint64_t> words = random_words(&random, 16);
        for (uint64_t at = 0; at < 70; at++) {
                for (uint32_t n = 31; n <= kc_stretch<kc_key64>::MAX_NBASES; n++)
                        check_stretch<kc_key64>(words, at, n, 31);
                for (uint32_t n = 55; n <= kc_stretch<kc_key128>::MAX_NBASES; n++)
                        check_stretch<kc_key128>(words, at, n, 55);
                for (uint32_t n = 65; n <= kc_stretch<kc_key192>::MAX_NBASES; n++)
                        check_stretch<kc_key192>(words, at, n, 65);
                for (uint32_t n = 101; n < 101 + KC_SPAN_NKMERS; n++)
                        check_stretch<kc_key256>(words, at, n, 101);
        }
        for (uint32_t n = 1; n <= kc_stretch<kc_key64>::MAX_NBASES; n++)
                check_stretch<kc_key64>(words, 40, n, 1);
}

/* No record has more k-mers than a record can say, nor more bases than a stretch holds. */
static void records_fit(void **state)
{
        (void)state;
        for (int k = 1; k <= KC_GPU_ENGINE_MAX_K; k++)
                kc_key_choose(k, [k](auto key) {
                        const uint32_t most = kc_stretch<decltype(key)>::MAX_NBASES;
                        kc_superkmer_setup setup = kc_superkmer_setup_for<decltype(key)>(
                                k, kc_gpu_minimizer_length(k, 0));
                        assert_in_range(setup.max_nkmers, 29, 1u << setup.form.length_bits);
                        assert_true(setup.max_nkmers + (uint32_t)k - 1 <= most);
                });
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(keys_are_what_the_host_says),
                cmocka_unit_test(minimizers_ignore_strands),
                cmocka_unit_test(bins_are_in_range_and_even),
                cmocka_unit_test(minimizers_grow_with_the_input),
                cmocka_unit_test(records_keep_what_they_are_given),
                cmocka_unit_test(positions_grow_with_the_input),
                cmocka_unit_test(stretches_are_read_and_canonical),
                cmocka_unit_test(records_fit),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
