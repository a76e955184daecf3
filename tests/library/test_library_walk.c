/* Walks with several threads, compared with plain lists. */
#include "library_support.h"

struct walk {
        struct kcount_counts *counts;
        uint64_t *kmers; /* delivered; [n * nw] */
        uint32_t *found;
        size_t nw, n, most; /* most: gives up beyond so many */
};

/* A k-mer takes room for its words and its count. */
static char *convert(void *ctx, const uint64_t *kmers, const uint32_t *counts, size_t n, char *to)
{
        const struct walk *w = ctx;
        const size_t nbytes = w->nw * sizeof *kmers;
        for (size_t i = 0; i < n; i++) {
                memcpy(to, kmers + i * w->nw, nbytes);
                memcpy(to + nbytes, counts + i, sizeof *counts);
                to += nbytes + sizeof *counts;
        }
        return to;
}

static bool deliver(void *ctx, const char *data, size_t nbytes)
{
        struct walk *w = ctx;
        const size_t each = w->nw * sizeof *w->kmers;
        assert_int_equal(nbytes % (each + sizeof *w->found), 0);
        for (const char *end = data + nbytes; data < end; w->n++) {
                if (w->n == w->most)
                        return false;
                memcpy(w->kmers + w->n * w->nw, data, each);
                memcpy(w->found + w->n, data + each, sizeof *w->found);
                data += each + sizeof *w->found;
        }
        return true;
}

static struct walk walk_over(struct kcount_counts *counts, const struct pair_set *s)
{
        return (struct walk){
                counts, malloc((s->n + 1) * s->nw * 8), malloc((s->n + 1) * 4), s->nw, 0, s->n
        };
}

static void free_walk(struct walk *w)
{
        free(w->kmers);
        free(w->found);
}

static void check_range_walk(struct kcount_counts *counts, const struct pair_set *s,
                             const uint64_t *from, const uint64_t *to, int nthreads)
{
        const size_t at = from != NULL ? lower_bound(s, from, false) : 0;
        const size_t to_end = to != NULL ? lower_bound(s, to, true) : s->n;
        const size_t n = to_end > at ? to_end - at : 0;
        uint64_t first[KC_MAX_WORDS], last[KC_MAX_WORDS];
        uint64_t *expected = malloc((n + 1) * s->nw * sizeof *expected);
        struct kcount_walk_options options = KCOUNT_WALK_OPTIONS_INIT;
        struct walk w = walk_over(counts, s);
        if (from != NULL)
                turn(from, s->nw, 1, first);
        if (to != NULL)
                turn(to, s->nw, 1, last);
        options.from = from != NULL ? first : NULL;
        options.to = to != NULL ? last : NULL;
        options.nthreads = nthreads;
        assert_done(kcount_walk, counts, s->nw * 8 + 4, convert, deliver, &w, &options);
        turn(s->kmers + at * s->nw, s->nw, n, expected);
        assert_int_equal(w.n, n);
        assert_memory_equal(w.kmers, expected, n * s->nw * sizeof *expected);
        assert_memory_equal(w.found, s->counts + at, n * sizeof *w.found);
        free(expected);
        free_walk(&w);
}

static void check_walks(int k, size_t n, uint64_t seed)
{
        struct appended a;
        open_appended(&a, k, n, seed);
        for (int nthreads = 1; nthreads <= 4; nthreads += 3) {
                check_range_walk(a.counts, &a.s, NULL, NULL, nthreads);
                check_range_walk(a.counts, &a.s, a.from, NULL, nthreads);
                check_range_walk(a.counts, &a.s, NULL, a.to, nthreads);
                check_range_walk(a.counts, &a.s, a.from, a.to, nthreads);
        }
        close_appended(&a);
}

static void test_walks(void **state)
{
        (void)state;
        check_walks(21, 400000, 1);
        check_walks(33, 3000, 2);
        check_walks(255, 3000, 3);
        check_walks(31, 0, 4);
}

/* ---- failures ---- */

static void expect_refusal(struct walk *w, size_t nbytes, const struct kcount_walk_options *options,
                           enum kcount_status status, const char *message)
{
        struct kcount_error *error = NULL;
        assert_int_equal(kcount_walk(w->counts, nbytes, convert, deliver, w, options, &error),
                         status);
        assert_int_equal(kcount_error_status(error), status);
        if (strstr(kcount_error_message(error), message) == NULL)
                fail_msg("%s", kcount_error_message(error));
        kcount_error_free(error);
}

static bool refuse(void *ctx, const char *stage, uint64_t done, uint64_t total)
{
        (void)ctx;
        assert_string_equal(stage, "writing");
        assert_true(total == 0 || done <= total);
        return false;
}

static void test_refusals(void **state)
{
        (void)state;
        struct pair_set s = make_set(31, true, 300000, 1);
        struct kcount_walk_options o = KCOUNT_WALK_OPTIONS_INIT;
        write_set(&s, "s.kc", 2, 50000, 3);
        struct walk w = walk_over(open_counts("s.kc"), &s);
        expect_refusal(&w, 0, NULL, KCOUNT_EUSAGE, "nbytes is 0");
        expect_refusal(&w, 1 << 20, NULL, KCOUNT_EUSAGE, "nbytes is 1048576");
        o.nthreads = -1;
        expect_refusal(&w, 12, &o, KCOUNT_EUSAGE, "nthreads");
        o.nthreads = 0;
        o.size = 1;
        expect_refusal(&w, 12, &o, KCOUNT_EUSAGE, "KCOUNT_WALK_OPTIONS_INIT");
        assert_int_equal(w.n, 0);
        w.most = 1000;
        expect_refusal(&w, 12, NULL, KCOUNT_ECANCELED, "given up");
        assert_int_equal(w.n, 1000);
        o.size = sizeof o;
        o.progress = refuse;
        w.n = 0;
        w.most = s.n;
        expect_refusal(&w, 12, &o, KCOUNT_ECANCELED, "");
        kcount_close(w.counts);
        free_walk(&w);
        unlink("s.kc");
        free_set(&s);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_walks),
                cmocka_unit_test(test_refusals),
        };
        return cmocka_run_group_tests(tests, enter_memory, leave_folder);
}
