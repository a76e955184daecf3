/* Cuts of plain text are at records; tests/cli/ranks.py reads the parts, also of BGZF. */
#include "io/parse/cut.h"

#include "bench/bgzf.h"
#include "tests/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* FASTQ with qualities that look like headers, or FASTA. Returns its length. */
static size_t write_records(FILE *file, char first, int n, uint64_t *seed)
{
        for (int i = 0; i < n; i++) {
                const int length = (int)(next_random(seed) % 80);
                fprintf(file, "%cr%d\n", first, i);
                for (int j = 0; j < length; j++)
                        fputc("ACGT"[next_random(seed) % 4], file);
                if (first == '@') {
                        fputs("\n+\n", file);
                        for (int j = 0; j < length; j++)
                                fputc("@+>I"[next_random(seed) % 4], file);
                }
                fputc('\n', file);
        }
        return (size_t)ftell(file);
}

static void check_cuts(char first, int nrecords, uint64_t *seed)
{
        char path[] = "/tmp/kcount-cuts-XXXXXX";
        struct kc_input in;
        FILE *file = fdopen(mkstemp(path), "w");
        const size_t n = write_records(file, first, nrecords, seed);
        assert_int_equal(fclose(file), 0);
        assert_int_equal(kc_input_open(&in, path, NULL), KC_OK);
        for (uint64_t from = 1; from < n; from += 1 + next_random(seed) % 100) {
                struct kc_cut cut;
                char start[3] = "";
                size_t got;
                assert_int_equal(kc_cut_find(&in, false, first, from, &cut, NULL), KC_OK);
                assert_true(cut.at >= from && cut.at <= n);
                assert_int_equal(cut.skip, 0);
                if (cut.at == n)
                        continue;
                assert_int_equal(kc_input_read_at(&in, start, 3, cut.at - 1, &got, NULL), KC_OK);
                assert_int_equal(start[0], '\n');
                assert_int_equal(start[1], first);
                assert_int_equal(start[2], 'r');
        }
        kc_input_close(&in);
        unlink(path);
}

static void cuts_are_at_records(void **state)
{
        (void)state;
        uint64_t seed = 7;
        for (int round = 0; round < 60; round++) {
                check_cuts('@', 1 + round * 5, &seed);
                check_cuts('>', 1 + round * 5, &seed);
        }
}

/* A sequence that is longer than any buffer, as chromosomes are, and a short one. */
enum { LINE = 64, LINES = 70 << 14 };

static size_t write_long(char *text)
{
        size_t n = (size_t)sprintf(text, ">long\n");
        for (int i = 0; i < LINES; i++) {
                memset(text + n, "ACGT"[i % 4], LINE - 1);
                text[n + LINE - 1] = '\n';
                n += LINE;
        }
        return n;
}

static void write_bgzf(FILE *file, const char *text, size_t n)
{
        enum { PIECE = 60000 };
        struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(1);
        uint8_t *packed = malloc(bgzf_room_nbytes(PIECE));
        for (size_t at = 0; at < n; at += PIECE) {
                const size_t piece = n - at < PIECE ? n - at : PIECE;
                const size_t nbytes = bgzf_deflate(compressor, text + at, piece, packed);
                assert_int_equal(fwrite(packed, 1, nbytes, file), nbytes);
        }
        free(packed);
        libdeflate_free_compressor(compressor);
}

/* Wherever the search begins, even near the end of the sequence, it finds the same place. */
static void check_far_cut(const char *text, size_t header, size_t n, bool bgzf)
{
        char path[] = "/tmp/kcount-cuts-XXXXXX";
        FILE *file = fdopen(mkstemp(path), "w");
        struct kc_input in;
        struct kc_cut first = { 0 };
        if (bgzf)
                write_bgzf(file, text, n);
        else
                assert_int_equal(fwrite(text, 1, n, file), n);
        assert_int_equal(fclose(file), 0);
        assert_int_equal(kc_input_open(&in, path, NULL), KC_OK);
        for (uint64_t from = 1; from < in.size / 10 * 9; from += in.size / 5) {
                struct kc_cut cut;
                assert_int_equal(kc_cut_find(&in, bgzf, '>', from, &cut, NULL), KC_OK);
                assert_true(cut.at < in.size);
                if (!bgzf)
                        assert_int_equal(cut.at, header);
                if (from == 1)
                        first = cut;
                assert_memory_equal(&cut, &first, sizeof cut);
        }
        kc_input_close(&in);
        unlink(path);
}

static void a_far_record_is_found(void **state)
{
        char *text = malloc((size_t)LINES * LINE + 100);
        const size_t header = write_long(text);
        const size_t n = header + (size_t)sprintf(text + header, ">next\nACGT\n");
        (void)state;
        check_far_cut(text, header, n, false);
        check_far_cut(text, header, n, true);
        free(text);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(cuts_are_at_records),
                cmocka_unit_test(a_far_record_is_found),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
