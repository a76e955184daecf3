/*
 * The store as a whole: every way of reading returns what was written, and the file's bytes depend
 * on nothing but the pairs.
 */
#include "store_reading.h"

#include "tests/sampling.h"

static const int ks[] = { 1, 2, 16, 31, 32, 33, 63, 64, 65, 128, 255 };
#define NKS (sizeof ks / sizeof *ks)

/* ---- reference: one merged set ---- */

static struct pair_set merge_sets(const struct pair_set *a, const struct pair_set *b)
{
        struct pair_set m = { .k = a->k, .stranded = a->stranded, .nw = a->nw };
        m.kmers = malloc((a->n + b->n + 1) * m.nw * sizeof *m.kmers);
        m.counts = malloc((a->n + b->n + 1) * sizeof *m.counts);
        assert_true(m.kmers != NULL && m.counts != NULL);
        for (size_t i = 0, j = 0; i < a->n || j < b->n;) {
                int order = i == a->n   ? 1
                            : j == b->n ? -1
                                        : kc_kmer_compare(a->kmers + i * m.nw, b->kmers + j * m.nw,
                                                          (int)m.nw);
                uint64_t count = 0;
                const uint64_t *kmer = order <= 0 ? a->kmers + i * m.nw : b->kmers + j * m.nw;
                if (order <= 0)
                        count += a->counts[i++];
                if (order >= 0)
                        count += b->counts[j++];
                memcpy(m.kmers + m.n * m.nw, kmer, m.nw * sizeof *kmer);
                m.counts[m.n++] = count > UINT32_MAX ? UINT32_MAX : (uint32_t)count;
        }
        return m;
}

/* ---- tests ---- */

static void test_sizes(void **state)
{
        (void)state;
        static const size_t sizes[] = { 0, 1, 1023, 1024, 1025, 5000 };
        for (size_t ik = 0; ik < NKS; ik += THREAD_STRIDE)
                for (size_t in = 0; in < sizeof sizes / sizeof *sizes; in++) {
                        struct pair_set s = make_set(ks[ik], in % 2, sizes[in], ik + 100 * in);
                        write_set(&s, "s.kc", 2, 700, in);
                        check_all("s.kc", &s);
                        free_set(&s);
                }
        unlink("s.kc");
}

/* Several index pages. */
static void test_pages(void **state)
{
        (void)state;
        struct pair_set s = make_set(31, false, FEW_CASES ? 300000 : 600000, 5);
        write_set(&s, "s.kc", 2, 50000, 5);
        struct kc_error err = { 0 };
        struct kc_store *store = NULL;
        assert_ok(kc_store_open(&store, "s.kc", &err), err);
        assert_ok(kc_store_check(store, 2, NULL, &err), err);
        check_walk(store, &s, NULL, NULL);
        for (size_t i = 0; i + 1 < s.n; i += s.n / 10)
                check_walk(store, &s, s.kmers + i, s.kmers + s.n - 1 - i / 2);
        check_lookups(store, &s);
        check_split(store, &s, 8);
        kc_store_close(store);
        free_set(&s);
        unlink("s.kc");
}

static enum kc_status look_up(struct kc_store *store, const uint64_t *kmer, struct kc_error *err)
{
        enum kc_status status;
        struct kc_lookup *lookup = NULL;
        uint32_t count;
        KC_TRY(kc_lookup_open(&lookup, store, err));
        KC_TRY(kc_lookup_count(lookup, kmer, &count, err));
out:
        kc_lookup_close(lookup);
        return status;
}

/* A detached store reads the same, but not another file that has taken its name. */
static void test_detached(void **state)
{
        (void)state;
        struct pair_set s = make_set(31, false, 5000, 5);
        struct kc_error err = { 0 };
        struct kc_store *store = NULL;
        write_set(&s, "s.kc", 1, 5000, 5);
        assert_ok(kc_store_open(&store, "s.kc", &err), err);
        kc_store_detach(store);
        check_walk(store, &s, NULL, NULL);
        check_lookups(store, &s);
        check_split(store, &s, 8);
        assert_int_equal(rename("s.kc", "was.kc"), 0);
        assert_int_equal(look_up(store, s.kmers, &err), KC_EIO);
        assert_non_null(strstr(err.message, "cannot open s.kc again: No such file"));
        write_set(&s, "s.kc", 1, 5000, 5);
        err = (struct kc_error){ 0 };
        assert_int_equal(look_up(store, s.kmers, &err), KC_EIO);
        assert_non_null(strstr(err.message, "s.kc was replaced by another file"));
        assert_int_equal(rename("was.kc", "s.kc"), 0);
        check_walk(store, &s, NULL, NULL);
        kc_store_close(store);
        free_set(&s);
        unlink("s.kc");
}

/* A file without a name reads the same. */
static void test_nameless(void **state)
{
        (void)state;
        struct pair_set s = make_set(33, false, 5000, 5);
        const struct kc_store_options options = { .k = s.k };
        const struct kc_store_origin origin = make_origin(sum_of_counts(&s));
        struct kc_error err = { 0 };
        struct kc_store_writer *w = NULL;
        struct kc_store *store = NULL;
        assert_ok(kc_store_create(&w, "s.kc", &options, &err), err);
        assert_ok(feed_set(&s, kc_store_sink(w), 2, 900, 1, &err), err);
        assert_ok(kc_store_commit_nameless(w, &origin, &store, NULL, &err), err);
        assert_int_equal(access("s.kc", F_OK), -1);
        assert_ok(kc_store_check(store, 2, NULL, &err), err);
        check_walk(store, &s, NULL, NULL);
        check_lookups(store, &s);
        check_split(store, &s, 8);
        kc_store_close(store);
        /* what does not add up is refused, and nothing stays */
        const struct kc_store_origin wrong = make_origin(sum_of_counts(&s) + 1);
        assert_ok(kc_store_create(&w, "s.kc", &options, &err), err);
        assert_ok(feed_set(&s, kc_store_sink(w), 2, 900, 1, &err), err);
        assert_int_equal(kc_store_commit_nameless(w, &wrong, &store, NULL, &err), KC_ECORRUPT);
        assert_int_equal(access("s.kc", F_OK), -1);
        free_set(&s);
}

static void test_info(void **state)
{
        (void)state;
        struct pair_set s = make_set(21, true, 3000, 9);
        write_set(&s, "s.kc", 1, 500, 1);
        struct kc_error err = { 0 };
        struct kc_store *store = NULL;
        struct kc_store_info info;
        assert_ok(kc_store_open(&store, "s.kc", &err), err);
        kc_store_get_info(store, &info);
        uint64_t nunique = 0, most = 0;
        for (size_t i = 0; i < s.n; i++) {
                nunique += s.counts[i] == 1;
                most = s.counts[i] > most ? s.counts[i] : most;
        }
        assert_int_equal(info.version, 1);
        assert_int_equal(info.k, 21);
        assert_true(info.stranded);
        assert_int_equal(info.nruns, 1);
        assert_int_equal(info.ndistinct, s.n);
        assert_int_equal(info.nunique, nunique);
        assert_int_equal(info.max_count, most);
        assert_int_equal(info.sum, sum_of_counts(&s));
        assert_int_equal(info.nkmers, info.sum);
        assert_int_equal(info.min_count, 1);
        assert_int_equal(info.max_count_kept, UINT32_MAX);
        assert_int_equal(info.nreads, 11);
        assert_int_equal(info.nbases, 22);
        assert_int_equal(info.nskipped, 33);
        assert_int_equal(info.nlow_quality, 44);
        assert_int_equal(info.nnames, 3);
        for (size_t i = 0; i < 3; i++)
                assert_string_equal(info.names[i], input_names[i]);
        kc_store_close(store);
        free_set(&s);
        unlink("s.kc");
}

/* Parts, calls and threads do not affect the bytes. */
static void test_bytes(void **state)
{
        (void)state;
        static const size_t mean_parts[] = { 1, 100, 1024, 3000, 60000 };
        static const int some_ks[] = { 15, 31, 55 };
        for (size_t ik = 0; ik < 3; ik += THREAD_STRIDE) {
                struct pair_set s = make_set(some_ks[ik], false, 30000, ik);
                write_set(&s, "a.kc", 1, 30000, 0);
                for (size_t i = 0; i < 5; i++)
                        for (int nthreads = 1; nthreads <= 7; nthreads += 3) {
                                write_set(&s, "b.kc", nthreads, mean_parts[i], i + 1);
                                assert_same_files("a.kc", "b.kc");
                        }
                free_set(&s);
        }
        unlink("a.kc");
        unlink("b.kc");
}

/* Runs merged on the fly, saturation included. */
static void test_runs(void **state)
{
        (void)state;
        static const int some_ks[] = { 5, 31, 64, 127 };
        for (size_t ik = 0; ik < 4; ik++) {
                struct pair_set a = make_set(some_ks[ik], false, 6000, 1 + ik);
                struct pair_set b = make_set(some_ks[ik], false, 9000, 50 + ik);
                for (size_t i = 0; i < a.n && i < b.n; i += 3) /* k-mers in common */
                        memcpy(b.kmers + i * b.nw, a.kmers + i * a.nw, a.nw * sizeof *a.kmers);
                qsort_r(b.kmers, b.n, b.nw * sizeof *b.kmers, compare_kmers, &b.nw);
                size_t n = 0;
                for (size_t i = 0; i < b.n; i++)
                        if (i == 0 || kc_kmer_compare(b.kmers + (n - 1) * b.nw, b.kmers + i * b.nw,
                                                      (int)b.nw) != 0)
                                memmove(b.kmers + n++ * b.nw, b.kmers + i * b.nw,
                                        b.nw * sizeof *b.kmers);
                b.n = n;
                struct pair_set ab = merge_sets(&a, &b), aab = merge_sets(&ab, &a);

                struct kc_error err = { 0 };
                struct kc_store_options options = { .k = a.k };
                struct kc_store_origin of_a = make_origin(sum_of_counts(&a));
                struct kc_store_origin of_b = make_origin(sum_of_counts(&b));
                struct kc_store_origin of_none = { .nkmers = 0 };
                struct kc_store_writer *w = NULL;
                assert_ok(kc_store_create(&w, "s.kc", &options, &err), err);
                assert_ok(feed_set(&a, kc_store_sink(w), 2, 900, 1, &err), err);
                assert_ok(kc_store_end_run(w, &of_a, &err), err);
                assert_ok(feed_set(&b, kc_store_sink(w), 2, 2000, 2, &err), err);
                assert_ok(kc_store_end_run(w, &of_b, &err), err);
                assert_ok(kc_store_end_run(w, &of_none, &err), err);
                assert_ok(feed_set(&a, kc_store_sink(w), 1, 5000, 3, &err), err);
                assert_ok(kc_store_commit(w, &of_a, NULL, &err), err);
                check_all("s.kc", &aab);

                struct kc_store *store = NULL;
                struct kc_store_info info;
                assert_ok(kc_store_open(&store, "s.kc", &err), err);
                kc_store_get_info(store, &info);
                assert_int_equal(info.nruns, 4);
                assert_int_equal(info.ndistinct, 2 * a.n + b.n);
                assert_int_equal(info.sum, 2 * sum_of_counts(&a) + sum_of_counts(&b));
                assert_int_equal(info.nnames, 9);
                kc_store_close(store);
                free_set(&a);
                free_set(&b);
                free_set(&ab);
                free_set(&aab);
                unlink("s.kc");
        }
}

static void test_filter(void **state)
{
        (void)state;
        struct pair_set s = make_set(31, false, 20000, 3), kept = make_set(31, false, 20000, 3);
        kept.n = 0;
        for (size_t i = 0; i < s.n; i++)
                if (s.counts[i] >= 3 && s.counts[i] <= 20) {
                        kept.kmers[kept.n] = s.kmers[i];
                        kept.counts[kept.n++] = s.counts[i];
                }
        struct kc_error err = { 0 };
        struct kc_store_options options = { .k = 31, .min_count = 3, .max_count = 20 };
        struct kc_store_origin origin = make_origin(sum_of_counts(&s));
        struct kc_store_writer *w = NULL;
        assert_ok(kc_store_create(&w, "s.kc", &options, &err), err);
        assert_ok(feed_set(&s, kc_store_sink(w), 3, 800, 1, &err), err);
        struct kc_store_written written;
        assert_ok(kc_store_commit(w, &origin, &written, &err), err);
        assert_int_equal(written.nunique, count_unique(&s));
        check_written(&written, "s.kc");
        check_all("s.kc", &kept);

        struct kc_store *store = NULL;
        struct kc_store_info info;
        assert_ok(kc_store_open(&store, "s.kc", &err), err);
        kc_store_get_info(store, &info);
        assert_int_equal(info.min_count, 3);
        assert_int_equal(info.max_count_kept, 20);
        assert_int_equal(info.ndropped_distinct, s.n - kept.n);
        assert_int_equal(info.ndropped_kmers, sum_of_counts(&s) - sum_of_counts(&kept));
        kc_store_close(store);
        free_set(&s);
        free_set(&kept);
        unlink("s.kc");
}

/* The engine filters; the writer refuses what its filter does not keep. */
static void test_unfiltered(void **state)
{
        (void)state;
        static const uint64_t kmers[] = { 4, 5 };
        static const uint32_t wrong[][2] = { { 2, 3 }, { 3, 2 }, { 20, 21 }, { 21, 20 }, { 3, 0 } };
        static const uint32_t right[2] = { 3, 20 };
        struct kc_store_options options = { .k = 31, .min_count = 3, .max_count = 20 };
        for (size_t i = 0; i <= sizeof wrong / sizeof *wrong; i++) {
                const bool is_wrong = i < sizeof wrong / sizeof *wrong;
                struct kc_error err = { 0 };
                struct kc_store_writer *w = NULL;
                assert_ok(kc_store_create(&w, "s.kc", &options, &err), err);
                struct kc_run_sink sink = kc_store_sink(w);
                assert_int_equal(sink.filter.min_count, 3);
                assert_int_equal(sink.filter.max_count, 20);
                assert_int_equal(put_part(&sink, 0, kmers, is_wrong ? wrong[i] : right, 2, &err),
                                 is_wrong ? KC_EUSAGE : KC_OK);
                kc_store_abort(w);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_sizes),      cmocka_unit_test(test_pages),
                cmocka_unit_test(test_info),       cmocka_unit_test(test_bytes),
                cmocka_unit_test(test_runs),       cmocka_unit_test(test_filter),
                cmocka_unit_test(test_unfiltered), cmocka_unit_test(test_detached),
                cmocka_unit_test(test_nameless),
        };
        return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
