/*
 * Bases and qualities of BAM records, in whole words, against one base at a time.
 */
#include "support.cuh"

#include "gpu/text/bam.cuh"

#include <string>
#include <vector>

static const char LETTERS[] = "=ACMGRSVTWYHKDBN", COMPLEMENTS[] = "=TGKCYSBAWRDMHVN";

enum { NWORDS = 6 };

struct bases {
        uint64_t words[NWORDS];
        const uint8_t *bytes;
};

static void fill(struct bases *bases, uint64_t *seed)
{
        for (uint64_t &word : bases->words)
                word = next_random(seed);
        bases->bytes = (const uint8_t *)bases->words;
}

static unsigned base_of(const struct bases *bases, size_t i)
{
        return i % 2 == 0 ? bases->bytes[i / 2] >> 4 : bases->bytes[i / 2] & 15;
}

static void check_word(uint64_t x, const std::string &want)
{
        const uint32_t codes = text_bam_codes(x), valid = text_bam_valid(x);
        for (size_t i = 0; i < TEXT_BAM_WORD; i++) {
                const char letter = i < want.size() ? want[i] : '=';
                assert_int_equal(LETTERS[x >> 4 * i & 15], letter);
                assert_int_equal(valid >> i & 1, strchr("ACGT", letter) != NULL);
                if (valid >> i & 1)
                        assert_int_equal("ACGT"[codes >> 2 * i & 3], letter);
        }
        assert_int_equal(valid >> 16, 0);
}

static void words_of_bases(void **state)
{
        (void)state;
        uint64_t seed = 1;
        for (int round = 0; round < 20; round++) {
                struct bases bases;
                fill(&bases, &seed);
                for (uint64_t from = 0; from < 40; from++)
                        for (uint32_t n = 1; n <= TEXT_BAM_WORD; n++) {
                                std::string plain, turned;
                                for (uint32_t i = 0; i < n; i++) {
                                        plain += LETTERS[base_of(&bases, from + i)];
                                        turned += COMPLEMENTS[base_of(&bases, from + n - 1 - i)];
                                }
                                const uint64_t x = text_bam_load(bases.bytes, from, n);
                                check_word(x, plain);
                                check_word(text_bam_turn(x, n), turned);
                        }
        }
}

/* Nothing is read but the words that have the bases, or the bytes. */
static void last_words(void **state)
{
        (void)state;
        std::vector<uint64_t> words(2, UINT64_C(0x8421842184218421));
        const uint8_t *bytes = (const uint8_t *)words.data();
        for (uint32_t n = 1; n <= TEXT_BAM_WORD; n++)
                assert_int_equal(text_bam_load(bytes, 2 * TEXT_BAM_WORD - n, n) >> 60,
                                 n == TEXT_BAM_WORD ? 4 : 0);
        for (uint32_t n = 1; n <= 8; n++)
                assert_int_equal(text_bam_at_least(bytes, 16 - n, n, 0), (1u << n) - 1);
        assert_int_equal(text_bam_u32(bytes, 12), 0x84218421);
}

static void qualities(void **state)
{
        (void)state;
        uint64_t seed = 2;
        struct bases bases;
        for (int round = 0; round < 20; round++) {
                fill(&bases, &seed);
                for (int min = 0; min <= 200; min++)
                        for (uint32_t at = 0; at < 9; at++)
                                for (uint32_t n = 1; n <= 8; n++) {
                                        uint32_t want = 0;
                                        for (uint32_t i = 0; i < n; i++)
                                                want |= (uint32_t)(bases.bytes[at + i] >= min) << i;
                                        assert_int_equal(
                                                text_bam_at_least(bases.bytes, at, n, (uint8_t)min),
                                                want);
                                }
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(words_of_bases),
                cmocka_unit_test(last_words),
                cmocka_unit_test(qualities),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
