/* How ranks share inputs: every byte once, in shares of about the same size. */
#include "io/parse/pieces.h"

#include "tests/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MOST = 12 };

/* The pieces of all ranks follow each other: whole inputs once, others without gap or overlap. */
static void check_cover(const struct kc_sized_input *inputs, size_t n, int nranks, double *loads)
{
        uint64_t covered[MOST] = { 0 };
        int nwhole[MOST] = { 0 };
        for (int rank = 0; rank < nranks; rank++) {
                struct kc_input_piece *pieces;
                size_t npieces;
                loads[rank] = 0;
                assert_int_equal(kc_divide_inputs(inputs, n, nranks, rank, &pieces, &npieces, NULL),
                                 KC_OK);
                for (size_t i = 0; i < npieces; i++) {
                        const struct kc_sized_input *in = &inputs[pieces[i].input];
                        const uint64_t to = pieces[i].to < in->nbytes ? pieces[i].to : in->nbytes;
                        assert_true(i == 0 || pieces[i].input > pieces[i - 1].input);
                        if (!in->cuttable) {
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
                assert_int_equal(nwhole[i], inputs[i].cuttable ? 0 : 1);
                assert_int_equal(covered[i], inputs[i].cuttable ? inputs[i].nbytes : 0);
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
                        inputs[i].cuttable = next_random(&seed) % 3 > 0;
                        if (!inputs[i].cuttable && next_random(&seed) % 4 == 0)
                                inputs[i].nbytes = 0, inputs[i].nbases = 0; /* a pipe */
                }
                check_cover(inputs, n, 1 + (int)(next_random(&seed) % MOST), loads);
        }
}

/* Files that can be cut make up for those that cannot. */
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

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_byte_is_in_one_share),
                cmocka_unit_test(shares_are_even),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
