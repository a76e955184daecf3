/*
 * The k-mers of one file with their counts in two, compared with lists of all k-mers in which each
 * count is looked up by itself.
 */
#include "store_sets.h"

#include "io/joint.h"
#include "tests/run_support.h"
#include "tests/sampling.h"

static void test_packing(void **state)
{
        (void)state;
        static const uint32_t counts[] = { 0,       1,         2,     254,
                                           255,     256,       65535, (1 << 24) - 1,
                                           1 << 24, UINT32_MAX };
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
                for (size_t j = 1; j < sizeof counts / sizeof *counts; j++) {
                        const uint32_t a = counts[i], b = counts[j], pair = kc_pair_of(a, b);
                        assert_int_equal(kc_pair_first(pair), a < 1 << 24 ? a : (1 << 24) - 1);
                        assert_int_equal(kc_pair_second(pair), b < 256 ? b : 255);
                }
}

static void check_two(struct kc_store *const stores[2], const struct pair_set *const sets[2],
                      int nthreads)
{
        struct run run = { .nwords = (int)sets[0]->nw, .fail_at = -1 };
        const struct kc_run_sink sink = run_sink(&run);
        struct kc_error err = { 0 };
        uint64_t sum, wanted_sum = 0;
        assert_ok(kc_store_pairs(stores[0], stores[1], nthreads, NULL, &sink, &sum, &err), err);
        assert_int_equal(run.ncalls, run.nparts); /* writers make other threads wait for a part */
        struct pairs got = run_join(&run);
        assert_int_equal(got.n, sets[1]->n);
        for (size_t i = 0; i < got.n; i++) {
                const uint64_t *kmer = sets[1]->kmers + i * sets[1]->nw;
                const uint32_t pair = kc_pair_of(count_in(sets[0], kmer), sets[1]->counts[i]);
                assert_memory_equal(got.kmers + i * sets[1]->nw, kmer, sets[1]->nw * sizeof *kmer);
                assert_int_equal(got.counts[i], pair);
                wanted_sum += pair;
        }
        assert_int_equal(sum, wanted_sum);
        pairs_free(&got);
        run_free(&run);
}

/* Files of one run, of several and with tombstones; also the same file twice. */
static void test_pairs(void **state)
{
        (void)state;
        static const int ks[] = { 1, 5, 31, 32, 33, 64, 65, 255 };
        for (size_t i = 0; i < sizeof ks / sizeof *ks; i += THREAD_STRIDE) {
                struct pair_set models[MAX_FILES];
                struct kc_store *stores[MAX_FILES];
                write_files(models, stores, ks[i], 1500, i + 1);
                for (size_t a = 0; a < MAX_FILES; a++)
                        for (size_t b = 0; b < MAX_FILES; b++)
                                check_two(
                                        (struct kc_store *const[]){ stores[a], stores[b] },
                                        (const struct pair_set *const[]){ &models[a], &models[b] },
                                        1 + (int)(a + b) % NTHREADS);
                close_files(models, stores);
        }
}

/* Many parts, of which some have k-mers of one file only. */
static void test_many(void **state)
{
        (void)state;
        const size_t n = WITH_THREAD_SANITIZER ? 40000 : 300000;
        struct pair_set sets[2] = { make_set(21, false, n, 1), { 0 } };
        struct kc_store *stores[2];
        sets[1] = relative(&sets[0], n / 2, 2);
        for (size_t f = 0; f < 2; f++) {
                write_set(&sets[f], file_paths[f], 2, 50000, f);
                stores[f] = open_store(file_paths[f]);
        }
        for (int nthreads = 1; nthreads <= NTHREADS; nthreads += 2)
                check_two(stores, (const struct pair_set *const[]){ &sets[0], &sets[1] }, nthreads);
        for (size_t f = 0; f < 2; f++) {
                kc_store_close(stores[f]);
                free_set(&sets[f]);
                unlink(file_paths[f]);
        }
}

static void test_failures(void **state)
{
        (void)state;
        struct pair_set a = make_set(11, false, 5000, 1), b = make_set(12, false, 10, 1);
        write_set(&a, "a.kc", 1, 700, 1);
        write_set(&b, "b.kc", 1, 700, 1);
        struct kc_store *stores[] = { open_store("a.kc"), open_store("b.kc") };
        struct run run = { .nwords = 1, .fail_at = 0 };
        const struct kc_run_sink sink = run_sink(&run);
        struct kc_error err = { 0 };
        uint64_t sum;
        assert_int_equal(kc_store_pairs(stores[0], stores[1], 1, NULL, &sink, &sum, &err),
                         KC_EUSAGE);
        assert_string_equal(err.message, "a.kc has k = 11, but b.kc has k = 12");
        err = (struct kc_error){ 0 };
        assert_int_equal(kc_store_pairs(stores[0], stores[0], 2, NULL, &sink, &sum, &err), KC_EIO);
        struct kc_job job = { .cancel = true };
        err = (struct kc_error){ 0 };
        assert_int_equal(kc_store_pairs(stores[0], stores[0], 2, &job, &sink, &sum, &err),
                         KC_ECANCELED);
        run_free(&run);
        kc_store_close(stores[0]);
        kc_store_close(stores[1]);
        free_set(&a);
        free_set(&b);
        unlink("a.kc");
        unlink("b.kc");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_packing),
                cmocka_unit_test(test_pairs),
                cmocka_unit_test(test_many),
                cmocka_unit_test(test_failures),
        };
        return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
