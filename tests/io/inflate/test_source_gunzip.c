/*
 * Gzip files read by many threads (io/inflate/source_gunzip.c) and by one (ISA-L): the same text,
 * or the same failure.
 */
#include "base/parallel.h"
#include "io/inflate/source.h"
#include "tests/io/inflate/gzip_texts.h"
#include "tests/sampling.h"

#include <isa-l/igzip_lib.h>
#include <libdeflate.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

enum { MAX_CHUNKS = 1 << 12, NTHREADS = 4 };

/* ---- compressors ---- */

static void put_header(struct buffer *file)
{
        put(file, "\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
}

static void put_trailer(struct buffer *file, const struct buffer *text)
{
        uint32_t words[2] = { libdeflate_crc32(0, text->data, text->n), (uint32_t)text->n };
        for (size_t i = 0; i < 8; i++)
                put(file, &(uint8_t){ (uint8_t)(words[i / 4] >> (8 * (i % 4))) }, 1);
}

static struct buffer pack_zlib(const struct buffer *text, int level, int strategy, int memory,
                               int flush, size_t flush_nbytes)
{
        z_stream z = { .next_in = text->data };
        size_t room = text->n + text->n / 2 + 100000;
        struct buffer file = { .data = malloc(room) };
        assert_non_null(file.data);
        assert_int_equal(deflateInit2(&z, level, Z_DEFLATED, 31, memory, strategy), Z_OK);
        z.next_out = file.data;
        z.avail_out = (uInt)room;
        for (size_t at = flush_nbytes; flush != Z_NO_FLUSH && at < text->n; at += flush_nbytes) {
                z.avail_in = (uInt)flush_nbytes;
                assert_int_equal(deflate(&z, flush), Z_OK);
        }
        z.avail_in = (uInt)(text->n - (size_t)(z.next_in - text->data));
        assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
        file.n = room - z.avail_out;
        deflateEnd(&z);
        return file;
}

static struct buffer pack_libdeflate(const struct buffer *text, int level)
{
        struct libdeflate_compressor *c = libdeflate_alloc_compressor(level);
        size_t room = libdeflate_gzip_compress_bound(c, text->n);
        struct buffer file = { .data = malloc(room) };
        assert_non_null(file.data);
        file.n = libdeflate_gzip_compress(c, text->data, text->n, file.data, room);
        assert_true(file.n > 0);
        libdeflate_free_compressor(c);
        return file;
}

static struct buffer pack_isal(const struct buffer *text, uint32_t level)
{
        static const uint32_t levels[] = { ISAL_DEF_LVL0_DEFAULT, ISAL_DEF_LVL1_DEFAULT,
                                           ISAL_DEF_LVL2_DEFAULT, ISAL_DEF_LVL3_DEFAULT };
        struct isal_zstream *z = malloc(sizeof *z);
        size_t room = text->n + text->n / 2 + 100000;
        struct buffer file = { .data = malloc(room) };
        uint8_t *memory = malloc(levels[level] + 1);
        assert_true(z != NULL && file.data != NULL && memory != NULL);
        isal_deflate_init(z);
        z->next_in = text->data;
        z->avail_in = (uint32_t)text->n;
        z->next_out = file.data;
        z->avail_out = (uint32_t)room;
        z->end_of_stream = 1;
        z->gzip_flag = IGZIP_GZIP;
        z->level = level;
        z->level_buf = memory;
        z->level_buf_size = levels[level];
        assert_int_equal(isal_deflate(z), COMP_OK);
        assert_int_equal(z->internal_state.state, ZSTATE_END);
        file.n = z->total_out;
        free(memory);
        free(z);
        return file;
}

/* All of the text, bytes below 144, in one block of fixed codes. */
static struct buffer pack_one_block(const struct buffer *text)
{
        struct buffer file = { 0 };
        uint64_t word = 3;
        unsigned nbits = 3;
        put_header(&file);
        for (size_t i = 0; i <= text->n; i++) {
                unsigned code = i < text->n ? 0x30u + text->data[i] : 0;
                for (unsigned bit = i < text->n ? 8 : 7; bit-- > 0;)
                        word |= (uint64_t)(code >> bit & 1) << nbits++;
                for (; nbits >= 8; nbits -= 8, word >>= 8)
                        put(&file, &(uint8_t){ (uint8_t)word }, 1);
        }
        if (nbits > 0)
                put(&file, &(uint8_t){ (uint8_t)word }, 1);
        put_trailer(&file, text);
        return file;
}

/* ---- reading ---- */

struct outcome {
        struct kc_source *source;
        struct kc_chunk chunks[NTHREADS];
        struct buffer *parts; /* by the chunk's number */
        struct kc_error *errors;
        atomic_size_t nparts, input_nbytes;
};

static enum kc_status drain(void *ctx, int worker, struct kc_error *err)
{
        struct outcome *outcome = ctx;
        struct kc_chunk *chunk = &outcome->chunks[worker];
        (void)err;
        for (kc_chunk_clear(chunk); kc_source_fill(outcome->source, chunk); kc_chunk_clear(chunk)) {
                if (chunk->seq >= MAX_CHUNKS)
                        abort();
                outcome->errors[chunk->seq] = chunk->error;
                put(&outcome->parts[chunk->seq], chunk->buffer + chunk->text,
                    chunk->end - chunk->text);
                atomic_fetch_add(&outcome->nparts, 1);
                atomic_fetch_add(&outcome->input_nbytes, chunk->input_nbytes);
        }
        return KC_OK;
}

/* Returns the text up to the first failure; *error receives the failure. */
static struct buffer read_file(const struct buffer *file, int nthreads, size_t chunk_nbytes,
                               struct kc_error *error)
{
        struct outcome *o = calloc(1, sizeof *o);
        struct buffer text = { 0 };
        struct kc_input in;
        char path[64];
        int fd = memfd_create("gunzip", 0);
        assert_non_null(o);
        assert_int_equal(write(fd, file->data, file->n), file->n);
        sprintf(path, "/proc/self/fd/%d", fd);
        assert_int_equal(kc_input_open(&in, path, NULL), KC_OK);
        in.name = "FILE";
        assert_int_equal(
                kc_source_open(&o->source, &in, KC_CONTAINER_GZIP, chunk_nbytes, nthreads, NULL),
                KC_OK);
        o->parts = calloc(MAX_CHUNKS, sizeof *o->parts);
        o->errors = calloc(MAX_CHUNKS, sizeof *o->errors);
        for (int i = 0; i < nthreads; i++)
                assert_int_equal(kc_chunk_init(&o->chunks[i], chunk_nbytes, NULL), KC_OK);
        assert_int_equal(kc_parallel(nthreads, drain, NULL, o, NULL), KC_OK);
        *error = (struct kc_error){ 0 };
        for (size_t i = 0; i < o->nparts; i++) {
                if (error->status == KC_OK)
                        *error = o->errors[i];
                if (error->status == KC_OK)
                        put(&text, o->parts[i].data, o->parts[i].n);
                drop(&o->parts[i]);
        }
        if (error->status == KC_OK)
                assert_int_equal(o->input_nbytes, file->n);
        for (int i = 0; i < nthreads; i++)
                kc_chunk_free(&o->chunks[i]);
        free(o->parts);
        free(o->errors);
        kc_source_close(o->source);
        free(o);
        close(fd);
        return text;
}

static void check_text(const struct buffer *file, const struct buffer *want)
{
        static const size_t chunks[] = { 300, 5000, 64 << 10 };
        for (size_t c = 0; c < sizeof chunks / sizeof *chunks; c++) {
                struct kc_error error;
                if (want->n / chunks[c] > 500)
                        continue;
                struct buffer got = read_file(file, NTHREADS, chunks[c], &error);
                assert_string_equal(error.message, "");
                assert_int_equal(got.n, want->n);
                if (want->n > 0)
                        assert_memory_equal(got.data, want->data, want->n);
                drop(&got);
        }
}

static void check_and_drop(struct buffer file, const struct buffer *want)
{
        if (is_sampled())
                check_text(&file, want);
        drop(&file);
}

/* ---- tests ---- */

static void check_compressors(const struct buffer *text)
{
        static const int strategies[] = { Z_DEFAULT_STRATEGY, Z_FILTERED, Z_HUFFMAN_ONLY, Z_RLE,
                                          Z_FIXED };
        for (int level = 0; level <= 9; level++)
                check_and_drop(pack_zlib(text, level, 0, 8, Z_NO_FLUSH, 0), text);
        for (size_t s = 0; s < sizeof strategies / sizeof *strategies; s++)
                for (int memory = 1; memory <= 9; memory += 4)
                        check_and_drop(pack_zlib(text, 6, strategies[s], memory, Z_NO_FLUSH, 0),
                                       text);
        for (int flush = Z_PARTIAL_FLUSH; flush <= Z_FULL_FLUSH; flush++)
                for (size_t nbytes = 500; nbytes < 200000; nbytes *= 16)
                        check_and_drop(pack_zlib(text, 6, 0, 8, flush, nbytes), text);
        check_and_drop(pack_zlib(text, 6, 0, 8, Z_BLOCK, 30000), text);
        for (int level = 1; level <= 12; level++)
                check_and_drop(pack_libdeflate(text, level), text);
        for (uint32_t level = 0; level <= 3; level++)
                check_and_drop(pack_isal(text, level), text);
}

static void test_fastq(void **state)
{
        (void)state;
        struct buffer text = make_fastq(300000, 1);
        check_compressors(&text);
        check_and_drop(pack_one_block(&text), &text);
        drop(&text);
}

static void test_other_texts(void **state)
{
        (void)state;
        static const unsigned values[] = { 1, 2, 30, 256 };
        for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
                struct buffer text = make_random(100000, v, values[v]);
                check_compressors(&text);
                drop(&text);
        }
        for (size_t n = 0; n < 300; n += 1 + n / 4) {
                struct buffer text = make_fastq(n, 2);
                check_and_drop(pack_zlib(&text, 6, 0, 8, Z_NO_FLUSH, 0), &text);
                check_and_drop(pack_libdeflate(&text, 0), &text);
                drop(&text);
        }
}

/* A thousandfold expansion: chunks stay small, and the text after it is right. */
static void test_zeros(void **state)
{
        (void)state;
        struct buffer text = make_random(20 << 20, 1, 1), reads = make_fastq(3 << 20, 3);
        put(&text, reads.data, reads.n);
        check_and_drop(pack_zlib(&text, 9, 0, 9, Z_NO_FLUSH, 0), &text);
        check_and_drop(pack_libdeflate(&text, 6), &text);
        drop(&reads);
        drop(&text);
}

static void put_member(struct buffer *file, const struct buffer *text, unsigned kind)
{
        struct buffer member =
                kind % 2 ? pack_libdeflate(text, 6) : pack_zlib(text, 6, 0, 8, Z_NO_FLUSH, 0);
        put(file, member.data, member.n);
        drop(&member);
}

static void test_members(void **state)
{
        (void)state;
        uint64_t seed = 1;
        struct buffer file = { 0 }, text = { 0 }, none = { 0 };
        for (unsigned i = 0; i < 100; i++) {
                struct buffer part = make_fastq(next_random(&seed) % (i % 10 ? 3000 : 60000), i);
                put_member(&file, &part, i);
                put(&text, part.data, part.n);
                drop(&part);
                if (i % 7 == 0)
                        put_member(&file, &none, i / 7);
        }
        check_text(&file, &text);
        struct kc_error error;
        size_t end = file.n;
        put(&file, "\0\0\0\0", 4);
        check_text(&file, &text);
        struct buffer zeros = make_random(400000, 1, 1);
        put(&file, zeros.data, zeros.n);
        check_text(&file, &text);
        put(&file, "x", 1);
        struct buffer got = read_file(&file, NTHREADS, 300, &error);
        assert_non_null(strstr(error.message, "after zeros that end the gzip data"));
        drop(&got);
        file.n = end;
        for (size_t n = 1; n < 20; n++) {
                char want[64];
                put(&file, "x", 1);
                snprintf(want, sizeof want, "%zu byte%s not gzip after the end", n,
                         n == 1 ? " that is" : "s that are");
                got = read_file(&file, NTHREADS, 300, &error);
                assert_non_null(strstr(error.message, want));
                drop(&got);
        }
        drop(&zeros);
        drop(&file);
        drop(&text);
}

/* Even one byte after the last member is reported if the file is inflated in parallel. */
static void test_trailing(void **state)
{
        (void)state;
        struct buffer text = make_fastq(1 << 20, 5);
        struct buffer file = pack_zlib(&text, 6, 0, 8, Z_NO_FLUSH, 0);
        size_t end = file.n;
        for (size_t n = 1; n < 20; n++) {
                char want[128];
                struct kc_error error;
                put(&file, "x", 1);
                snprintf(
                        want, sizeof want,
                        "FILE has %zu byte%s not gzip after the end of its gzip data (offset %zu):",
                        n, n == 1 ? " that is" : "s that are", end);
                struct buffer got = read_file(&file, NTHREADS, 5000, &error);
                assert_non_null(strstr(error.message, want));
                drop(&got);
        }
        drop(&file);
        drop(&text);
}

/* Every combination of header fields; the name and the comment span many regions. */
static void test_headers(void **state)
{
        (void)state;
        struct buffer text = make_fastq(60000, 1), name = make_random(120000, 1, 256);
        for (size_t i = 0; i < name.n; i++)
                name.data[i] |= 1;
        for (unsigned flags = 0; flags < 32; flags++) {
                if (!is_sampled())
                        continue;
                struct buffer file = { 0 }, member = pack_libdeflate(&text, 6);
                uint8_t head[12] = { 0x1f, 0x8b, 8, (uint8_t)flags, 0, 0, 0, 0, 0, 3, 0x50, 0xc3 };
                put(&file, head, flags & 4 ? 12 : 10);
                if (flags & 4)
                        put(&file, name.data, 50000);
                if (flags & 8)
                        put(&file, name.data, name.n + 1);
                if (flags & 16)
                        put(&file, name.data + 7, name.n - 6);
                uint32_t crc = libdeflate_crc32(0, file.data, file.n);
                if (flags & 2)
                        put(&file, &(uint8_t[2]){ (uint8_t)crc, (uint8_t)(crc >> 8) }, 2);
                put(&file, member.data + 10, member.n - 10);
                check_text(&file, &text);
                drop(&member);
                drop(&file);
        }
        drop(&name);
        drop(&text);
}

/* The offset in a message about invalid data may differ, because ISA-L reads ahead. */
static void assert_same_message(const char *got, const char *want)
{
        if (strstr(want, "invalid compressed data") != NULL)
                assert_non_null(strstr(got, "invalid compressed data"));
        else
                assert_string_equal(got, want);
}

static size_t check_damaged(const struct buffer *file, const struct buffer *text,
                            size_t chunk_nbytes)
{
        struct kc_error error, want_error;
        struct buffer got = read_file(file, NTHREADS, chunk_nbytes, &error);
        struct buffer want = read_file(file, 1, chunk_nbytes, &want_error);
        assert_same_message(error.message, want_error.message);
        if (error.status == KC_OK) {
                assert_int_equal(got.n, text->n);
                assert_memory_equal(got.data, text->data, text->n);
        }
        drop(&got);
        drop(&want);
        return error.status == KC_OK;
}

static void test_truncated(void **state)
{
        (void)state;
        struct buffer text = make_fastq(2500, 4), first = make_fastq(100, 5), file = { 0 };
        put_member(&file, &first, 0);
        size_t whole = file.n;
        put_member(&file, &text, 0);
        for (size_t n = 1; n < file.n; n++) {
                if (n != whole && !is_sampled())
                        continue;
                struct buffer cut = { .data = file.data, .n = n };
                size_t ngood = check_damaged(&cut, &first, 300);
                assert_int_equal(ngood, n == whole);
        }
        drop(&file);
        drop(&first);
        drop(&text);
}

static void test_flipped_bits(void **state)
{
        (void)state;
        uint64_t seed = 5;
        struct buffer text = make_fastq(120000, 5), file = pack_zlib(&text, 6, 0, 2, Z_NO_FLUSH, 0);
        size_t ngood = 0;
        for (size_t i = 0; i < 250; i++) {
                size_t bit = i < 160 ? i : next_random(&seed) % (8 * file.n);
                if (!is_sampled())
                        continue;
                file.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
                ngood += check_damaged(&file, &text, 700);
                file.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        assert_true(ngood < 50); /* flips that do not matter: in the header's time or system */
        drop(&file);
        drop(&text);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_fastq),     cmocka_unit_test(test_other_texts),
                cmocka_unit_test(test_zeros),     cmocka_unit_test(test_members),
                cmocka_unit_test(test_trailing),  cmocka_unit_test(test_headers),
                cmocka_unit_test(test_truncated), cmocka_unit_test(test_flipped_bits),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
