/*
 * For the tests of include/kcount.h that compare it with plain lists of k-mers and counts.
 */
#ifndef TESTS_LIBRARY_LIBRARY_SUPPORT_H
#define TESTS_LIBRARY_LIBRARY_SUPPORT_H

#include "tests/io/store/store_sets.h"

#include "include/kcount.h"

/* Call a function of the library without its last argument, the error, and expect no failure. */
#define assert_done(function, ...) \
        do { \
                struct kcount_error *failure = NULL; \
                if (function(__VA_ARGS__, &failure) != KCOUNT_OK) \
                        fail_msg("%s", kcount_error_message(failure)); \
        } while (0)

/* Copy n k-mers in the other order of words. */
static inline void turn(const uint64_t *from, size_t nw, size_t n, uint64_t *to)
{
        for (size_t i = 0; i < n; i++)
                for (size_t w = 0; w < nw; w++)
                        to[i * nw + w] = from[i * nw + nw - 1 - w];
}

static inline struct kcount_counts *open_counts(const char *path)
{
        struct kcount_counts *counts = NULL;
        assert_done(kcount_open, &counts, path);
        return counts;
}

/* A set in a file to which more was appended, and two k-mers, in its order of words. */
struct appended {
        struct pair_set s;
        struct kcount_counts *counts;
        uint64_t from[KC_MAX_WORDS], to[KC_MAX_WORDS];
};

static inline void open_appended(struct appended *a, int k, size_t n, uint64_t seed)
{
        struct pair_set more;
        uint64_t rng = seed;
        a->s = make_set(k, false, n, seed);
        more = relative(&a->s, 200, seed);
        write_set(&a->s, "s.kc", 2, 700, seed);
        append_set("s.kc", &more, false, seed);
        model_append(&a->s, &more, false);
        a->counts = open_counts("s.kc");
        random_kmer(&a->s, &rng, a->from);
        random_kmer(&a->s, &rng, a->to);
        free_set(&more);
}

static inline void close_appended(struct appended *a)
{
        kcount_close(a->counts);
        unlink("s.kc");
        free_set(&a->s);
}

/* The range [from, to], read with buffers for cap k-mers. Bounds have the set's order of words. */
static inline void check_range(struct kcount_counts *counts, const struct pair_set *s,
                               const uint64_t *from, const uint64_t *to, size_t cap)
{
        uint64_t first[KC_MAX_WORDS], last[KC_MAX_WORDS];
        uint64_t *kmers = malloc(cap * s->nw * sizeof *kmers), *expected = malloc(cap * s->nw * 8);
        uint32_t *found = malloc(cap * sizeof *found);
        size_t at = from != NULL ? lower_bound(s, from, false) : 0, n;
        size_t end = to != NULL ? lower_bound(s, to, true) : s->n;
        struct kcount_cursor *cursor = NULL;
        if (from != NULL)
                turn(from, s->nw, 1, first);
        if (to != NULL)
                turn(to, s->nw, 1, last);
        assert_done(kcount_cursor_open, &cursor, counts, from != NULL ? first : NULL,
                    to != NULL ? last : NULL);
        end = end > at ? end : at;
        for (;;) {
                assert_done(kcount_cursor_next, cursor, kmers, found, cap, &n);
                assert_int_equal(n, end - at < cap ? end - at : cap);
                turn(s->kmers + at * s->nw, s->nw, n, expected);
                assert_memory_equal(kmers, expected, n * s->nw * sizeof *kmers);
                assert_memory_equal(found, s->counts + at, n * sizeof *found);
                at += n;
                if (n == 0)
                        break;
        }
        assert_done(kcount_cursor_next, cursor, kmers, found, cap, &n);
        assert_int_equal(n, 0);
        kcount_cursor_close(cursor);
        free(kmers);
        free(expected);
        free(found);
}

static inline int compare_counts(const void *a, const void *b)
{
        const uint32_t *x = a, *y = b;
        return (*x > *y) - (*x < *y);
}

/* Quartile q of n sorted counts. */
static inline double quartile(const uint32_t *sorted, size_t n, size_t q)
{
        const double place = (double)(n - 1) * (double)q / 4;
        const size_t at = (size_t)place;
        return sorted[at] + (place - (double)at) * (at + 1 < n ? sorted[at + 1] - sorted[at] : 0.0);
}

/* The summary of the counts of n k-mers. */
static inline void expect_summary(const struct kcount_summary *s, const uint32_t *found,
                                  const bool *valid, size_t n, uint32_t min_count,
                                  uint32_t max_count)
{
        uint32_t *sorted = malloc((n + 1) * sizeof *sorted);
        uint64_t nkmers = 0, nfound = 0, total = 0;
        for (size_t i = 0; i < n; i++)
                if (valid[i]) {
                        sorted[nkmers++] = found[i];
                        nfound += found[i] >= min_count && found[i] <= max_count;
                        total += found[i];
                }
        qsort(sorted, nkmers, sizeof *sorted, compare_counts);
        assert_true(s->nkmers == nkmers && s->nfound == nfound && s->total == total);
        assert_int_equal(s->min, nkmers > 0 ? sorted[0] : 0);
        assert_int_equal(s->max, nkmers > 0 ? sorted[nkmers - 1] : 0);
        assert_true(s->first_quartile == (nkmers > 0 ? quartile(sorted, nkmers, 1) : 0));
        assert_true(s->median == (nkmers > 0 ? quartile(sorted, nkmers, 2) : 0));
        assert_true(s->third_quartile == (nkmers > 0 ? quartile(sorted, nkmers, 3) : 0));
        free(sorted);
}

static inline void assert_place(const struct kcount_error *error, enum kcount_unit unit,
                                uint64_t place)
{
        enum kcount_unit found = (enum kcount_unit)77;
        assert_int_equal(kcount_error_place(error, &found), place);
        assert_int_equal(found, unit);
        assert_int_equal(kcount_error_place(error, NULL), place);
}

static inline void assert_error(struct kcount_error *error, enum kcount_status status,
                                const char *message, const char *file, const char *advice)
{
        assert_non_null(error);
        assert_int_equal(kcount_error_status(error), status);
        assert_non_null(strstr(kcount_error_message(error), message));
        assert_string_equal(kcount_error_file(error), file);
        assert_string_equal(kcount_error_advice(error), advice);
        kcount_error_free(error);
}

#endif
