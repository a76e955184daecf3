/* Joint histograms of include/kcount.h, compared with plain lists of k-mers and counts. */
#include "library_support.h"

#include "tests/sampling.h"

static int compare_cells(const void *a, const void *b)
{
        const struct kcount_cell *x = a, *y = b;
        if (x->count_a != y->count_a)
                return x->count_a < y->count_a ? -1 : 1;
        return (x->count_b > y->count_b) - (x->count_b < y->count_b);
}

static uint64_t limited(uint64_t count, uint32_t max)
{
        return max > 0 && count > max ? (uint64_t)max + 1 : count;
}

/* Sort a cell for each k-mer, and add up those with the same counts. */
static size_t model_cells(const struct pair_set *a, const struct pair_set *b,
                          const struct kcount_joint_options *o, struct kcount_cell **cells)
{
        struct pair_set all = all_kmers((struct pair_set[]){ *a, *b }, 2);
        struct kcount_cell *c = malloc((all.n + 1) * sizeof *c);
        size_t n = 0, ncells = 0;
        for (size_t i = 0; i < all.n; i++) {
                const uint64_t *kmer = all.kmers + i * all.nw;
                c[n++] = (struct kcount_cell){ limited(count_in(a, kmer), o->max_a),
                                               limited(count_in(b, kmer), o->max_b), 1 };
        }
        qsort(c, n, sizeof *c, compare_cells);
        for (size_t i = 0; i < n; i++)
                if (ncells > 0 && compare_cells(&c[ncells - 1], &c[i]) == 0)
                        c[ncells - 1].number++;
                else
                        c[ncells++] = c[i];
        free_set(&all);
        *cells = c;
        return ncells;
}

static void check_joint(struct kcount_counts *a, struct kcount_counts *b, const struct pair_set *s,
                        const struct pair_set *t)
{
        static const uint32_t limits[][2] = { { 0, 0 }, { 1, 1 }, { 5, 0 }, { 300, 1000 } };
        for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
                struct kcount_joint_options options = KCOUNT_JOINT_OPTIONS_INIT;
                struct kcount_cell *cells, *expected;
                size_t ncells;
                options.max_a = limits[i][0];
                options.max_b = limits[i][1];
                options.nthreads = 1 + (int)i;
                assert_done(kcount_joint_histogram, a, b, &options, &cells, &ncells);
                assert_int_equal(ncells, model_cells(s, t, &options, &expected));
                assert_memory_equal(cells, expected, ncells * sizeof *cells);
                kcount_free(cells);
                free(expected);
        }
}

static void check_files(int k, size_t n, uint64_t seed)
{
        struct pair_set models[MAX_FILES];
        struct kc_store *stores[MAX_FILES];
        struct kcount_counts *counts[MAX_FILES];
        write_files(models, stores, k, n, seed);
        for (size_t i = 0; i < MAX_FILES; i++)
                counts[i] = open_counts(file_paths[i]);
        for (size_t i = 0; i < MAX_FILES; i++)
                for (size_t j = 0; j < MAX_FILES; j++)
                        check_joint(counts[i], counts[j], &models[i], &models[j]);
        for (size_t i = 0; i < MAX_FILES; i++)
                kcount_close(counts[i]);
        close_files(models, stores);
}

static void test_joint(void **state)
{
        (void)state;
        static const size_t sizes[] = { 0, 1, 3000 };
        static const int some_ks[] = { 4, 31, 33, 127 };
        for (size_t ik = 0; ik < sizeof some_ks / sizeof *some_ks; ik++)
                for (size_t in = 0; in < sizeof sizes / sizeof *sizes; in++)
                        if (is_sampled())
                                check_files(some_ks[ik], sizes[in], 100 * ik + in);
}

/* ---- by GC content ---- */

static int compare_gc(const void *a, const void *b)
{
        const struct kcount_gc_cell *x = a, *y = b;
        if (x->gc != y->gc)
                return x->gc < y->gc ? -1 : 1;
        return (x->count > y->count) - (x->count < y->count);
}

static size_t model_gc(const struct pair_set *s, uint32_t max, struct kcount_gc_cell **cells)
{
        struct kcount_gc_cell *c = malloc((s->n + 1) * sizeof *c);
        size_t ncells = 0;
        for (size_t i = 0; i < s->n; i++) {
                uint32_t gc = 0;
                for (int base = 0; base < s->k; base++) {
                        const uint64_t word = s->kmers[i * s->nw + (size_t)base / 32];
                        const unsigned code = word >> 2 * (base % 32) & 3;
                        gc += code == 1 || code == 2;
                }
                c[i] = (struct kcount_gc_cell){ gc, (uint32_t)limited(s->counts[i], max), 1,
                                                s->counts[i] };
        }
        qsort(c, s->n, sizeof *c, compare_gc);
        for (size_t i = 0; i < s->n; i++)
                if (ncells > 0 && compare_gc(&c[ncells - 1], &c[i]) == 0) {
                        c[ncells - 1].number++;
                        c[ncells - 1].total += c[i].total;
                } else {
                        c[ncells++] = c[i];
                }
        *cells = c;
        return ncells;
}

static void check_gc(int k, size_t n, uint64_t seed)
{
        static const uint32_t limits[] = { 0, 1, 300 };
        struct pair_set s = make_set(k, false, n, seed);
        struct kcount_gc_cell *cells = NULL, *expected;
        size_t ncells = 77;
        struct kcount_error *error = NULL;
        write_set(&s, "s.kc", 2, 700, seed);
        struct kcount_counts *counts = open_counts("s.kc");
        struct kcount_gc_options options = KCOUNT_GC_OPTIONS_INIT;
        for (int i = 0; i < 3; i++) {
                options.max_count = limits[i];
                options.nthreads = 1 + i;
                assert_done(kcount_gc_histogram, counts, &options, &cells, &ncells);
                assert_int_equal(ncells, model_gc(&s, limits[i], &expected));
                assert_memory_equal(cells, expected, ncells * sizeof *cells);
                kcount_free(cells);
                free(expected);
        }
        options.size = 1;
        assert_int_equal(kcount_gc_histogram(counts, &options, &cells, &ncells, &error),
                         KCOUNT_EUSAGE);
        kcount_error_free(error);
        kcount_close(counts);
        unlink("s.kc");
        free_set(&s);
}

static void test_gc(void **state)
{
        (void)state;
        check_gc(4, 100, 1);
        check_gc(31, 3000, 2);
        check_gc(127, 3000, 3);
        check_gc(31, 0, 4);
}

/* ---- failures ---- */

static void expect_refusal(struct kcount_counts *a, struct kcount_counts *b,
                           const struct kcount_joint_options *options, enum kcount_status status,
                           const char *message)
{
        struct kcount_cell *cells = (void *)&status;
        size_t ncells = 77;
        struct kcount_error *error = NULL;
        assert_int_equal(kcount_joint_histogram(a, b, options, &cells, &ncells, &error), status);
        assert_ptr_equal(cells, &status);
        assert_int_equal(ncells, 77);
        assert_error(error, status, message, "", "");
}

static bool refuse(void *ctx, const char *stage, uint64_t done, uint64_t total)
{
        (void)ctx;
        assert_string_equal(stage, "merging");
        assert_true(total == 0 || done <= total);
        return false;
}

static void test_refusals(void **state)
{
        (void)state;
        struct pair_set a = make_set(31, false, 300000, 1), b = make_set(33, false, 100, 1);
        struct kcount_joint_options o = KCOUNT_JOINT_OPTIONS_INIT;
        write_set(&a, "a.kc", 2, 50000, 3);
        write_set(&b, "b.kc", 2, 700, 3);
        struct kcount_counts *first = open_counts("a.kc"), *other = open_counts("b.kc");
        expect_refusal(first, other, NULL, KCOUNT_EUSAGE, "b.kc has k = 33");
        o.nthreads = -1;
        expect_refusal(first, first, &o, KCOUNT_EUSAGE, "nthreads");
        o.nthreads = 0;
        o.progress = refuse;
        expect_refusal(first, first, &o, KCOUNT_ECANCELED, "");
        o.size = 0;
        expect_refusal(first, first, &o, KCOUNT_EUSAGE, "KCOUNT_JOINT_OPTIONS_INIT");
        kcount_close(first);
        kcount_close(other);
        unlink("a.kc");
        unlink("b.kc");
        free_set(&a);
        free_set(&b);
}

/* The histogram of a file that has several runs. */
static void expect_no_rows(struct kcount_counts *counts,
                           const struct kcount_histogram_options *options,
                           enum kcount_status status, const char *message)
{
        struct kcount_row *rows = (void *)&status;
        size_t nrows = 77;
        struct kcount_error *error = NULL;
        assert_int_equal(kcount_histogram(counts, options, &rows, &nrows, &error), status);
        assert_ptr_equal(rows, &status);
        assert_int_equal(nrows, 77);
        assert_error(error, status, message, "", "");
}

/* ctx: how often it was called. */
static bool accept(void *ctx, const char *stage, uint64_t done, uint64_t total)
{
        int *ncalls = ctx;
        (*ncalls)++;
        assert_string_equal(stage, "merging");
        assert_true(total == 0 || done <= total);
        return true;
}

static void test_histogram_options(void **state)
{
        (void)state;
        struct pair_set s = make_set(31, false, 300000, 1), r = relative(&s, 300000, 2);
        struct kcount_histogram_options o = KCOUNT_HISTOGRAM_OPTIONS_INIT;
        struct kcount_row *rows;
        size_t nrows;
        int ncalls = 0;
        write_set(&s, "s.kc", 2, 50000, 3);
        append_set("s.kc", &r, false, 4);
        struct kcount_counts *counts = open_counts("s.kc");
        o.progress = accept;
        o.progress_ctx = &ncalls;
        assert_done(kcount_histogram, counts, &o, &rows, &nrows);
        assert_true(ncalls > 0 && nrows > 0);
        kcount_free(rows);
        o.progress = refuse;
        expect_no_rows(counts, &o, KCOUNT_ECANCELED, "");
        o.nthreads = -1;
        expect_no_rows(counts, &o, KCOUNT_EUSAGE, "nthreads");
        o.size = 0;
        expect_no_rows(counts, &o, KCOUNT_EUSAGE, "KCOUNT_HISTOGRAM_OPTIONS_INIT");
        kcount_close(counts);
        unlink("s.kc");
        free_set(&s);
        free_set(&r);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_joint),
                cmocka_unit_test(test_histogram_options),
                cmocka_unit_test(test_gc),
                cmocka_unit_test(test_refusals),
        };
        return cmocka_run_group_tests(tests, enter_memory, leave_folder);
}
