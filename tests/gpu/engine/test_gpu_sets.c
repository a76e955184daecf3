/*
 * Set operations on the device: the same files as the host's threads write, byte for byte, and the
 * same failures. Skipped without a device.
 */
#include "tests/gpu/engine/gpu_sets.h"
#include "tests/gpu/need_device.h"
#include "tests/io/store/store_seal.h"

#include "io/store/file.h"

/* KC_TEST_SMALL=1 in the environment: fewer cases, for an emulated device. */
static bool is_small(void)
{
        return getenv("KC_TEST_SMALL") != NULL;
}

/* npairs: see kc_gpu_params.batch_nkmers; 1: the minimum. */
static void compare(const struct kc_set *set, uint64_t npairs, int nthreads, uint32_t min,
                    uint32_t max)
{
        struct device device = { .params = { .batch_nkmers = npairs }, .nthreads = nthreads };
        struct kc_error err = { 0 };
        run_set_into(set, "host.kc", 2, min, max);
        assert_ok(combine(&device, set, "device.kc", min, max, &err), err);
        assert_true(device.report.began);
        assert_same_files("host.kc", "device.kc");
        unlink("host.kc");
        unlink("device.kc");
}

/* ---- all operations ---- */

static const struct {
        uint64_t npairs;
        int nthreads;
        uint32_t min, max;
} ways[] = { { 0, 3, 1, UINT32_MAX }, { 1, 1, 1, UINT32_MAX }, { 20 << 10, 2, 2, UINT32_MAX },
             { 1, 5, 1, 300 },        { 1, 2, 7, 7 },          { 1, 1, 3, 40 } };

/* Every operation and rule on the first n files, each in a different way. */
static void check_operations(struct kc_store *const *stores, size_t n, size_t first_way)
{
        size_t way = first_way;
        for (int operation = KC_SET_UNION; operation <= KC_SET_SUBTRACT; operation++)
                for (int rule = KC_RULE_SUM; rule <= KC_RULE_RIGHT; rule++) {
                        struct kc_set set = { stores, n, (enum kc_set_operation)operation,
                                              (enum kc_count_rule)rule };
                        if (kc_set_check(&set, NULL) != KC_OK)
                                continue;
                        size_t w = way++ % (sizeof ways / sizeof *ways);
                        compare(&set, ways[w].npairs, ways[w].nthreads, ways[w].min, ways[w].max);
                }
}

static void check_files(int k, size_t n, uint64_t seed)
{
        struct pair_set models[MAX_FILES];
        struct kc_store *stores[MAX_FILES];
        write_files(models, stores, k, n, seed);
        for (size_t nfiles = 1; nfiles <= MAX_FILES; nfiles++)
                if (!is_small() || nfiles == 1 + seed % MAX_FILES)
                        check_operations(stores, nfiles, seed + nfiles);
        struct kc_store *const last_first[] = { stores[3], stores[2], stores[1], stores[0] };
        if (!is_small() || seed % 3 == 0)
                check_operations(last_first, MAX_FILES, seed);
        close_files(models, stores);
}

static void test_operations(void **state)
{
        (void)state;
        static const size_t sizes[] = { 0, 1, 1023, 1024, 1025, 3000 };
        static const int some_ks[] = { 1, 2, 4, 12, 31, 32, 33, 48, 63, 64, 65, 96, 101, 128 };
        uint64_t seed = 0;
        for (size_t ik = 0; ik < sizeof some_ks / sizeof *some_ks; ik++)
                for (size_t in = 0; in < sizeof sizes / sizeof *sizes; in++, seed++)
                        if (!is_small() || seed % 4 == 0)
                                check_files(some_ks[ik], sizes[in], seed);
}

static void test_large_operations(void **state)
{
        (void)state;
        check_files(31, is_small() ? 20000 : 200000, 1);
        check_files(64, is_small() ? 10000 : 100000, 2);
        check_files(101, is_small() ? 5000 : 50000, 2);
}

/* ---- what the filter drops ---- */

/* What all calls of a sink report, added up. */
struct told {
        atomic_uint_fast64_t npairs, kmers, counts; /* the latter two added up */
        atomic_uint_fast64_t ndistinct, nkmers, nunique;
};

static enum kc_status listen(void *ctx, const struct kc_run_pairs *pairs, struct kc_error *err)
{
        struct told *told = ctx;
        (void)err;
        told->npairs += pairs->n;
        for (size_t i = 0; i < pairs->n; i++) {
                told->kmers += pairs->kmers[i];
                told->counts += pairs->counts[i];
        }
        told->ndistinct += pairs->dropped.ndistinct;
        told->nkmers += pairs->dropped.nkmers;
        told->nunique += pairs->dropped.nunique;
        return KC_OK;
}

static void ignore(void *ctx)
{
        (void)ctx;
}

/* joiner: NULL for the host. */
static struct told run_into_listener(const struct kc_set *set, const struct kc_set_joiner *joiner,
                                     int nthreads, struct kc_run_filter filter)
{
        struct told told = { 0 };
        const struct kc_run_sink sink = {
                .ctx = &told, .filter = filter, .put = listen, .cancel = ignore
        };
        struct kc_store_origin origin;
        struct kc_error err = { 0 };
        const char **names;
        assert_ok(joiner == NULL ? kc_set_run(set, nthreads, NULL, &sink, &origin, &names, &err)
                                 : kc_set_run_by(set, joiner, &sink, &origin, &names, &err),
                  err);
        free(names);
        return told;
}

/* Both engines report the same to a sink of pairs, including the number of k-mers with count 1,
 * which no file records. */
static void test_dropped(void **state)
{
        (void)state;
        static const struct kc_run_filter filters[] = { { 1, 1 }, { 2, UINT32_MAX }, { 2, 40 } };
        struct pair_set models[MAX_FILES];
        struct kc_store *stores[MAX_FILES];
        write_files(models, stores, 31, 3000, 1);
        const struct kc_set set = { stores, MAX_FILES, KC_SET_UNION, KC_RULE_SUM };
        for (int i = 0; i < 3; i++)
                for (int nthreads = 1; nthreads < 4; nthreads += 2) {
                        struct device device = { .params = { .batch_nkmers = 1 },
                                                 .nthreads = nthreads };
                        const struct kc_set_joiner joiner = { &device, join_on_device };
                        struct told host = run_into_listener(&set, NULL, nthreads, filters[i]);
                        struct told told = run_into_listener(&set, &joiner, nthreads, filters[i]);
                        assert_true(host.npairs > 0 && host.ndistinct > 0);
                        assert_true(host.nunique > 0 || filters[i].min_count == 1);
                        assert_memory_equal(&told, &host, sizeof host);
                }
        close_files(models, stores);
}

/* ---- single files ---- */

static void compare_file(const char *path, uint64_t npairs)
{
        struct kc_store *store = open_store(path);
        compare(&(struct kc_set){ &store, 1, KC_SET_UNION, KC_RULE_SUM }, npairs, 2, 1, UINT32_MAX);
        kc_store_close(store);
}

/* Sums above UINT32_MAX, in one file and in several; k-mers that tombstones hide. */
static void test_saturation(void **state)
{
        (void)state;
        struct pair_set a = make_set(15, false, 1500, 1), b = make_set(15, false, 1500, 1);
        for (size_t i = 0; i < a.n; i++)
                a.counts[i] = b.counts[i] = UINT32_MAX - (uint32_t)(i % 3);
        write_set(&a, "s.kc", 1, 700, 1);
        append_set("s.kc", &b, false, 1);
        b.n /= 2;
        append_set("s.kc", &b, true, 1);
        append_set("s.kc", &b, false, 1);
        append_set("s.kc", &a, false, 1);
        compare_file("s.kc", 0);
        compare_file("s.kc", 1);
        struct kc_store *store = open_store("s.kc"), *stores[] = { store, store, store };
        for (int rule = KC_RULE_SUM; rule <= KC_RULE_RIGHT; rule++)
                compare(&(struct kc_set){ stores, 3, KC_SET_UNION, (enum kc_count_rule)rule }, 1, 2,
                        1, UINT32_MAX);
        const struct kc_set sums = { stores, 3, KC_SET_UNION, KC_RULE_SUM };
        compare(&sums, 1, 2, 1, UINT32_MAX - 1);
        compare(&sums, 1, 2, UINT32_MAX, UINT32_MAX);
        kc_store_close(store);
        free_set(&a);
        free_set(&b);
        unlink("s.kc");
}

/* Only tombstones; as many runs as a file can have. */
static void test_many_runs(void **state)
{
        (void)state;
        struct pair_set none = make_set(31, false, 0, 1), s = make_set(31, false, 2500, 1);
        write_set(&none, "s.kc", 1, 700, 1);
        compare_file("s.kc", 0);
        append_set("s.kc", &s, true, 1);
        compare_file("s.kc", 1);
        for (int run = 2; run < (is_small() ? 40 : 256); run++) {
                struct pair_set r = relative(&s, 100, (uint64_t)run);
                append_set("s.kc", &r, run % 5 == 0, 1);
                free_set(&r);
        }
        compare_file("s.kc", 0);
        compare_file("s.kc", 1);
        free_set(&none);
        free_set(&s);
        unlink("s.kc");
}

/* ---- failures ---- */

static enum kc_status refuse(void *ctx, const struct kc_run_blocks *blocks, struct kc_error *err)
{
        (void)ctx;
        return blocks->part < 1 ? KC_OK : kc_fail(err, KC_EIO, "refused");
}

/* Run set into a sink that accepts only the first part. */
static enum kc_status fail_to_combine(struct device *device, const struct kc_set *set,
                                      struct kc_error *err)
{
        const struct kc_set_joiner joiner = { device, join_on_device };
        struct kc_run_sink sink = { .filter = { 1, UINT32_MAX },
                                    .put_blocks = refuse,
                                    .cancel = ignore };
        struct kc_store_origin origin;
        const char **names;
        enum kc_status status = kc_set_run_by(set, &joiner, &sink, &origin, &names, err);
        free(names);
        return status;
}

static void test_failures(void **state)
{
        (void)state;
        struct pair_set s = make_set(31, false, 70000, 1);
        write_set(&s, "s.kc", 2, 50000, 1);
        struct kc_store *store = open_store("s.kc"), *stores[] = { store, store };
        const struct kc_set set = { stores, 2, KC_SET_UNION, KC_RULE_SUM };
        struct kc_error err = { 0 };
        struct device device = { .params = { .batch_nkmers = 20 << 10 }, .nthreads = 3 };
        assert_int_equal(fail_to_combine(&device, &set, &err), KC_EIO);
        assert_string_equal(err.message, "refused");
        err = (struct kc_error){ 0 };
        device.params.memory_nbytes = 1 << 20;
        assert_int_equal(combine(&device, &set, "o.kc", 1, UINT32_MAX, &err), KC_ENOMEM);
        assert_false(device.report.began);
        assert_non_null(strstr(err.message, "too little to merge 2 runs"));
        device.params.memory_nbytes = 0;
        err = (struct kc_error){ 0 };
        device.params.device = 999;
        assert_int_equal(combine(&device, &set, "o.kc", 1, UINT32_MAX, &err), KC_EDEVICE);
        device.params.device = 0;
        err = (struct kc_error){ 0 };
        atomic_store(&device.job.cancel, true);
        assert_int_equal(combine(&device, &set, "o.kc", 1, UINT32_MAX, &err), KC_ECANCELED);
        atomic_store(&device.job.cancel, false);
        FILE *f = fopen("s.kc", "r+b");
        assert_non_null(f);
        fseek(f, 100000, SEEK_SET);
        fputs("damage", f);
        fclose(f);
        err = (struct kc_error){ 0 };
        assert_int_equal(combine(&device, &set, "o.kc", 1, UINT32_MAX, &err), KC_ECORRUPT);
        assert_non_null(strstr(err.message, "s.kc is damaged: the block at offset"));
        kc_store_close(store);
        free_set(&s);
        unlink("s.kc");
}

/* The offset of the first block of s.kc, and its number of words without the checksum. */
static void find_block(uint64_t *offset, size_t *nwords)
{
        struct kc_store *store = open_store("s.kc");
        struct kc_page page = { 0 };
        struct kc_error err = { 0 };
        assert_ok(kc_page_load(&page, store, &store->runs[0], 0, &err), err);
        *offset = page.offsets[0];
        *nwords = (page.offsets[1] - page.offsets[0]) / sizeof(uint64_t) - 1;
        free(page.words);
        kc_store_close(store);
}

/* Change bits of the block's words in the file's bytes, then update all checksums. */
static void forge(struct kc_bytes bytes, uint64_t *words, size_t nwords, uint64_t *rng)
{
        size_t at = next_random(rng) % 4 == 0 ? 0 : next_random(rng) % nwords;
        words[at] ^= UINT64_C(1) << next_random(rng) % 64;
        if (next_random(rng) % 2)
                words[at] = next_random(rng);
        seal_store(&bytes);
        write_file("s.kc", bytes.data, bytes.n);
}

/* The same on the host's threads, which may fail later, when everything is written. */
static enum kc_status combine_on_host(const struct kc_set *set)
{
        struct kc_store_writer *w = NULL;
        struct kc_store_options options = kc_set_options(set, 1, UINT32_MAX);
        struct kc_store_origin origin;
        struct kc_error err = { 0 };
        const char **names;
        options.replace = true;
        assert_ok(kc_store_create(&w, "host.kc", &options, &err), err);
        struct kc_run_sink sink = kc_store_sink(w);
        enum kc_status status = kc_set_run(set, 1, NULL, &sink, &origin, &names, &err);
        if (status == KC_OK)
                status = kc_store_commit(w, &origin, NULL, &err);
        else
                kc_store_abort(w);
        free(names);
        return status;
}

/* Invalid blocks with correct checksums: the device refuses what the host refuses, and nothing is
 * read or written out of bounds (the emulator checks that). */
static void check_forged(int k)
{
        struct pair_set s = make_set(k, false, 2300, 1);
        uint64_t rng = (uint64_t)k, offset;
        size_t nwords, nbytes, nrefused = 0, naccepted = 0;
        write_set(&s, "s.kc", 1, 700, 1);
        find_block(&offset, &nwords);
        uint8_t *good = read_file("s.kc", &nbytes), *forged = malloc(nbytes);
        assert_non_null(forged);
        for (int i = 0; i < (is_small() ? 40 : 400); i++) {
                struct device device = { .nthreads = 2 };
                struct kc_error err = { 0 };
                memcpy(forged, good, nbytes);
                forge((struct kc_bytes){ forged, nbytes }, (uint64_t *)(forged + offset), nwords,
                      &rng);
                struct kc_store *store = open_store("s.kc"), *stores[] = { store, store };
                const struct kc_set set = { stores, 2, KC_SET_UNION, KC_RULE_MAX };
                enum kc_status on_host = combine_on_host(&set);
                enum kc_status status = combine(&device, &set, "device.kc", 1, UINT32_MAX, &err);
                if (status == KC_OK) {
                        assert_int_equal(on_host, KC_OK);
                        assert_same_files("host.kc", "device.kc");
                }
                nrefused += status != KC_OK;
                naccepted += status == KC_OK;
                kc_store_close(store);
        }
        assert_true(nrefused > 0);
        assert_true(naccepted > 0); /* otherwise the checksums were wrong */
        free(good);
        free(forged);
        free_set(&s);
        unlink("s.kc");
        unlink("host.kc");
        unlink("device.kc");
}

static void test_forged_blocks(void **state)
{
        (void)state;
        check_forged(31);
        check_forged(20);
        check_forged(64);
        check_forged(96);
        check_forged(101);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_operations),    cmocka_unit_test(test_large_operations),
                cmocka_unit_test(test_dropped),       cmocka_unit_test(test_saturation),
                cmocka_unit_test(test_many_runs),     cmocka_unit_test(test_failures),
                cmocka_unit_test(test_forged_blocks),
        };
        need_device();
        cmocka_set_test_filter(getenv("KC_TEST"));
        return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
