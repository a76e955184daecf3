/*
 * Bases and qualities of BAM records, in whole words, against one base at a time; and where records
 * seem to begin.
 */
#include "tests/gpu/support.cuh"
#include "tests/gpu/text/bam_support.cuh"

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

/* Only the words that contain the bases, or the bytes, are read. */
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

/* ---- where records begin ---- */

enum { NREFS = 3000 };

/* What aligners write; the tags are numbers, as in the moves and probabilities of nanopore
 * reads. */
static struct record usual_record(uint64_t *seed)
{
        struct record r;
        r.nbases = (uint32_t)(next_random(seed) % 300);
        r.flag = next_random(seed) % 4 == 0 ? 4 : 0;
        r.ref = r.next_ref = r.flag == 4 ? UINT32_MAX : (uint32_t)(next_random(seed) % NREFS);
        r.name = "read:" + std::to_string(next_random(seed) % 100000) + '\0';
        if (r.flag == 0)
                r.cigar = number(r.nbases << 4);
        for (uint32_t i = 0; i < (r.nbases + 1) / 2; i++)
                r.bases += "\x11\x12\x14\x18\x21\x84\x88\xff"[next_random(seed) % 8];
        for (uint32_t i = 0; i < r.nbases; i++)
                r.qualities += (char)(next_random(seed) % 42);
        const uint64_t kind = next_random(seed) % 3;
        for (uint64_t n = next_random(seed) % 500; n > 0; n--)
                r.tags += kind == 0   ? (char)next_random(seed)
                          : kind == 1 ? (char)(next_random(seed) % 4 == 0)
                                      : (char)(next_random(seed) % 3 - 1);
        return r;
}

/* Every beginning of a record is found, and nothing else is taken for one. */
static void beginnings(void **state)
{
        (void)state;
        uint64_t seed = 3;
        std::string text, starts;
        while (text.size() < 1 << 20) {
                starts.resize(text.size(), 0);
                starts += 1;
                text += text_of(usual_record(&seed));
        }
        starts.resize(text.size(), 0);
        std::vector<uint64_t> words(text.size() / 8 + 1);
        memcpy(words.data(), text.data(), text.size());
        for (uint32_t at = 0; at < text.size(); at++)
                if (text_bam_is_plausible((const uint8_t *)words.data(), at, (uint32_t)text.size(),
                                          NREFS) != (starts[at] != 0))
                        fail_msg("byte %u: %s", at, starts[at] ? "not found" : "no record");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(words_of_bases),
                cmocka_unit_test(last_words),
                cmocka_unit_test(qualities),
                cmocka_unit_test(beginnings),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
