/* Exports of include/kcount.h, compared with what a writer makes of plain lists. */
#include "library_support.h"

#include "io/formats/export.h"

#include <sys/stat.h>

/* Write the k-mers from..to of the set at once. Bounds have the set's order of words. */
static struct kc_export_written write_model(const struct pair_set *s, const char *path,
                                            const struct kc_export_options *options,
                                            const uint64_t *from, const uint64_t *to)
{
        struct kc_error err = { 0 };
        struct kc_export *writer = NULL;
        struct kc_export_written written;
        const size_t at = from != NULL ? lower_bound(s, from, false) : 0;
        const size_t end = to != NULL ? lower_bound(s, to, true) : s->n;
        assert_ok(kc_export_create(&writer, path, options, &err), err);
        if (at < end)
                assert_ok(kc_export_put(writer, s->kmers + at * s->nw, s->counts + at, end - at,
                                        &err),
                          err);
        assert_ok(kc_export_finish(writer, &err), err);
        assert_ok(kc_export_commit(writer, NULL, &written, &err), err);
        kc_export_close(writer);
        return written;
}

/* The files of both are equal, and are removed. */
static void compare_files(enum kc_file_format format, const char *a, const char *b)
{
        char *as[KC_EXPORT_MAX_FILES], *bs[KC_EXPORT_MAX_FILES];
        const size_t n = kc_export_paths(format, a, as);
        assert_int_equal(kc_export_paths(format, b, bs), n);
        for (size_t i = 0; i < n; i++) {
                assert_same_files(as[i], bs[i]);
                assert_int_equal(unlink(as[i]) | unlink(bs[i]), 0);
                free(as[i]);
                free(bs[i]);
        }
}

static void check_export(struct kcount_counts *counts, const struct pair_set *s,
                         enum kc_file_format format, const uint64_t *from, const uint64_t *to,
                         uint32_t min, uint32_t max, uint32_t cap)
{
        struct pair_set capped = *s;
        uint64_t first[KC_MAX_WORDS], last[KC_MAX_WORDS];
        struct kcount_export_options options = KCOUNT_EXPORT_OPTIONS_INIT;
        struct kcount_exported exported = { .size = sizeof exported };
        struct kcount_info info = { .size = sizeof info };
        kcount_get_info(counts, &info);
        const struct kc_export_options model = { .format = format,
                                                 .k = s->k,
                                                 .stranded = s->stranded,
                                                 .min_count = min,
                                                 .max_count = max,
                                                 .nkmers = info.ndistinct };
        options.format = kc_file_format_name(format);
        options.min_count = min;
        options.max_count = max;
        options.count_cap = cap;
        options.nthreads = 3;
        capped.counts = malloc((s->n + 1) * sizeof *capped.counts);
        for (size_t i = 0; i < s->n; i++)
                capped.counts[i] = s->counts[i] > cap && s->counts[i] <= max ? cap : s->counts[i];
        if (from != NULL)
                turn(from, s->nw, 1, first);
        if (to != NULL)
                turn(to, s->nw, 1, last);
        options.from = from != NULL ? first : NULL;
        options.to = to != NULL ? last : NULL;
        assert_done(kcount_export, counts, "a", &options, &exported);
        const struct kc_export_written written = write_model(&capped, "b", &model, from, to);
        free(capped.counts);
        compare_files(format, "a", "b");
        assert_int_equal(exported.size, sizeof exported);
        assert_int_equal(exported.nkmers, written.nkmers);
        assert_int_equal(exported.nclipped, written.nclipped);
        assert_int_equal(exported.nbytes, written.nbytes);
        assert_int_equal(exported.count_limit, written.count_limit);
}

static void check_formats(int k, size_t n, uint64_t seed)
{
        struct appended a;
        open_appended(&a, k, n, seed);
        for (int format = 0; format < KC_NFILE_FORMATS; format++) {
                if (format == KC_FILE_FASTK && k < 5)
                        continue;
                check_export(a.counts, &a.s, (enum kc_file_format)format, NULL, NULL, 1, UINT32_MAX,
                             UINT32_MAX);
                check_export(a.counts, &a.s, (enum kc_file_format)format, a.from, NULL, 1, 1000, 1);
                check_export(a.counts, &a.s, (enum kc_file_format)format, NULL, a.to, 3, UINT32_MAX,
                             4);
        }
        close_appended(&a);
}

static void test_formats(void **state)
{
        (void)state;
        check_formats(21, 30000, 1);
        check_formats(33, 3000, 2);
        check_formats(31, 0, 3);
}

/* The endings that a format adds may be given. Counts that it cannot hold are reported. */
static void test_names(void **state)
{
        (void)state;
        struct pair_set s = make_set(21, false, 100, 1);
        struct kcount_export_options options = KCOUNT_EXPORT_OPTIONS_INIT;
        struct {
                struct kcount_exported known;
                uint64_t later;
        } exported = { .known.size = sizeof exported, .later = 77 };
        uint64_t nclipped = 0;
        s.counts[5] = 40000;
        for (size_t i = 0; i < s.n; i++)
                nclipped += s.counts[i] > 32767;
        write_set(&s, "s.kc", 2, 700, 1);
        struct kcount_counts *counts = open_counts("s.kc");
        options.format = "fastk";
        assert_done(kcount_export, counts, "x.ktab", &options, &exported.known);
        assert_int_equal(exported.known.nclipped, nclipped);
        assert_int_equal(exported.known.count_limit, 32767);
        assert_int_equal(exported.later, 77);
        assert_int_equal(unlink("x.ktab") | unlink(".x.ktab.1") | unlink("x.hist"), 0);
        options.size = offsetof(struct kcount_export_options, replace);
        options.format = "kmc";
        options.nthreads = -1; /* not read with the shorter size */
        assert_done(kcount_export, counts, "x.kmc_suf", &options, NULL);
        assert_int_equal(unlink("x.kmc_pre") | unlink("x.kmc_suf"), 0);
        kcount_close(counts);
        unlink("s.kc");
        free_set(&s);
}

/* ---- failures ---- */

static void expect_refusal(struct kcount_counts *counts, const char *path,
                           const struct kcount_export_options *options, enum kcount_status status,
                           const char *message)
{
        struct kcount_exported exported = { .size = sizeof exported, .nkmers = 77 };
        struct kcount_error *error = NULL;
        assert_int_equal(kcount_export(counts, path, options, &exported, &error), status);
        assert_int_equal(exported.nkmers, 77);
        assert_int_equal(kcount_error_status(error), status);
        if (strstr(kcount_error_message(error), message) == NULL)
                fail_msg("%s", kcount_error_message(error));
        kcount_error_free(error);
        assert_int_equal(access("refused", F_OK), -1);
}

static bool refuse(void *ctx, const char *stage, uint64_t done, uint64_t total)
{
        (void)ctx;
        assert_string_equal(stage, "writing");
        assert_true(total == 0 || done <= total);
        return false;
}

/* ---- guards ---- */

static struct {
        bool allows, is_held;
        int nallowed, nheld;
} guarded;

static bool guard(int step, const char *temporary)
{
        assert_int_equal(temporary != NULL, step == KCOUNT_NAMES_ADD || step == KCOUNT_NAMES_DROP);
        assert_int_equal(guarded.is_held, step != KCOUNT_NAMES_ALLOW && step != KCOUNT_NAMES_HOLD);
        if (step == KCOUNT_NAMES_ALLOW) {
                guarded.nallowed++;
                return guarded.allows;
        }
        if (step == KCOUNT_NAMES_HOLD || step == KCOUNT_NAMES_RELEASE)
                guarded.is_held = step == KCOUNT_NAMES_HOLD;
        if (guarded.is_held && guarded.nallowed > 0)
                guarded.nheld++;
        return true;
}

static void test_guards(void **state)
{
        (void)state;
        struct pair_set s = make_set(31, true, 100, 1);
        struct kcount_export_options exporting = KCOUNT_EXPORT_OPTIONS_INIT;
        struct kcount_set_options combining = KCOUNT_SET_OPTIONS_INIT;
        write_set(&s, "s.kc", 1, 50000, 3);
        struct kcount_counts *counts = open_counts("s.kc");
        exporting.guard = combining.guard = guard;
        expect_refusal(counts, "refused", &exporting, KCOUNT_ECANCELED, "");
        assert_int_equal(guarded.nallowed, 1);
        assert_int_equal(kcount_combine(&counts, 1, &combining, "refused", NULL, NULL),
                         KCOUNT_ECANCELED);
        assert_int_equal(guarded.nallowed, 2);
        assert_int_equal(access("refused", F_OK), -1);
        guarded.allows = true;
        guarded.nheld = 0;
        assert_done(kcount_export, counts, "e", &exporting, NULL);
        assert_done(kcount_combine, &counts, 1, &combining, "c.kc", NULL);
        assert_int_equal(guarded.nallowed, 4);
        assert_true(guarded.nheld >= 2);
        kcount_close(counts);
        unlink("s.kc");
        unlink("c.kc");
        unlink("e");
        free_set(&s);
}

static void test_refusals(void **state)
{
        (void)state;
        struct pair_set s = make_set(31, true, 300000, 1);
        struct kcount_export_options o = KCOUNT_EXPORT_OPTIONS_INIT;
        const struct kcount_export_options usual = o;
        write_set(&s, "s.kc", 2, 50000, 3);
        struct kcount_counts *counts = open_counts("s.kc");
        expect_refusal(counts, "s.kc", NULL, KCOUNT_EEXIST, "s.kc");
        o.format = "csv";
        expect_refusal(counts, "refused", &o, KCOUNT_EUSAGE, "'csv' is not a format");
        o.format = "fastk";
        expect_refusal(counts, "refused", &o, KCOUNT_EUSAGE, "canonical");
        o = usual;
        o.size = 8;
        expect_refusal(counts, "refused", &o, KCOUNT_EUSAGE, "KCOUNT_EXPORT_OPTIONS_INIT");
        o = usual;
        o.min_count = 0;
        expect_refusal(counts, "refused", &o, KCOUNT_EUSAGE, "1 <= min_count <= max_count");
        o = usual;
        o.min_count = 3;
        o.count_cap = 2;
        expect_refusal(counts, "refused", &o, KCOUNT_EUSAGE, "count_cap is 2");
        o = usual;
        o.nthreads = -1;
        expect_refusal(counts, "refused", &o, KCOUNT_EUSAGE, "nthreads");
        o = usual;
        o.progress = refuse;
        expect_refusal(counts, "refused", &o, KCOUNT_ECANCELED, "");
        kcount_close(counts);
        unlink("s.kc");
        free_set(&s);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_formats),
                cmocka_unit_test(test_names),
                cmocka_unit_test(test_guards),
                cmocka_unit_test(test_refusals),
        };
        return cmocka_run_group_tests(tests, enter_memory, leave_folder);
}
