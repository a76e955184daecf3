/*
 * Joint histograms on the device: the same cells as the host's threads find, and the same failures.
 * Skipped without a device.
 */
#include "tests/gpu/engine/gpu_joint.h"
#include "tests/gpu/need_device.h"

/* KC_TEST_SMALL=1 in the environment: fewer cases, for an emulated device. */
static bool is_small(void)
{
        return getenv("KC_TEST_SMALL") != NULL;
}

static const uint32_t unbounded[KC_JOINT_MAX_FILES] = { 0 };

/* batch_nkmers: see kc_gpu_params; 1: the least, for many ranges. */
static void check(struct kc_store *const *stores, size_t n, const uint32_t *most,
                  uint64_t batch_nkmers, uint64_t memory_mib, int nthreads)
{
        struct device device = { .params = { .batch_nkmers = batch_nkmers,
                                             .memory_nbytes = memory_mib << 20 },
                                 .nthreads = nthreads };
        struct cells host = host_cells(stores, n, most), found;
        struct kc_error err = { 0 };
        assert_ok(find_cells(&device, stores, n, most, &found, &err), err);
        assert_true(device.report.began);
        assert_same_cells(&found, &host);
        uint64_t npairs = 0, nblocks = 0;
        for (size_t i = 0; i < n; i++) {
                const struct kc_set set = { .stores = &stores[i], .nstores = 1 };
                npairs += kc_set_npairs(&set);
                for (uint32_t r = 0; r < stores[i]->nruns; r++)
                        nblocks += stores[i]->runs[r].nblocks;
        }
        assert_true(atomic_load(&device.job.done) <= npairs);
        if (batch_nkmers == 1 && nblocks > 8 * n)
                assert_true(device.report.nranges > 1);
        free(host.all);
        free(found.all);
}

/* ---- all kinds of files ---- */

static const uint32_t bounds[][KC_JOINT_MAX_FILES] = { { 0, 0, 0 },
                                                       { 1, 1, 1 },
                                                       { 5, 0, 2 },
                                                       { 300, 15, 16 },
                                                       { 1000, 1000, 4 },
                                                       { UINT32_MAX - 1, UINT32_MAX, 255 },
                                                       { 65534, 65535, 65536 } };
enum { NBOUNDS = sizeof bounds / sizeof *bounds };

/* Files of one run, of several and with tombstones, in any order and repeated. */
static void check_files(int k, size_t n, uint64_t seed)
{
        static const size_t orders[][KC_JOINT_MAX_FILES] = { { 0, 1, 2 },
                                                             { 3, 0, 1 },
                                                             { 2, 2, 3 } };
        struct pair_set models[MAX_FILES];
        struct kc_store *stores[MAX_FILES], *some[KC_JOINT_MAX_FILES];
        write_files(models, stores, k, n, seed);
        for (size_t o = 0; o < 3; o++) {
                for (size_t f = 0; f < KC_JOINT_MAX_FILES; f++)
                        some[f] = stores[orders[o][f]];
                for (size_t nfiles = 1; nfiles <= KC_JOINT_MAX_FILES; nfiles++)
                        check(some, nfiles, bounds[(seed + 3 * o + nfiles) % NBOUNDS],
                              (o + nfiles) % 2, o == 1 ? 64 : 0, 1 + (int)(seed + nfiles) % 3);
        }
        close_files(models, stores);
}

static void test_files(void **state)
{
        (void)state;
        static const int ks[] = { 1, 5, 21, 31, 32, 33, 55, 64, 65, 96, 97, 128 };
        static const size_t sizes[] = { 0, 1, 1024, 3000 };
        uint64_t seed = 0;
        for (size_t i = 0; i < sizeof ks / sizeof *ks; i++)
                for (size_t j = 0; j < sizeof sizes / sizeof *sizes; j++, seed++)
                        if (!is_small() || j == 2 + i % 2)
                                check_files(ks[i], sizes[j], seed);
}

/* Two files with n k-mers, half of them shared; `count_of` gives the counts. */
static void check_counts(size_t n, uint32_t (*count_of)(size_t file, size_t i))
{
        struct pair_set sets[2] = { make_set(21, false, n, 1), { 0 } };
        struct kc_store *stores[KC_JOINT_MAX_FILES];
        sets[1] = relative(&sets[0], n / 2, 2);
        for (size_t f = 0; f < 2; f++) {
                for (size_t i = 0; i < sets[f].n; i++)
                        sets[f].counts[i] = count_of(f, i);
                write_set(&sets[f], f == 0 ? "a.kc" : "b.kc", 2, 5000, f);
                stores[f] = open_store(f == 0 ? "a.kc" : "b.kc");
        }
        stores[2] = stores[0];
        for (size_t b = 0; b < NBOUNDS; b++)
                check(stores, 2 + b % 2, bounds[b], b % 2, 0, 3);
        for (size_t f = 0; f < 2; f++) {
                kc_store_close(stores[f]);
                free_set(&sets[f]);
        }
        unlink("a.kc");
        unlink("b.kc");
}

static uint32_t many_large(size_t file, size_t i)
{
        return (uint32_t)(1 + (i + 1) * (2654435761u + 40503u * (uint32_t)file));
}

static uint32_t mostly_one(size_t file, size_t i)
{
        (void)file;
        return i % 7 == 0 ? (uint32_t)(i % 40) + 1 : 1;
}

static uint32_t greatest(size_t file, size_t i)
{
        return UINT32_MAX - (uint32_t)((i + file) % 3);
}

/* All k-mers have different, large counts; nearly all are in the same cell; sums need 64 bits. */
static void test_counts(void **state)
{
        (void)state;
        const size_t n = is_small() ? 6000 : 300000;
        check_counts(n, many_large);
        check_counts(n, mostly_one);
        check_counts(n, greatest);
}

/* Counts of runs that add up to more than UINT32_MAX, and tombstones. */
static void test_saturation(void **state)
{
        (void)state;
        struct pair_set a = make_set(15, false, 1500, 1), b = make_set(15, false, 1500, 1);
        for (size_t i = 0; i < a.n; i++)
                a.counts[i] = b.counts[i] = UINT32_MAX - (uint32_t)(i % 3);
        write_set(&a, "s.kc", 1, 700, 1);
        append_set("s.kc", &b, false, 1);
        write_set(&a, "t.kc", 1, 700, 1);
        b.n /= 2;
        append_set("t.kc", &b, true, 1);
        append_set("t.kc", &b, false, 1);
        append_set("t.kc", &a, false, 1);
        struct kc_store *s = open_store("s.kc"), *t = open_store("t.kc");
        for (size_t i = 0; i < NBOUNDS; i++)
                for (size_t n = 1; n <= KC_JOINT_MAX_FILES; n++)
                        check((struct kc_store *[]){ i % 2 ? s : t, i % 2 ? t : s, s }, n,
                              bounds[i], (i + n) % 2, 0, 2);
        kc_store_close(s);
        kc_store_close(t);
        free_set(&a);
        free_set(&b);
        unlink("s.kc");
        unlink("t.kc");
}

/* A file without k-mers, one that has only tombstones, one whose k-mers are all removed. */
static void test_empty(void **state)
{
        (void)state;
        static const char *const paths[] = { "a.kc", "b.kc", "c.kc", "d.kc" };
        struct pair_set full = make_set(31, false, 2500, 1), none = make_set(31, false, 0, 1);
        struct kc_store *stores[4];
        for (size_t f = 0; f < 4; f++)
                write_set(f == 0 || f == 3 ? &full : &none, paths[f], 1, 700, f);
        append_set("c.kc", &full, true, 1);
        append_set("d.kc", &full, true, 1);
        for (size_t f = 0; f < 4; f++)
                stores[f] = open_store(paths[f]);
        for (size_t first = 0; first < 4; first++)
                for (size_t n = 1; n <= KC_JOINT_MAX_FILES && first + n <= 4; n++)
                        check(stores + first, n, unbounded, n % 2, 0, 2);
        for (size_t f = 0; f < 4; f++) {
                kc_store_close(stores[f]);
                unlink(paths[f]);
        }
        free_set(&full);
        free_set(&none);
}

/* ---- failures ---- */

static enum kc_status refuse(void *ctx, const struct kc_joint_cell *cells, size_t n,
                             struct kc_error *err)
{
        (void)ctx, (void)cells, (void)n;
        return kc_fail(err, KC_EIO, "refused");
}

/* Passes the cells to a taker that refuses them. */
static enum kc_status compare_refused(void *ctx, const struct kc_join_source *source,
                                      const struct kc_joint_taker *taker, uint64_t *nread,
                                      struct kc_error *err)
{
        struct kc_joint_taker own = *taker;
        own.take = refuse;
        return compare_on_device(ctx, source, &own, nread, err);
}

/* Reads less than there is. */
static enum kc_status compare_less(void *ctx, const struct kc_join_source *source,
                                   const struct kc_joint_taker *taker, uint64_t *nread,
                                   struct kc_error *err)
{
        const enum kc_status status = compare_on_device(ctx, source, taker, nread, err);
        --*nread;
        return status;
}

static void test_failures(void **state)
{
        (void)state;
        struct pair_set s = make_set(31, false, is_small() ? 40000 : 70000, 1);
        write_set(&s, "s.kc", 2, 50000, 1);
        struct kc_store *store = open_store("s.kc"), *stores[] = { store, store };
        struct device device = { .params = { .batch_nkmers = 20 << 10 }, .nthreads = 3 };
        struct cells cells = { 0 };
        struct kc_error err = { 0 };
        struct kc_joint_engine engine = { &device, compare_refused };
        assert_int_equal(
                kc_store_joint_by(stores, 2, unbounded, &engine, &cells.all, &cells.n, &err),
                KC_EIO);
        assert_string_equal(err.message, "refused");
        engine.join = compare_less;
        err = (struct kc_error){ 0 };
        assert_int_equal(
                kc_store_joint_by(stores, 2, unbounded, &engine, &cells.all, &cells.n, &err),
                KC_ECORRUPT);
        assert_non_null(strstr(err.message, "s.kc and others: the counts add up to"));
        err = (struct kc_error){ 0 };
        device.params.memory_nbytes = 1 << 20;
        assert_int_equal(find_cells(&device, stores, 2, unbounded, &cells, &err), KC_ENOMEM);
        assert_false(device.report.began);
        device.params.memory_nbytes = 0;
        err = (struct kc_error){ 0 };
        device.params.device = 999;
        assert_int_equal(find_cells(&device, stores, 2, unbounded, &cells, &err), KC_EDEVICE);
        device.params.device = 0;
        err = (struct kc_error){ 0 };
        atomic_store(&device.job.cancel, true);
        assert_int_equal(find_cells(&device, stores, 2, unbounded, &cells, &err), KC_ECANCELED);
        atomic_store(&device.job.cancel, false);
        err = (struct kc_error){ 0 };
        assert_int_equal(find_cells(&device, stores, 0, unbounded, &cells, &err), KC_EUSAGE);
        FILE *f = fopen("s.kc", "r+b");
        assert_non_null(f);
        fseek(f, 100000, SEEK_SET);
        fputs("damage", f);
        fclose(f);
        err = (struct kc_error){ 0 };
        assert_int_equal(find_cells(&device, stores, 2, unbounded, &cells, &err), KC_ECORRUPT);
        assert_non_null(strstr(err.message, "s.kc is damaged: the block at offset"));
        assert_null(cells.all);
        kc_store_close(store);
        free_set(&s);
        unlink("s.kc");
}

/* Only the CPU compares k-mers of this length. */
static void test_long(void **state)
{
        (void)state;
        struct pair_set s = make_set(129, false, 10, 1);
        write_set(&s, "s.kc", 1, 700, 1);
        struct kc_store *store = open_store("s.kc");
        struct device device = { .nthreads = 1 };
        struct cells cells;
        struct kc_error err = { 0 };
        assert_int_equal(find_cells(&device, &store, 1, unbounded, &cells, &err), KC_EUSAGE);
        kc_store_close(store);
        free_set(&s);
        unlink("s.kc");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_files),      cmocka_unit_test(test_counts),
                cmocka_unit_test(test_saturation), cmocka_unit_test(test_empty),
                cmocka_unit_test(test_failures),   cmocka_unit_test(test_long),
        };
        need_device();
        cmocka_set_test_filter(getenv("KC_TEST"));
        return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
