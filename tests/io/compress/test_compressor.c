/* Compressed streams: the text comes back, and the bytes depend on it alone. */
#include "base/parallel.h"
#include "base/turn.h"
#include "io/compress/bgzf.h"
#include "io/compressor.h"
#include "tests/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include <cmocka.h>

enum { NTEXT = 3 << 20, NPARTS = 200 };

struct stream {
        struct kc_compressor *compressor;
        const char *text;
        size_t ntext;
        size_t ends[NPARTS]; /* of the parts in which it is put */
        struct kc_turn turn;
        int nthreads;
        size_t fail_at; /* bytes after which write fails; 0: never */
        char *bytes;
        size_t n, room;
};

static enum kc_status keep(void *ctx, const void *data, size_t nbytes, struct kc_error *err)
{
        struct stream *s = ctx;
        if (s->fail_at > 0 && s->n + nbytes > s->fail_at)
                return kc_fail(err, KC_EIO, "the disk is full");
        if (s->n + nbytes > s->room) {
                s->room = 2 * (s->n + nbytes);
                s->bytes = realloc(s->bytes, s->room);
                assert_non_null(s->bytes);
        }
        memcpy(s->bytes + s->n, data, nbytes);
        s->n += nbytes;
        return KC_OK;
}

static char *make_text(void)
{
        uint64_t rng = 1;
        char *text = malloc(NTEXT);
        assert_non_null(text);
        for (size_t i = 0; i < NTEXT; i++)
                text[i] = "ACGT"[next_random(&rng) % 4];
        return text;
}

static int compare(const void *a, const void *b)
{
        const size_t x = *(const size_t *)a, y = *(const size_t *)b;
        return x < y ? -1 : x > y;
}

/* A stream of the first n bytes of text, in parts that depend on the seed. */
static struct stream make_stream(const char *text, size_t n, uint64_t seed)
{
        struct stream s = { .text = text, .ntext = n };
        for (size_t i = 0; i < NPARTS; i++)
                s.ends[i] = next_random(&seed) % (n + 1);
        s.ends[NPARTS - 1] = n;
        qsort(s.ends, NPARTS, sizeof *s.ends, compare);
        return s;
}

static enum kc_status put_parts(void *ctx, int worker, struct kc_error *err)
{
        struct stream *s = ctx;
        enum kc_status status = KC_OK;
        for (size_t i = (size_t)worker; i < NPARTS; i += (size_t)s->nthreads) {
                const size_t begin = i == 0 ? 0 : s->ends[i - 1];
                KC_TRY(kc_compressor_help(s->compressor, worker, err));
                if (!kc_turn_wait(&s->turn, i))
                        return kc_fail(err, KC_ECANCELED, "another thread failed");
                KC_TRY(kc_compressor_put(s->compressor, s->text + begin, s->ends[i] - begin, err));
                kc_turn_pass(&s->turn);
        }
out:
        return status;
}

static void give_up(void *ctx)
{
        struct stream *s = ctx;
        kc_turn_stop(&s->turn);
}

static enum kc_status run(struct stream *s, enum kc_compression compression, int nthreads,
                          uint64_t memory_nbytes, struct kc_error *err)
{
        const struct kc_compressor_options options = { .compression = compression,
                                                       .nthreads = nthreads,
                                                       .memory_nbytes = memory_nbytes,
                                                       .ctx = s,
                                                       .write = keep };
        enum kc_status status;
        s->n = 0;
        s->nthreads = nthreads;
        kc_turn_init(&s->turn);
        KC_TRY(kc_compressor_open(&s->compressor, &options, err));
        KC_TRY(kc_parallel(nthreads, put_parts, give_up, s, err));
        KC_TRY(kc_compressor_finish(s->compressor, err));
out:
        kc_turn_destroy(&s->turn);
        kc_compressor_close(s->compressor);
        return status;
}

/* Inflate block after block; all but the last two must be full. */
static size_t inflate_blocks(const struct stream *s, char *text)
{
        struct libdeflate_decompressor *inflater = libdeflate_alloc_decompressor();
        struct kc_bgzf_header header = { 0 };
        size_t at = 0, ntext = 0, got = 0;
        assert_non_null(inflater);
        while (at < s->n) {
                assert_true(kc_bgzf_parse((const uint8_t *)s->bytes + at, s->n - at, &header));
                assert_int_equal(libdeflate_gzip_decompress(inflater, s->bytes + at,
                                                            header.block_nbytes, text + ntext,
                                                            KC_BGZF_MAX_NBYTES, &got),
                                 LIBDEFLATE_SUCCESS);
                ntext += got;
                at += header.block_nbytes;
                assert_true(got == KC_BGZF_TEXT_NBYTES || ntext == s->ntext);
        }
        assert_int_equal(got, 0); /* the mark of the end */
        libdeflate_free_decompressor(inflater);
        return ntext;
}

static size_t inflate_frames(const struct stream *s, char *text, size_t room)
{
        const size_t n = ZSTD_decompress(text, room, s->bytes, s->n);
        assert_false(ZSTD_isError(n));
        assert_true(s->n > 0);
        return n;
}

static void check_text(const struct stream *s, enum kc_compression compression)
{
        const size_t room = s->ntext + KC_BGZF_MAX_NBYTES;
        char *text = malloc(room);
        assert_non_null(text);
        size_t n = s->n;
        if (compression == KC_COMPRESSION_BGZF)
                n = inflate_blocks(s, text);
        else if (compression == KC_COMPRESSION_ZSTD)
                n = inflate_frames(s, text, room);
        else if (n > 0)
                memcpy(text, s->bytes, n);
        assert_int_equal(n, s->ntext);
        assert_true(n == 0 || memcmp(text, s->text, n) == 0);
        free(text);
}

static const enum kc_compression all[] = { KC_COMPRESSION_NONE, KC_COMPRESSION_BGZF,
                                           KC_COMPRESSION_ZSTD };
enum { NALL = sizeof all / sizeof *all };

static void compare_threads(const char *text, size_t n, enum kc_compression compression)
{
        struct stream one = make_stream(text, n, 5);
        assert_int_equal(run(&one, compression, 1, 0, NULL), KC_OK);
        check_text(&one, compression);
        for (int nthreads = 2; nthreads < 6; nthreads++) {
                struct stream more = make_stream(text, n, (uint64_t)nthreads);
                const uint64_t memory_nbytes = nthreads % 2 ? 0 : UINT64_MAX;
                assert_int_equal(run(&more, compression, nthreads, memory_nbytes, NULL), KC_OK);
                assert_int_equal(more.n, one.n);
                assert_true(one.n == 0 || memcmp(more.bytes, one.bytes, one.n) == 0);
                free(more.bytes);
        }
        free(one.bytes);
}

static void test_threads_do_not_matter(void **state)
{
        (void)state;
        static const size_t sizes[] = { 0, 1, KC_BGZF_TEXT_NBYTES, NTEXT };
        char *text = make_text();
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
                for (size_t j = 0; j < NALL; j++)
                        compare_threads(text, sizes[i], all[j]);
        free(text);
}

/* No thread waits for ever. */
static void test_write_fails(void **state)
{
        (void)state;
        char *text = make_text();
        for (size_t i = 0; i < NALL; i++)
                for (int nthreads = 1; nthreads < 5; nthreads++)
                        for (size_t fail_at = 1; fail_at < 800000; fail_at = 3 * fail_at + 1) {
                                struct stream s = make_stream(text, NTEXT, fail_at);
                                struct kc_error err = { 0 };
                                s.fail_at = fail_at;
                                assert_int_equal(run(&s, all[i], nthreads, 0, &err), KC_EIO);
                                assert_string_equal(err.message, "the disk is full");
                                free(s.bytes);
                        }
        free(text);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_threads_do_not_matter),
                cmocka_unit_test(test_write_fails),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
