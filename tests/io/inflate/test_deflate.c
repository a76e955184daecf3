/* The deflate decoder compared with zlib: its output for good streams, and what it refuses. */
#include "io/inflate/deflate.h"
#include "tests/io/inflate/gzip_texts.h"
#include "tests/sampling.h"

#include <zlib.h>

enum { MAX_BLOCKS = 4096 };

/* ---- texts ---- */

enum kind { RANDOM, ZEROS, FASTQ, WORDS, FEW, NKINDS };

static void fill_words(uint8_t *text, size_t n, uint64_t *seed)
{
        static const char *const words[] = { "the ", "of ", "genome ", "k-mer ", "and ", "\n" };
        for (size_t i = 0; i < n;) {
                if (next_random(seed) % 8 == 0) {
                        text[i++] = (uint8_t)('a' + next_random(seed) % 26);
                        continue;
                }
                for (const char *word = words[next_random(seed) % 6]; *word != 0 && i < n; word++)
                        text[i++] = (uint8_t)*word;
        }
}

static struct buffer make_text(enum kind kind, size_t n, uint64_t seed)
{
        struct buffer text = { .data = alloc(n), .n = n };
        memset(text.data, 0, n);
        if (kind == FASTQ)
                fill_fastq(text.data, n, 150, &seed);
        if (kind == WORDS)
                fill_words(text.data, n, &seed);
        for (size_t i = 0; i < n && (kind == RANDOM || kind == FEW); i++)
                text.data[i] =
                        (uint8_t)(kind == RANDOM ? next_random(&seed) : next_random(&seed) % 5 / 4);
        return text;
}

static struct buffer compress_text(const struct buffer *text, int level, int strategy, int memory)
{
        z_stream z = { .next_in = text->data, .avail_in = (uInt)text->n };
        assert_int_equal(deflateInit2(&z, level, Z_DEFLATED, -15, memory, strategy), Z_OK);
        struct buffer packed = { .n = deflateBound(&z, text->n) + 64 };
        packed.data = alloc(packed.n);
        z.next_out = packed.data;
        z.avail_out = (uInt)packed.n;
        assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
        packed.n -= z.avail_out;
        deflateEnd(&z);
        /* a block of exactly that size, so that sanitizers notice a read past its end */
        uint8_t *exact = malloc(packed.n);
        assert_non_null(exact);
        memcpy(exact, packed.data, packed.n);
        free(packed.data);
        packed.data = exact;
        return packed;
}

/* ---- decoding ---- */

/* Inflate a whole stream, `step` bytes of text at a time. */
static enum kc_deflate_stop inflate_all(const struct buffer *packed, struct buffer *text,
                                        size_t room, size_t step)
{
        static struct kc_deflate d;
        text->data = alloc(room + KC_DEFLATE_SLACK);
        struct kc_deflate_bytes out = { text->data, text->data, text->data };
        enum kc_deflate_stop stop = KC_DEFLATE_OUTPUT;
        kc_deflate_begin(&d, 0);
        while (stop == KC_DEFLATE_OUTPUT && out.next < text->data + room) {
                out.end = out.next + step;
                if (out.end > text->data + room)
                        out.end = text->data + room;
                stop = kc_deflate_bytes(&d, packed->data, packed->n, &out);
        }
        text->n = (size_t)(out.next - out.begin);
        if (stop == KC_DEFLATE_END)
                assert_true((d.bit + 7) / 8 <= packed->n);
        return stop;
}

static void check_same(const struct buffer *got, const struct buffer *want)
{
        assert_int_equal(got->n, want->n);
        assert_memory_equal(got->data, want->data, want->n);
}

/* Where blocks begin, and how much text lies before each. The first is at 0. */
struct blocks {
        size_t n;
        uint64_t bits[MAX_BLOCKS];
        size_t texts[MAX_BLOCKS];
};

static void find_boundaries(struct blocks *blocks, const struct buffer *packed,
                            const struct buffer *want)
{
        static struct kc_deflate d;
        uint8_t *text = alloc(want->n + 1 + KC_DEFLATE_SLACK);
        struct kc_deflate_bytes out = { text, text, text + want->n + 1 };
        enum kc_deflate_stop stop;
        kc_deflate_begin(&d, 0);
        d.stop_at_blocks = true;
        blocks->n = 0;
        do {
                blocks->bits[blocks->n] = d.bit;
                blocks->texts[blocks->n++] = (size_t)(out.next - out.begin);
                assert_true(blocks->n < MAX_BLOCKS);
                stop = kc_deflate_bytes(&d, packed->data, packed->n, &out);
        } while (stop == KC_DEFLATE_BLOCK);
        assert_int_equal(stop, KC_DEFLATE_END);
        struct buffer got = { .data = text, .n = (size_t)(out.next - out.begin) };
        check_same(&got, want);
        free(text);
}

/* Inflating from this block on, with marks for the unknown window, gives the right rest of the text
 * once the marks are replaced. */
static void check_unknown_window(const struct buffer *packed, const struct buffer *want,
                                 uint64_t bit, size_t before, size_t step)
{
        static struct kc_deflate d;
        static uint8_t window[KC_WINDOW];
        static struct kc_meanings meanings;
        size_t ntext = want->n - before, nwindow = before < KC_WINDOW ? before : KC_WINDOW;
        uint16_t *symbols = alloc(2 * (KC_WINDOW + ntext + 1 + KC_DEFLATE_SLACK));
        struct kc_deflate_symbols out = { symbols, symbols + KC_WINDOW, NULL };
        const uint16_t *end = out.next + ntext + 1;
        enum kc_deflate_stop stop = KC_DEFLATE_OUTPUT;
        kc_deflate_put_marks(symbols);
        kc_deflate_begin(&d, bit);
        while (stop == KC_DEFLATE_OUTPUT && out.next < end) {
                out.end = (size_t)(end - out.next) < step ? (uint16_t *)end : out.next + step;
                stop = kc_deflate_symbols(&d, packed->data, packed->n, &out);
        }
        assert_int_equal(stop, KC_DEFLATE_END);
        assert_int_equal(out.next - symbols - KC_WINDOW, ntext);
        memcpy(window + KC_WINDOW - nwindow, want->data + before - nwindow, nwindow);
        uint8_t *text = alloc(ntext);
        kc_deflate_give_meaning(&meanings, window);
        kc_deflate_resolve(text, symbols + KC_WINDOW, ntext, &meanings);
        assert_memory_equal(text, want->data + before, ntext);
        free(text);
        free(symbols);
}

static void check_stream(enum kind kind, size_t n, int level, int strategy, int memory)
{
        static struct blocks blocks;
        if (!is_sampled())
                return;
        struct buffer text = make_text(kind, n, n), got;
        struct buffer packed = compress_text(&text, level, strategy, memory);
        size_t steps[] = { n + 1, 1, 37, 4096 };
        for (size_t s = 0; s < 4; s++) {
                assert_int_equal(inflate_all(&packed, &got, n + 1, steps[s]), KC_DEFLATE_END);
                check_same(&got, &text);
                free(got.data);
        }
        find_boundaries(&blocks, &packed, &text);
        size_t skip = 1 + blocks.n / 8;
        for (size_t b = 0; b < blocks.n; b += skip)
                check_unknown_window(&packed, &text, blocks.bits[b], blocks.texts[b],
                                     b % 2 ? 1000 : n + 1);
        free(packed.data);
        free(text.data);
}

static void test_levels(void **state)
{
        (void)state;
        static const size_t sizes[] = { 0, 1, 2, 31, 300, 70000, 400000 };
        for (int kind = 0; kind < NKINDS; kind++)
                for (size_t s = 0; s < 7; s++)
                        for (int level = 0; level <= 9; level += 1 + (s > 5))
                                check_stream(kind, sizes[s], level, Z_DEFAULT_STRATEGY, 8);
}

static void test_strategies(void **state)
{
        (void)state;
        static const int strategies[] = { Z_FIXED, Z_HUFFMAN_ONLY, Z_RLE, Z_FILTERED };
        for (int kind = 0; kind < NKINDS; kind++)
                for (int s = 0; s < 4; s++)
                        for (int memory = 1; memory <= 9; memory += 4)
                                check_stream(kind, 60000, 6, strategies[s], memory);
}

/* ---- what zlib refuses ---- */

/* Returns zlib's verdict; *text receives the text up to there. */
static bool inflate_zlib(const struct buffer *packed, struct buffer *text, size_t room)
{
        z_stream z = { .next_in = packed->data, .avail_in = (uInt)packed->n };
        text->data = alloc(room);
        assert_int_equal(inflateInit2(&z, -15), Z_OK);
        z.next_out = text->data;
        z.avail_out = (uInt)room;
        int code = inflate(&z, Z_FINISH);
        text->n = room - z.avail_out;
        inflateEnd(&z);
        return code == Z_STREAM_END;
}

static void check_verdict(const struct buffer *packed, size_t room)
{
        struct buffer want, got;
        if (!is_sampled())
                return;
        bool good = inflate_zlib(packed, &want, room);
        enum kc_deflate_stop stop = inflate_all(packed, &got, room, room);
        assert_int_equal(stop == KC_DEFLATE_END && got.n <= room, good);
        if (good)
                check_same(&got, &want);
        free(want.data);
        free(got.data);
}

static void test_truncated(void **state)
{
        (void)state;
        for (int kind = 0; kind < NKINDS; kind++)
                for (int level = 0; level <= 6; level += 3) {
                        struct buffer text = make_text(kind, 3000, 5), got;
                        struct buffer packed = compress_text(&text, level, 0, 1);
                        for (size_t n = 0; n < packed.n; n++) {
                                if (!is_sampled())
                                        continue;
                                struct buffer cut = { .data = malloc(n), .n = n };
                                memcpy(cut.data, packed.data, n);
                                assert_int_equal(inflate_all(&cut, &got, 4000, 4000),
                                                 KC_DEFLATE_INPUT);
                                assert_memory_equal(got.data, text.data, got.n);
                                free(got.data);
                                free(cut.data);
                        }
                        free(packed.data);
                        free(text.data);
                }
}

/* Wherever the input stops, decoding continues when more arrives. */
static void test_input_in_pieces(void **state)
{
        (void)state;
        static struct kc_deflate d;
        struct buffer text = make_text(FASTQ, 30000, 6);
        struct buffer packed = compress_text(&text, 6, 0, 3);
        for (size_t piece = 1; piece < 400; piece += 7) {
                uint8_t *got = alloc(text.n + 1 + KC_DEFLATE_SLACK);
                struct kc_deflate_bytes out = { got, got, got + text.n + 1 };
                enum kc_deflate_stop stop = KC_DEFLATE_INPUT;
                kc_deflate_begin(&d, 0);
                for (size_t n = piece; stop == KC_DEFLATE_INPUT; n += piece)
                        stop = kc_deflate_bytes(&d, packed.data, n < packed.n ? n : packed.n, &out);
                assert_int_equal(stop, KC_DEFLATE_END);
                struct buffer whole = { .data = got, .n = (size_t)(out.next - got) };
                check_same(&whole, &text);
                free(got);
        }
        free(packed.data);
        free(text.data);
}

static void test_flipped_bits(void **state)
{
        (void)state;
        static const int strategies[] = { Z_DEFAULT_STRATEGY, Z_FIXED };
        uint64_t seed = 3;
        for (int kind = 0; kind < NKINDS; kind++)
                for (int s = 0; s < 2; s++) {
                        struct buffer text = make_text(kind, 5000, 8);
                        struct buffer packed = compress_text(&text, 6, strategies[s], 1);
                        for (size_t i = 0; i < 3000; i++) {
                                size_t bit = i < 800 ? i % (8 * packed.n)
                                                     : next_random(&seed) % (8 * packed.n);
                                packed.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
                                check_verdict(&packed, 1 << 15);
                                packed.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
                        }
                        free(packed.data);
                        free(text.data);
                }
}

/* Random headers: most of their codes are incomplete or oversubscribed. */
static void test_random_streams(void **state)
{
        (void)state;
        uint64_t seed = 4;
        for (unsigned i = 0; i < 200000; i++) {
                uint8_t bytes[48];
                for (size_t b = 0; b < sizeof bytes; b++)
                        bytes[b] =
                                (uint8_t)(next_random(&seed) & (i % 3 ? 0xff : next_random(&seed)));
                bytes[0] = (uint8_t)((bytes[0] & ~7) | (i % 2 ? 4 : 2) | i / 2 % 2);
                struct buffer packed = { .data = bytes, .n = sizeof bytes };
                check_verdict(&packed, 1 << 15);
        }
}

/* ---- the finder ---- */

static void check_finder(enum kind kind, size_t n, int level, int memory)
{
        static struct blocks blocks;
        struct buffer text = make_text(kind, n, n);
        struct buffer packed = compress_text(&text, level, 0, memory);
        find_boundaries(&blocks, &packed, &text);
        uint64_t end = 8 * (uint64_t)packed.n, at = 0;
        size_t nfalse = 0;
        for (size_t b = 0; b < blocks.n; b++) {
                unsigned head = packed.data[blocks.bits[b] / 8] >> blocks.bits[b] % 8;
                if (blocks.bits[b] % 8 > 5)
                        head |= (unsigned)packed.data[blocks.bits[b] / 8 + 1]
                                << (8 - blocks.bits[b] % 8);
                if ((head & 7) != 4)
                        continue;
                uint64_t key = kc_deflate_block_key(packed.data, packed.n, blocks.bits[b]);
                assert_int_equal(key, blocks.bits[b]);
                for (;;) {
                        at = kc_deflate_find(packed.data, packed.n, at, end);
                        assert_true(at <= blocks.bits[b]); /* KC_NO_BLOCK would be larger */
                        if (at++ == blocks.bits[b])
                                break;
                        nfalse++;
                }
        }
        assert_true(nfalse <= 2);
        free(packed.data);
        free(text.data);
}

static void test_find_dynamic(void **state)
{
        (void)state;
        static const enum kind kinds[] = { FASTQ, WORDS, FEW };
        for (size_t k = 0; k < 3; k++)
                for (int memory = 1; memory <= 9; memory += 4)
                        check_finder(kinds[k], 300000, 6, memory);
}

/* Stored blocks follow one another: all but the last two are found, from any bit they begin at. */
static void test_find_stored(void **state)
{
        (void)state;
        static struct blocks blocks;
        struct buffer text = make_text(RANDOM, 400000, 1);
        struct buffer packed = compress_text(&text, 0, 0, 8);
        find_boundaries(&blocks, &packed, &text);
        assert_true(blocks.n >= 6);
        for (size_t b = 1; b + 2 < blocks.n; b++) {
                uint64_t bit = blocks.bits[b];
                uint64_t at = kc_deflate_find(packed.data, packed.n, bit - 2000, bit + 8);
                assert_true(at != KC_NO_BLOCK);
                uint64_t key = kc_deflate_block_key(packed.data, packed.n, bit);
                assert_true(key != KC_NO_BLOCK);
                assert_int_equal(kc_deflate_block_key(packed.data, packed.n, at), key);
        }
        free(packed.data);
        free(text.data);
}

/* ---- marks ---- */

static void test_resolve(void **state)
{
        (void)state;
        static uint8_t window[KC_WINDOW], bytes[200];
        static struct kc_meanings meanings;
        uint16_t symbols[200] = { 0 };
        uint64_t seed = 1;
        for (size_t i = 0; i < KC_WINDOW; i++)
                window[i] = (uint8_t)next_random(&seed);
        kc_deflate_give_meaning(&meanings, window);
        for (size_t n = 0; n <= 200; n++) {
                size_t last = 0;
                for (size_t i = 0; i < n; i++) {
                        symbols[i] = next_random(&seed) & (next_random(&seed) % 16 ? 0xff : 0xffff);
                        symbols[i] &= symbols[i] & KC_MARK ? 0xffff : 0xff;
                        last = symbols[i] & KC_MARK ? i + 1 : last;
                }
                assert_int_equal(kc_deflate_nplain(symbols, n), n - last);
                kc_deflate_resolve(bytes, symbols, n, &meanings);
                for (size_t i = 0; i < n; i++)
                        assert_int_equal(bytes[i], symbols[i] & KC_MARK
                                                           ? window[symbols[i] & (KC_MARK - 1)]
                                                           : symbols[i]);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_levels),       cmocka_unit_test(test_strategies),
                cmocka_unit_test(test_truncated),    cmocka_unit_test(test_input_in_pieces),
                cmocka_unit_test(test_flipped_bits), cmocka_unit_test(test_random_streams),
                cmocka_unit_test(test_find_dynamic), cmocka_unit_test(test_find_stored),
                cmocka_unit_test(test_resolve),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
