/* Set operations of include/kcount.h, compared with plain lists of k-mers and counts. */
#include "library_support.h"

#include "tests/sampling.h"

/* The k-mers of s whose counts are in [min, max]. */
static struct pair_set within(const struct pair_set *s, uint32_t min, uint32_t max)
{
        struct pair_set out = empty_set(s, s->n);
        for (size_t i = 0; i < s->n; i++)
                if (s->counts[i] >= min && s->counts[i] <= max)
                        add_pair(&out, s->kmers + i * s->nw, s->counts[i]);
        return out;
}

static void check_counts(struct kcount_counts *counts, const struct pair_set *s)
{
        struct kcount_info info = { .size = sizeof info };
        kcount_get_info(counts, &info);
        assert_int_equal(info.ndistinct, s->n);
        assert_int_equal(info.total, sum_of_counts(s));
        assert_true(info.exact);
        check_range(counts, s, NULL, NULL, 700);
}

/* One operation on the first n files: with a name, without one, and with bounds. */
static void check_operation(struct kcount_counts *const *inputs, const struct pair_set *models,
                            struct kc_set *set)
{
        struct kcount_set_options options = KCOUNT_SET_OPTIONS_INIT;
        struct kcount_counts *named = NULL, *nameless = NULL, *bounded = NULL;
        struct pair_set model = model_set(set, models), some = within(&model, 3, 900);
        options.operation = (enum kcount_set)set->operation;
        options.rule = (enum kcount_rule)set->rule;
        options.nthreads = 3;
        assert_done(kcount_combine, inputs, set->nstores, &options, "o.kc", &named);
        run_set_into(set, "p.kc", 1, 1, UINT32_MAX);
        assert_same_files("o.kc", "p.kc");
        check_counts(named, &model);
        kcount_close(named);
        options.nthreads = 1;
        assert_done(kcount_combine, inputs, set->nstores, &options, NULL, &nameless);
        check_counts(nameless, &model);
        options.replace = true;
        assert_done(kcount_combine, &nameless, 1, NULL, "saved.kc", NULL);
        check_pairs("saved.kc", &model);
        kcount_close(nameless);
        options.min_count = 3;
        options.max_count = 900;
        assert_done(kcount_combine, inputs, set->nstores, &options, "o.kc", &bounded);
        check_counts(bounded, &some);
        kcount_close(bounded);
        free_set(&model);
        free_set(&some);
        unlink("o.kc");
        unlink("p.kc");
        unlink("saved.kc");
}

static void check_operations(int k, size_t n, uint64_t seed)
{
        struct pair_set models[MAX_FILES];
        struct kc_store *stores[MAX_FILES];
        struct kcount_counts *inputs[MAX_FILES];
        write_files(models, stores, k, n, seed);
        for (size_t i = 0; i < MAX_FILES; i++)
                inputs[i] = open_counts(file_paths[i]);
        for (size_t ninputs = 1; ninputs <= MAX_FILES; ninputs++)
                for (int operation = KC_SET_UNION; operation <= KC_SET_SUBTRACT; operation++)
                        for (int rule = KC_RULE_SUM; rule <= KC_RULE_RIGHT; rule++) {
                                struct kc_set set = { stores, ninputs,
                                                      (enum kc_set_operation)operation,
                                                      (enum kc_count_rule)rule };
                                if (kc_set_check(&set, NULL) == KC_OK)
                                        check_operation(inputs, models, &set);
                        }
        for (size_t i = 0; i < MAX_FILES; i++)
                kcount_close(inputs[i]);
        close_files(models, stores);
}

static void test_operations(void **state)
{
        (void)state;
        static const size_t sizes[] = { 0, 1, 3000 };
        static const int some_ks[] = { 4, 31, 33, 127 };
        for (size_t ik = 0; ik < sizeof some_ks / sizeof *some_ks; ik++)
                for (size_t in = 0; in < sizeof sizes / sizeof *sizes; in++)
                        if (is_sampled())
                                check_operations(some_ks[ik], sizes[in], 100 * ik + in);
}

/* The union of one input is its file, byte for byte, and may take the place of this file. */
static void test_save(void **state)
{
        (void)state;
        struct pair_set s = make_set(31, false, 5000, 1), r = relative(&s, 300, 2);
        struct kcount_set_options options = KCOUNT_SET_OPTIONS_INIT;
        options.replace = true;
        write_set(&s, "s.kc", 2, 700, 3);
        struct kcount_counts *counts = open_counts("s.kc"), *merged;
        assert_done(kcount_combine, &counts, 1, NULL, "t.kc", NULL);
        assert_same_files("s.kc", "t.kc");
        kcount_close(counts);
        append_set("s.kc", &r, false, 4);
        model_append(&s, &r, false);
        counts = open_counts("s.kc");
        assert_done(kcount_combine, &counts, 1, &options, "s.kc", &merged);
        check_range(counts, &s, NULL, NULL, 500); /* the old file */
        check_counts(merged, &s);
        kcount_close(counts);
        kcount_close(merged);
        check_pairs("s.kc", &s);
        unlink("s.kc");
        unlink("t.kc");
        free_set(&s);
        free_set(&r);
}

static void compare_info(const struct kcount_info *info, const struct kcount_counts *counts)
{
        struct kcount_info expected = { .size = sizeof expected };
        kcount_get_info(counts, &expected);
        assert_int_equal(info->size, expected.size);
        assert_int_equal(info->k, expected.k);
        assert_int_equal(info->ndistinct, expected.ndistinct);
        assert_int_equal(info->max_count, expected.max_count);
        assert_int_equal(info->total, expected.total);
        assert_int_equal(info->ndropped_distinct, expected.ndropped_distinct);
        assert_int_equal(info->kept_min_count, expected.kept_min_count);
        assert_int_equal(info->nbytes, expected.nbytes);
        assert_int_equal(info->nruns, expected.nruns);
        assert_int_equal(info->exact, expected.exact);
        assert_true(info->lacks_dropped && expected.lacks_dropped);
}

/* The result is described as if it were opened, with and without a name. Detached inputs are the
 * same, until their name leads to another file. */
static void test_info(void **state)
{
        (void)state;
        struct pair_set s = make_set(31, false, 5000, 1), other = make_set(31, false, 10, 2);
        struct kcount_set_options options = KCOUNT_SET_OPTIONS_INIT;
        struct kcount_info info = { .size = sizeof info };
        struct kcount_error *error = NULL;
        options.info = &info;
        options.min_count = 2;
        write_set(&s, "s.kc", 2, 700, 3);
        struct kcount_counts *counts = open_counts("s.kc"), *result;
        kcount_detach(counts);
        assert_done(kcount_combine, &counts, 1, &options, "t.kc", &result);
        compare_info(&info, result);
        kcount_close(result);
        assert_done(kcount_combine, &counts, 1, &options, NULL, &result);
        compare_info(&info, result);
        kcount_close(result);
        unlink("s.kc");
        write_set(&other, "s.kc", 1, 700, 3);
        assert_int_equal(kcount_combine(&counts, 1, NULL, "u.kc", NULL, &error), KCOUNT_EIO);
        kcount_error_free(error);
        kcount_close(counts);
        unlink("s.kc");
        unlink("t.kc");
        free_set(&s);
        free_set(&other);
}

/* ---- failures ---- */

static void expect_refusal(struct kcount_counts *const *inputs, size_t ninputs,
                           const struct kcount_set_options *options, const char *output,
                           enum kcount_status status, const char *message)
{
        struct kcount_counts *counts = (void *)&status;
        struct kcount_error *error = NULL;
        assert_int_equal(kcount_combine(inputs, ninputs, options, output,
                                        output != NULL ? &counts : NULL, &error),
                         status);
        assert_ptr_equal(counts, &status);
        assert_int_equal(kcount_error_status(error), status);
        if (strstr(kcount_error_message(error), message) == NULL)
                fail_msg("%s", kcount_error_message(error));
        kcount_error_free(error);
        assert_int_equal(access("refused.kc", F_OK), -1);
}

/* Canceled in the first call of the callback. */
static bool refuse(void *ctx, const char *stage, uint64_t done, uint64_t total)
{
        assert_string_equal(stage, "merging");
        assert_true(total == 0 || done <= total);
        ++*(int *)ctx;
        return false;
}

static void test_refusals(void **state)
{
        (void)state;
        static const int ks[] = { 31, 33, 31 };
        struct kcount_counts *inputs[3];
        for (int i = 0; i < 3; i++) {
                struct pair_set s = make_set(ks[i], i == 2, 100, 1);
                write_set(&s, file_paths[i], 1, 700, 3);
                inputs[i] = open_counts(file_paths[i]);
                free_set(&s);
        }
        struct kcount_counts *const other_strands[] = { inputs[0], inputs[2] };
        struct kcount_set_options o = KCOUNT_SET_OPTIONS_INIT;
        const struct kcount_set_options usual = o;
        expect_refusal(inputs, 2, NULL, "refused.kc", KCOUNT_EUSAGE, "b.kc has k = 33");
        expect_refusal(other_strands, 2, NULL, "refused.kc", KCOUNT_EUSAGE, "stranded");
        expect_refusal(inputs, 0, NULL, "refused.kc", KCOUNT_EUSAGE, "no input");
        expect_refusal(inputs, 1, NULL, NULL, KCOUNT_EUSAGE, "both NULL");
        expect_refusal(inputs, 1, NULL, "-", KCOUNT_EUSAGE, "standard output");
        expect_refusal(inputs, 1, NULL, "a.kc", KCOUNT_EEXIST, "a.kc");
        o.operation = KCOUNT_SUBTRACT;
        expect_refusal(inputs, 1, &o, "refused.kc", KCOUNT_EUSAGE, "subtraction");
        o.operation = (enum kcount_set)7;
        expect_refusal(inputs, 1, &o, "refused.kc", KCOUNT_EUSAGE, "operation is 7");
        o = usual;
        o.min_count = 5;
        o.max_count = 4;
        expect_refusal(inputs, 1, &o, "refused.kc", KCOUNT_EUSAGE, "1 <= min_count <= max_count");
        o = usual;
        o.size = 3;
        expect_refusal(inputs, 1, &o, "refused.kc", KCOUNT_EUSAGE, "KCOUNT_SET_OPTIONS_INIT");
        o = usual;
        o.nthreads = -1;
        expect_refusal(inputs, 1, &o, "refused.kc", KCOUNT_EUSAGE, "nthreads");
        o = usual;
        o.device = "gpu";
        expect_refusal(inputs, 1, &o, "refused.kc", KCOUNT_EUSAGE, "gpu");
        o.device = "cuda:0,1";
        expect_refusal(inputs, 1, &o, "refused.kc", KCOUNT_EUSAGE, "one device");
        o = usual;
        o.tmp_folder = "missing";
        expect_refusal(inputs, 1, &o, "refused.kc", KCOUNT_EIO, "missing");
        for (int i = 0; i < 3; i++) {
                kcount_close(inputs[i]);
                unlink(file_paths[i]);
        }
}

static void test_cancel(void **state)
{
        (void)state;
        struct pair_set s = make_set(31, false, 300000, 1);
        struct kcount_set_options o = KCOUNT_SET_OPTIONS_INIT;
        int ncalls = 0;
        write_set(&s, "a.kc", 2, 50000, 3);
        struct kcount_counts *counts = open_counts("a.kc");
        o.progress = refuse;
        o.progress_ctx = &ncalls;
        expect_refusal(&counts, 1, &o, "refused.kc", KCOUNT_ECANCELED, "");
        assert_int_equal(ncalls, 1);
        kcount_close(counts);
        unlink("a.kc");
        free_set(&s);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_operations), cmocka_unit_test(test_save),
                cmocka_unit_test(test_info),       cmocka_unit_test(test_refusals),
                cmocka_unit_test(test_cancel),
        };
        return cmocka_run_group_tests(tests, enter_memory, leave_folder);
}
