/* Quartiles from tallies, against those of sorted counts. */
#include "app/library/window_tally.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 3000, NPARTS = 3 };

static int compare(const void *a, const void *b)
{
        const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
        return (x > y) - (x < y);
}

static uint64_t random_number(uint64_t *state)
{
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        return *state >> 33;
}

/* Counts below `limit`; above 2^31 if limit is 0. */
static void fill(uint32_t *counts, size_t n, uint64_t limit, uint64_t *state)
{
        for (size_t i = 0; i < n; i++)
                counts[i] = limit > 0 ? (uint32_t)(random_number(state) % limit)
                                      : UINT32_MAX - (uint32_t)random_number(state);
}

static void check_quartiles(struct kc_window_tally *tally, uint32_t *counts, size_t n)
{
        uint64_t quarters[KC_WINDOW_TALLY_NQUARTILES];
        qsort(counts, n, sizeof *counts, compare);
        kc_window_tally_quartiles(tally, quarters);
        for (size_t q = 1; q <= KC_WINDOW_TALLY_NQUARTILES; q++) {
                const size_t at = (n - 1) * q / 4, beyond = (n - 1) * q % 4;
                const uint64_t next = beyond ? counts[at + 1] : 0;
                assert_int_equal(quarters[q - 1], (4 - beyond) * counts[at] + beyond * next);
        }
}

/* The summary, with some of the counts in range. */
static void check_summary(const struct kc_window_tally *tally, const uint32_t *counts, size_t n)
{
        const uint32_t min_count = counts[0] / 2, max_count = counts[n / 2];
        const struct kc_ask_summary got = kc_window_tally_summary(tally, min_count, max_count);
        struct kc_ask_summary want = { .nvalid = n, .min = UINT32_MAX };
        for (size_t i = 0; i < n; i++) {
                want.nfound += counts[i] >= min_count && counts[i] <= max_count;
                want.sum += counts[i];
                want.min = counts[i] < want.min ? counts[i] : want.min;
                want.max = counts[i] > want.max ? counts[i] : want.max;
        }
        assert_int_equal(got.nvalid, want.nvalid);
        assert_int_equal(got.nfound, want.nfound);
        assert_int_equal(got.sum, want.sum);
        assert_int_equal(got.min, want.min);
        assert_int_equal(got.max, want.max);
}

/* The list of the counts, which are sorted, from some least one on. */
static void check_list(struct kc_window_tally *tally, const uint32_t *counts, size_t n)
{
        const uint32_t least = counts[n / 3];
        struct kc_window_tally_entry *entries =
                malloc((tally->nsmall + tally->nlarge + 1) * sizeof *entries);
        size_t nlisted, at = 0;
        assert_non_null(entries);
        nlisted = kc_window_tally_list(tally, least, entries);
        while (counts[at] < least)
                at++;
        for (size_t i = 0; i < nlisted; i++) {
                size_t nsame = 0;
                for (; at < n && counts[at] == entries[i].count; at++)
                        nsame++;
                assert_true(nsame > 0);
                assert_int_equal(entries[i].n, nsame);
        }
        assert_int_equal(at, n);
        free(entries);
}

/* Counts added one by one, first each of them twice. */
static void check_equal_ones(uint32_t *counts, size_t n)
{
        struct kc_window_tally *tally = calloc(1, sizeof *tally);
        uint32_t *twice = malloc(2 * n * sizeof *twice);
        assert_true(tally && twice);
        for (size_t i = 0; i < 2 * n; i++)
                twice[i] = counts[i / 2];
        for (size_t i = 0; i < n; i++)
                assert_int_equal(kc_window_tally_add_equal(tally, counts[i], 2, NULL), KC_OK);
        check_summary(tally, twice, 2 * n);
        check_quartiles(tally, twice, 2 * n);
        kc_window_tally_clear(tally);
        for (size_t i = 0; i < n; i++)
                assert_int_equal(kc_window_tally_add_equal(tally, counts[i], 1, NULL), KC_OK);
        check_summary(tally, counts, n);
        kc_window_tally_free(tally);
        free(twice);
        free(tally);
}

/* Added at once, and joined from parts that are used again. */
static void check_tallies(uint32_t *counts, size_t n)
{
        struct kc_window_tally *whole = calloc(1, sizeof *whole),
                               *joined = calloc(1, sizeof *joined), *part = calloc(1, sizeof *part);
        assert_true(whole && joined && part);
        check_equal_ones(counts, n);
        assert_int_equal(kc_window_tally_add(whole, counts, n, NULL), KC_OK);
        for (size_t i = 0; i < NPARTS; i++) {
                const size_t begin = n * i / NPARTS, end = n * (i + 1) / NPARTS;
                kc_window_tally_clear(part);
                assert_int_equal(kc_window_tally_add(part, counts + begin, end - begin, NULL),
                                 KC_OK);
                assert_int_equal(kc_window_tally_join(joined, part, NULL), KC_OK);
        }
        assert_int_equal(joined->n, n);
        check_quartiles(whole, counts, n);
        check_quartiles(joined, counts, n);
        check_list(joined, counts, n);
        kc_window_tally_free(part);
        kc_window_tally_free(joined);
        kc_window_tally_free(whole);
        free(part);
        free(joined);
        free(whole);
}

static void test_quartiles(void **state)
{
        (void)state;
        static const uint64_t limits[] = {
                1, 2, 40, KC_WINDOW_TALLY_NSMALL, KC_WINDOW_TALLY_NSMALL + 30, 100000, 0
        };
        static uint32_t counts[MOST];
        uint64_t seed = 1;
        for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
                for (size_t n = 1; n <= MOST; n = n < 12 ? n + 1 : 3 * n) {
                        fill(counts, n, limits[i], &seed);
                        check_tallies(counts, n);
                }
}

/* A few large counts that alternate do not take an entry each time. */
static void test_memory(void **state)
{
        (void)state;
        static const uint32_t counts[] = { 5000, UINT32_MAX, KC_WINDOW_TALLY_NSMALL };
        struct kc_window_tally *tally = calloc(1, sizeof *tally);
        assert_non_null(tally);
        for (int i = 0; i < 100000; i++)
                assert_int_equal(kc_window_tally_add(tally, counts, 3, NULL), KC_OK);
        assert_true(tally->capacity <= 1024);
        kc_window_tally_free(tally);
        free(tally);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_quartiles),
                                            cmocka_unit_test(test_memory) };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
