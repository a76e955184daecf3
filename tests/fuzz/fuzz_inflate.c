/*
 * Any bytes as a gzip, BGZF, zstd, bzip2 or xz file. The size of the chunks must not matter, and
 * the text of what is accepted must be all that the format's own library gets from it at once.
 *
 * Checksums would keep a fuzzer out of the inflaters, so three of the four modes take the bytes as
 * deflate data (or text) and put the wrapping around it.
 *
 *      byte 0: mode and chunk size | the file, or what goes into it
 */
#include "io/input/bgzf_header.h"
#include "tests/fuzz/memory_input.h"

#include <bzlib.h>
#include <lzma.h>
#include <string.h>
#include <xxhash.h>
#include <zlib.h>
#include <zstd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum mode { AS_IT_IS, DEFLATE_IN_GZIP, DEFLATE_IN_BGZF, TEXT_IN_MEMBERS };
enum { MAX_TEXT = 8 << 20 };

struct text {
        bool good;
        bool open; /* BGZF ends somewhere without its end-of-file block */
        uint64_t nbytes;
        XXH64_hash_t hash;
};

/* ---- the reader ---- */

static struct text read_source(int fd, enum kc_container container, size_t chunk_nbytes,
                               int nworkers)
{
        struct text text = { .good = true };
        struct kc_source *source;
        struct kc_chunk chunk;
        struct kc_input in = memory_input(fd);
        XXH3_state_t *state = XXH3_createState();
        XXH3_64bits_reset(state);
        REQUIRE(kc_chunk_init(&chunk, chunk_nbytes, NULL) == KC_OK);
        REQUIRE(kc_source_open(&source, &in, container, chunk_nbytes, nworkers, NULL) == KC_OK);
        for (; text.good; kc_chunk_clear(&chunk)) {
                if (!kc_source_fill(source, &chunk))
                        break;
                text.good = chunk.error.status == KC_OK;
                text.open |= chunk.open_end.found;
                text.nbytes += chunk.end - chunk.text;
                XXH3_64bits_update(state, chunk.buffer + chunk.text, chunk.end - chunk.text);
        }
        text.hash = XXH3_64bits_digest(state);
        kc_source_close(source);
        kc_chunk_free(&chunk);
        XXH3_freeState(state);
        return text;
}

/* ---- zlib ---- */

/* Inflate one member; *used: its length. False if it is incomplete or wrong. */
static bool inflate_member(const uint8_t *data, size_t size, XXH3_state_t *state, size_t *used,
                           uint64_t *nbytes)
{
        static uint8_t out[1 << 16];
        z_stream z = { .next_in = (Bytef *)data, .avail_in = (uInt)size };
        int code;
        REQUIRE(inflateInit2(&z, 31) == Z_OK);
        do {
                z.next_out = out;
                z.avail_out = sizeof out;
                code = inflate(&z, Z_NO_FLUSH);
                XXH3_64bits_update(state, out, sizeof out - z.avail_out);
                *nbytes += sizeof out - z.avail_out;
        } while (code == Z_OK);
        *used = size - z.avail_in;
        inflateEnd(&z);
        return code == Z_STREAM_END;
}

static struct text read_zlib(const uint8_t *data, size_t size)
{
        struct text text = { .good = true };
        XXH3_state_t *state = XXH3_createState();
        XXH3_64bits_reset(state);
        size_t at = 0, used;
        bool open = false; /* the last member is a BGZF block with text */
        while (text.good && at < size) {
                struct kc_bgzf_header header;
                const uint64_t before = text.nbytes;
                if (at > 0 && data[at] == 0) {
                        for (text.good = !open; at < size; at++)
                                text.good &= data[at] == 0;
                        open = false;
                        break;
                }
                const size_t nhead =
                        size - at < KC_BGZF_LONGEST_NBYTES ? size - at : KC_BGZF_LONGEST_NBYTES;
                const bool block = kc_bgzf_parse(data + at, nhead, &header);
                text.open |= open && !block;
                text.good = inflate_member(data + at, size - at, state, &used, &text.nbytes);
                at += used;
                open = block && text.nbytes > before;
        }
        text.open |= open;
        text.hash = XXH3_64bits_digest(state);
        XXH3_freeState(state);
        return text;
}

/* ---- zstd ---- */

static struct text text_of(bool good, const uint8_t *out, size_t n)
{
        struct text text = { .good = good };
        if (good)
                text = (struct text){ .good = true, .nbytes = n, .hash = XXH3_64bits(out, n) };
        return text;
}

/* Read all frames at once; more text than MAX_TEXT is refused, too. */
static struct text read_zstd(const uint8_t *data, size_t size)
{
        uint8_t *out = malloc(MAX_TEXT);
        REQUIRE(out != NULL);
        size_t n = ZSTD_decompress(out, MAX_TEXT, data, size);
        struct text text = text_of(!ZSTD_isError(n), out, n);
        free(out);
        return text;
}

/* ---- bzip2 and xz ---- */

/* Stream by stream; each must begin where the one before it ends. */
static struct text read_bzip2(const uint8_t *data, size_t size)
{
        uint8_t *out = malloc(MAX_TEXT);
        REQUIRE(out != NULL);
        bz_stream z = { .next_in = (char *)data,
                        .avail_in = (unsigned)size,
                        .next_out = (char *)out,
                        .avail_out = MAX_TEXT };
        int code = BZ_STREAM_END;
        while (code == BZ_STREAM_END && z.avail_in > 0) {
                REQUIRE(BZ2_bzDecompressInit(&z, 0, 0) == BZ_OK);
                code = BZ2_bzDecompress(&z);
                BZ2_bzDecompressEnd(&z);
        }
        struct text text = text_of(code == BZ_STREAM_END, out, MAX_TEXT - z.avail_out);
        free(out);
        return text;
}

static struct text read_xz(const uint8_t *data, size_t size)
{
        uint64_t memory = UINT64_C(1) << 30;
        size_t nin = 0, nout = 0;
        uint8_t *out = malloc(MAX_TEXT);
        REQUIRE(out != NULL);
        const bool good = lzma_stream_buffer_decode(&memory, LZMA_CONCATENATED, NULL, data, &nin,
                                                    size, out, &nout, MAX_TEXT) == LZMA_OK;
        struct text text = text_of(good && nin == size, out, nout);
        free(out);
        return text;
}

static struct text read_whole(enum kc_container container, const uint8_t *data, size_t size)
{
        switch (container) {
        case KC_CONTAINER_ZSTD:
                return read_zstd(data, size);
        case KC_CONTAINER_BZIP2:
                return read_bzip2(data, size);
        case KC_CONTAINER_XZ:
                return read_xz(data, size);
        default:
                return read_zlib(data, size);
        }
}

/* ---- files made of parts ---- */

struct bytes {
        uint8_t *data;
        size_t n;
};

static void put(struct bytes *to, const void *data, size_t n)
{
        to->data = realloc(to->data, to->n + n + 1);
        REQUIRE(to->data != NULL);
        memcpy(to->data + to->n, data, n);
        to->n += n;
}

static void put_u32(struct bytes *to, uint32_t x)
{
        uint8_t four[4] = { (uint8_t)x, (uint8_t)(x >> 8), (uint8_t)(x >> 16), (uint8_t)(x >> 24) };
        put(to, four, 4);
}

/* Deflate data with its right trailer, as far as zlib can inflate it. */
static void put_deflate(struct bytes *to, const uint8_t *data, size_t size)
{
        uint8_t *out = malloc(MAX_TEXT);
        z_stream z = { .next_in = (Bytef *)data, .avail_in = (uInt)size };
        REQUIRE(out != NULL && inflateInit2(&z, -15) == Z_OK);
        z.next_out = out;
        z.avail_out = MAX_TEXT;
        inflate(&z, Z_FINISH);
        size_t ntext = MAX_TEXT - z.avail_out, nused = size - z.avail_in;
        inflateEnd(&z);
        put(to, data, nused);
        put_u32(to, (uint32_t)crc32(0, out, (uInt)ntext));
        put_u32(to, (uint32_t)ntext);
        free(out);
}

static struct bytes deflate_in_gzip(const uint8_t *data, size_t size)
{
        struct bytes file = { 0 };
        put(&file, "\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
        put_deflate(&file, data, size);
        return file;
}

static struct bytes deflate_in_bgzf(const uint8_t *data, size_t size)
{
        struct bytes file = { 0 };
        put(&file, "\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0\0\0", 18);
        put_deflate(&file, data, size < 60000 ? size : 60000);
        file.data[16] = (uint8_t)(file.n - 1);
        file.data[17] = (uint8_t)((file.n - 1) >> 8);
        put(&file, "\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0\x1b\0\x03\0\0\0\0\0\0\0\0\0", 28);
        return file;
}

/* Text split into members, whose lengths come from its own bytes; some have every header field. */
static struct bytes text_in_members(const uint8_t *data, size_t size)
{
        struct bytes file = { 0 };
        for (size_t at = 0; at < size;) {
                size_t n = data[at] < size - at ? (size_t)data[at] + 1 : size - at;
                uint8_t packed[1024];
                z_stream z = { .next_in = (Bytef *)data + at, .avail_in = (uInt)n };
                gz_header header = { .name = (Bytef *)"name",
                                     .extra = (Bytef *)"AB\1\0x",
                                     .extra_len = 5,
                                     .comment = (Bytef *)"why",
                                     .hcrc = 1 };
                REQUIRE(deflateInit2(&z, data[at] % 10, Z_DEFLATED, 31, 8, 0) == Z_OK);
                if (n % 2 == 0)
                        deflateSetHeader(&z, &header);
                z.next_out = packed;
                z.avail_out = sizeof packed;
                REQUIRE(deflate(&z, Z_FINISH) == Z_STREAM_END);
                put(&file, packed, sizeof packed - z.avail_out);
                deflateEnd(&z);
                at += n;
        }
        return file;
}

static struct bytes make_file(enum mode mode, const uint8_t *data, size_t size)
{
        struct bytes file = { 0 };
        switch (mode) {
        case DEFLATE_IN_GZIP:
                return deflate_in_gzip(data, size);
        case DEFLATE_IN_BGZF:
                return deflate_in_bgzf(data, size);
        case TEXT_IN_MEMBERS:
                return text_in_members(data, size);
        default:
                put(&file, data, size);
                return file;
        }
}

static enum kc_container container_of(const struct bytes *file)
{
        struct kc_bgzf_header header;
        if (file->n > 3 && memcmp(file->data, "\x28\xb5\x2f\xfd", 4) == 0)
                return KC_CONTAINER_ZSTD;
        if (file->n > 2 && memcmp(file->data, "BZh", 3) == 0)
                return KC_CONTAINER_BZIP2;
        if (file->n > 5 && memcmp(file->data, "\xfd\x37zXZ\0", 6) == 0)
                return KC_CONTAINER_XZ;
        if (kc_bgzf_parse(file->data, file->n, &header))
                return KC_CONTAINER_BGZF;
        return KC_CONTAINER_GZIP;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        if (size < 2)
                return 0;
        enum mode mode = data[0] % 4;
        size_t chunk_nbytes = (size_t)(data[0] / 4) * 5 + 1;
        struct bytes file = make_file(mode, data + 1, size - 1);
        if (file.data[0] == 0) { /* never taken for gzip */
                free(file.data);
                return 0;
        }
        enum kc_container container = container_of(&file);
        int fd = memory_file(file.data, file.n);
        struct text large = read_source(fd, container, 1 << 20, 1);
        struct text small = read_source(fd, container, chunk_nbytes, 4);
        close(fd);
        REQUIRE(large.good == small.good);
        if (large.good)
                REQUIRE(large.nbytes == small.nbytes && large.hash == small.hash &&
                        large.open == small.open);
        struct text want = read_whole(container, file.data, file.n);
        bool same = want.good && want.nbytes == large.nbytes && want.hash == large.hash &&
                    want.open == large.open;
        if (large.good && large.nbytes < MAX_TEXT)
                REQUIRE(same);
        if (container != KC_CONTAINER_BGZF && container != KC_CONTAINER_ZSTD &&
            large.nbytes < MAX_TEXT)
                REQUIRE(want.good == large.good);
        free(file.data);
        return 0;
}
