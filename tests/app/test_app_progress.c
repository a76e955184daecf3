/* The progress line: what it says, and that it fits. */
#include "app/cli/progress_line.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct progress_state reading = {
        .label = "reading",
        .label_columns = 8,
        .stage = 1,
        .nstages = 3,
        .unit = PROGRESS_BYTES,
        .done = 760e6,
        .fraction = 0.48,
        .seconds = 5,
        .stage_seconds = 5,
};

static void assert_line(const struct progress_state *state, int width, const char *wanted)
{
        char line[PROGRESS_LINE_NBYTES];
        progress_line(state, width, line);
        assert_string_equal(line, wanted);
}

/* The bar becomes shorter before anything is left out: of the other parts, the last ones first. */
static void test_widths(void **state)
{
        (void)state;
        static const struct {
                int width;
                const char *line;
        } cases[] = {
                { 200, "1/3 reading   [==============                ]  48%  152 MB/s  0:05, "
                       "0:05 left" },
                { 80, "1/3 reading   [==============                ]  48%  152 MB/s  0:05, "
                      "0:05 left" },
                { 78,
                  "1/3 reading   [=============                ]  48%  152 MB/s  0:05, 0:05 left" },
                { 59, "1/3 reading   [====      ]  48%  152 MB/s  0:05, 0:05 left" },
                { 58, "1/3 reading   [=====       ]  48%  152 MB/s  0:05 elapsed" },
                { 56, "1/3 reading   [====      ]  48%  152 MB/s  0:05 elapsed" },
                { 55, "1/3 reading   [=========          ]  48%  0:05 elapsed" },
                { 46, "1/3 reading   [====      ]  48%  0:05 elapsed" },
                { 45, "1/3 reading   [===========            ]  48%" },
                { 26, "1/3 reading   [=   ]  48%" },
                { 25, "1/3 reading 48%" },
                { 24, "1/3 reading 48%" },
                { 20, "1/3 reading 48%" },
                { 19, "reading 48%" },
                { 13, "reading 48%" },
                { 12, "48%" },
                { 5, "48%" },
                { 4, "" },
                { 0, "" },
        };
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
                assert_line(&reading, cases[i].width, cases[i].line);
}

static void test_stages(void **state)
{
        (void)state;
        struct progress_state s = reading;
        s.stage = 2;
        s.label = "counting";
        s.fraction = 0.9;
        s.seconds = 12;
        assert_line(&s, 80,
                    "2/3 counting  [===========================   ]  90%            0:12 elapsed");
        s.fraction = 1;
        assert_line(&s, 80,
                    "2/3 counting  [==============================] 100%            0:12 elapsed");
        s = (struct progress_state){ .label = "merging",
                                     .label_columns = 7,
                                     .stage = 1,
                                     .nstages = 1,
                                     .fraction = 0,
                                     .seconds = 3723,
                                     .stage_seconds = 3723 };
        assert_line(&s, 80, "merging  [                              ]   0%  1:02:03 elapsed");
        s.fraction = 0.25;
        assert_line(&s, 80,
                    "merging  [=======                       ]  25%  1:02:03, 3:06:09 left");
        s = (struct progress_state){ .label = "counting 255-mers",
                                     .label_columns = 17,
                                     .stage = 20,
                                     .nstages = 31,
                                     .fraction = 0.5 };
        assert_line(&s, 29, "20/31 counting 255-mers 50%");
        assert_line(&s, 28, "counting 50%");
        assert_line(&s, 18, "counting 50%");
}

/* The time that is left is not shown in the first or the last two seconds. */
static void test_left(void **state)
{
        (void)state;
        struct progress_state s = reading;
        s.stage_seconds = 1.9;
        s.done = 300e6;
        assert_line(&s, 80,
                    "1/3 reading   [==============                ]  48%  158 MB/s  0:05 elapsed");
        s = reading;
        s.fraction = 0.75;
        s.done = 1100e6;
        assert_line(&s, 80,
                    "1/3 reading   [======================        ]  75%  220 MB/s  0:05 elapsed");
        s.stage_seconds = 8;
        assert_line(
                &s, 80,
                "1/3 reading   [======================        ]  75%  138 MB/s  0:05, 0:02 left");
}

/* From a pipe, how much there is to do is unknown. */
static void test_unknown(void **state)
{
        (void)state;
        struct progress_state s = reading;
        s.fraction = -1;
        s.done = 347e6;
        s.seconds = 2.2;
        s.stage_seconds = 2.21;
        assert_line(&s, 80, "1/3 reading   347 MB  157 MB/s  0:02 elapsed");
        assert_line(&s, 45, "1/3 reading   347 MB  157 MB/s  0:02 elapsed");
        assert_line(&s, 44, "1/3 reading   347 MB  0:02 elapsed");
        assert_line(&s, 34, "1/3 reading   347 MB");
        assert_line(&s, 20, "1/3 reading 347 MB");
        assert_line(&s, 15, "reading 347 MB");
        assert_line(&s, 14, "347 MB");
        s.done = 20e6;
        assert_line(&s, 80, "1/3 reading   20 MB  9.0 MB/s  0:02 elapsed");
        s.unit = PROGRESS_KMERS;
        assert_line(&s, 80, "1/3 reading   20.0 M k-mers  0:02 elapsed");
        s.unit = PROGRESS_PARTS;
        assert_line(&s, 80, "1/3 reading     0:02 elapsed");
}

/* Whatever the numbers are: shorter than the terminal, and in ASCII. */
static void test_all_fit(void **state)
{
        (void)state;
        static const double seconds[] = { 0, 1, 59.9, 3600, 1e6, 1e9 },
                            done[] = { 0, 1e3, 1e9, 1.8e19 };
        char line[PROGRESS_LINE_NBYTES];
        for (int width = 0; width <= 250; width++)
                for (int i = 0; i < 6 * 4 * 23; i++) {
                        const struct progress_state s = {
                                .label = i % 2 ? "counting 255-mers" : "reading",
                                .label_columns = 17,
                                .stage = 1 + i % 2,
                                .nstages = 33,
                                .unit = (enum progress_unit)(i % 3),
                                .done = done[i % 4],
                                .fraction = i % 23 == 22 ? -1 : (i % 23) / 21.0,
                                .seconds = seconds[i % 6],
                                .stage_seconds = seconds[i % 5],
                        };
                        progress_line(&s, width, line);
                        if (strlen(line) > (size_t)(width > 0 ? width - 1 : 0))
                                fail_msg("in %d columns: '%s'", width, line);
                        for (const char *c = line; *c != '\0'; c++)
                                assert_in_range(*c, ' ', '~');
                }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_widths),  cmocka_unit_test(test_stages),
                cmocka_unit_test(test_left),    cmocka_unit_test(test_unknown),
                cmocka_unit_test(test_all_fit),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
