/* The kernels of io/parse/pack.h: every variant that this machine runs, against the definition. */
#include "io/input/chunk.h"
#include "io/parse/pack.h"
#include "io/parse/sequence.h"
#include "tests/io/parse/reader_support.h"

static void pack_by_definition(const uint8_t *seq, size_t n, size_t *valid, uint64_t *words)
{
        memset(words, 0, 8 * (n / 32 + 1));
        for (*valid = 0; *valid < n; ++*valid) {
                int code = kc_base_code(seq[*valid]);
                if (code < 0)
                        return;
                words[*valid / 32] |= (uint64_t)code << 2 * (*valid % 32);
        }
}

static void check_pack(const struct kc_kernels *kernels, const uint8_t *seq, size_t n)
{
        uint64_t want[40], got[40];
        size_t valid;
        pack_by_definition(seq, n, &valid, want);
        memset(got, 0xee, sizeof got);
        assert_int_equal(kernels->pack(seq, n, got), valid);
        if (valid > 0)
                assert_memory_equal(got, want, 8 * ((valid + 31) / 32));
        for (size_t i = (valid + 31) / 32 + 2; i < 40; i++)
                assert_int_equal(got[i], UINT64_C(0xeeeeeeeeeeeeeeee));
}

static void test_pack_lengths(void **state)
{
        (void)state;
        uint8_t seq[512 + 64];
        uint64_t seed = 1;
        const struct kc_kernels *kernels;
        for (size_t i = 0; (kernels = kc_kernels_get(i)) != NULL; i++)
                for (size_t n = 0; n <= 300; n++) {
                        for (size_t j = 0; j < sizeof seq; j++)
                                seq[j] = (uint8_t) "ACGTUacgtu"[next_random(&seed) % 10];
                        check_pack(kernels, seq, n);
                        if (n > 0) {
                                seq[next_random(&seed) % n] = 'N';
                                check_pack(kernels, seq, n);
                        }
                }
}

static void test_pack_every_byte(void **state)
{
        (void)state;
        uint8_t seq[200 + 64];
        const struct kc_kernels *kernels;
        for (size_t i = 0; (kernels = kc_kernels_get(i)) != NULL; i++)
                for (int c = 0; c < 256; c++)
                        for (size_t at = 0; at < 130; at += 43) {
                                memset(seq, 'G', sizeof seq);
                                seq[at] = (uint8_t)c;
                                check_pack(kernels, seq, 200);
                        }
}

static void test_count_lines(void **state)
{
        (void)state;
        uint8_t text[400];
        uint64_t seed = 2;
        const struct kc_kernels *kernels;
        for (size_t i = 0; (kernels = kc_kernels_get(i)) != NULL; i++)
                for (size_t n = 0; n < sizeof text; n++) {
                        size_t nlines = 0;
                        for (size_t j = 0; j < n; j++) {
                                text[j] = (uint8_t)(9 + next_random(&seed) % 4);
                                nlines += text[j] == '\n';
                        }
                        bool binary = false;
                        assert_int_equal(kernels->count_lines(text, n, &binary), nlines);
                        assert_false(binary);
                        if (n == 0)
                                continue;
                        uint8_t *byte = &text[next_random(&seed) % n];
                        *byte = (uint8_t)(next_random(&seed) % 9);
                        kernels->count_lines(text, n, &binary);
                        assert_true(binary);
                        binary = false;
                        *byte = (uint8_t)(128 + next_random(&seed) % 128);
                        kernels->count_lines(text, n, &binary);
                        assert_false(binary);
                }
}

/* Every byte, at every place; bytes after the end do not matter. */
static void test_skip_letters(void **state)
{
        (void)state;
        uint8_t text[200 + 64];
        const struct kc_kernels *kernels;
        for (size_t i = 0; (kernels = kc_kernels_get(i)) != NULL; i++)
                for (size_t n = 0; n <= 200; n++)
                        for (int c = 0; c < 256; c++) {
                                size_t at = n > 0 ? (size_t)c * 7 % n : 0;
                                memset(text, 'n', n);
                                memset(text + n, c % 2 ? '\n' : 'A', sizeof text - n);
                                if (n > 0)
                                        text[at] = (uint8_t)c;
                                assert_int_equal(kernels->skip_letters(text, n),
                                                 n == 0 || (c >= '@' && c <= '~') ? n : at);
                        }
}

/* Every byte, at the beginning, within and at the end of a line, and before a line feed. */
static void test_odd_bytes(void **state)
{
        (void)state;
        static const size_t places[] = { 0, 1, 63, 64, 98, 99 };
        uint8_t text[200 + 64];
        const struct kc_kernels *kernels = kc_kernels_best();
        for (int c = 0; c < 256; c++)
                for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
                        bool ends_line = c == '\n' || (c == '\r' && places[p] == 98);
                        bool odd = !ends_line && c != '\t' && (c < ' ' || c == '>' || c > '~');
                        memset(text, 'G', sizeof text);
                        text[99] = '\n';
                        text[places[p]] = (uint8_t)c;
                        assert_int_equal(kc_sequence_find_odd(kernels, text, 200),
                                         odd ? places[p] : 200);
                        assert_int_equal(kc_sequence_line(kernels, text, 200),
                                         odd || c == '\n'  ? places[p]
                                         : places[p] == 99 ? 200
                                                           : 99);
                }
        assert_int_equal(kc_sequence_find_odd(kernels, text, 0), 0);
}

static void test_mask_quality(void **state)
{
        (void)state;
        uint8_t seq[300], qual[300];
        uint64_t seed = 3;
        const struct kc_kernels *kernels;
        for (size_t i = 0; (kernels = kc_kernels_get(i)) != NULL; i++)
                for (size_t n = 0; n <= 300; n++) {
                        uint8_t want[300];
                        size_t nlow = 0;
                        for (size_t j = 0; j < n; j++) {
                                seq[j] = (uint8_t)next_random(&seed);
                                qual[j] = (uint8_t)next_random(&seed);
                                bool low = qual[j] < 53 && kc_base_code(seq[j]) >= 0;
                                want[j] = low ? KC_CHUNK_LOW_QUALITY : seq[j];
                                nlow += low;
                        }
                        assert_int_equal(kernels->mask_quality(seq, qual, n, 53), nlow);
                        assert_memory_equal(seq, want, n);
                }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_pack_lengths), cmocka_unit_test(test_pack_every_byte),
                cmocka_unit_test(test_count_lines),  cmocka_unit_test(test_skip_letters),
                cmocka_unit_test(test_odd_bytes),    cmocka_unit_test(test_mask_quality),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
