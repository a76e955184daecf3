/*
 * Files that grow, tombstones, and set operations, compared with lists of all k-mers in which each
 * count is looked up by itself.
 */
#include "store_sets.h"

#include "io/store/footer.h"
#include "tests/sampling.h"

#include <signal.h>
#include <sys/resource.h>

/* ---- growing ---- */

static void test_append(void **state)
{
        (void)state;
        static const int some_ks[] = { 3, 31, 32, 33, 64, 65, 255 };
        static const size_t sizes[] = { 0, 1, 1023, 1024, 1025, 3000 };
        for (size_t ik = 0; ik < sizeof some_ks / sizeof *some_ks; ik += THREAD_STRIDE) {
                uint64_t rng = ik;
                bool stranded = ik % 2;
                struct pair_set model = make_set(some_ks[ik], stranded, 2000, ik);
                write_set(&model, "s.kc", 2, 700, ik);
                for (int step = 0; step < 6; step++) {
                        struct pair_set r = relative(
                                &model, sizes[next_random(&rng) % (sizeof sizes / sizeof *sizes)],
                                next_random(&rng));
                        bool tombstones = next_random(&rng) % 2;
                        if (tombstones && next_random(&rng) % 2 && r.n > 0)
                                r.n = next_random(&rng) % r.n; /* all below some k-mer */
                        append_set("s.kc", &r, tombstones, rng);
                        model_append(&model, &r, tombstones);
                        check_all("s.kc", &model);
                        free_set(&r);
                }
                compact_into("s.kc", "c.kc", 2);
                check_all("c.kc", &model);
                free_set(&model);
        }
        unlink("s.kc");
        unlink("c.kc");
}

/* Several parts, pages and threads. */
static void test_large_append(void **state)
{
        (void)state;
        struct pair_set model = make_set(21, false, 300000, 1);
        write_set(&model, "s.kc", 2, 50000, 1);
        for (int step = 0; step < 3; step++) {
                struct pair_set r = relative(&model, FEW_CASES ? 66000 : 200000, (uint64_t)step);
                append_set("s.kc", &r, step == 1, 5);
                model_append(&model, &r, step == 1);
                free_set(&r);
        }
        check_pairs("s.kc", &model);
        compact_into("s.kc", "c.kc", 1);
        check_pairs("c.kc", &model);
        compact_into("s.kc", "d.kc", 4);
        assert_same_files("c.kc", "d.kc");
        /* the histogram of several runs is that of the run that they merge into */
        struct kc_error err = { 0 };
        struct kc_store *runs = open_store("s.kc"), *one = open_store("c.kc");
        struct kc_histogram_row *a, *b;
        size_t na, nb;
        assert_ok(kc_store_histogram(runs, 3, NULL, &a, &na, &err), err);
        assert_ok(kc_store_histogram(one, 3, NULL, &b, &nb, &err), err);
        assert_int_equal(na, nb);
        assert_memory_equal(a, b, na * sizeof *a);
        free(a);
        free(b);
        kc_store_close(runs);
        kc_store_close(one);
        free_set(&model);
        unlink("s.kc");
        unlink("c.kc");
        unlink("d.kc");
}

/* The totals of a compacted file: k-mers counted are kept, dropped or saturated. */
static void test_totals(void **state)
{
        (void)state;
        struct pair_set a = make_set(15, false, 1500, 1);
        struct pair_set b = relative(&a, 500, 2), c = relative(&a, 100, 3);
        a.counts[0] = UINT32_MAX - 1;
        uint64_t saturated = 0, removed = 0, nremoved = 0, ncounted = 0;
        write_set(&a, "s.kc", 1, 700, 1);
        append_set("s.kc", &b, false, 1);
        append_set("s.kc", &c, true, 1);
        append_set("s.kc", &c, true, 1); /* nothing is left to remove, or to count twice */
        append_set("s.kc", &b, false, 1);
        append_set("s.kc", &b, false, 1);
        struct pair_set all = all_kmers((struct pair_set[]){ a, b, c }, 3);
        for (size_t i = 0; i < all.n; i++) {
                const uint64_t *kmer = all.kmers + i * all.nw;
                uint64_t before = (uint64_t)count_in(&a, kmer) + count_in(&b, kmer);
                uint64_t kept = 2 * (uint64_t)count_in(&b, kmer);
                if (count_in(&c, kmer) > 0) {
                        removed += before;
                        nremoved += kept == 0 && before > 0;
                } else {
                        kept += before;
                }
                saturated += kept > UINT32_MAX ? kept - UINT32_MAX : 0;
                ncounted += kept > 0;
        }
        compact_into("s.kc", "c.kc", 2);
        struct kc_store *store = open_store("c.kc");
        struct kc_store_info info;
        kc_store_get_info(store, &info);
        assert_int_equal(info.nruns, 1);
        assert_int_equal(info.ndistinct, ncounted);
        assert_int_equal(info.nkmers, sum_of_counts(&a) + 3 * sum_of_counts(&b));
        assert_int_equal(info.nsaturated, saturated);
        assert_int_equal(info.ndropped_kmers, removed);
        assert_int_equal(info.ndropped_distinct, nremoved);
        assert_int_equal(info.nreads, 4 * 11);
        assert_int_equal(info.nnames, 4 * 3);
        assert_true(saturated > 0 && removed > 0 && nremoved > 0);
        kc_store_close(store);
        free_set(&a);
        free_set(&b);
        free_set(&c);
        free_set(&all);
        unlink("s.kc");
        unlink("c.kc");
}

/* A file that holds tombstones and nothing else. */
static void test_only_tombstones(void **state)
{
        (void)state;
        struct pair_set none = make_set(31, false, 0, 1), s = make_set(31, false, 3000, 1);
        write_set(&none, "s.kc", 1, 700, 1);
        append_set("s.kc", &s, true, 1);
        check_all("s.kc", &none);
        append_set("s.kc", &s, false, 1);
        check_all("s.kc", &s);
        append_set("s.kc", &s, true, 1);
        append_set("s.kc", &s, true, 1);
        check_all("s.kc", &none);
        compact_into("s.kc", "c.kc", 2);
        check_all("c.kc", &none);
        free_set(&s);
        free_set(&none);
        unlink("s.kc");
        unlink("c.kc");
}

/* The footer of one run, as earlier versions wrote it. */
static void assemble_old(struct kc_words *footer, uint64_t kind, const struct kc_words *records)
{
        struct kc_error err = { 0 };
        struct kc_old_footer_head head = { .nruns = 1 };
        memcpy(head.magic, KC_OLD_KINDS_FOOTER_MAGIC, sizeof head.magic);
        assert_ok(kc_words_append(footer, &head, sizeof head, &err), err);
        assert_ok(kc_words_append(footer, &kind, sizeof kind, &err), err);
        assert_ok(kc_words_append(footer, records->data, records->n * 8, &err), err);
}

/* Give the only run of s.kc another kind: append a new footer. */
static void set_kind_in(bool old_footer, uint64_t kind)
{
        size_t nbytes;
        uint8_t *data = read_file("s.kc", &nbytes);
        struct kc_store_header *header = (struct kc_store_header *)data;
        struct kc_words kinds = { 0 }, records = { 0 }, footer = { 0 };
        struct kc_error err = { 0 };
        const uint64_t *old = (const uint64_t *)(data + header->footer[0].offset);
        size_t nwords;
        const uint64_t *first = kc_footer_records(old, header->footer[0].nbytes / 8, &nwords);
        assert_ok(kc_words_append(&kinds, &kind, sizeof kind, &err), err);
        assert_ok(kc_words_append(&records, first, nwords * sizeof *first, &err), err);
        if (old_footer)
                assemble_old(&footer, kind, &records);
        else
                assert_ok(kc_footer_assemble(&footer, nbytes, &kinds, &records, &err), err);
        kc_footer_ref_fill(&header->footer[1], nbytes, footer.data, footer.n * sizeof *old);
        FILE *f = fopen("s.kc", "wb");
        assert_non_null(f);
        fwrite(data, 1, nbytes, f);
        fwrite(footer.data, sizeof *old, footer.n, f);
        fclose(f);
        free(kinds.data);
        free(records.data);
        free(footer.data);
        free(data);
}

static void set_kind(uint64_t kind)
{
        set_kind_in(false, kind);
}

static void assert_kind_refused(const struct pair_set *s, bool old_footer, uint64_t kind)
{
        struct kc_store *store = NULL;
        write_set(s, "s.kc", 1, 700, 1);
        set_kind_in(old_footer, kind);
        assert_int_equal(kc_store_open(&store, "s.kc", NULL), KC_ECORRUPT);
}

/* Runs that kcount never writes: a lone run of tombstones, and impossible kinds. */
static void test_kinds(void **state)
{
        (void)state;
        struct pair_set s = make_set(31, false, 3000, 1);
        write_set(&s, "s.kc", 1, 700, 1);
        set_kind(KC_RUN_LINKED | KC_RUN_COUNTS);
        check_pairs("s.kc", &s);
        assert_kind_refused(&s, false, KC_RUN_LINKED | KC_RUN_TOMBSTONES); /* with counts above 1 */
        assert_kind_refused(&s, false, KC_RUN_COUNTS); /* but the checksums are there */
        assert_kind_refused(&s, false, KC_RUN_LINKED << 1 | KC_RUN_LINKED | KC_RUN_COUNTS);
        assert_kind_refused(&s, true, KC_RUN_LINKED | KC_RUN_COUNTS); /* before there were links */
        for (size_t i = 0; i < s.n; i++)
                s.counts[i] = 1;
        assert_kind_refused(&s, false, KC_RUN_LINKED | (KC_RUN_TOMBSTONES + 1));
        write_set(&s, "s.kc", 1, 700, 1);
        set_kind(KC_RUN_LINKED | KC_RUN_TOMBSTONES);
        s.n = 0;
        check_all("s.kc", &s);
        compact_into("s.kc", "c.kc", 2);
        check_all("c.kc", &s);
        free_set(&s);
        unlink("s.kc");
        unlink("c.kc");
}

static void test_most_runs(void **state)
{
        (void)state;
        struct pair_set s = make_set(31, false, 2, 1);
        struct kc_error err = { 0 };
        struct kc_store_writer *w = NULL;
        struct kc_store_options options = { .k = 31 };
        struct kc_store_origin origin = make_origin(sum_of_counts(&s));
        assert_ok(kc_store_create(&w, "s.kc", &options, &err), err);
        for (int r = 0; r < 255; r++) {
                assert_ok(feed_set(&s, kc_store_sink(w), 1, 700, 1, &err), err);
                if (r < 254)
                        assert_ok(kc_store_end_run(w, &origin, &err), err);
        }
        assert_ok(kc_store_commit(w, &origin, NULL, &err), err);
        append_set("s.kc", &s, true, 1);
        int k;
        bool stranded;
        assert_int_equal(kc_store_append(&w, "s.kc", false, &k, &stranded, &err), KC_EUSAGE);
        assert_non_null(strstr(err.message, "256 runs"));
        s.n = 0;
        check_all("s.kc", &s);
        free_set(&s);
        unlink("s.kc");
}

/* ---- an append that fails ---- */

static void test_failed_append(void **state)
{
        (void)state;
        struct pair_set s = make_set(31, false, 20000, 1), r = make_set(31, false, 20000, 2);
        struct rlimit old, tight;
        size_t nbytes, nafter;
        write_set(&s, "s.kc", 1, 5000, 1);
        append_set("s.kc", &s, false, 1);
        uint8_t *before = read_file("s.kc", &nbytes), *after;
        signal(SIGXFSZ, SIG_IGN);
        getrlimit(RLIMIT_FSIZE, &old);
        for (int i = 0; i < 5; i++) {
                struct kc_error err = { 0 };
                struct kc_store_writer *w = NULL, *second = NULL;
                struct kc_store_origin origin = make_origin(sum_of_counts(&r) + (i == 1));
                int k;
                bool stranded;
                tight = old;
                tight.rlim_cur =
                        nbytes + 8 + (size_t)i * 20000; /* the disk is full, each time later */
                assert_ok(kc_store_append(&w, "s.kc", false, &k, &stranded, &err), err);
                assert_int_equal(kc_store_append(&second, "s.kc", false, &k, &stranded, &err),
                                 KC_EIO);
                assert_non_null(strstr(err.message, "another process"));
                err = (struct kc_error){ 0 };
                if (i != 1)
                        setrlimit(RLIMIT_FSIZE, &tight);
                enum kc_status status = feed_set(&r, kc_store_sink(w), 2, 3000, 1, &err);
                if (status == KC_OK && i > 0)
                        status = kc_store_commit(w, &origin, NULL, &err);
                else
                        kc_store_abort(w);
                setrlimit(RLIMIT_FSIZE, &old);
                assert_int_not_equal(status, KC_OK);
                after = read_file("s.kc", &nafter);
                assert_int_equal(nafter, nbytes);
                assert_memory_equal(after, before, nbytes);
                free(after);
        }
        signal(SIGXFSZ, SIG_DFL);
        append_set("s.kc", &r, false, 1); /* the locks are gone */
        free(before);
        free_set(&s);
        free_set(&r);
        unlink("s.kc");
}

/* Any flipped bit of what is in force is noticed; the previous footer is not read. The footer of a
 * damaged reference is found nevertheless. */
static void test_flipped(void **state)
{
        enum { STEP = 7 * CUT_STRIDE };
        (void)state;
        struct pair_set s = make_set(33, false, 1100, 1), r = make_set(33, false, 50, 2);
        size_t nold, nbytes, nmissed = 0;
        write_set(&s, "s.kc", 1, 500, 1);
        free(read_file("s.kc", &nold));
        append_set("s.kc", &r, true, 1);
        uint8_t *data = read_file("s.kc", &nbytes);
        uint64_t old_footer;
        memcpy(&old_footer, data + 64, sizeof old_footer);
        FILE *f = fopen("s.kc", "r+b");
        assert_non_null(f);
        setvbuf(f, NULL, _IONBF, 0);
        for (size_t at = 0; at < nbytes; at += at < 256 || at + STEP > old_footer ? 1 : STEP) {
                struct kc_error err = { 0 };
                struct kc_store *store = NULL;
                fseek(f, (long)at, SEEK_SET);
                fputc(data[at] ^ 16, f);
                enum kc_status status = kc_store_open(&store, "s.kc", &err);
                if (status == KC_OK)
                        status = kc_store_check(store, 1, NULL, &err);
                const bool in_reference = at >= 64 && at < sizeof(struct kc_store_header);
                if (status == KC_OK && (at < old_footer || at >= nold))
                        fail_msg("byte %zu can be changed", at);
                if (in_reference != (status == KC_EUNTIDY))
                        fail_msg("byte %zu: status %d: %s", at, status, err.message);
                if (in_reference) {
                        assert_non_null(kc_store_warning(store));
                        struct kc_store_info info;
                        kc_store_get_info(store, &info);
                        assert_int_equal(info.nruns, 2);
                }
                kc_store_close(store);
                nmissed += status == KC_OK;
                fseek(f, (long)at, SEEK_SET);
                fputc(data[at], f);
        }
        fclose(f);
        assert_int_equal(nmissed, nold - old_footer);
        free(data);
        free_set(&s);
        free_set(&r);
        unlink("s.kc");
}

/* ---- operations ---- */

/* All operations and rules on the first n files. */
static void check_operations(struct kc_store *const *stores, const struct pair_set *models,
                             size_t n)
{
        for (int operation = KC_SET_UNION; operation <= KC_SET_SUBTRACT; operation++)
                for (int rule = KC_RULE_SUM; rule <= KC_RULE_RIGHT; rule++) {
                        struct kc_set set = { stores, n, (enum kc_set_operation)operation,
                                              (enum kc_count_rule)rule };
                        struct kc_error err = { 0 };
                        if (operation == KC_SET_SUBTRACT && rule != KC_RULE_LEFT &&
                            rule != KC_RULE_DIFFERENCE) {
                                assert_int_equal(kc_set_check(&set, &err), KC_EUSAGE);
                                continue;
                        }
                        assert_ok(kc_set_check(&set, &err), err);
                        struct pair_set model = model_set(&set, models);
                        run_set_into(&set, "o.kc", 1, 1, UINT32_MAX);
                        check_pairs("o.kc", &model);
                        run_set_into(&set, "p.kc", NTHREADS, 1, UINT32_MAX);
                        assert_same_files("o.kc", "p.kc");
                        free_set(&model);
                }
        unlink("o.kc");
        unlink("p.kc");
}

static void check_files(int k, size_t n, uint64_t seed, size_t min_files)
{
        _Static_assert(MAX_FILES == 4, "all are reversed below");
        struct pair_set models[MAX_FILES];
        struct kc_store *stores[MAX_FILES];
        write_files(models, stores, k, n, seed);
        for (size_t nfiles = min_files; nfiles <= MAX_FILES; nfiles++)
                check_operations(stores, models, nfiles);
        /* the file with the most runs first */
        const struct pair_set reversed[] = { models[3], models[2], models[1], models[0] };
        struct kc_store *const last_first[] = { stores[3], stores[2], stores[1], stores[0] };
        check_operations(last_first, reversed, MAX_FILES);
        close_files(models, stores);
}

static void test_operations(void **state)
{
        (void)state;
        static const size_t sizes[] = { 0, 1, 1024, 3000 };
        static const int some_ks[] = { 4, 31, 33, 64, 127 };
        for (size_t ik = 0; ik < sizeof some_ks / sizeof *some_ks; ik++)
                for (size_t in = 0; in < sizeof sizes / sizeof *sizes; in++)
                        if (is_sampled())
                                check_files(some_ks[ik], sizes[in], 100 * ik + in, 1);
}

static void test_large_operations(void **state)
{
        (void)state;
        check_files(31, FEW_CASES ? 30000 : 120000, 1, MAX_FILES);
        if (is_sampled())
                check_files(255, 40000, 2, MAX_FILES);
}

/* The sum of files is byte for byte the file of all their k-mers. */
static void test_sum(void **state)
{
        (void)state;
        struct pair_set a = make_set(31, false, FEW_CASES ? 50000 : 250000, 1);
        struct pair_set b = relative(&a, a.n / 3, 2);
        struct pair_set ab = empty_set(&a, 0);
        model_append(&ab, &a, false);
        model_append(&ab, &b, false);
        write_set(&a, "a.kc", 2, 900, 1);
        write_set(&b, "b.kc", 2, 900, 1);
        struct kc_store *stores[] = { open_store("a.kc"), open_store("b.kc") };
        run_set_into(&(struct kc_set){ stores, 2, KC_SET_UNION, KC_RULE_SUM }, "m.kc", 2, 2, 1000);
        kc_store_close(stores[0]);
        kc_store_close(stores[1]);

        /* as an engine would have counted them */
        struct kc_error err = { 0 };
        struct kc_store_options options = { .k = 31, .min_count = 2, .max_count = 1000 };
        struct kc_store_writer *w = NULL;
        const char *const names[] = { "a.fq.gz", "", "dir/b c.fa", "a.fq.gz", "", "dir/b c.fa" };
        uint64_t nkmers = sum_of_counts(&a) + sum_of_counts(&b);
        struct kc_store_origin origin = { names, 6,  22,     44,
                                          66,    88, nkmers, nkmers - sum_of_counts(&ab),
                                          0,     0 };
        assert_ok(kc_store_create(&w, "n.kc", &options, &err), err);
        assert_ok(feed_set(&ab, kc_store_sink(w), 2, 900, 1, &err), err);
        assert_ok(kc_store_commit(w, &origin, NULL, &err), err);
        assert_same_files("m.kc", "n.kc");
        free_set(&a);
        free_set(&b);
        free_set(&ab);
        unlink("a.kc");
        unlink("b.kc");
        unlink("m.kc");
        unlink("n.kc");
}

static enum kc_status refuse(void *ctx, const struct kc_run_pairs *pairs, struct kc_error *err)
{
        (void)ctx;
        return pairs->part < 1 ? KC_OK : kc_fail(err, KC_EIO, "refused");
}

static void ignore(void *ctx)
{
        (void)ctx;
}

/* A sink that fails, a job that is canceled, a damaged file: an error, and all threads end. */
static void test_failed_operations(void **state)
{
        (void)state;
        struct pair_set s = make_set(31, false, 600000, 1);
        write_set(&s, "s.kc", 2, 50000, 1);
        struct kc_store *store = open_store("s.kc"), *stores[] = { store, store };
        const struct kc_set set = { stores, 2, KC_SET_UNION, KC_RULE_SUM };
        struct kc_error err = { 0 };
        struct kc_store_origin origin;
        const char **names;
        struct kc_run_sink sink = { .filter = { 1, UINT32_MAX }, .put = refuse, .cancel = ignore };
        assert_int_equal(kc_set_run(&set, NTHREADS, NULL, &sink, &origin, &names, &err), KC_EIO);
        assert_string_equal(err.message, "refused");
        struct kc_job job = { 0 };
        atomic_store(&job.cancel, true);
        err = (struct kc_error){ 0 };
        assert_int_equal(kc_set_run(&set, NTHREADS, &job, &sink, &origin, &names, &err),
                         KC_ECANCELED);
        FILE *f = fopen("s.kc", "r+b");
        assert_non_null(f);
        fseek(f, 1000000, SEEK_SET);
        fputs("damage", f);
        fclose(f);
        struct kc_store_options options = kc_set_options(&set, 1, UINT32_MAX);
        struct kc_store_writer *w = NULL;
        err = (struct kc_error){ 0 };
        assert_ok(kc_store_create(&w, "o.kc", &options, &err), err);
        sink = kc_store_sink(w);
        assert_int_equal(kc_set_run(&set, NTHREADS, NULL, &sink, &origin, &names, &err),
                         KC_ECORRUPT);
        assert_non_null(strstr(err.message, "s.kc is damaged: the block at offset"));
        kc_store_abort(w);
        kc_store_close(store);
        free_set(&s);
        unlink("s.kc");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_append),        cmocka_unit_test(test_large_append),
                cmocka_unit_test(test_totals),        cmocka_unit_test(test_only_tombstones),
                cmocka_unit_test(test_kinds),         cmocka_unit_test(test_most_runs),
                cmocka_unit_test(test_failed_append), cmocka_unit_test(test_flipped),
                cmocka_unit_test(test_operations),    cmocka_unit_test(test_large_operations),
                cmocka_unit_test(test_sum),           cmocka_unit_test(test_failed_operations),
        };
        cmocka_set_test_filter(getenv("KC_TEST"));
        return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
