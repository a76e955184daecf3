/* Cuts of plain text are at records; tests/cli/ranks.py reads the parts, also of BGZF. */
#include "io/parse/cut.h"

#include "tests/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
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

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(cuts_are_at_records),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
