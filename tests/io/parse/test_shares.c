/* How ranks share inputs: every byte once, cut at records, in shares of about one size. */
#include "io/parse/shares.h"

#include "tests/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOST = 12 };

/* The pieces of all ranks follow each other: whole inputs once, plain ones without gap or overlap. */
static void check_cover(const struct kc_sized_input *inputs, size_t n, int nranks, double *loads)
{
        uint64_t covered[MOST] = { 0 };
        int nwhole[MOST] = { 0 };
        for (int rank = 0; rank < nranks; rank++) {
                struct kc_input_piece *pieces;
                size_t npieces;
                loads[rank] = 0;
                assert_int_equal(kc_share_inputs(inputs, n, nranks, rank, &pieces, &npieces, NULL),
                                 KC_OK);
                for (size_t i = 0; i < npieces; i++) {
                        const struct kc_sized_input *in = &inputs[pieces[i].input];
                        const uint64_t to = pieces[i].to < in->nbytes ? pieces[i].to : in->nbytes;
                        assert_true(i == 0 || pieces[i].input > pieces[i - 1].input);
                        if (!in->plain) {
                                nwhole[pieces[i].input]++;
                                loads[rank] += in->nbases;
                                assert_true(in->nbytes > 0 || rank == 0);
                                continue;
                        }
                        assert_int_equal(pieces[i].from, covered[pieces[i].input]);
                        assert_true(to > pieces[i].from);
                        covered[pieces[i].input] = to;
                        loads[rank] +=
                                in->nbases * (double)(to - pieces[i].from) / (double)in->nbytes;
                }
                free(pieces);
        }
        for (size_t i = 0; i < n; i++) {
                assert_int_equal(nwhole[i], inputs[i].plain ? 0 : 1);
                assert_int_equal(covered[i], inputs[i].plain ? inputs[i].nbytes : 0);
        }
}

static void every_byte_is_in_one_share(void **state)
{
        (void)state;
        uint64_t seed = 1;
        for (int round = 0; round < 2000; round++) {
                struct kc_sized_input inputs[MOST];
                double loads[MOST];
                const size_t n = 1 + next_random(&seed) % MOST;
                for (size_t i = 0; i < n; i++) {
                        inputs[i].nbytes = 1 + next_random(&seed) % 1000000;
                        inputs[i].nbases = (double)inputs[i].nbytes * 0.4;
                        inputs[i].plain = next_random(&seed) % 3 > 0;
                        if (!inputs[i].plain && next_random(&seed) % 4 == 0)
                                inputs[i].nbytes = 0, inputs[i].nbases = 0; /* a pipe */
                }
                check_cover(inputs, n, 1 + (int)(next_random(&seed) % MOST), loads);
        }
}

/* Plain text makes up for what cannot be shared out evenly. */
static void shares_are_even(void **state)
{
        (void)state;
        const struct kc_sized_input inputs[] = { { 1000, 3000, false },
                                                 { 50000, 20000, true },
                                                 { 2000, 6000, false },
                                                 { 30000, 12000, true } };
        double loads[4];
        check_cover(inputs, 4, 4, loads);
        for (int i = 0; i < 4; i++)
                assert_true(loads[i] > 10250 * 0.99 && loads[i] < 10250 * 1.01);
}

/* ---- cuts ---- */

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
        char path[] = "/tmp/kcount-shares-XXXXXX";
        struct kc_input in;
        FILE *file = fdopen(mkstemp(path), "w");
        const size_t n = write_records(file, first, nrecords, seed);
        assert_int_equal(fclose(file), 0);
        assert_int_equal(kc_input_open(&in, path, NULL), KC_OK);
        uint64_t end = 0, from = 0;
        while (from < n) {
                const uint64_t to = from + 1 + next_random(seed) % 3000;
                struct kc_input_piece piece = { 0, from, to < n ? to : UINT64_MAX };
                char start[2] = "";
                size_t got;
                assert_int_equal(kc_input_piece_align(&piece, &in, first, NULL), KC_OK);
                assert_int_equal(piece.from, end);
                assert_true(piece.to >= piece.from && piece.to <= n);
                if (piece.from < n) {
                        assert_int_equal(kc_input_read_at(&in, start, 2, piece.from, &got, NULL),
                                         KC_OK);
                        assert_int_equal(start[0], first);
                        assert_int_equal(start[1], 'r');
                }
                end = piece.to;
                from = to;
        }
        assert_int_equal(end, n);
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
                cmocka_unit_test(every_byte_is_in_one_share),
                cmocka_unit_test(shares_are_even),
                cmocka_unit_test(cuts_are_at_records),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
