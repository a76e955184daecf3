/*
 * The peaks of histograms, as Merqury's program has found them, and the exact limits of Poisson
 * variables.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "app/report/chance.h"
#include "app/report/peaks.h"
#include "app/report/quality.h"

#include <math.h>

enum { MOST_ROWS = 60, MOST_PEAKS = 8 };

/* Histograms, with what kmerHistToPloidyDepth.jar printed of them: close peaks, a shoulder, and
 * plateaus. */
static const struct {
        size_t nrows, npeaks;
        struct kc_histogram_row rows[MOST_ROWS];
        uint64_t first_minimum;
        struct {
                uint64_t count, bound;
        } peaks[MOST_PEAKS];
} cases[] = {
        { .nrows = 45,
          .npeaks = 8,
          .rows = { { 1, 3 },  { 2, 2 },  { 3, 1 },  { 5, 2 },  { 6, 4 },  { 8, 2 },  { 9, 5 },
                    { 10, 4 }, { 12, 5 }, { 13, 5 }, { 14, 3 }, { 15, 3 }, { 16, 1 }, { 18, 4 },
                    { 19, 3 }, { 22, 5 }, { 24, 2 }, { 25, 5 }, { 28, 3 }, { 29, 1 }, { 30, 2 },
                    { 31, 1 }, { 33, 4 }, { 35, 3 }, { 36, 4 }, { 37, 2 }, { 38, 2 }, { 39, 1 },
                    { 40, 3 }, { 42, 3 }, { 43, 5 }, { 44, 3 }, { 45, 3 }, { 46, 2 }, { 47, 1 },
                    { 48, 3 }, { 49, 2 }, { 50, 3 }, { 51, 3 }, { 52, 2 }, { 53, 3 }, { 54, 5 },
                    { 56, 1 }, { 59, 4 }, { 60, 5 } },
          .first_minimum = 4,
          .peaks = { { 9, 11 },
                     { 18, 17 },
                     { 23, 21 },
                     { 27, 24 },
                     { 34, 29 },
                     { 43, 32 },
                     { 48, 35 },
                     { 55, 39 } } },
        { .nrows = 32,
          .npeaks = 2,
          .rows = { { 1, 11087 }, { 2, 4166 },  { 3, 1697 },  { 4, 906 },   { 5, 776 },
                    { 6, 921 },   { 7, 1175 },  { 8, 1446 },  { 9, 1669 },  { 10, 1812 },
                    { 11, 1883 }, { 12, 1924 }, { 13, 1997 }, { 14, 2148 }, { 15, 2384 },
                    { 16, 2658 }, { 17, 2889 }, { 18, 2988 }, { 19, 2898 }, { 20, 2613 },
                    { 21, 2182 }, { 22, 1684 }, { 23, 1199 }, { 24, 788 },  { 25, 478 },
                    { 26, 267 },  { 27, 138 },  { 28, 66 },   { 29, 29 },   { 30, 12 },
                    { 31, 4 },    { 32, 1 } },
          .first_minimum = 5,
          .peaks = { { 11, 14 }, { 18, 25 } } },
        { .nrows = 37,
          .npeaks = 0,
          .rows = { { 1, 11051 }, { 2, 11051 }, { 3, 1535 },  { 4, 599 },   { 5, 599 },
                    { 6, 251 },   { 7, 384 },   { 8, 610 },   { 9, 951 },   { 10, 1358 },
                    { 11, 1801 }, { 12, 2324 }, { 13, 2913 }, { 14, 3521 }, { 15, 4044 },
                    { 16, 4482 }, { 17, 4668 }, { 18, 4668 }, { 19, 4343 }, { 20, 3884 },
                    { 21, 3328 }, { 22, 2687 }, { 23, 2687 }, { 24, 2687 }, { 25, 1052 },
                    { 26, 673 },  { 27, 673 },  { 28, 248 },  { 29, 248 },  { 30, 248 },
                    { 31, 16 },   { 32, 4 },    { 33, 4 },    { 34, 14 },   { 36, 16 },
                    { 39, 16 },   { 40, 17 } },
          .first_minimum = 6,
          .peaks = { { 0, 0 } } },
        { .nrows = 51,
          .npeaks = 1,
          .rows = { { 1, 11036 }, { 2, 4060 },  { 3, 4060 },  { 4, 549 },   { 5, 202 },
                    { 6, 74 },    { 7, 27 },    { 8, 10 },    { 9, 5 },     { 10, 8 },
                    { 11, 21 },   { 12, 56 },   { 13, 56 },   { 14, 215 },  { 15, 311 },
                    { 16, 367 },  { 17, 367 },  { 18, 293 },  { 19, 218 },  { 20, 218 },
                    { 21, 188 },  { 22, 265 },  { 23, 403 },  { 24, 403 },  { 25, 872 },
                    { 26, 1200 }, { 27, 1200 }, { 28, 1979 }, { 29, 2369 }, { 30, 2706 },
                    { 31, 2950 }, { 32, 3069 }, { 33, 3047 }, { 34, 2887 }, { 35, 2611 },
                    { 36, 2253 }, { 37, 2253 }, { 38, 1459 }, { 39, 1459 }, { 40, 783 },
                    { 41, 535 },  { 42, 349 },  { 43, 217 },  { 44, 129 },  { 45, 129 },
                    { 46, 40 },   { 47, 40 },   { 48, 10 },   { 49, 5 },    { 50, 2 },
                    { 51, 1 } },
          .first_minimum = 9,
          .peaks = { { 32, 21 } } },
};

static void test_peaks(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct peaks peaks;
                struct kc_error err = { 0 };
                assert_int_equal(peaks_find(&peaks, cases[i].rows, cases[i].nrows, &err), KC_OK);
                assert_int_equal(peaks.first_minimum, cases[i].first_minimum);
                const size_t n = peaks.npeaks < peaks.nbounds ? peaks.npeaks : peaks.nbounds;
                assert_int_equal(n, cases[i].npeaks);
                for (size_t p = 0; p < n; p++) {
                        assert_int_equal(peaks.peaks[p].count, cases[i].peaks[p].count);
                        assert_int_equal(peaks.bounds[p], cases[i].peaks[p].bound);
                }
                peaks_free(&peaks);
        }
}

static void test_few_rows(void **state)
{
        (void)state;
        static const struct kc_histogram_row rows[] = { { 7, 1 }, { 9, 5 } };
        for (size_t n = 0; n <= 2; n++) {
                struct peaks peaks;
                struct kc_error err = { 0 };
                assert_int_equal(peaks_find(&peaks, rows, n, &err), KC_OK);
                assert_int_equal(peaks.first_minimum, n < 2 ? 0 : 8);
                peaks_free(&peaks);
        }
        assert_int_equal(peaks_depth(rows, 0, 0), 0);
        assert_int_equal(peaks_depth(rows, 2, 0), 9);
        assert_int_equal(peaks_depth(rows, 2, 9), 0);
}

/* Of whole numbers: where the sums of their chances are 2.5%. */
static void test_limits(void **state)
{
        (void)state;
        static const struct {
                double n, low, high;
        } wanted[] = { { 0, 0, 3 },
                       { 1, 0.025318, 5.571643 },
                       { 2, 0.242209, 7.224688 },
                       { 10, 4.795389, 18.390356 },
                       { 50, 37.110964, 65.918767 },
                       { 100, 81.363991, 121.626794 } };
        for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
                double low, high;
                quality_poisson_limits(wanted[i].n, &low, &high);
                assert_true(fabs(low - wanted[i].low) < 1e-6);
                assert_true(fabs(high - wanted[i].high) < 1e-6);
        }
        /* Far out, those of a normal variable. */
        double low, high;
        quality_poisson_limits(1e9, &low, &high);
        assert_true(fabs(low - (1e9 - 1.959964 * sqrt(1e9))) < 10);
        assert_true(fabs(high - (1e9 + 1.959964 * sqrt(1e9))) < 10);
}

/* Nothing is infinite that has a bound, and no number is missing. */
static void test_extremes(void **state)
{
        (void)state;
        static const uint64_t ns[] = { 1, 2, 3, 1000, 3000000000 };
        for (size_t i = 0; i < sizeof ns / sizeof *ns; i++)
                for (uint64_t nabsent = 0; nabsent <= ns[i]; nabsent += ns[i]) {
                        const struct quality q =
                                quality_of((struct quality_counts){ ns[i], nabsent }, 21);
                        assert_true(q.low <= q.value && q.value <= q.high && isfinite(q.low));
                        assert_true(isfinite(q.value) == (nabsent > 0));
                }
}

/* Poisson, a larger variance, and what is not known. */
static void test_chance(void **state)
{
        struct chance c = { .depth = 30, .nspan = 100, .nwindows = 100000 };
        double above = 0;
        (void)state;
        for (int x = 46; x < 200; x++)
                above += exp(x * log(30) - 30 - lgamma(x + 1.0));
        assert_int_equal(chance_windows(&c), floor(100 * log(1000) / -log(above)));
        c.bias = 1;
        assert_true(chance_windows(&c) > 180);
        c.nspan = 10000;
        assert_int_equal(chance_windows(&c), CHANCE_MOST_WINDOWS);
        c.nspan = 0; /* not known */
        assert_int_equal(chance_windows(&c), 0);
        c.nspan = 100000; /* one read is all */
        assert_int_equal(chance_windows(&c), 0);
        c.nspan = 100;
        c.depth = 0;
        assert_int_equal(chance_windows(&c), 0);
        c.depth = 100000; /* never by chance */
        c.bias = 0;
        assert_int_equal(chance_windows(&c), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_peaks),  cmocka_unit_test(test_few_rows),
                cmocka_unit_test(test_limits), cmocka_unit_test(test_extremes),
                cmocka_unit_test(test_chance),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
