/* hist --plot: the peak that is found in a histogram, and how the bars are drawn. */
#include "app/cli/utf8.h"
#include "app/hist/landscape.h"
#include "app/hist/plot.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct plot_page paper = { .width = 80, .height = 50 };

/* What is drawn; the caller's until the next call. */
static const char *plot_of(const struct kc_histogram_row *rows, size_t nrows,
                           const struct plot_page *page, bool *has_peak)
{
        static struct text_out out;
        const struct histogram histogram = { rows, nrows, 21 };
        text_out_stdout(&out);
        *has_peak = plot_histogram(&out, &histogram, false, page);
        assert_true(out.used < sizeof out.buffer);
        out.buffer[out.used] = '\0';
        return out.buffer;
}

static void assert_plot(const struct kc_histogram_row *rows, size_t nrows,
                        const struct plot_page *page, bool wanted_peak, const char *wanted)
{
        bool has_peak;
        assert_string_equal(plot_of(rows, nrows, page, &has_peak), wanted);
        assert_int_equal(has_peak, wanted_peak);
}

static const struct kc_histogram_row small[] = {
        { 1, 90000 }, { 2, 2500 }, { 3, 300 },  { 4, 400 },  { 5, 1200 }, { 6, 2400 },
        { 7, 2800 },  { 8, 2600 }, { 9, 1300 }, { 10, 500 }, { 11, 70 },  { 30, 1 },
};
enum { NSMALL = sizeof small / sizeof *small };

static void test_small(void **state)
{
        (void)state;
        assert_plot(small, NSMALL, &(struct plot_page){ .width = 40, .height = 50 }, true,
                    "count  k-mers\n"
                    "    1  90,000  #######################>>\n"
                    "    2   2,500  ######################\n"
                    "    3     300  ###\n"
                    "    4     400  ####\n"
                    "    5   1,200  ###########\n"
                    "    6   2,400  #####################\n"
                    "    7   2,800  #########################\n"
                    "    8   2,600  #######################\n"
                    "    9   1,300  ############\n"
                    "   10     500  ####\n"
                    "over 10: 71 k-mers\n"
                    "errors below 3; peak at 7; about 11,500\n"
                    "bases in the genome if haploid\n");
        assert_plot(small, NSMALL, &(struct plot_page){ .width = 24, .height = 50, .utf8 = true },
                    true,
                    "count\n"
                    "    1  ███████████████>>\n"
                    "    2  ███████████████▎\n"
                    "    3  █▉\n"
                    "    4  ██▌\n"
                    "    5  ███████▍\n"
                    "    6  ██████████████▋\n"
                    "    7  █████████████████\n"
                    "    8  ███████████████▉\n"
                    "    9  ████████\n"
                    "   10  ███▏\n"
                    "over 10: 71 k-mers\n"
                    "errors below 3; peak at\n"
                    "7; about 11,500 bases in\n"
                    "the genome if haploid\n");
}

/* Without a peak, the longest bar sets the scale. */
static void test_no_peak(void **state)
{
        (void)state;
        static const struct kc_histogram_row unique = { 1, 7 },
                                             much = { UINT32_MAX, UINT64_MAX / 8 };
        static const struct kc_histogram_row falling[] = {
                { 1, 1000 }, { 2, 500 }, { 3, 250 }, { 4, 260 }, { 5, 90 }, { 6, 100 },
        };
        static const char no_peak[] =
                "no peak: too few reads to see one, or not the reads of one genome\n";
        char wanted[2000];
        assert_plot(NULL, 0, &paper, false, "no k-mers\n");
        snprintf(wanted, sizeof wanted, "count  k-mers\n    1       7  %.65s\n%s",
                 "####################################################################", no_peak);
        assert_plot(&unique, 1, &paper, false, wanted);
        snprintf(wanted, sizeof wanted,
                 "     count                     k-mers\n"
                 "4294967295  2,305,843,009,213,693,951  %.41s\n%s",
                 "####################################################################", no_peak);
        assert_plot(&much, 1, &paper, false, wanted);
        assert_plot(falling, 6, &(struct plot_page){ .width = 25, .height = 50 }, false,
                    "count  k-mers\n"
                    "    1   1,000  ##########\n"
                    "    2     500  #####\n"
                    "    3     250  ###\n"
                    "    4     260  ###\n"
                    "    5      90  #\n"
                    "    6     100  #\n"
                    "no peak: too few reads to\n"
                    "see one, or not the reads\n"
                    "of one genome\n");
}

/* ---- larger histograms ---- */

enum { NLARGE = 4000 };

static double bell(double count, double mean, double deviation)
{
        return exp(-(count - mean) * (count - mean) / (2 * deviation * deviation)) / deviation;
}

/* Errors, a genome of nbases at this coverage, and repeats of 4000 bases; the numbers vary as those
 * of real k-mers do, in steps of ten that overlap. Returns the number of rows. */
static size_t make_large(struct kc_histogram_row *rows, double nerrors, double nbases,
                         double coverage, double repeat)
{
        uint64_t seed = 7;
        size_t n = 0;
        for (uint64_t count = 1; count <= NLARGE; count++) {
                const double c = (double)count;
                const double mean = nerrors / (c * c * c) +
                                    nbases * 0.4 * bell(c, coverage, 1.5 * sqrt(coverage)) +
                                    4000 * 0.4 * bell(c, repeat, sqrt(repeat));
                seed = seed * UINT64_C(6364136223846793005) + 1;
                const double chance = (double)(seed >> 40) / (1 << 24) - 0.5;
                const double value = mean + chance * sqrt(10 * mean);
                if (value >= 1)
                        rows[n++] = (struct kc_histogram_row){ count, (uint64_t)value };
        }
        return n;
}

static void test_survey(void **state)
{
        (void)state;
        static struct kc_histogram_row rows[NLARGE];
        static const struct {
                double nerrors, nbases, coverage, repeat;
                bool has_peak;
                uint64_t least_valley, most_valley;
        } cases[] = {
                { 1e6, 5e6, 10, 20, true, 2, 4 },   /* low coverage */
                { 1e6, 5e4, 24, 300, true, 7, 12 }, /* as data/phage.fq.gz */
                { 0, 5e6, 40, 80, true, 1, 25 },    /* no errors */
                { 1e7, 5e6, 100, 1000, true, 20, 60 },
                { 1e6, 2e5, 1000, 3000, true, 60, 900 },   /* few k-mers for each count */
                { 1e9, 0, 10, 300, false, 0, UINT64_MAX }, /* the peak of a repeat */
                { 1e6, 5e6, 1, 3, false, 0, UINT64_MAX },
        };
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                const size_t n = make_large(rows, cases[i].nerrors, cases[i].nbases,
                                            cases[i].coverage, cases[i].repeat);
                const struct histogram histogram = { rows, n, 21 };
                const struct landscape land = landscape_survey(&histogram);
                assert_int_equal(land.has_peak, cases[i].has_peak);
                if (!land.has_peak)
                        continue;
                assert_in_range(land.valley, cases[i].least_valley, cases[i].most_valley);
                assert_true(fabs((double)land.peak / cases[i].coverage - 1) < 0.1);
                assert_in_range(land.tail, land.peak, 3 * land.peak);
        }
}

static size_t width_of(const char *line, size_t nbytes)
{
        size_t width = 0;
        for (const char *end = line + nbytes; line < end; width++)
                line += utf8_length((const unsigned char *)line);
        return width;
}

/* In pages of any size, all lines fit, and no plot is higher than the page if that has 16 lines. */
static void test_page_sizes(void **state)
{
        (void)state;
        static struct kc_histogram_row rows[NLARGE];
        static const struct kc_histogram_row huge[] = {
                { 1, UINT64_MAX / 4 },
                { 3999999999, 5000 },
                { 4000000000, 9000000 },
                { UINT32_MAX, UINT64_MAX / 4 },
        };
        for (int i = 0; i < 200 * 4; i++) {
                const struct plot_page page = { .width = 20 + i % 200,
                                                .height = 10 + i % 41,
                                                .utf8 = i & 1 };
                const bool is_huge = i / 200 == 3;
                const size_t n = make_large(rows, 1e9, 1e9,
                                            i < 200   ? 30
                                            : i < 400 ? 300
                                                      : 1000,
                                            3000);
                bool has_peak;
                int nlines = 0;
                const char *line = is_huge ? plot_of(huge, 4, &page, &has_peak)
                                           : plot_of(rows, n, &page, &has_peak);
                for (const char *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
                        const size_t width = width_of(line, (size_t)(end - line));
                        if (width > (size_t)page.width)
                                fail_msg("in a page of %d: %.*s", page.width, (int)(end - line),
                                         line);
                        nlines++;
                }
                if (page.height >= 16 && nlines > page.height)
                        fail_msg("%d lines in a page of %d", nlines, page.height);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_small),
                cmocka_unit_test(test_no_peak),
                cmocka_unit_test(test_survey),
                cmocka_unit_test(test_page_sizes),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
