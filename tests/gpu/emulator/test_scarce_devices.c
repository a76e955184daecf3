/*
 * The counter over several devices when one of them has little memory, when memory runs out at each
 * allocation, and when copies between devices fail: it produces the whole run or fails as it
 * should, and releases all memory.
 */
#include "scarcity.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "io/histogram.h"
#include "tests/gpu/engine/work.h"
#include "tests/sampling.h"

enum { NREADS = 200, NMANY = 3000, NDEVICES = 3 };

/* With a sanitizer, a third of the attempts, each of which counts for three. */
enum { STRIDE = CASES_A_SAMPLE > 1 ? 3 : 1 };

static struct work host, many; /* `many`: so many reads that the devices merge together */

/* batch_nkmers: 0 for all reads in a batch and a pass */
static void prepare_reads(struct work *work, uint64_t nreads, uint64_t batch_nkmers)
{
        prepare(work, 31, nreads);
        work->gpu.memory_nbytes = 256 << 20;
        work->gpu.batch_nkmers = batch_nkmers;
        work->gpu.walk_npasses = batch_nkmers != 0 ? 3 : 0;
        work->params.memory_nbytes = 1 << 20;
        work->gpu.nothers = NDEVICES - 1;
        for (int i = 1; i < NDEVICES; i++)
                work->gpu.others[i - 1] = i;
}

static void prepare_devices(struct work *work, uint64_t batch_nkmers)
{
        prepare_reads(work, NREADS, batch_nkmers);
}

/* So few pairs in a range that each device takes some. */
static void prepare_merge(struct work *work)
{
        prepare_reads(work, NMANY, 15000);
}

static int count_on_the_host(void **state)
{
        (void)state;
        kc_emulator_devices(NDEVICES, NDEVICES);
        prepare(&host, 31, NREADS);
        count_on_host(&host);
        prepare(&many, 31, NMANY);
        count_on_host(&many);
        return 0;
}

static int free_host(void **state)
{
        (void)state;
        run_free(&host.run);
        run_free(&many.run);
        return 0;
}

static enum kc_status count(struct work *work)
{
        const enum kc_status status = count_on_device(work);
        assert_int_equal(kc_emulator_device_nbytes(), 0);
        assert_int_equal(kc_emulator_npinned(), 0);
        if (status == KC_OK)
                expect_same(work, &host);
        run_free(&work->run);
        return status;
}

/* A device that is too small leaves its share to the others, wherever in the list it is. */
static void one_small_device(void **state)
{
        static struct work work;
        (void)state;
        for (int small = 1; small < NDEVICES; small++) {
                kc_emulator_total_of(small, 20 << 20);
                prepare_devices(&work, 0);
                expect(count(&work), KC_OK, &work);
                for (int i = 0; i < NDEVICES; i++)
                        assert_int_equal(work.report.parts[i].nkmers > 0, i != small);
                kc_emulator_total(0);
        }
}

/* The first device counts everything if no other one can. */
static void one_large_device(void **state)
{
        static struct work work;
        (void)state;
        for (int i = 1; i < NDEVICES; i++)
                kc_emulator_total_of(i, 20 << 20);
        prepare_devices(&work, 0);
        expect(count(&work), KC_OK, &work);
        kc_emulator_total(0);
        assert_int_equal(work.report.parts[0].nkmers, work.totals.nkmers);
}

/* Whether a device gave up after a walk that all devices had shared. */
static bool was_left(const struct work *work)
{
        bool left = false;
        for (int i = 1; i < NDEVICES; i++)
                left |= work->report.nshared > 0 && work->report.parts[i].nkmers == 0;
        return left;
}

/* Returns how many attempts met the scarcity. *nthrough is increased by the number of those that
 * produced the whole run, and *nleft by the number of these for which was_left is true. */
static int try_all(enum kc_scarcity kind, uint64_t batch_nkmers, enum kc_status wanted,
                   int *nthrough, int *nleft)
{
        static struct work work;
        bool met = true;
        int nmet = 0;
        for (long n = 0; met; n += STRIDE) {
                assert_in_range(n, 0, 1000);
                prepare_devices(&work, batch_nkmers);
                kc_emulator_scarcity(kind, n);
                enum kc_status status = count_on_device(&work);
                met = kc_emulator_was_scarce();
                kc_emulator_scarcity(KC_SCARCITY_NONE, 0);
                assert_int_equal(kc_emulator_device_nbytes(), 0);
                assert_int_equal(kc_emulator_npinned(), 0);
                if (status == KC_OK)
                        expect_same(&work, &host);
                else
                        expect(status, met ? wanted : KC_OK, &work);
                run_free(&work.run);
                nmet += met ? STRIDE : 0;
                *nthrough += met && status == KC_OK ? STRIDE : 0;
                *nleft += met && status == KC_OK && was_left(&work);
        }
        return nmet;
}

static void no_device_memory(void **state)
{
        int nthrough = 0, nleft = 0;
        (void)state;
        assert_true(try_all(KC_SCARCITY_DEVICE, 0, KC_ENOMEM, &nthrough, &nleft) > 20);
}

/* Others take all that is free, on one device after the other. Reads that leave the first device
 * are read from the host by all, and runs move there, too. */
static void device_memory_taken_by_others(void **state)
{
        int nthrough = 0, nleft = 0;
        (void)state;
        assert_true(try_all(KC_SCARCITY_TAKEN, 4000, KC_ENOMEM, &nthrough, &nleft) > 20);
        assert_true(nthrough > 10 && nleft > 0);
}

static void no_pinned_memory(void **state)
{
        int nthrough = 0, nleft = 0;
        (void)state;
        kc_emulator_peers(0);
        assert_true(try_all(KC_SCARCITY_PINNED, 0, KC_ENOMEM, &nthrough, &nleft) > 5);
        kc_emulator_peers(1);
}

static void failing_copies(void **state)
{
        static struct work work;
        int nthrough = 0, nleft = 0;
        (void)state;
        /* reads to two devices, and the pairs of each back */
        assert_true(try_all(KC_SCARCITY_LINKS, 0, KC_EDEVICE, &nthrough, &nleft) >= 2 + 4);
        assert_int_equal(nthrough, 0);
        for (int n = 0; n < 5; n += 4) { /* the first copy to a device, and the last one from one */
                prepare_devices(&work, 0);
                kc_emulator_scarcity(KC_SCARCITY_LINKS, n);
                expect(count(&work), KC_EDEVICE, &work);
                kc_emulator_scarcity(KC_SCARCITY_NONE, 0);
                assert_int_equal(strncmp(work.err.message, "cuda:", 5), 0);
        }
}

static bool merged_together(const struct work *work)
{
        return work->report.parts[1].nmerged > 0 || work->report.parts[2].nmerged > 0;
}

/*
 * While the devices merge together, and before: the scarcity begins at one allocation in `step`,
 * starting with allocation `first`. Returns how many attempts met it. Of these, *nalone: those in
 * which the first device merged alone.
 */
static int try_merges(enum kc_scarcity kind, long first, long step, enum kc_status wanted,
                      int *nalone)
{
        static struct work work;
        bool met = true;
        int nmet = 0;
        for (long n = first; met; n += step * STRIDE) {
                assert_in_range(n, 0, 3000);
                prepare_merge(&work);
                kc_emulator_scarcity(kind, n);
                enum kc_status status = count_on_device(&work);
                met = kc_emulator_was_scarce();
                kc_emulator_scarcity(KC_SCARCITY_NONE, 0);
                assert_int_equal(kc_emulator_device_nbytes(), 0);
                assert_int_equal(kc_emulator_npinned(), 0);
                if (status == KC_OK)
                        expect_same(&work, &many);
                else
                        expect(status, met ? wanted : KC_OK, &work);
                assert_true(met || merged_together(&work));
                *nalone += met && status == KC_OK && !merged_together(&work);
                run_free(&work.run);
                nmet += met ? STRIDE : 0;
        }
        return nmet;
}

static void merging_in_scarce_memory(void **state)
{
        int nalone = 0;
        (void)state;
        assert_true(try_merges(KC_SCARCITY_DEVICE, 0, 31, KC_ENOMEM, &nalone) > 5);
        assert_true(try_merges(KC_SCARCITY_PINNED, 0, 11, KC_ENOMEM, &nalone) > 3);
        /* At about 64 successive allocations, the first device merges alone. Which ones these are
         * depends on the threads of the devices, so the attempts may miss them. */
        for (long first = 0; first == 0 || (nalone == 0 && first < 13 * STRIDE); first += 4)
                assert_true(try_merges(KC_SCARCITY_TAKEN, first, 13, KC_ENOMEM, &nalone) > 5);
        assert_true(nalone > 0);
}

static void merging_with_failing_copies(void **state)
{
        int nalone = 0;
        (void)state;
        assert_true(try_merges(KC_SCARCITY_LINKS, 0, 9, KC_EDEVICE, &nalone) > 3);
        assert_int_equal(nalone, 0);
}

/* Reads that all begin at one place: counts too large for rows, which are in each device's runs. */
static void prepare_tally(struct work *work)
{
        prepare_reads(work, 2 * KC_RUN_NROWS, 15000);
        work->reads.ngenome = 1;
}

/* The engine: kc_cpu_count or, on devices, kc_gpu_count. Sets rows, which the caller frees. */
static enum kc_status tally(struct work *work, bool on_devices, struct kc_histogram_row **rows,
                            size_t *nrows)
{
        const struct kc_batch_source source = { &work->reads, next_batch };
        struct kc_histogram *histogram;
        enum kc_status status;
        *rows = NULL;
        *nrows = 0;
        expect(kc_histogram_new(&histogram, &work->err), KC_OK, work);
        const struct kc_run_sink sink = kc_histogram_sink(histogram);
        if (on_devices)
                status = kc_gpu_count(&work->params, &work->gpu, &source, &sink, &work->job,
                                      &work->totals, &work->report, &work->err);
        else
                status = kc_cpu_count(&work->params, &source, &sink, &work->job, &work->totals,
                                      &work->err);
        if (status == KC_OK)
                status = kc_histogram_rows(histogram, &work->totals, rows, nrows, &work->err);
        kc_histogram_free(histogram);
        return status;
}

/* A device without the memory to tally leaves its runs to the first one. */
static void tallying_in_scarce_memory(void **state)
{
        static struct work work;
        struct kc_histogram_row *wanted, *rows;
        size_t nwanted, nrows;
        bool met = true;
        int ngathered = 0;
        (void)state;
        prepare_tally(&work);
        work.params.memory_nbytes = 256 << 20;
        expect(tally(&work, false, &wanted, &nwanted), KC_OK, &work);
        assert_true(nwanted > 100 && wanted[nwanted - 1].count > KC_RUN_NROWS);
        for (long n = 0; met; n += 7 * STRIDE) {
                assert_in_range(n, 0, 3000);
                prepare_tally(&work);
                kc_emulator_scarcity(KC_SCARCITY_TAKEN, n);
                const enum kc_status status = tally(&work, true, &rows, &nrows);
                met = kc_emulator_was_scarce();
                kc_emulator_scarcity(KC_SCARCITY_NONE, 0);
                assert_int_equal(kc_emulator_device_nbytes(), 0);
                assert_int_equal(kc_emulator_npinned(), 0);
                expect(status, status == KC_OK ? KC_OK : KC_ENOMEM, &work);
                assert_true(status == KC_OK || met);
                if (status == KC_OK) {
                        assert_int_equal(nrows, nwanted);
                        assert_memory_equal(rows, wanted, nrows * sizeof *rows);
                }
                ngathered += work.report.parts[1].runs_nbytes > 0;
                free(rows);
        }
        free(wanted);
        assert_true(ngathered > 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(one_small_device),
                cmocka_unit_test(one_large_device),
                cmocka_unit_test(no_device_memory),
                cmocka_unit_test(device_memory_taken_by_others),
                cmocka_unit_test(no_pinned_memory),
                cmocka_unit_test(failing_copies),
                cmocka_unit_test(merging_in_scarce_memory),
                cmocka_unit_test(merging_with_failing_copies),
                cmocka_unit_test(tallying_in_scarce_memory),
        };
        cmocka_set_test_filter(getenv("KC_TEST"));
        return cmocka_run_group_tests(tests, count_on_the_host, free_host);
}
