/*
 * The k-mers of one file with their counts in two, which come with a joint histogram, compared with
 * lists of all k-mers in which each count is looked up by itself.
 */
#include "store_sets.h"

#include "io/joint.h"
#include "tests/run_support.h"
#include "tests/sampling.h"

static const uint32_t all[KC_JOINT_MAX_FILES] = { 0 };

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

/* The run has all k-mers of the other set, with their pairs. */
static void check_run(struct run *run, uint64_t sum, const struct pair_set *first,
                      const struct pair_set *other)
{
        uint64_t wanted_sum = 0;
        assert_int_equal(run->ncalls, run->nparts); /* writers make other threads wait for a part */
        struct pairs got = run_join(run);
        assert_int_equal(got.n, other->n);
        for (size_t i = 0; i < got.n; i++) {
                const uint64_t *kmer = other->kmers + i * other->nw;
                const uint32_t pair = kc_pair_of(count_in(first, kmer), other->counts[i]);
                assert_memory_equal(got.kmers + i * other->nw, kmer, other->nw * sizeof *kmer);
                assert_int_equal(got.counts[i], pair);
                wanted_sum += pair;
        }
        assert_int_equal(sum, wanted_sum);
        pairs_free(&got);
}

/* Ask for the pairs of those files whose bits are set in `wanted`. The cells are those that come
 * without pairs, which test_joint.c checks. */
static void check_files(struct kc_store *const *stores, const struct pair_set *const *sets,
                        size_t nfiles, unsigned wanted, int nthreads)
{
        struct run runs[KC_JOINT_MAX_FILES] = { 0 };
        struct kc_run_sink sinks[KC_JOINT_MAX_FILES];
        struct kc_joint_pairs pairs = { 0 };
        struct kc_joint_cell *cells[2];
        size_t ncells[2];
        struct kc_error err = { 0 };
        for (size_t i = 0; i < nfiles; i++) {
                runs[i] = (struct run){ .nwords = (int)sets[0]->nw, .fail_at = -1 };
                sinks[i] = run_sink(&runs[i]);
                pairs.sinks[i] = wanted >> i & 1 ? &sinks[i] : NULL;
        }
        assert_ok(kc_store_joint(stores, nfiles, all, &pairs, nthreads, NULL, &cells[0], &ncells[0],
                                 &err),
                  err);
        assert_ok(kc_store_joint(stores, nfiles, all, NULL, 1, NULL, &cells[1], &ncells[1], &err),
                  err);
        assert_int_equal(ncells[0], ncells[1]);
        for (size_t i = 0; i < ncells[0]; i++) {
                const struct kc_joint_cell *a = &cells[0][i], *b = &cells[1][i];
                assert_memory_equal(a->counts, b->counts, sizeof a->counts);
                assert_int_equal(a->ndistinct, b->ndistinct);
                assert_memory_equal(a->sums, b->sums, sizeof a->sums);
        }
        for (size_t i = 0; i < nfiles; i++) {
                if (wanted >> i & 1)
                        check_run(&runs[i], pairs.sums[i], sets[0], sets[i]);
                else
                        assert_int_equal(runs[i].ncalls, 0);
                run_free(&runs[i]);
        }
        free(cells[0]);
        free(cells[1]);
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
                                check_files(
                                        (struct kc_store *const[]){ stores[a], stores[b],
                                                                    stores[(a + b) % MAX_FILES] },
                                        (const struct pair_set *const[]){
                                                &models[a], &models[b],
                                                &models[(a + b) % MAX_FILES] },
                                        2 + b % 2, 2 + 2 * (a % 3), 1 + (int)(a + b) % NTHREADS);
                close_files(models, stores);
        }
}

/* Many parts, of which some have k-mers of one file only. */
static void test_many(void **state)
{
        (void)state;
        const size_t n = FEW_CASES ? 40000 : 300000;
        struct pair_set sets[2] = { make_set(21, false, n, 1), { 0 } };
        struct kc_store *stores[2];
        sets[1] = relative(&sets[0], n / 2, 2);
        for (size_t f = 0; f < 2; f++) {
                write_set(&sets[f], file_paths[f], 2, 50000, f);
                stores[f] = open_store(file_paths[f]);
        }
        for (int nthreads = 1; nthreads <= NTHREADS; nthreads += 2)
                check_files(stores, (const struct pair_set *const[]){ &sets[0], &sets[1] }, 2, 2,
                            nthreads);
        for (size_t f = 0; f < 2; f++) {
                kc_store_close(stores[f]);
                free_set(&sets[f]);
                unlink(file_paths[f]);
        }
}

static enum kc_status join_with_itself(struct kc_store *store, const struct kc_run_sink *sink,
                                       struct kc_job *job, struct kc_error *err)
{
        struct kc_joint_pairs pairs = { .sinks = { NULL, sink } };
        struct kc_joint_cell *cells = NULL;
        size_t ncells;
        const enum kc_status status = kc_store_joint((struct kc_store *const[]){ store, store }, 2,
                                                     all, &pairs, 2, job, &cells, &ncells, err);
        assert_null(cells);
        return status;
}

static void test_failures(void **state)
{
        (void)state;
        struct pair_set a = make_set(11, false, 5000, 1);
        write_set(&a, "a.kc", 1, 700, 1);
        struct kc_store *store = open_store("a.kc");
        struct run run = { .nwords = 1, .fail_at = 0 };
        const struct kc_run_sink sink = run_sink(&run);
        struct kc_error err = { 0 };
        assert_int_equal(join_with_itself(store, &sink, NULL, &err), KC_EIO);
        assert_string_equal(err.message, "the sink is full");
        assert_int_equal(run.ncanceled, 1);
        struct kc_job job = { .cancel = true };
        err = (struct kc_error){ 0 };
        assert_int_equal(join_with_itself(store, &sink, &job, &err), KC_ECANCELED);
        run_free(&run);
        kc_store_close(store);
        free_set(&a);
        unlink("a.kc");
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
