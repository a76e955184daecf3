/*
 * The histogram of a run that is not stored: what its sink is given, in any form and by any thread,
 * is in the rows, and rows that do not add up to the engine's totals are refused.
 */
#include "io/histogram.h"

#include "base/parallel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/random.h"

enum { NCOUNTS = 3000, NTHREADS = 4, NCALLS = 50 };

struct fixture {
        struct kc_histogram *histogram;
        struct kc_run_sink sink;
        uint32_t counts[NCOUNTS];
        struct kc_error err;
};

static int set_up(void **state)
{
        struct fixture *f = calloc(1, sizeof *f);
        if (f == NULL || kc_histogram_new(&f->histogram, &f->err) != KC_OK)
                return -1;
        f->sink = kc_histogram_sink(f->histogram);
        *state = f;
        return 0;
}

static int tear_down(void **state)
{
        struct fixture *f = *state;
        kc_histogram_free(f->histogram);
        free(f);
        return 0;
}

/* Small and large counts, a third of them 0. */
static void fill(uint32_t *counts, size_t n)
{
        uint64_t seed = 7;
        for (size_t i = 0; i < n; i++) {
                const uint64_t r = next_random(&seed);
                counts[i] = i % 3 == 0 ? 0 : (uint32_t)(r >> (32 + r % 32));
        }
        counts[1] = UINT32_MAX;
        counts[2] = KC_RUN_NROWS;
        counts[4] = KC_RUN_NROWS - 1;
}

static int by_count(const void *a, const void *b)
{
        uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
        return (x > y) - (x < y);
}

/* The rows are those of these counts, each of them `times` times. */
static void check_rows(struct fixture *f, const uint32_t *counts, size_t n, uint64_t times)
{
        uint32_t *sorted = malloc((n + 1) * sizeof *sorted);
        struct kc_count_totals totals = { .nsaturated = 5, .nkmers = 5 };
        struct kc_histogram_row *rows = NULL;
        size_t nrows, row = 0;
        if (n > 0)
                memcpy(sorted, counts, n * sizeof *sorted);
        qsort(sorted, n, sizeof *sorted, by_count);
        for (size_t i = 0; i < n; i++) {
                totals.nkmers += sorted[i] * times;
                totals.ndistinct += sorted[i] ? times : 0;
        }
        assert_int_equal(kc_histogram_rows(f->histogram, &totals, &rows, &nrows, &f->err), KC_OK);
        for (size_t first = 0, at = 0; first < n; first = at) {
                while (at < n && sorted[at] == sorted[first])
                        at++;
                if (sorted[first] == 0)
                        continue;
                assert_true(row < nrows);
                assert_int_equal(rows[row].count, sorted[first]);
                assert_int_equal(rows[row].ndistinct, (at - first) * times);
                row++;
        }
        assert_int_equal(row, nrows);
        free(rows);
        free(sorted);
}

static enum kc_status give_counts(struct fixture *f, const uint32_t *counts, size_t n,
                                  struct kc_error *err)
{
        const struct kc_run_counts in = { .counts = counts, .n = n };
        return f->sink.put_counts(f->sink.ctx, &in, err);
}

static void nothing_has_no_rows(void **state)
{
        struct fixture *f = *state;
        assert_int_equal(give_counts(f, NULL, 0, &f->err), KC_OK);
        check_rows(f, NULL, 0, 1);
}

static enum kc_status give_many(void *ctx, int worker, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct fixture *f = ctx;
        for (int call = 0; call < NCALLS && status == KC_OK; call++) {
                const size_t cut = (size_t)(worker * 700 + call * 13) % NCOUNTS;
                status = give_counts(f, f->counts, cut, err);
                if (status == KC_OK)
                        status = give_counts(f, f->counts + cut, NCOUNTS - cut, err);
        }
        return status;
}

static void counts_of_all_threads_are_added(void **state)
{
        struct fixture *f = *state;
        fill(f->counts, NCOUNTS);
        assert_int_equal(kc_parallel(NTHREADS, give_many, NULL, f, &f->err), KC_OK);
        check_rows(f, f->counts, NCOUNTS, NTHREADS * NCALLS);
}

/* A third as counts, a third as rows with the large counts beside them, a third as pairs. */
static void all_forms_are_added(void **state)
{
        enum { THIRD = NCOUNTS / 3 };
        struct fixture *f = *state;
        uint64_t rows[KC_RUN_NROWS] = { 0 }, kmers[THIRD] = { 0 };
        uint32_t large[THIRD], kept[THIRD];
        struct kc_run_counts in = { .counts = large, .rows = rows };
        struct kc_run_pairs pairs = { .last = true, .kmers = kmers, .counts = kept };
        fill(f->counts, NCOUNTS);
        assert_int_equal(give_counts(f, f->counts, THIRD, &f->err), KC_OK);
        for (size_t i = THIRD; i < 2 * THIRD; i++)
                if (f->counts[i] < KC_RUN_NROWS)
                        rows[f->counts[i]]++;
                else
                        large[in.n++] = f->counts[i];
        for (size_t i = 2 * THIRD; i < NCOUNTS; i++)
                if (f->counts[i] != 0)
                        kept[pairs.n++] = f->counts[i];
        assert_true(rows[0] > 0 && in.n > 0);
        assert_int_equal(f->sink.put_counts(f->sink.ctx, &in, &f->err), KC_OK);
        assert_int_equal(f->sink.put(f->sink.ctx, &pairs, &f->err), KC_OK);
        check_rows(f, f->counts, NCOUNTS, 1);
}

static void refuse_totals(struct fixture *f, const struct kc_count_totals *totals,
                          const char *message)
{
        struct kc_histogram_row *rows = NULL;
        struct kc_error err = { 0 };
        size_t nrows;
        assert_int_equal(kc_histogram_rows(f->histogram, totals, &rows, &nrows, &err), KC_ECORRUPT);
        assert_non_null(strstr(err.message, message));
        assert_null(rows);
}

static void totals_must_agree(void **state)
{
        struct fixture *f = *state;
        const uint32_t counts[] = { 1, 7, 2 };
        assert_int_equal(give_counts(f, counts, 3, &f->err), KC_OK);
        struct kc_count_totals totals = { .nkmers = 10, .ndistinct = 4 };
        refuse_totals(f, &totals, "do not add up: 4 k-mers, but a sum of 3");
        totals = (struct kc_count_totals){ .nkmers = 11, .ndistinct = 3 };
        refuse_totals(f, &totals, "10 kept + 0 dropped + 0 saturated is not 11 k-mers");
        totals.nsaturated = 2;
        refuse_totals(f, &totals, "10 kept + 0 dropped + 2 saturated is not 11 k-mers");
        check_rows(f, counts, 3, 1);
}

static void a_canceled_sink_takes_nothing(void **state)
{
        struct fixture *f = *state;
        const uint32_t counts[] = { 1 };
        const uint64_t kmers[] = { 0 };
        const struct kc_run_pairs pairs = {
                .last = true, .n = 1, .kmers = kmers, .counts = counts
        };
        assert_int_equal(give_counts(f, counts, 1, &f->err), KC_OK);
        f->sink.cancel(f->sink.ctx);
        assert_int_equal(give_counts(f, counts, 1, &f->err), KC_ECANCELED);
        assert_int_equal(f->sink.put(f->sink.ctx, &pairs, &f->err), KC_ECANCELED);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(nothing_has_no_rows, set_up, tear_down),
                cmocka_unit_test_setup_teardown(counts_of_all_threads_are_added, set_up, tear_down),
                cmocka_unit_test_setup_teardown(all_forms_are_added, set_up, tear_down),
                cmocka_unit_test_setup_teardown(totals_must_agree, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_canceled_sink_takes_nothing, set_up, tear_down),
        };
        cmocka_set_test_filter(getenv("KC_TEST"));
        return cmocka_run_group_tests(tests, NULL, NULL);
}
