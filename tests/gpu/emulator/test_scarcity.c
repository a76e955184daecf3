/*
 * The CUDA engine when memory runs out, tried at each allocation: it produces the whole run or
 * reports KC_ENOMEM; it releases all its memory; and until it can count, it takes nothing from a
 * source that cannot be read again. If others take the device's memory, runs are moved off it.
 */
#include "scarcity.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "tests/gpu/engine/work.h"
#include "tests/sampling.h"

enum { NREADS = 200, BATCH_NKMERS = 6000 };

static struct work host;

/* Work in many small batches. */
static void prepare_small(struct work *work, bool read_ahead)
{
        prepare(work, 31, NREADS);
        work->gpu.read_ahead = read_ahead;
        work->gpu.batch_nkmers = BATCH_NKMERS;
        work->gpu.walk_npasses = 3;
        work->gpu.memory_nbytes = 256 << 20;
        work->params.memory_nbytes = 1 << 20;
}

static int count_on_the_host(void **state)
{
        (void)state;
        prepare(&host, 31, NREADS);
        count_on_host(&host);
        return 0;
}

static int free_host(void **state)
{
        (void)state;
        run_free(&host.run);
        return 0;
}

struct outcomes {
        int nmet;     /* attempts that the scarcity affected after the engine had begun */
        int nthrough; /* those that produced the whole run all the same */
        int nspilled; /* those of them in which runs were moved off the device */
};

/* False if there were no more than n allocations of that kind. */
static bool try_count(enum kc_scarcity kind, long n, bool read_ahead, struct outcomes *outcomes)
{
        static struct work work;
        prepare_small(&work, read_ahead);
        kc_emulator_scarcity(kind, n);
        enum kc_status status = count_on_device(&work);
        bool met = kc_emulator_was_scarce();
        kc_emulator_scarcity(KC_SCARCITY_NONE, 0);
        assert_int_equal(kc_emulator_device_nbytes(), 0);
        assert_int_equal(kc_emulator_npinned(), 0);
        if (status == KC_OK)
                expect_same(&work, &host);
        else
                expect(status, met ? KC_ENOMEM : KC_OK, &work);
        if (!work.report.began) {
                assert_int_equal(atomic_load(&work.run.ncalls) + atomic_load(&work.run.ncanceled),
                                 0);
                assert_true(read_ahead || atomic_load(&work.reads.next) == 0);
        }
        bool through = met && status == KC_OK;
        outcomes->nmet += met && work.report.began;
        outcomes->nthrough += through;
        outcomes->nspilled += through && work.totals.spilled_nbytes > 0;
        run_free(&work.run);
        return met;
}

static struct outcomes try_all(enum kc_scarcity kind)
{
        struct outcomes outcomes = { 0 };
        for (int read_ahead = 0; read_ahead < 2; read_ahead++)
                for (long n = 0; try_count(kind, n, read_ahead, &outcomes); n++)
                        assert_in_range(n, 0, 1000);
        assert_true(outcomes.nmet > 0);
        return outcomes;
}

static void no_device_memory(void **state)
{
        (void)state;
        assert_int_equal(try_all(KC_SCARCITY_DEVICE).nthrough, 0);
}

/* What is left may not suffice for the first run, or for the end, when all runs are on the host. */
static void device_memory_taken_by_others(void **state)
{
        (void)state;
        struct outcomes outcomes = try_all(KC_SCARCITY_TAKEN);
        assert_true(outcomes.nthrough > outcomes.nmet / 2);
        assert_true(outcomes.nspilled > outcomes.nmet / 3);
}

static void no_pinned_memory(void **state)
{
        (void)state;
        try_all(KC_SCARCITY_PINNED);
}

/* ---- several k ---- */

enum { NKS = 3 };
static const int several[NKS] = { 40, 101, 21 };
/* With a sanitizer, a third of the allocations that are refused without one. */
enum { ALLOCATION_STRIDE = CASES_A_SAMPLE > 1 ? 9 : 3 };

/* Count several k; `wanted` are the host's. False if the scarcity was not met. *nthrough: increased
 * if it was met and nothing failed. */
static bool try_several(enum kc_scarcity kind, long n, size_t host_nbytes,
                        const struct work *wanted, int *nthrough)
{
        static struct work works[NKS];
        prepare_all(works, several, NKS, NREADS);
        works->gpu.batch_nkmers = BATCH_NKMERS;
        works->gpu.walk_npasses = 2;
        works->gpu.memory_nbytes = 256 << 20;
        works->params.memory_nbytes = host_nbytes;
        kc_emulator_scarcity(kind, n);
        const enum kc_status status = count_all(works, NKS, true);
        const bool met = kc_emulator_was_scarce();
        kc_emulator_scarcity(KC_SCARCITY_NONE, 0);
        assert_int_equal(kc_emulator_device_nbytes(), 0);
        assert_int_equal(kc_emulator_npinned(), 0);
        if (status != KC_OK)
                expect(status, met ? KC_ENOMEM : KC_OK, works);
        for (int i = 0; i < NKS; i++) {
                if (status == KC_OK)
                        expect_same(&works[i], &wanted[i]);
                run_free(&works[i].run);
        }
        *nthrough += met && status == KC_OK;
        return met;
}

/* Whichever allocation is refused, and whichever k is being counted, either all k are counted or
 * the result is KC_ENOMEM. */
static void several_k_without_memory(void **state)
{
        static struct work wanted[NKS];
        int nthrough = 0;
        (void)state;
        prepare_all(wanted, several, NKS, NREADS);
        assert_int_equal(count_all(wanted, NKS, false), KC_OK);
        for (int kind = KC_SCARCITY_DEVICE; kind <= KC_SCARCITY_PINNED; kind++)
                for (size_t nbytes = 1 << 20; nbytes <= 64 << 20; nbytes <<= 6)
                        for (long n = 0; try_several(kind, n, nbytes, wanted, &nthrough);
                             n += ALLOCATION_STRIDE)
                                assert_in_range(n, 0, 3000);
        assert_true(nthrough > 0);
        for (int i = 0; i < NKS; i++)
                run_free(&wanted[i].run);
}

/* ---- files that the device parses ---- */

static const size_t MIB = (size_t)1 << 20;

enum { NPARTS = 24 };

/* The reads of the host's work as a file of FASTQ, in parts. */
struct file {
        char *bytes;
        struct kc_stored_file is;
        struct kc_stored_part parts[NPARTS];
        atomic_bool opened;
        bool slow; /* so that several devices read */
        bool closed;
        int nreports, ngiven_up;
};

static void file_make(struct file *file)
{
        struct reads reads = host.reads;
        uint64_t words[(MAX_NBASES + 31) / 32];
        struct kc_segment segment;
        size_t n = 0;
        *file = (struct file){ .bytes = malloc(reads.nreads * (2 * MAX_NBASES + 8)) };
        assert_non_null(file->bytes);
        for (uint64_t i = 0; i < reads.nreads; i++) {
                struct kc_batch batch = { .words = words, .segments = &segment };
                add_read(&reads, i, &batch);
                n += (size_t)sprintf(file->bytes + n, "@r\n");
                for (uint32_t j = 0; j < segment.nbases; j++)
                        file->bytes[n++] = "ACGT"[words[j / 32] >> j % 32 * 2 & 3];
                n += (size_t)sprintf(file->bytes + n, "\n+\n");
                memset(file->bytes + n, 'I', segment.nbases);
                n += segment.nbases;
                file->bytes[n++] = '\n';
                file->parts[i * NPARTS / reads.nreads].nbytes = n; /* where it ends */
        }
        file->is.nbytes = n;
        for (int i = NPARTS; i-- > 0;) {
                struct kc_stored_part *part = &file->parts[i];
                part->offset = i > 0 ? part[-1].nbytes : 0;
                part->nbytes -= part->offset;
                part->kept = UINT32_MAX;
                part->ends_file = i == NPARTS - 1;
        }
}

static enum kc_status file_read(void *ctx, size_t number, uint64_t offset, void *to, size_t n,
                                size_t *got, struct kc_error *err)
{
        struct file *file = ctx;
        (void)err;
        assert_int_equal(number, 0);
        assert_false(file->closed);
        assert_in_range(offset + n, 0, file->is.nbytes);
        atomic_store(&file->opened, true);
        if (file->slow)
                usleep(1000);
        memcpy(to, file->bytes + offset, n);
        *got = n;
        return KC_OK;
}

static void file_mark(void *ctx, size_t file, unsigned marks)
{
        (void)ctx, (void)file, (void)marks;
}

static void file_close(void *ctx, size_t number)
{
        (void)number;
        ((struct file *)ctx)->closed = true;
}

static void file_report(void *ctx, const struct kc_stored_totals *totals)
{
        struct file *file = ctx;
        const bool gave_up = totals->gave_up;
        assert_int_equal(totals->nreads, gave_up ? 0 : host.reads.nreads);
        assert_int_equal(totals->text_nbytes, gave_up ? 0 : file->is.nbytes);
        assert_in_range(totals->wasted_nbytes, 0, gave_up ? file->is.nbytes : 0);
        file->nreports += !gave_up;
        file->ngiven_up += gave_up;
}

struct reading {
        size_t memory_nbytes;     /* of the device, for the engine */
        size_t host_nbytes;       /* 0: enough */
        uint64_t expected_nbases; /* 0: as many as there are */
        bool is_foreign;          /* the file is not what the device accepts */
        bool large;               /* rounds and batches have their usual sizes */
        int nothers;              /* further devices */
};

/* How often several devices read, and sent each other the reads. */
static int ntogether, nsent;

static void note_devices(const struct kc_gpu_report *report)
{
        int nreading = 0, nreceiving = 0;
        for (int i = 0; i < report->nparts; i++) {
                nreading += report->parts[i].text_nbytes > 0;
                nreceiving += report->parts[i].reads_nbytes > 0;
        }
        ntogether += nreading > 1;
        nsent += nreceiving > 1;
}

/* Count the file, or the same reads as batches. Everything is released, and reported once or not at
 * all. Returns whether the scarcity was met; *own: the device parsed the file. */
static bool try_file(const struct reading *reading, enum kc_scarcity kind, long n, bool *own)
{
        static struct work work;
        struct file file;
        file_make(&file);
        if (reading->is_foreign)
                file.bytes[file.is.nbytes / 2] = '\0';
        const struct kc_stored_source stored = { .ctx = &file,
                                                 .files = &file.is,
                                                 .nfiles = 1,
                                                 .parts = file.parts,
                                                 .nparts = NPARTS,
                                                 .read = file_read,
                                                 .mark = file_mark,
                                                 .close = file_close,
                                                 .report = file_report };
        file.slow = reading->nothers > 0;
        prepare_small(&work, true);
        work.gpu.memory_nbytes = reading->memory_nbytes;
        work.params.memory_nbytes = reading->host_nbytes != 0 ? reading->host_nbytes : 64 * MIB;
        work.gpu.stored = &stored;
        work.gpu.nothers = reading->nothers; /* the same device again */
        work.gpu.batch_nkmers = reading->large ? 0 : BATCH_NKMERS;
        if (reading->expected_nbases != 0)
                work.params.expected_nbases = reading->expected_nbases;
        kc_emulator_scarcity(kind, n);
        const enum kc_status status = count_on_device(&work);
        const bool met = kc_emulator_was_scarce();
        kc_emulator_scarcity(KC_SCARCITY_NONE, 0);
        assert_int_equal(kc_emulator_device_nbytes(), 0);
        assert_int_equal(kc_emulator_npinned(), 0);
        *own = status == KC_OK && work.report.text_nbytes > 0;
        if (status == KC_OK) {
                expect_same(&work, &host);
                note_devices(&work.report);
                assert_int_equal(file.nreports, *own);
                assert_in_range(file.ngiven_up, reading->is_foreign && !*own, !*own);
                assert_true(file.closed || !atomic_load(&file.opened));
        } else {
                expect(status, met ? KC_ENOMEM : KC_OK, &work);
        }
        run_free(&work.run);
        free(file.bytes);
        return met;
}

/* Whatever memory is refused, the file or the batches are counted, or it is KC_ENOMEM. */
static void file_without_memory(void **state)
{
        const struct reading reading = { .memory_nbytes = 600 * MIB };
        int nown = 0;
        bool own;
        (void)state;
        assert_false(try_file(&reading, KC_SCARCITY_NONE, 0, &own));
        assert_true(own);
        for (int kind = KC_SCARCITY_DEVICE; kind <= KC_SCARCITY_PINNED; kind++)
                for (long n = 0; try_file(&reading, kind, n, &own); n += 1 + n / 16)
                        nown += own;
        assert_true(nown > 0); /* runs were moved off the device */
}

static void try_devices(int ndevices, bool is_foreign)
{
        const struct reading reading = { .memory_nbytes = 600 * MIB,
                                         .host_nbytes = (size_t)ndevices * 64 * MIB,
                                         .is_foreign = is_foreign,
                                         .nothers = ndevices - 1 };
        int nown = 0;
        bool own;
        ntogether = nsent = 0;
        assert_false(try_file(&reading, KC_SCARCITY_NONE, 0, &own));
        assert_int_equal(own, !is_foreign);
        for (int kind = KC_SCARCITY_DEVICE; kind <= KC_SCARCITY_PINNED; kind++)
                for (long n = 0; try_file(&reading, kind, n, &own); n += 3 + n / 16)
                        nown += own;
        assert_true(is_foreign || (nown > 0 && ntogether > 2 && nsent > 2));
}

/* The same with several devices, each of which may lack the memory to read, or to count, or to hold
 * what the others have read; one of them may find something foreign while the others read. */
static void file_on_devices(void **state)
{
        (void)state;
        try_devices(3, false);
        try_devices(3, true);
}

/* With more devices. */
static void file_on_many_devices(void **state)
{
        (void)state;
        try_devices(5, false);
}

/* The engine plans for a large input, and then turns to batches: these take no more memory than if
 * it had begun with them. */
static void foreign_file_of_many_reads(void **state)
{
        struct reading reading = { .expected_nbases = (uint64_t)1 << 40,
                                   .is_foreign = true,
                                   .large = true };
        bool own;
        (void)state;
        for (size_t nmib = 520; nmib < 2100; nmib += 500) {
                reading.memory_nbytes = nmib * MIB;
                assert_false(try_file(&reading, KC_SCARCITY_NONE, 0, &own));
                assert_false(own);
        }
}

/* The intake's memory on the host is a part of what the user allows. */
static void file_and_little_host_memory(void **state)
{
        const struct reading reading = { .host_nbytes = 32 * MIB };
        bool own;
        (void)state;
        assert_false(try_file(&reading, KC_SCARCITY_NONE, 0, &own));
        assert_false(own);
}

/* Reading file number fail_at fails, or cancels the job. */
struct failing {
        struct file file;
        struct kc_job *job; /* to be canceled; NULL: reading fails */
        size_t fail_at;
};

static enum kc_status failing_read(void *ctx, size_t number, uint64_t offset, void *to, size_t n,
                                   size_t *got, struct kc_error *err)
{
        struct failing *failing = ctx;
        if (number == failing->fail_at && failing->job == NULL)
                return kc_fail(err, KC_EINPUT, "no file %zu", number);
        if (number == failing->fail_at)
                atomic_store(&failing->job->cancel, true);
        return file_read(&failing->file, 0, offset, to, n, got, err);
}

static void failing_close(void *ctx, size_t number)
{
        (void)ctx;
        (void)number;
}

/* With more files than there are portions: neither the driver nor a worker waits forever. */
static void failing_files(void **state)
{
        enum { NFILES = 9 };
        static struct work work;
        (void)state;
        for (size_t i = 0; i < 2 * NFILES; i++) {
                struct failing failing = { .job = i % 2 ? &work.job : NULL, .fail_at = i / 2 };
                struct kc_stored_file files[NFILES];
                struct kc_stored_part parts[NFILES];
                file_make(&failing.file);
                for (size_t f = 0; f < NFILES; f++) {
                        files[f] = failing.file.is;
                        parts[f] = (struct kc_stored_part){ .file = f,
                                                            .nbytes = files[f].nbytes,
                                                            .kept = UINT32_MAX,
                                                            .ends_file = true };
                }
                const struct kc_stored_source stored = { .ctx = &failing,
                                                         .files = files,
                                                         .nfiles = NFILES,
                                                         .parts = parts,
                                                         .nparts = NFILES,
                                                         .read = failing_read,
                                                         .mark = file_mark,
                                                         .close = failing_close,
                                                         .report = file_report };
                prepare_small(&work, true);
                work.gpu.memory_nbytes = 600 * MIB;
                work.params.memory_nbytes = 64 * MIB;
                work.gpu.stored = &stored;
                expect(count_on_device(&work), i % 2 ? KC_ECANCELED : KC_EINPUT, &work);
                assert_int_equal(kc_emulator_device_nbytes(), 0);
                assert_int_equal(kc_emulator_npinned(), 0);
                run_free(&work.run);
                free(failing.file.bytes);
        }
}

/* With memory_nbytes = 0, the device's size shows only when it is open. */
static void file_and_small_device(void **state)
{
        const struct reading reading = { .large = true };
        bool own;
        (void)state;
        for (size_t nmib = 300; nmib < 3000; nmib += 300) {
                kc_emulator_total(nmib * MIB);
                assert_false(try_file(&reading, KC_SCARCITY_NONE, 0, &own));
                assert_int_equal(own, nmib >= 600);
        }
        kc_emulator_total(0);
}

/* ---- full files and cancellation, in each stage ---- */

static enum kc_status count_scarcely(struct work *work, long n, const struct kc_run_sink *sink)
{
        const struct kc_batch_source source = { &work->reads, next_batch };
        kc_emulator_scarcity(n < 0 ? KC_SCARCITY_NONE : KC_SCARCITY_TAKEN, n);
        enum kc_status status = kc_gpu_count(&work->params, &work->gpu, &source, sink, &work->job,
                                             &work->totals, &work->report, &work->err);
        kc_emulator_scarcity(KC_SCARCITY_NONE, 0);
        assert_int_equal(kc_emulator_device_nbytes(), 0);
        assert_int_equal(kc_emulator_npinned(), 0);
        return status;
}

/* No file may grow, as on a full disk. *stages: a bit is set for the stage in which that failed. */
static void try_full(size_t batch_nkmers, long n, unsigned *stages)
{
        static struct work work;
        prepare_small(&work, true);
        work.gpu.batch_nkmers = batch_nkmers;
        const struct kc_run_sink sink = run_sink(&work.run);
        const enum kc_status status = count_scarcely(&work, n, &sink);
        if (status == KC_EIO) {
                assert_non_null(strstr(work.err.message, "temporary file in /tmp"));
                *stages |= 1u << atomic_load(&work.job.stage);
        } else if (status == KC_OK) {
                expect_same(&work, &host);
        } else {
                expect(status, KC_ENOMEM, &work);
        }
        run_free(&work.run);
}

static void full_files(void **state)
{
        struct rlimit before, none;
        const unsigned all = 1u << KC_STAGE_PARTITION | 1u << KC_STAGE_COUNT | 1u << KC_STAGE_ORDER;
        unsigned stages = 0;
        (void)state;
        assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
        none = before;
        none.rlim_cur = 0;
        signal(SIGXFSZ, SIG_IGN);
        fflush(NULL);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
        for (long n = 0; n < 150; n++)
                try_full(BATCH_NKMERS, n, &stages);
        for (long n = 0; n < 90; n++)
                try_full((size_t)3 * BATCH_NKMERS, n, &stages);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_int_equal(stages, all);
}

static struct work *work_of(void *run)
{
        return (struct work *)((char *)run - offsetof(struct work, run));
}

static void cancel_while_counting(void *run, uint64_t npairs)
{
        struct work *work = work_of(run);
        (void)npairs;
        if (atomic_load(&work->job.stage) == KC_STAGE_COUNT)
                atomic_store(&work->job.cancel, true);
}

static enum kc_status cancel_while_writing(void *run, const struct kc_run_pairs *pairs,
                                           struct kc_error *err)
{
        atomic_store(&work_of(run)->job.cancel, true);
        return run_put(run, pairs, err);
}

/* While runs are counted and while they are written, with and without runs in files. A test in
 * test_gpu.c cancels while reads are read. */
static void canceled_late(void **state)
{
        static struct work work;
        int ncanceled = 0;
        (void)state;
        for (long n = -1; n < 150; n += 4)
                for (int writing = 0; writing < 2; writing++) {
                        prepare_small(&work, true);
                        struct kc_run_sink sink = run_sink(&work.run);
                        if (writing)
                                sink.put = cancel_while_writing;
                        else
                                sink.expect = cancel_while_counting;
                        const enum kc_status status = count_scarcely(&work, n, &sink);
                        if (n < 0 || status != KC_ENOMEM) {
                                expect(status, KC_ECANCELED, &work);
                                assert_int_equal(atomic_load(&work.run.ncanceled), 1);
                                ncanceled++;
                        }
                        run_free(&work.run);
                }
        assert_true(ncanceled > 4);
}

/* A device in exclusive use by others does not hide the rest, and counting on it fails. */
static void devices_of_others(void **state)
{
        static struct work work;
        struct kc_gpu_device devices[3];
        struct kc_error err = { 0 };
        int n;
        (void)state;
        kc_emulator_devices(3, 1);
        assert_int_equal(kc_gpu_devices(devices, 3, &n, &err), KC_OK);
        assert_int_equal(n, 3);
        for (int i = 0; i < 3; i++) {
                assert_int_equal(devices[i].index, i);
                assert_string_equal(devices[i].name, "emulated");
                assert_int_equal(devices[i].free_nbytes > 0, i == 0);
                assert_int_equal(strstr(devices[i].trouble, "busy") != NULL, i > 0);
        }
        prepare_small(&work, false);
        work.gpu.device = 1;
        expect(count_on_device(&work), KC_EDEVICE, &work);
        assert_false(work.report.began);
        kc_emulator_devices(1, 1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(no_device_memory),
                cmocka_unit_test(device_memory_taken_by_others),
                cmocka_unit_test(no_pinned_memory),
                cmocka_unit_test(several_k_without_memory),
                cmocka_unit_test(file_without_memory),
                cmocka_unit_test(file_on_devices),
                cmocka_unit_test(file_on_many_devices),
                cmocka_unit_test(foreign_file_of_many_reads),
                cmocka_unit_test(file_and_little_host_memory),
                cmocka_unit_test(failing_files),
                cmocka_unit_test(file_and_small_device),
                cmocka_unit_test(full_files),
                cmocka_unit_test(canceled_late),
                cmocka_unit_test(devices_of_others),
        };
        cmocka_set_test_filter(getenv("KC_TEST"));
        return cmocka_run_group_tests(tests, count_on_the_host, free_host);
}
