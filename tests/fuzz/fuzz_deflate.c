/*
 * Any bytes as deflate data: the same verdict and the same bytes as zlib's, in steps of any size,
 * with the window known or not; and as a gzip file in regions, with and without guesses.
 *
 *      byte 0: size of steps | byte 1: size of regions | deflate data
 */
#include "io/inflate/gunzip.h"
#include "tests/fuzz/require.h"

#include <string.h>
#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_TEXT = 1 << 20 };

struct outcome {
        bool good;
        size_t n, used;
};

static struct outcome inflate_zlib(uint8_t *text, const uint8_t *data, size_t size)
{
        z_stream z = { .next_in = (Bytef *)data,
                       .avail_in = (uInt)size,
                       .next_out = text,
                       .avail_out = MAX_TEXT };
        REQUIRE(inflateInit2(&z, -15) == Z_OK);
        int code = inflate(&z, Z_FINISH);
        struct outcome outcome = { code == Z_STREAM_END, MAX_TEXT - z.avail_out,
                                   size - z.avail_in };
        inflateEnd(&z);
        return outcome;
}

static struct outcome inflate_bytes(uint8_t *text, const uint8_t *data, size_t size, size_t step)
{
        static struct kc_deflate d;
        struct kc_deflate_bytes out = { text, text, text };
        enum kc_deflate_stop stop = KC_DEFLATE_OUTPUT;
        kc_deflate_begin(&d, 0);
        while (stop == KC_DEFLATE_OUTPUT && out.next <= text + MAX_TEXT) {
                out.end = out.next + step;
                stop = kc_deflate_bytes(&d, data, size, &out);
        }
        return (struct outcome){ stop == KC_DEFLATE_END && out.next <= text + MAX_TEXT,
                                 (size_t)(out.next - text), (size_t)(d.bit + 7) / 8 };
}

/* Data that needs no window gives the same symbols as bytes. Data that needs one is an error only
 * for bytes. */
static void check_symbols(const uint8_t *text, struct outcome want, const uint8_t *data,
                          size_t size, size_t step)
{
        static struct kc_deflate d;
        static uint16_t symbols[KC_WINDOW + MAX_TEXT + (1 << 16)];
        struct kc_deflate_symbols out = { symbols, symbols + KC_WINDOW, symbols };
        enum kc_deflate_stop stop = KC_DEFLATE_OUTPUT;
        kc_deflate_put_marks(symbols);
        kc_deflate_begin(&d, 0);
        while (stop == KC_DEFLATE_OUTPUT && out.next <= symbols + KC_WINDOW + MAX_TEXT) {
                out.end = out.next + step;
                stop = kc_deflate_symbols(&d, data, size, &out);
        }
        if (!want.good)
                return;
        REQUIRE(stop == KC_DEFLATE_END && (size_t)(out.next - symbols) == KC_WINDOW + want.n);
        for (size_t i = 0; i < want.n; i++)
                REQUIRE(symbols[KC_WINDOW + i] == text[i]);
}

/* ---- in regions ---- */

struct file {
        uint8_t *data;
        size_t n;
};

static void put_u32(uint8_t *to, uint32_t x)
{
        for (int i = 0; i < 4; i++)
                to[i] = (uint8_t)(x >> (8 * i));
}

/* A member that begins with a stored block of 32 KiB as a window, so that guesses can be right. */
static struct file make_file(const uint8_t *data, size_t used, const uint8_t *text, size_t ntext)
{
        static const uint8_t header[] = { 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255 };
        static const uint8_t stored[] = { 0, 0, 0x80, 0xff, 0x7f };
        struct file file = { malloc(64 + KC_WINDOW + used), 0 };
        REQUIRE(file.data != NULL);
        memcpy(file.data, header, 10);
        memcpy(file.data + 10, stored, 5);
        memset(file.data + 15, 'w', KC_WINDOW);
        memcpy(file.data + 15 + KC_WINDOW, data, used);
        file.n = 15 + KC_WINDOW + used;
        uLong crc = crc32(0, file.data + 15, KC_WINDOW);
        put_u32(file.data + file.n, (uint32_t)crc32(crc, text, (uInt)ntext));
        put_u32(file.data + file.n + 4, (uint32_t)(KC_WINDOW + ntext));
        file.n += 8;
        return file;
}

static struct outcome gunzip(uint8_t *text, const struct file *file, size_t region_nbytes,
                             bool guesses)
{
        static uint8_t window[KC_WINDOW];
        struct outcome outcome = { .good = true };
        struct kc_gunzip g;
        struct kc_region region = { 0 };
        struct kc_region_sums sums;
        struct kc_view view = { file->data, file->n, 0, true };
        REQUIRE(kc_gunzip_init(&g, "fuzz", 0, NULL) == KC_OK);
        for (uint64_t from = 0, to = KC_WINDOW; outcome.good && g.place.phase != KC_AT_END;
             from = to, to += region_nbytes) {
                region.key = KC_NO_BLOCK;
                bool done;
                struct kc_guess_limits limits = { .to = to < file->n ? to : file->n,
                                                  .max = MAX_TEXT };
                if (guesses && from < file->n)
                        REQUIRE(kc_region_guess(&region, &view, from, &limits, NULL) == KC_OK);
                outcome.good = kc_region_accept(&region, &g, window, &view, to, 1 << 14, &done,
                                                NULL) == KC_OK;
                size_t n = region.nsymbols + region.nbytes;
                if (!outcome.good || outcome.n + n > MAX_TEXT)
                        break;
                outcome.good = kc_region_finish(&region, window, text + outcome.n, &sums, "fuzz",
                                                NULL) == KC_OK &&
                               kc_gunzip_fold(&g, &region, &sums, NULL) == KC_OK;
                outcome.n += n;
        }
        outcome.good &= g.place.phase == KC_AT_END;
        kc_region_free(&region);
        kc_gunzip_free(&g);
        return outcome;
}

static void check_regions(uint8_t *text, const struct file *file, size_t region_nbytes)
{
        static uint8_t other[MAX_TEXT];
        struct outcome plain = gunzip(text, file, region_nbytes, false);
        struct outcome guessed = gunzip(other, file, region_nbytes, true);
        REQUIRE(plain.good == guessed.good);
        if (plain.good)
                REQUIRE(plain.n == guessed.n && memcmp(text, other, plain.n) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static uint8_t want_text[MAX_TEXT + 1], text[MAX_TEXT + (1 << 17)];
        if (size < 3)
                return 0;
        size_t step = 1 + (size_t)data[0] * data[0], region_nbytes = 256 + 64 * (size_t)data[1];
        data += 2;
        size -= 2;
        struct outcome want = inflate_zlib(want_text, data, size);
        struct outcome got = inflate_bytes(text, data, size, step);
        if (want.n < MAX_TEXT) {
                REQUIRE(want.good == got.good);
                if (want.good)
                        REQUIRE(want.n == got.n && want.used == got.used &&
                                memcmp(want_text, text, want.n) == 0);
                check_symbols(want_text, want, data, size, step);
        }
        if (want.n < MAX_TEXT - KC_WINDOW) {
                struct file file = make_file(data, want.good ? want.used : size, want_text, want.n);
                check_regions(text, &file, region_nbytes);
                free(file.data);
        }
        return 0;
}
