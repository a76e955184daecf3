/*
 * Finding BGZF blocks by their headers, whatever the buffers end with.
 */
#include "io/input/bgzf_blocks.h"

#include "bench/bgzf.h"
#include "tests/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { NTEXT = 200000, MOST_BLOCKS = 16, NBYTES = 8 * KC_BGZF_MAX_NBYTES };

/* A file of some blocks with text, and the one that ends it. */
struct file {
        char text[NTEXT];
        uint8_t bytes[NBYTES];
        size_t n;
};

static struct file *make_file(void)
{
        struct file *file = calloc(1, sizeof *file);
        struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(6);
        uint64_t rng = 1;
        assert_non_null(file);
        for (size_t i = 0; i < NTEXT; i++)
                file->text[i] = "ACGT"[next_random(&rng) % 4];
        file->n = bgzf_deflate(compressor, file->text, NTEXT, file->bytes);
        memcpy(file->bytes + file->n, KC_BGZF_LAST, KC_BGZF_LAST_NBYTES);
        file->n += KC_BGZF_LAST_NBYTES;
        libdeflate_free_compressor(compressor);
        return file;
}

/* Blocks that follow each other, with the texts of the file. */
static void check_blocks(const struct file *file, const struct kc_bgzf_table *table, size_t end)
{
        struct libdeflate_decompressor *inflater = libdeflate_alloc_decompressor();
        uint64_t text_at = 0, at = 0;
        for (size_t i = 0; i < table->n; i++) {
                const struct kc_bgzf_block *block = &table->blocks[i];
                char *text = malloc(block->text_nbytes + 1);
                size_t got;
                assert_int_equal(block->at - block->header, at);
                assert_int_equal(block->text_at, text_at);
                assert_int_equal(libdeflate_deflate_decompress(inflater, file->bytes + block->at,
                                                               block->nbytes, text,
                                                               block->text_nbytes, &got),
                                 LIBDEFLATE_SUCCESS);
                assert_int_equal(got, block->text_nbytes);
                assert_memory_equal(text, file->text + text_at, got);
                assert_int_equal(libdeflate_crc32(0, text, got), block->crc);
                at = block->at + block->nbytes + KC_BGZF_FOOTER_NBYTES;
                text_at += got;
                free(text);
        }
        assert_int_equal(at, end);
        assert_int_equal(table->text_nbytes, text_at);
        libdeflate_free_decompressor(inflater);
}

static struct kc_bgzf_table table_of(struct kc_bgzf_block *blocks, size_t cap, uint64_t ntext)
{
        return (struct kc_bgzf_table){ .blocks = blocks, .cap = cap, .cap_text_nbytes = ntext };
}

static void test_whole(void **state)
{
        (void)state;
        struct file *file = make_file();
        struct kc_bgzf_block blocks[MOST_BLOCKS];
        struct kc_bgzf_table table = table_of(blocks, MOST_BLOCKS, NTEXT);
        size_t at = 0;
        assert_int_equal(kc_bgzf_find(&table, file->bytes, file->n, &at), KC_BGZF_END);
        assert_int_equal(at, file->n);
        assert_int_equal(table.text_nbytes, NTEXT);
        check_blocks(file, &table, file->n);
        free(file);
}

/* Wherever the buffer ends, the part of its last block that it has is left over. */
static void test_partial(void **state)
{
        (void)state;
        struct file *file = make_file();
        struct kc_bgzf_block blocks[MOST_BLOCKS];
        size_t ends[MOST_BLOCKS + 1] = { 0 }, nblocks = 0;
        struct kc_bgzf_table whole = table_of(blocks, MOST_BLOCKS, NTEXT);
        size_t all = 0;
        (void)kc_bgzf_find(&whole, file->bytes, file->n, &all);
        for (size_t i = 0; i < whole.n; i++)
                ends[i + 1] = blocks[i].at + blocks[i].nbytes + KC_BGZF_FOOTER_NBYTES;
        for (size_t n = 0; n <= file->n; n += n % 1000 < 40 ? 1 : 7) {
                struct kc_bgzf_table table = table_of(blocks, MOST_BLOCKS, NTEXT);
                size_t at = 0;
                while (ends[nblocks + 1] != 0 && ends[nblocks + 1] <= n)
                        nblocks++;
                enum kc_bgzf_stop stop = kc_bgzf_find(&table, file->bytes, n, &at);
                assert_int_equal(stop, n == ends[nblocks] ? KC_BGZF_END : KC_BGZF_PARTIAL);
                assert_int_equal(table.n, nblocks);
                assert_int_equal(at, ends[nblocks]);
        }
        free(file);
}

/* With a table or room for text that is too small, the rest comes in other tables. */
static void test_full(void **state)
{
        (void)state;
        struct file *file = make_file();
        struct kc_bgzf_block blocks[MOST_BLOCKS];
        for (int which = 0; which < 2; which++) {
                size_t at = 0, n = 0;
                uint64_t ntext = 0;
                enum kc_bgzf_stop stop = KC_BGZF_FULL;
                while (stop == KC_BGZF_FULL) {
                        struct kc_bgzf_table table = table_of(blocks, which == 0 ? 1 : MOST_BLOCKS,
                                                              which == 1 ? 70000 : NTEXT);
                        stop = kc_bgzf_find(&table, file->bytes, file->n, &at);
                        assert_true(table.n >= 1);
                        assert_true(table.text_nbytes <= table.cap_text_nbytes);
                        n += table.n;
                        ntext += table.text_nbytes;
                }
                assert_int_equal(stop, KC_BGZF_END);
                assert_int_equal(at, file->n);
                assert_int_equal(n, 5);
                assert_int_equal(ntext, NTEXT);
        }
        free(file);
}

static void test_foreign(void **state)
{
        (void)state;
        static const uint8_t others[][20] = {
                { 0 },
                { 0x1f, 0x8b, 8, 0 },                                      /* plain gzip */
                { 0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 0, 2, 0, 'X', 'Y' },    /* no BC */
                { 0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 0, 6, 0, 'B', 'C', 2 }, /* too short */
        };
        struct kc_bgzf_block blocks[1];
        for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
                struct kc_bgzf_table table = table_of(blocks, 1, NTEXT);
                size_t at = 0;
                assert_int_equal(kc_bgzf_find(&table, others[i], sizeof others[i], &at),
                                 KC_BGZF_FOREIGN);
                assert_int_equal(at, 0);
        }
        const uint8_t one = '@';
        struct kc_bgzf_table table = table_of(blocks, 1, NTEXT);
        size_t at = 0;
        assert_int_equal(kc_bgzf_find(&table, &one, 1, &at), KC_BGZF_FOREIGN);
}

static void test_too_long(void **state)
{
        (void)state;
        struct file *file = make_file();
        struct kc_bgzf_block blocks[MOST_BLOCKS];
        struct kc_bgzf_table table = table_of(blocks, MOST_BLOCKS, UINT64_MAX);
        size_t at = 0;
        file->bytes[file->n - 2] = 1; /* 65536: a block may have that much text */
        assert_int_equal(kc_bgzf_find(&table, file->bytes, file->n, &at), KC_BGZF_END);
        file->bytes[file->n - 4] = 1;
        at = table.n = 0;
        assert_int_equal(kc_bgzf_find(&table, file->bytes, file->n, &at), KC_BGZF_TOO_LONG);
        assert_int_equal(at, file->n - KC_BGZF_LAST_NBYTES);
        free(file);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_whole),    cmocka_unit_test(test_partial),
                cmocka_unit_test(test_full),     cmocka_unit_test(test_foreign),
                cmocka_unit_test(test_too_long),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
