/*
 * The interface to CUDA works on every machine: it reports devices, or why there is none. With a
 * device, the CUDA engine's run equals the host engine's, pair for pair, and it fails as it should.
 */
#include "gpu/gpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/gpu/engine/gpu_walks.h"
#include "tests/gpu/engine/work.h"
#include "tests/gpu/need_device.h"

/* ---- devices ---- */

static void devices_or_a_reason(void **state)
{
        struct kc_gpu_device devices[2] = { 0 };
        struct kc_error err = { 0 };
        int n = -1;
        (void)state;

        enum kc_status status = kc_gpu_devices(devices, 2, &n, &err);
        if (status == KC_OK) {
                assert_true(kc_gpu_has_engine());
                assert_true(n >= 1);
                assert_true(devices[0].name[0] != '\0' && devices[0].major >= 5);
                assert_true(devices[0].memory_nbytes >= devices[0].free_nbytes);
                assert_true(devices[0].nmultiprocessors >= 1);
        } else {
                print_message("%s\n", err.message);
                assert_true(status == KC_ENODEVICE || status == KC_EDEVICE);
                assert_int_equal(n, 0);
                assert_true(strlen(err.message) > 0);
        }
}

static void no_room_still_reports_how_many(void **state)
{
        struct kc_error err = { 0 };
        int n = -1;
        (void)state;

        enum kc_status status = kc_gpu_devices(NULL, 0, &n, &err);
        assert_true(status == KC_OK ? n >= 1 : n == 0);
}

/* ---- counting ---- */

/* Run both engines on the same reads, with sinks that have the filter (see struct run); change()
 * adjusts the CUDA engine's work. */
static void compare_filtered(struct kc_run_filter filter, int k, bool stranded, uint64_t nreads,
                             void (*change)(struct work *))
{
        static struct work host, device;
        prepare(&host, k, nreads);
        prepare(&device, k, nreads);
        host.params.stranded = device.params.stranded = stranded;
        host.run.filter = device.run.filter = filter;
        change(&device);
        count_on_host(&host);
        expect(count_on_device(&device), KC_OK, &device);
        assert_true(device.report.began);
        expect_same(&device, &host);
        assert_true(filter.max_count == 0 || host.run.dropped.ndistinct > 0);
        run_free(&host.run);
        run_free(&device.run);
}

static void compare(int k, bool stranded, uint64_t nreads, void (*change)(struct work *))
{
        compare_filtered((struct kc_run_filter){ 0 }, k, stranded, nreads, change);
}

static void in_small_batches(struct work *work)
{
        work->gpu.batch_nkmers = 30000;
        work->gpu.table = KC_TABLE_SLAB;
}

static void with_linear_probing(struct work *work)
{
        work->gpu.table = KC_TABLE_LINEAR;
}

static void with_hopscotch(struct work *work)
{
        work->gpu.table = KC_TABLE_HOPSCOTCH;
}

static void same_run_as_the_host(void **state)
{
        (void)state;
        for (int stranded = 0; stranded < 2; stranded++) {
                static const int ks[] = { 1,  2,  12, 16, 21, 31, 32,  33,
                                          55, 63, 64, 65, 96, 97, 101, 128 };
                for (size_t i = 0; i < sizeof ks / sizeof *ks; i++) {
                        compare(ks[i], stranded, scaled(3000), by_default);
                        compare(ks[i], stranded, scaled(3000), in_small_batches);
                        compare(ks[i], stranded, scaled(3000), with_linear_probing);
                        compare(ks[i], stranded, scaled(3000), with_hopscotch);
                }
                compare(31, stranded, scaled(20000), in_little_memory);
                compare(55, stranded, scaled(20000), in_little_memory);
                compare(stranded ? 77 : 101, stranded, scaled(20000), in_little_memory);
        }
}

/* If the sink has a filter, kept and dropped pairs are also the same as the host's. */
static void same_filtered_run_as_the_host(void **state)
{
        (void)state;
        static const struct kc_run_filter filters[] = { { 2, UINT32_MAX }, { 1, 1 }, { 2, 3 } };
        for (size_t f = 0; f < sizeof filters / sizeof *filters; f++)
                for (int k = 31; k <= 127; k += 32)
                        compare_filtered(filters[f], k, false, scaled(3000), by_default);
}

static void in_small_walks(struct work *work)
{
        in_small_batches(work);
        work->gpu.walk_npasses = 4;
}

/* Several k from the same reads, in every order of their widths. */
static void several_k(void **state)
{
        static const int lists[][4] = { { 101, 31, 5, 21 }, { 33, 128, 65, 40 }, { 97, 1, 64, 2 } };
        enum { N = sizeof *lists / sizeof **lists };
        void (*const changes[])(struct work *) = { by_default, in_small_batches, in_small_walks,
                                                   in_little_memory };
        static struct work host[N], device[N];
        (void)state;
        for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
                for (size_t j = 0; j < sizeof changes / sizeof *changes; j++) {
                        prepare_all(host, lists[i], N, scaled(3000));
                        prepare_all(device, lists[i], N, scaled(3000));
                        host[1].run.filter = device[1].run.filter =
                                (struct kc_run_filter){ 2, 1000 };
                        changes[j](device);
                        assert_int_equal(count_all(host, N, false), KC_OK);
                        expect(count_all(device, N, true), KC_OK, device);
                        for (int k = 0; k < N; k++) {
                                expect_same(&device[k], &host[k]);
                                run_free(&device[k].run);
                                run_free(&host[k].run);
                        }
                }
}

/* ---- several devices ---- */

/* Every device counted something, each k-mer was counted once, and a device received what others
 * keep. */
static void expect_shared(const struct work *work)
{
        const struct kc_gpu_report *report = &work->report;
        uint64_t nkmers = 0, npasses = 0, kept_nbytes = 0;
        assert_int_equal(report->nparts, work->gpu.nothers + 1);
        for (int i = 0; i < report->nparts; i++)
                kept_nbytes += report->parts[i].kept_nbytes;
        for (int i = 0; i < report->nparts; i++) {
                const struct kc_gpu_part_report *part = &report->parts[i];
                nkmers += part->nkmers;
                npasses += part->npasses;
                assert_true(part->nkmers > 0 && part->npasses > 0 && part->peak_nbytes > 0);
                assert_int_equal(part->reads_nbytes > 0, kept_nbytes > part->kept_nbytes);
                assert_true(part->runs_nbytes > 0 || i == 0);
        }
        assert_int_equal(nkmers, work->totals.nkmers);
        assert_int_equal(npasses, report->npasses);
}

/* The CUDA engine on n devices has the host's run, and so it does with filters. */
static void compare_shared(int n, int k, struct kc_run_filter filter, void (*change)(struct work *))
{
        static struct work host, device;
        prepare(&host, k, scaled(3000));
        prepare(&device, k, scaled(3000));
        host.run.filter = device.run.filter = filter;
        change(&device);
        use_devices(&device, n);
        count_on_host(&host);
        expect(count_on_device(&device), KC_OK, &device);
        expect_same(&device, &host);
        if (filter.max_count == 0 && device.gpu.memory_nbytes >= (size_t)1 << 30)
                expect_shared(&device);
        run_free(&host.run);
        run_free(&device.run);
}

static void several_devices(void **state)
{
        void (*const changes[])(struct work *) = { by_default, in_small_batches,
                                                   with_linear_probing, with_hopscotch,
                                                   in_little_memory };
        static const int ks[] = { 31, 55, 77, 101, 16 };
        static const struct kc_run_filter filters[] = { { 2, UINT32_MAX }, { 1, 3 } };
        (void)state;
        for (int i = 0; i < 5; i++)
                for (int n = 1; n <= 8; n += n / 3 + 1) /* 1, 2, 3, 5, 7 */
                        compare_shared(n, ks[(i + n) % 5], (struct kc_run_filter){ 0 }, changes[i]);
        for (int n = 2; n <= 8; n *= 2)
                for (int f = 0; f < 2; f++)
                        compare_shared(n, 31, filters[f], f ? in_small_batches : by_default);
        compare_shared(KC_GPU_MAX_DEVICES, 21, (struct kc_run_filter){ 0 }, by_default);
}

/* Batches arrive slowly, so that devices other than the first are open early enough to receive
 * some. If they do, every device is sent the reads of the others. */
static void compare_sent(int n, int k, void (*change)(struct work *))
{
        static struct work host, device;
        int nkeeping = 0;
        prepare(&host, k, scaled(20000));
        prepare(&device, k, scaled(20000));
        change(&device);
        device.reads.pause_us = 5000;
        device.gpu.batch_nkmers = 30000;
        use_devices(&device, n);
        count_on_host(&host);
        expect(count_on_device(&device), KC_OK, &device);
        expect_same(&device, &host);
        expect_shared(&device);
        for (int i = 0; i < n; i++)
                nkeeping += device.report.parts[i].kept_nbytes > 0;
        assert_true(nkeeping > 1 || getenv("KC_EMULATOR_DEVICES") == NULL);
        for (int i = 0; i < n && nkeeping > 1; i++)
                assert_true(device.report.parts[i].reads_nbytes > 0);
        run_free(&host.run);
        run_free(&device.run);
}

static void several_devices_send(void **state)
{
        (void)state;
        compare_sent(2, 31, by_default);
        compare_sent(3, 55, by_default);
        compare_sent(4, 101, with_linear_probing);
        compare_sent(5, 31, by_default);
        compare_sent(8, 77, by_default);
}

/* ---- several engines ---- */

/* All pairs of a part of a run are in the whole run, with the same counts. Counts how often each
 * pair was found. */
static void mark_found(const struct run *part, const struct pairs *whole, unsigned char *found)
{
        struct pairs pairs = run_join(part);
        const size_t nwords = (size_t)part->nwords, nbytes = nwords * sizeof *pairs.kmers;
        size_t at = 0;
        for (size_t i = 0; i < pairs.n; i++, at++) {
                while (at < whole->n &&
                       memcmp(pairs.kmers + i * nwords, whole->kmers + at * nwords, nbytes) != 0)
                        at++;
                assert_true(at < whole->n);
                assert_int_equal(pairs.counts[i], whole->counts[at]);
                found[at]++;
        }
        pairs_free(&pairs);
}

/* n engines with ndevices devices each count the same reads; one engine counts each k-mer. */
static void compare_engines(int n, int ndevices, int k, struct kc_run_filter filter,
                            void (*change)(struct work *))
{
        static struct work host, device;
        struct kc_run_dropped dropped = { 0 };
        uint64_t nkmers = 0, ndistinct = 0;
        prepare(&host, k, scaled(3000));
        host.run.filter = filter;
        count_on_host(&host);
        struct pairs whole = run_join(&host.run);
        unsigned char *found = calloc(whole.n + 1, 1);
        for (int i = 0; i < n; i++) {
                prepare(&device, k, scaled(3000));
                device.run.filter = filter;
                change(&device);
                use_devices(&device, ndevices);
                device.gpu.engine = i;
                device.gpu.nengines = n;
                expect(count_on_device(&device), KC_OK, &device);
                assert_int_equal(device.report.nread, host.totals.nkmers);
                assert_true(device.totals.nkmers > 0);
                nkmers += device.totals.nkmers;
                ndistinct += device.totals.ndistinct;
                kc_run_add_dropped(&dropped, &device.run.dropped);
                mark_found(&device.run, &whole, found);
                run_free(&device.run);
        }
        assert_int_equal(nkmers, host.totals.nkmers);
        assert_int_equal(ndistinct, host.totals.ndistinct);
        assert_memory_equal(&dropped, &host.run.dropped, sizeof dropped);
        for (size_t i = 0; i < whole.n; i++)
                assert_int_equal(found[i], 1);
        free(found);
        pairs_free(&whole);
        run_free(&host.run);
}

static void several_engines(void **state)
{
        (void)state;
        compare_engines(1, 1, 31, (struct kc_run_filter){ 0 }, by_default);
        compare_engines(2, 1, 31, (struct kc_run_filter){ 2, UINT32_MAX }, by_default);
        compare_engines(3, 1, 21, (struct kc_run_filter){ 0 }, in_small_batches);
        compare_engines(2, 1, 55, (struct kc_run_filter){ 0 }, in_little_memory);
        compare_engines(2, 2, 101, (struct kc_run_filter){ 1, 3 }, by_default);
        compare_engines(2, 5, 31, (struct kc_run_filter){ 0 }, by_default);
}

static void too_many_engines(void **state)
{
        static struct work work;
        (void)state;
        prepare(&work, 31, 1);
        work.gpu.nengines = KC_GPU_MAX_ENGINES + 1;
        assert_int_equal(count_on_device(&work), kc_gpu_has_engine() ? KC_EUSAGE : KC_ENODEVICE);
}

/* Short ranges, so that there are some for each device. */
static void in_short_ranges(struct work *work)
{
        work->gpu.batch_nkmers = 20000;
}

static void in_short_ranges_and_little_memory(struct work *work)
{
        in_little_memory(work);
        in_short_ranges(work);
}

/* The devices merge together, each of them something. */
static void compare_merged(int n, int k, struct kc_run_filter filter, void (*change)(struct work *))
{
        static struct work host, device;
        uint64_t nmerged = 0;
        prepare(&host, k, scaled(32000));
        prepare(&device, k, scaled(32000));
        host.run.filter = device.run.filter = filter;
        change(&device);
        use_devices(&device, n);
        count_on_host(&host);
        expect(count_on_device(&device), KC_OK, &device);
        expect_same(&device, &host);
        for (int i = 0; i < n; i++) {
                assert_true(device.report.parts[i].nmerged > 0);
                assert_true(device.report.parts[i].runs_nbytes > 0);
                nmerged += device.report.parts[i].nmerged;
        }
        if (filter.max_count == 0)
                assert_int_equal(nmerged, device.totals.ndistinct);
        run_free(&host.run);
        run_free(&device.run);
}

static void several_devices_merge(void **state)
{
        const struct kc_run_filter all = { 0 }, frequent = { 2, UINT32_MAX }, rare = { 1, 12 };
        (void)state;
        compare_merged(2, 31, all, in_short_ranges);
        compare_merged(3, 55, all, in_short_ranges);
        compare_merged(4, 77, all, in_short_ranges);
        compare_merged(3, 31, frequent, in_short_ranges);
        compare_merged(2, 101, rare, in_short_ranges);
        compare_merged(2, 31, all, in_short_ranges_and_little_memory);
}

static void several_devices_and_k(void **state)
{
        static const int ks[] = { 101, 31, 5, 21 };
        enum { N = sizeof ks / sizeof *ks };
        static struct work host[N], device[N];
        (void)state;
        void (*const changes[])(struct work *) = { by_default, in_little_memory, in_short_ranges };
        for (int i = 0; i < 3; i++) {
                prepare_all(host, ks, N, scaled(i < 2 ? 3000 : 32000));
                prepare_all(device, ks, N, scaled(i < 2 ? 3000 : 32000));
                changes[i](device);
                use_devices(device, 3);
                assert_int_equal(count_all(host, N, false), KC_OK);
                expect(count_all(device, N, true), KC_OK, device);
                for (int k = 0; k < N; k++) {
                        expect_same(&device[k], &host[k]);
                        run_free(&device[k].run);
                        run_free(&host[k].run);
                }
        }
}

/* No share can be equal to the others: one k-mer, one read again and again, and nearly nothing. */
static void several_devices_skewed(void **state)
{
        static struct work host, device;
        (void)state;
        for (int what = 0; what < 5; what++)
                for (int n = 2; n <= 8; n += 3) {
                        const uint64_t nreads = what < 2 ? scaled(3000) : (uint64_t)(what - 2);
                        prepare(&host, 31, nreads);
                        prepare(&device, 31, nreads);
                        host.reads.ngenome = device.reads.ngenome = 1;
                        host.reads.poly_a = device.reads.poly_a = what == 0;
                        use_devices(&device, n);
                        count_on_host(&host);
                        expect(count_on_device(&device), KC_OK, &device);
                        expect_same(&device, &host);
                        run_free(&host.run);
                        run_free(&device.run);
                }
}

static void several_devices_fail(void **state)
{
        static struct work work;
        (void)state;
        for (uint64_t at = 0; at < scaled(50000); at = at * 8 + 7) {
                for (int canceled = 0; canceled < 2; canceled++) {
                        prepare(&work, 31, scaled(50000));
                        *(canceled ? &work.reads.cancel_at : &work.reads.fail_at) = at;
                        work.gpu.batch_nkmers = 100000;
                        use_devices(&work, 3);
                        expect(count_on_device(&work), canceled ? KC_ECANCELED : KC_EINPUT, &work);
                        run_free(&work.run);
                }
        }
        for (int at = 0; at < 2; at++) {
                prepare(&work, 31, scaled(50000));
                work.run.fail_at = at;
                use_devices(&work, 3);
                expect(count_on_device(&work), KC_EIO, &work);
                run_free(&work.run);
        }
        for (int at = 0; at < 4; at++) { /* while they merge together */
                prepare(&work, 31, scaled(32000));
                in_short_ranges(&work);
                work.run.fail_at = at;
                use_devices(&work, 3);
                expect(count_on_device(&work), KC_EIO, &work);
                run_free(&work.run);
        }
        prepare(&work, 31, 10);
        work.gpu.nothers = KC_GPU_MAX_DEVICES;
        expect(count_on_device(&work), KC_EUSAGE, &work);
}

/* The last of three devices is not there, whether it is to count or is left out. */
static void several_devices_missing(void **state)
{
        static struct work work;
        (void)state;
        for (int nleft_out = 0; nleft_out <= 2; nleft_out++) {
                prepare(&work, 31, 10);
                use_devices(&work, 3);
                work.gpu.nothers -= nleft_out;
                work.gpu.nleft_out = nleft_out;
                work.gpu.others[1] = 999;
                work.gpu.read_ahead = false;
                expect(count_on_device(&work), KC_EDEVICE, &work);
                assert_string_equal(work.err.message, "there is no device cuda:999");
                assert_false(work.report.began);
                assert_int_equal(atomic_load(&work.reads.next), 0);
                assert_int_equal(atomic_load(&work.run.ncalls) + atomic_load(&work.run.ncanceled),
                                 0);
        }
}

/* ---- estimates, and little to count ---- */

/* At first estimated from the size of the input, bounded by memory; at the end from the counts. */
static void pairs_are_announced(void **state)
{
        static struct work work;
        static const struct kc_run_filter filters[] = { { 1, UINT32_MAX }, { 2, UINT32_MAX } };
        static const uint64_t first[] = { UINT64_C(1) << 26, UINT64_C(1) << 25 };
        (void)state;
        for (int i = 0; i < 2; i++) {
                prepare(&work, 31, scaled(20000));
                work.params.memory_nbytes = UINT64_C(1) << 30;
                work.params.expected_nbases = UINT64_C(1) << 30;
                work.run.filter = filters[i];
                expect(count_on_device(&work), KC_OK, &work);
                assert_int_equal(work.run.first_expected, first[i]);
                assert_int_equal(work.run.last_expected,
                                 work.totals.ndistinct - work.run.dropped.ndistinct);
                run_free(&work.run);
        }
}

static void nothing_and_next_to_nothing(void **state)
{
        (void)state;
        for (uint64_t nreads = 0; nreads < 4; nreads++)
                compare(31, false, nreads, by_default);
}

/* ---- failures ---- */

static void wrong_k(void **state)
{
        static struct work work;
        (void)state;
        for (int k = 0; k <= KC_GPU_ENGINE_MAX_K + 1; k += KC_GPU_ENGINE_MAX_K + 1) {
                prepare(&work, 31, 10);
                work.params.k = k;
                expect(count_on_device(&work), kc_gpu_has_engine() ? KC_EUSAGE : KC_ENODEVICE,
                       &work);
        }
}

/* If the device is not available, source and sink are untouched, so that another engine can run. */
static void device_that_is_not_there(void **state)
{
        static struct work work;
        int n;
        const enum kc_status without = kc_gpu_devices(NULL, 0, &n, NULL);
        (void)state;
        prepare(&work, 31, 10);
        work.gpu.device = 999;
        work.gpu.read_ahead = false;
        expect(count_on_device(&work), without == KC_OK ? KC_EDEVICE : without, &work);
        assert_true(strlen(work.err.message) > 0);
        assert_false(work.report.began);
        assert_int_equal(atomic_load(&work.reads.next), 0);
        assert_int_equal(atomic_load(&work.run.ncalls) + atomic_load(&work.run.ncanceled), 0);
}

static void too_little_memory(void **state)
{
        static struct work work;
        (void)state;
        prepare(&work, 31, 1000);
        work.gpu.memory_nbytes = 1 << 20;
        expect(count_on_device(&work), KC_ENOMEM, &work);
        assert_false(work.report.began);
        assert_int_equal(atomic_load(&work.run.ncanceled), 0);
}

static void failing_source_and_sink(void **state)
{
        static struct work work;
        (void)state;
        for (uint64_t at = 0; at < scaled(50000); at = at * 8 + 7) {
                prepare(&work, 31, scaled(50000));
                work.reads.fail_at = at;
                work.gpu.batch_nkmers = 100000;
                expect(count_on_device(&work), KC_EINPUT, &work);
                assert_string_not_equal(work.err.message, "");
                run_free(&work.run);
        }
        for (int at = 0; at < 2; at++) {
                prepare(&work, 31, scaled(50000));
                work.run.fail_at = at;
                expect(count_on_device(&work), KC_EIO, &work);
                assert_int_equal(atomic_load(&work.run.ncanceled), 1);
                run_free(&work.run);
        }
}

static void canceled(void **state)
{
        static struct work work;
        (void)state;
        for (uint64_t at = 0; at < scaled(50000); at = at * 8 + 7) {
                prepare(&work, 31, scaled(50000));
                work.reads.cancel_at = at;
                work.gpu.batch_nkmers = 100000;
                expect(count_on_device(&work), KC_ECANCELED, &work);
                run_free(&work.run);
        }
}

/* ---- the timeline ---- */

static void timeline(void **state)
{
        static struct work work;
        char path[] = "/tmp/kcount-test-XXXXXX", stage[64] = "";
        int fd = mkstemp(path), nlines = 0;
        unsigned long long number;
        double start, end;
        (void)state;
        assert_true(fd >= 0);
        prepare(&work, 31, scaled(20000));
        work.gpu.trace = path;
        work.gpu.batch_nkmers = 100000;
        expect(count_on_device(&work), KC_OK, &work);
        FILE *file = fdopen(fd, "r");
        assert_int_equal(fscanf(file, "stage\tnumber\tstart_ms\tend_%63s\n", stage), 1);
        while (fscanf(file, "%63[^\t]\t%llu\t%lf\t%lf\n", stage, &number, &start, &end) == 4) {
                assert_true(start >= 0 && end >= start);
                nlines++;
        }
        assert_true(feof(file));
        assert_true(nlines > 10);
        fclose(file);
        unlink(path);
        run_free(&work.run);
}

/* Without an argument, the tests that need no device; with "engine", those that do; with "devices",
 * those that use several. */
int main(int argc, char **argv)
{
        const struct CMUnitTest anywhere[] = {
                cmocka_unit_test(devices_or_a_reason),
                cmocka_unit_test(no_room_still_reports_how_many),
                cmocka_unit_test(wrong_k),
                cmocka_unit_test(too_many_engines),
                cmocka_unit_test(device_that_is_not_there),
        };
        const struct CMUnitTest engine[] = {
                cmocka_unit_test(same_run_as_the_host),
                cmocka_unit_test(same_filtered_run_as_the_host),
                cmocka_unit_test(several_k),
                cmocka_unit_test(several_engines),
                cmocka_unit_test(walks_of_several_passes),
                cmocka_unit_test(pairs_are_announced),
                cmocka_unit_test(nothing_and_next_to_nothing),
                cmocka_unit_test(too_little_memory),
                cmocka_unit_test(failing_source_and_sink),
                cmocka_unit_test(canceled),
                cmocka_unit_test(timeline),
        };
        const struct CMUnitTest devices[] = {
                cmocka_unit_test(several_devices),       cmocka_unit_test(several_devices_merge),
                cmocka_unit_test(several_devices_and_k), cmocka_unit_test(several_devices_skewed),
                cmocka_unit_test(several_devices_fail),  cmocka_unit_test(several_devices_send),
                cmocka_unit_test(several_devices_walk),  cmocka_unit_test(several_devices_missing),
        };
        if (argc == 1)
                return cmocka_run_group_tests(anywhere, NULL, NULL);
        if (strcmp(argv[1], "engine") != 0 && strcmp(argv[1], "devices") != 0)
                return 2;
        need_device();
        if (strcmp(argv[1], "devices") == 0)
                return cmocka_run_group_tests(devices, NULL, NULL);
        return cmocka_run_group_tests(engine, NULL, NULL);
}
