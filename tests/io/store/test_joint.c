/*
 * Joint histograms and those by GC content, compared with lists of all k-mers in which each count
 * is looked up by itself.
 */
#include "store_sets.h"

#include "io/joint.h"
#include "tests/sampling.h"

static uint32_t bounded(uint32_t count, uint32_t most)
{
        return most > 0 && count > most ? most + 1 : count;
}

/* ---- several files ---- */

/* The cell of a k-mer; all its counts are 0 if no set has it. */
static struct kc_joint_cell cell_of(const struct pair_set *sets, size_t n, const uint64_t *kmer,
                                    const uint32_t *most)
{
        struct kc_joint_cell cell = { .ndistinct = 1 };
        for (size_t i = 0; i < n; i++) {
                cell.sums[i] = count_in(&sets[i], kmer);
                cell.counts[i] = bounded((uint32_t)cell.sums[i], most[i]);
        }
        return cell;
}

static int compare_cells(const void *a, const void *b)
{
        return memcmp(((const struct kc_joint_cell *)a)->counts,
                      ((const struct kc_joint_cell *)b)->counts,
                      sizeof((const struct kc_joint_cell *)a)->counts);
}

/* All cells, in the order of the bytes of their counts: each is the sum over neighbours in a sorted
 * list. */
static struct kc_joint_cell *model_cells(const struct pair_set *sets, size_t n,
                                         const uint32_t *most, size_t *ncells)
{
        struct pair_set all = all_kmers(sets, n);
        struct kc_joint_cell *cells = malloc((all.n + 1) * sizeof *cells);
        assert_non_null(cells);
        for (size_t i = 0; i < all.n; i++)
                cells[i] = cell_of(sets, n, all.kmers + i * all.nw, most);
        qsort(cells, all.n, sizeof *cells, compare_cells);
        *ncells = 0;
        for (size_t i = 0; i < all.n; i++) {
                struct kc_joint_cell *last = &cells[*ncells - 1];
                if (*ncells == 0 || compare_cells(last, &cells[i]) != 0) {
                        cells[(*ncells)++] = cells[i];
                        continue;
                }
                last->ndistinct++;
                for (size_t f = 0; f < n; f++)
                        last->sums[f] += cells[i].sums[f];
        }
        free_set(&all);
        return cells;
}

static void assert_ascending(const struct kc_joint_cell *cells, size_t n)
{
        for (size_t i = 1; i < n; i++) {
                const uint32_t *a = cells[i - 1].counts, *b = cells[i].counts;
                size_t f = 0;
                while (f < KC_JOINT_MAX_FILES && a[f] == b[f])
                        f++;
                assert_true(f < KC_JOINT_MAX_FILES && a[f] < b[f]);
        }
}

static void check_joint(struct kc_store *const *stores, const struct pair_set *sets, size_t n,
                        const uint32_t *most, int nthreads)
{
        struct kc_error err = { 0 };
        struct kc_joint_cell *cells = NULL;
        size_t ncells, nwanted;
        struct kc_joint_cell *wanted = model_cells(sets, n, most, &nwanted);
        assert_ok(kc_store_joint(stores, n, most, NULL, nthreads, NULL, &cells, &ncells, &err),
                  err);
        assert_ascending(cells, ncells);
        qsort(cells, ncells, sizeof *cells, compare_cells);
        assert_int_equal(ncells, nwanted);
        for (size_t i = 0; i < nwanted; i++) {
                assert_memory_equal(cells[i].counts, wanted[i].counts, sizeof cells[i].counts);
                assert_int_equal(cells[i].ndistinct, wanted[i].ndistinct);
                assert_memory_equal(cells[i].sums, wanted[i].sums, sizeof cells[i].sums);
        }
        free(cells);
        free(wanted);
}

static const uint32_t bounds[][KC_JOINT_MAX_FILES] = {
        { 0, 0, 0 }, { 1, 1, 1 }, { 5, 0, 2 }, { 300, 15, 16 }, { UINT32_MAX - 1, UINT32_MAX, 255 }
};
enum { NBOUNDS = sizeof bounds / sizeof *bounds };

/* Files of one run, of several and with tombstones, in any order and repeated. */
static void test_joint(void **state)
{
        (void)state;
        static const int ks[] = { 1, 5, 31, 32, 33, 64, 65, 255 };
        static const size_t orders[][KC_JOINT_MAX_FILES] = { { 0, 1, 2 },
                                                             { 3, 0, 1 },
                                                             { 2, 2, 3 } };
        for (size_t i = 0; i < sizeof ks / sizeof *ks; i += THREAD_STRIDE) {
                struct pair_set models[MAX_FILES], sets[KC_JOINT_MAX_FILES];
                struct kc_store *stores[MAX_FILES], *some[KC_JOINT_MAX_FILES];
                write_files(models, stores, ks[i], 1500, i + 1);
                for (size_t o = 0; o < 3; o++) {
                        for (size_t f = 0; f < KC_JOINT_MAX_FILES; f++) {
                                sets[f] = models[orders[o][f]];
                                some[f] = stores[orders[o][f]];
                        }
                        for (size_t n = 1; n <= KC_JOINT_MAX_FILES; n++)
                                check_joint(some, sets, n, bounds[(i + o + n) % NBOUNDS],
                                            1 + (int)(o + n) % NTHREADS);
                }
                close_files(models, stores);
        }
}

/* Many parts; each thread finds more large cells than it keeps for itself. */
static void test_many(void **state)
{
        (void)state;
        const size_t n = FEW_CASES ? 40000 : 150000;
        struct pair_set sets[2] = { make_set(21, false, n, 1), { 0 } };
        struct kc_store *stores[2];
        sets[1] = relative(&sets[0], n / 2, 2);
        for (size_t f = 0; f < 2; f++) {
                for (size_t i = 0; i < sets[f].n; i++)
                        if (i % 3 == 0)
                                sets[f].counts[i] = (uint32_t)(1 + i * 7919 % 60000);
                write_set(&sets[f], file_paths[f], 2, 50000, f);
                stores[f] = open_store(file_paths[f]);
        }
        for (int nthreads = 1; nthreads <= NTHREADS; nthreads += 2)
                check_joint(stores, sets, 2, bounds[0], nthreads);
        check_joint(stores, sets, 2, bounds[2], NTHREADS);
        for (size_t f = 0; f < 2; f++) {
                kc_store_close(stores[f]);
                free_set(&sets[f]);
                unlink(file_paths[f]);
        }
}

/* A file that has only tombstones left, one that never had a k-mer, and nothing at all. */
static void test_empty(void **state)
{
        (void)state;
        struct pair_set sets[3] = { make_set(11, false, 3000, 1), empty_set(&sets[0], 0),
                                    empty_set(&sets[0], 0) };
        struct kc_store *stores[3];
        for (size_t f = 0; f < 3; f++)
                write_set(&sets[f == 2 ? 0 : f], file_paths[f], 1, 700, f);
        append_set(file_paths[2], &sets[0], true, 1);
        for (size_t f = 0; f < 3; f++)
                stores[f] = open_store(file_paths[f]);
        for (size_t n = 1; n <= 3; n++)
                check_joint(stores, sets, n, bounds[0], NTHREADS);
        check_joint(stores + 1, sets + 1, 2, bounds[0], NTHREADS);
        for (size_t f = 0; f < 3; f++) {
                kc_store_close(stores[f]);
                free_set(&sets[f]);
                unlink(file_paths[f]);
        }
}

static void test_refusals(void **state)
{
        (void)state;
        static const uint32_t most[KC_JOINT_MAX_FILES + 1] = { 0 };
        struct pair_set a = make_set(11, false, 10, 1), b = make_set(12, false, 10, 1),
                        c = make_set(11, true, 10, 1);
        write_set(&a, "a.kc", 1, 700, 1);
        write_set(&b, "b.kc", 1, 700, 1);
        write_set(&c, "c.kc", 1, 700, 1);
        struct kc_store *stores[] = { open_store("a.kc"), open_store("b.kc"), open_store("c.kc"),
                                      open_store("a.kc") };
        struct kc_joint_cell *cells = NULL;
        size_t ncells;
        struct kc_error err = { 0 };
        assert_int_equal(kc_store_joint(stores, 2, most, NULL, 1, NULL, &cells, &ncells, &err),
                         KC_EUSAGE);
        assert_string_equal(err.message, "a.kc has k = 11, but b.kc has k = 12");
        err = (struct kc_error){ 0 };
        assert_int_equal(kc_store_joint((struct kc_store *[]){ stores[0], stores[2] }, 2, most,
                                        NULL, 1, NULL, &cells, &ncells, &err),
                         KC_EUSAGE);
        assert_string_equal(err.message,
                            "a.kc holds canonical k-mers, but c.kc holds stranded ones");
        for (size_t n = 0; n <= 4; n += 4) {
                err = (struct kc_error){ 0 };
                assert_int_equal(
                        kc_store_joint(stores, n, most, NULL, 1, NULL, &cells, &ncells, &err),
                        KC_EUSAGE);
        }
        struct kc_job job = { .cancel = true };
        err = (struct kc_error){ 0 };
        assert_int_equal(kc_store_joint(stores, 1, most, NULL, 2, &job, &cells, &ncells, &err),
                         KC_ECANCELED);
        assert_null(cells);
        for (size_t i = 0; i < 4; i++)
                kc_store_close(stores[i]);
        free_set(&a);
        free_set(&b);
        free_set(&c);
        for (int f = 0; f < 3; f++)
                unlink(file_paths[f]);
}

/* ---- GC content ---- */

static uint32_t gc_of(const uint64_t *kmer, int k)
{
        uint32_t gc = 0;
        for (int i = 0; i < k; i++) {
                const unsigned base = kmer[i / 32] >> 2 * (i % 32) & 3;
                gc += base == 1 || base == 2;
        }
        return gc;
}

/* Every cell has what a walk over all k-mers finds, and every k-mer is in a cell. */
static void check_gc(struct kc_store *store, const struct pair_set *s, uint32_t most, int nthreads)
{
        struct kc_error err = { 0 };
        struct kc_gc_cell *cells = NULL;
        size_t ncells;
        uint64_t ndistinct = 0;
        assert_ok(kc_store_gc(store, most, nthreads, NULL, &cells, &ncells, &err), err);
        for (size_t c = 0; c < ncells; c++) {
                uint64_t n = 0, sum = 0;
                for (size_t i = 0; i < s->n; i++)
                        if (bounded(s->counts[i], most) == cells[c].count &&
                            gc_of(s->kmers + i * s->nw, s->k) == cells[c].gc) {
                                n++;
                                sum += s->counts[i];
                        }
                assert_int_equal(cells[c].ndistinct, n);
                assert_int_equal(cells[c].sum, sum);
                assert_true(n > 0 && cells[c].gc <= (uint32_t)s->k);
                assert_true(
                        c == 0 || cells[c - 1].gc < cells[c].gc ||
                        (cells[c - 1].gc == cells[c].gc && cells[c - 1].count < cells[c].count));
                ndistinct += n;
        }
        assert_int_equal(ndistinct, s->n);
        free(cells);
}

static void test_gc(void **state)
{
        (void)state;
        static const int ks[] = { 1, 2, 31, 32, 33, 63, 64, 65, 96, 127, 255 };
        for (size_t i = 0; i < sizeof ks / sizeof *ks; i += THREAD_STRIDE) {
                struct pair_set models[MAX_FILES];
                struct kc_store *stores[MAX_FILES];
                write_files(models, stores, ks[i], 1200, i + 1);
                for (size_t f = 0; f < MAX_FILES; f++)
                        check_gc(stores[f], &models[f], f == 1 ? 0 : bounds[f][0], 1 + (int)f % 3);
                close_files(models, stores);
        }
}

/* k-mers of only G and C, and k-mers that have neither. */
static void test_gc_extremes(void **state)
{
        (void)state;
        for (int k = 1; k <= KC_MAX_K; k += 127) {
                struct pair_set s = make_set(k, true, 0, 1);
                free_set(&s);
                s = empty_set(&(struct pair_set){ .k = k, .stranded = true, .nw = s.nw }, 4);
                for (uint64_t base = 0; base < 4; base++) {
                        uint64_t kmer[KC_MAX_WORDS];
                        for (size_t w = 0; w < s.nw; w++)
                                kmer[w] = base * UINT64_C(0x5555555555555555);
                        kmer[s.nw - 1] &= kc_kmer_top_mask(k);
                        add_pair(&s, kmer, base + 1);
                }
                write_set(&s, "s.kc", 1, 700, 1);
                struct kc_store *store = open_store("s.kc");
                check_gc(store, &s, 0, 1);
                kc_store_close(store);
                free_set(&s);
        }
        unlink("s.kc");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_joint), cmocka_unit_test(test_many),
                cmocka_unit_test(test_empty), cmocka_unit_test(test_refusals),
                cmocka_unit_test(test_gc),    cmocka_unit_test(test_gc_extremes),
        };
        return cmocka_run_group_tests(tests, enter_memory, leave_folder);
}
