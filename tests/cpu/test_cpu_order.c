/* kc_cpu_order, compared with sorting all pairs and adding up the counts of neighbours. */
#include "tests/cpu/cpu_support.h"
#include "tests/random.h"

/* Pairs in any order, as a source for several threads. */
struct unsorted {
        int k, nwords;
        uint64_t *kmers;
        uint32_t *counts;
        size_t n;
        atomic_size_t next;
        size_t fail_at;        /* the pair whose reading fails */
        struct kc_job *cancel; /* to be canceled after the first batch; or NULL */
};

static void take_some(struct unsorted *u, size_t n)
{
        u->n = n;
        u->nwords = kc_kmer_nwords(u->k);
        u->kmers = calloc(n + 1, (size_t)u->nwords * sizeof *u->kmers);
        u->counts = calloc(n + 1, sizeof *u->counts);
        u->fail_at = SIZE_MAX;
}

static uint64_t *kmer_at(const struct unsorted *u, size_t i)
{
        return u->kmers + i * (size_t)u->nwords;
}

/* n pairs of about ndistinct different k-mers. */
static void draw(struct unsorted *u, size_t n, size_t ndistinct)
{
        static const uint32_t counts[] = { 1, 1, 1, 2, 254, 255, 256, 70000, UINT32_MAX };
        take_some(u, n);
        for (size_t i = 0; i < n; i++) {
                uint64_t state = (uint64_t)rand() % ndistinct;
                for (int w = 0; w < u->nwords; w++)
                        kmer_at(u, i)[w] = next_random(&state);
                kmer_at(u, i)[u->nwords - 1] &= kc_kmer_top_mask(u->k);
                u->counts[i] = counts[(size_t)rand() % (sizeof counts / sizeof *counts)];
        }
}

static void drop(struct unsorted *u)
{
        free(u->kmers);
        free(u->counts);
}

static enum kc_status next_pairs(void *ctx, int worker, struct kc_pair_batch *batch,
                                 struct kc_error *err)
{
        struct unsorted *u = ctx;
        const size_t wanted = batch->cap - 7 * (size_t)worker; /* batches need not be full */
        const size_t first = atomic_fetch_add(&u->next, wanted);
        const size_t left = first < u->n ? u->n - first : 0;
        batch->n = left < wanted ? left : wanted;
        if (u->fail_at >= first && u->fail_at < first + batch->n)
                return kc_fail(err, KC_EINPUT, "no pair %zu", u->fail_at);
        memcpy(batch->kmers, kmer_at(u, first < u->n ? first : u->n),
               batch->n * (size_t)u->nwords * sizeof *batch->kmers);
        memcpy(batch->counts, u->counts + (first < u->n ? first : u->n),
               batch->n * sizeof *batch->counts);
        if (u->cancel != NULL)
                atomic_store(&u->cancel->cancel, true);
        return KC_OK;
}

/* ---- the reference ---- */

struct wanted {
        struct pairs pairs;
        struct kc_run_dropped dropped;
        uint64_t sum, ndistinct, nsaturated;
};

/* nwords: int */
static int in_order(const void *a, const void *b, void *nwords)
{
        return kc_kmer_compare(*(uint64_t *const *)a, *(uint64_t *const *)b, *(int *)nwords);
}

/* Sort all pairs, add up those of each k-mer in 64 bits, and filter. */
static void sort_and_sum(const struct unsorted *u, const struct kc_run_filter *filter,
                         struct wanted *w)
{
        const size_t kmer_nbytes = (size_t)u->nwords * sizeof *u->kmers;
        uint64_t **order = malloc((u->n + 1) * sizeof *order);
        *w = (struct wanted){ .pairs.kmers = malloc((u->n + 1) * kmer_nbytes),
                              .pairs.counts = malloc((u->n + 1) * sizeof *u->counts) };
        for (size_t i = 0; i < u->n; i++)
                order[i] = kmer_at(u, i);
        int nwords = u->nwords;
        qsort_r(order, u->n, sizeof *order, in_order, &nwords);
        for (size_t i = 0, j; i < u->n; i = j) {
                uint64_t sum = 0;
                for (j = i; j < u->n && memcmp(order[i], order[j], kmer_nbytes) == 0; j++)
                        sum += u->counts[(size_t)(order[j] - u->kmers) / (size_t)u->nwords];
                const uint32_t count = sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX;
                w->sum += sum;
                w->nsaturated += sum - count;
                w->ndistinct++;
                if (count < filter->min_count || count > filter->max_count) {
                        w->dropped.ndistinct++;
                        w->dropped.nkmers += count;
                        continue;
                }
                memcpy(w->pairs.kmers + w->pairs.n * (size_t)u->nwords, order[i], kmer_nbytes);
                w->pairs.counts[w->pairs.n++] = count;
        }
        free(order);
}

static void compare_runs(const struct run *run, const struct wanted *w)
{
        struct pairs all = run_join(run);
        assert_int_equal(all.n, w->pairs.n);
        assert_memory_equal(all.kmers, w->pairs.kmers,
                            all.n * (size_t)run->nwords * sizeof *all.kmers);
        assert_memory_equal(all.counts, w->pairs.counts, all.n * sizeof *all.counts);
        pairs_free(&all);
}

/* ---- */

static enum kc_status order(struct unsorted *u, struct run *run, int nthreads, uint64_t memory,
                            uint64_t expected, struct kc_count_totals *totals, uint64_t *npairs,
                            struct kc_error *err)
{
        const struct kc_count_params params = {
                .k = u->k, .nthreads = nthreads, .memory_nbytes = memory, .tmp_dir = "/tmp"
        };
        const struct kc_pair_source source = { .ctx = u,
                                               .next = next_pairs,
                                               .expected_npairs = expected };
        struct kc_job job = { 0 };
        run->nwords = u->nwords;
        u->cancel = u->cancel != NULL ? &job : NULL;
        const struct kc_run_sink sink = run_sink(run);
        atomic_store(&u->next, 0);
        return kc_cpu_order(&params, &source, &sink, &job, totals, npairs, err);
}

/* Order the pairs and compare. Returns the bytes spilled. */
static uint64_t check_order(struct unsorted *u, int nthreads, uint64_t memory, uint64_t expected,
                            const struct kc_run_filter *filter)
{
        const struct kc_run_filter all = { 1, UINT32_MAX };
        struct run run = { .fail_at = -1, .filter = filter != NULL ? *filter : all };
        struct kc_count_totals totals;
        struct kc_error err = { 0 };
        struct wanted wanted;
        uint64_t npairs;
        const enum kc_status status =
                order(u, &run, nthreads, memory, expected, &totals, &npairs, &err);
        assert_string_equal(err.message, "");
        assert_int_equal(status, KC_OK);
        sort_and_sum(u, &run.filter, &wanted);
        compare_runs(&run, &wanted);
        assert_int_equal(npairs, u->n);
        assert_int_equal(totals.nkmers, wanted.sum);
        assert_int_equal(totals.ndistinct, wanted.ndistinct);
        assert_int_equal(totals.nsaturated, wanted.nsaturated);
        assert_int_equal(run.dropped.ndistinct, wanted.dropped.ndistinct);
        assert_int_equal(run.dropped.nkmers, wanted.dropped.nkmers);
        pairs_free(&wanted.pairs);
        run_free(&run);
        return totals.spilled_nbytes;
}

static void all_widths_agree_with_sorting(void **state)
{
        (void)state;
        static const int all_k[] = { 1,  2,  3,  4,  7,  8,   15,  16,  21,  31,  32,
                                     33, 55, 63, 64, 65, 101, 127, 128, 129, 200, 255 };
        for (size_t i = 0; i < sizeof all_k / sizeof *all_k; i++) {
                struct unsorted u = { .k = all_k[i] };
                draw(&u, 20000, i % 3 == 0 ? 6000 : i % 3 == 1 ? 30 : 1000000);
                check_order(&u, 1 + (int)i % 3, i % 2 ? 64 << 20 : 1 << 20, i % 4 ? u.n : 0, NULL);
                drop(&u);
        }
}

static void the_filter_sees_sums(void **state)
{
        (void)state;
        const struct kc_run_filter filters[] = { { 2, UINT32_MAX }, { 1, 300 }, { 255, 70000 } };
        struct unsorted u = { .k = 31 };
        draw(&u, 30000, 15000);
        for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
                check_order(&u, 2, 8 << 20, u.n, &filters[i]);
        drop(&u);
}

static void little_memory_spills_and_agrees(void **state)
{
        (void)state;
        for (int k = 31; k <= 65; k += 34) {
                struct unsorted u = { .k = k };
                draw(&u, 400000, 300000);
                assert_true(check_order(&u, 2, 1 << 20, u.n, NULL) > 0);
                drop(&u);
        }
}

/* The expected number of pairs only determines how many lists there are. */
static void a_wrong_guess_does_no_harm(void **state)
{
        (void)state;
        struct unsorted u = { .k = 21 };
        draw(&u, 50000, 40000);
        check_order(&u, 3, 1 << 20, 1, NULL);
        check_order(&u, 3, 1 << 20, UINT64_C(1) << 40, NULL);
        drop(&u);
}

/* Far more pairs of one k-mer than a thread's share of memory holds, among others. */
static void a_crowd_of_one_kmer_is_summed(void **state)
{
        (void)state;
        for (int k = 3; k <= 200; k += k == 3 ? 28 : 169) {
                const struct kc_run_filter low = { 1, 1000 };
                struct unsorted u = { .k = k };
                draw(&u, 60000, 1000);
                for (size_t i = 0; i < u.n; i++)
                        if (i % 50 != 0) {
                                memset(kmer_at(&u, i), 0, (size_t)u.nwords * sizeof *u.kmers);
                                kmer_at(&u, i)[0] = 5 + i % 2;
                        }
                check_order(&u, 1, 1 << 20, u.n, NULL);
                check_order(&u, 2, 1 << 20, u.n, &low);
                for (size_t i = 0; i < u.n; i++)
                        u.counts[i] = 1;
                check_order(&u, 1, 1 << 20, u.n, NULL);
                drop(&u);
        }
}

static void nothing_gives_an_empty_run(void **state)
{
        (void)state;
        for (int nthreads = 1; nthreads <= 3; nthreads++) {
                struct unsorted u = { .k = 31 };
                draw(&u, 0, 1);
                check_order(&u, nthreads, 1 << 20, 0, NULL);
                drop(&u);
        }
}

static void failures_come_back(void **state)
{
        (void)state;
        struct kc_count_totals totals;
        struct kc_job any = { 0 };
        uint64_t npairs;
        struct unsorted u = { .k = 31 };
        draw(&u, 60000, 50000);
        for (int what = 0; what < 4; what++) {
                static const enum kc_status expected[] = { KC_EINPUT, KC_EIO, KC_ECANCELED,
                                                           KC_EUSAGE };
                struct run run = { .fail_at = what == 1 ? 3 : -1 };
                struct kc_error err = { 0 };
                u.fail_at = what == 0 ? 40000 : SIZE_MAX;
                u.cancel = what == 2 ? &any : NULL;
                u.k = what == 3 ? 256 : 31;
                assert_int_equal(order(&u, &run, 2, 1 << 20, u.n, &totals, &npairs, &err),
                                 expected[what]);
                assert_string_not_equal(err.message, "");
                run_free(&run);
        }
        drop(&u);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(all_widths_agree_with_sorting),
                cmocka_unit_test(the_filter_sees_sums),
                cmocka_unit_test(little_memory_spills_and_agrees),
                cmocka_unit_test(a_wrong_guess_does_no_harm),
                cmocka_unit_test(a_crowd_of_one_kmer_is_summed),
                cmocka_unit_test(nothing_gives_an_empty_run),
                cmocka_unit_test(failures_come_back),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
