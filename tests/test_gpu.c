/*
 * The door to CUDA answers on every machine: devices, or a reason why there is none. Where there is
 * one, the CUDA engine's run is the host engine's, pair for pair, and it fails as it should.
 */
#include "gpu/gpu.h"

#include "cpu/cpu_engine.h"
#include "kmer/kmer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { NTHREADS = 3, MAX_NBASES = 400, SKIPPED = 77 /* to ctest */ };

/* ---- devices ---- */

static void devices_or_a_reason(void **state)
{
        struct kc_gpu_device devices[2] = { 0 };
        struct kc_error err = { 0 };
        int n = -1;
        (void)state;

        enum kc_status status = kc_gpu_devices(devices, 2, &n, &err);
        if (status == KC_OK) {
                assert_true(kc_gpu_in_build());
                assert_true(n >= 1);
                assert_true(devices[0].name[0] != '\0' && devices[0].major >= 5);
                assert_true(devices[0].memory_nbytes >= devices[0].free_nbytes);
                assert_true(devices[0].nmultiprocessors >= 1);
        } else {
                print_message("%s\n", err.message);
                assert_int_equal(status, KC_EDEVICE);
                assert_int_equal(n, 0);
                assert_true(strlen(err.message) > 0);
        }
}

static void no_room_still_tells_how_many(void **state)
{
        struct kc_error err = { 0 };
        int n = -1;
        (void)state;

        enum kc_status status = kc_gpu_devices(NULL, 0, &n, &err);
        assert_true(status == KC_OK ? n >= 1 : status == KC_EDEVICE && n == 0);
}

static bool is_device(void)
{
        int n;
        return kc_gpu_devices(NULL, 0, &n, NULL) == KC_OK;
}

/* ---- reads, made up from their numbers ---- */

struct reads {
        uint64_t nreads, ngenome; /* starts are below ngenome, so that k-mers come again */
        int k;
        atomic_uint_fast64_t next;
        uint64_t fail_at, cancel_at; /* reads; UINT64_MAX: none */
        struct kc_job *job;
};

/* KC_TEST_SMALL=1 in the environment: fewer reads, where a device is emulated. */
static uint64_t scaled(uint64_t nreads)
{
        return getenv("KC_TEST_SMALL") != NULL ? nreads / 8 : nreads;
}

static uint64_t random_of(uint64_t number)
{
        uint64_t x = (number + 1) * UINT64_C(0x9e3779b97f4a7c15);
        x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
        return x ^ x >> 31;
}

/* Base `at` of the genome lies in its word at / 32; a read is as many as its number says. */
static void add_read(const struct reads *reads, uint64_t number, struct kc_batch *batch)
{
        uint64_t random = random_of(~number);
        uint32_t most = MAX_NBASES - (uint32_t)reads->k + 1;
        uint32_t nbases = (uint32_t)(reads->k + random % most), nwords = (nbases + 31) / 32;
        uint64_t at = (random >> 20) % reads->ngenome;
        batch->segments[batch->nsegments++] =
                (struct kc_segment){ .word = batch->nwords, .nbases = nbases };
        for (uint32_t i = 0; i < nwords; i++) {
                uint64_t low = random_of(at / 32 + i), high = random_of(at / 32 + i + 1);
                int shift = (int)(at % 32) * 2;
                uint64_t word = shift ? low >> shift | high << (64 - shift) : low;
                if (i + 1 == nwords && nbases % 32)
                        word &= (UINT64_C(1) << nbases % 32 * 2) - 1;
                batch->words[batch->nwords++] = word;
        }
}

static enum kc_status next_batch(void *ctx, int worker, struct kc_batch *batch,
                                 struct kc_error *err)
{
        struct reads *reads = ctx;
        uint32_t most = (MAX_NBASES + 31) / 32;
        assert_in_range(worker, 0, NTHREADS - 1);
        batch->nwords = batch->nsegments = 0;
        while (batch->nsegments < batch->segments_cap && batch->nwords + most <= batch->words_cap) {
                uint64_t i = atomic_fetch_add(&reads->next, 1);
                if (i >= reads->nreads)
                        break;
                if (i == reads->fail_at)
                        return kc_fail(err, KC_EINPUT, "no read %llu", (unsigned long long)i);
                if (i == reads->cancel_at)
                        atomic_store(&reads->job->cancel, true);
                add_read(reads, i, batch);
        }
        return KC_OK;
}

/* ---- a sink that keeps everything ---- */

struct pairs {
        uint64_t *kmers;
        uint32_t *counts;
        size_t n;
        bool last;
};

struct run {
        struct pairs *parts;
        size_t nparts;
        int nwords;
        atomic_flag lock;
        atomic_int ncanceled, ncalls;
        int fail_at; /* the call that fails; -1: none */
};

static struct pairs *get_part(struct run *run, uint64_t part)
{
        if (part >= run->nparts) {
                run->parts = realloc(run->parts, (part + 1) * sizeof *run->parts);
                memset(run->parts + run->nparts, 0, (part + 1 - run->nparts) * sizeof *run->parts);
                run->nparts = part + 1;
        }
        return &run->parts[part];
}

static enum kc_status put(void *ctx, uint64_t number, bool last, const uint64_t *kmers,
                          const uint32_t *counts, size_t n, struct kc_error *err)
{
        struct run *run = ctx;
        size_t nwords = (size_t)run->nwords;
        if (atomic_fetch_add(&run->ncalls, 1) == run->fail_at)
                return kc_fail(err, KC_EIO, "the sink is full");
        while (atomic_flag_test_and_set(&run->lock))
                ;
        struct pairs *part = get_part(run, number);
        assert_false(part->last);
        part->kmers = realloc(part->kmers, (part->n + n) * nwords * sizeof *kmers + 1);
        part->counts = realloc(part->counts, (part->n + n) * sizeof *counts + 1);
        if (n > 0) {
                memcpy(part->kmers + part->n * nwords, kmers, n * nwords * sizeof *kmers);
                memcpy(part->counts + part->n, counts, n * sizeof *counts);
        }
        part->n += n;
        part->last = last;
        atomic_flag_clear(&run->lock);
        return KC_OK;
}

static void cancel(void *ctx)
{
        struct run *run = ctx;
        atomic_fetch_add(&run->ncanceled, 1);
}

/* All parts in one, freed by the caller. */
static struct pairs join(const struct run *run)
{
        struct pairs all = { 0 };
        size_t nwords = (size_t)run->nwords;
        for (size_t i = 0; i < run->nparts; i++) {
                assert_true(run->parts[i].last);
                all.n += run->parts[i].n;
        }
        all.kmers = malloc(all.n * nwords * sizeof *all.kmers + 1);
        all.counts = malloc(all.n * sizeof *all.counts + 1);
        all.n = 0;
        for (size_t i = 0; i < run->nparts; i++) {
                const struct pairs *p = &run->parts[i];
                memcpy(all.kmers + all.n * nwords, p->kmers, p->n * nwords * sizeof *p->kmers);
                memcpy(all.counts + all.n, p->counts, p->n * sizeof *p->counts);
                all.n += p->n;
        }
        return all;
}

static void free_pairs(struct pairs *pairs)
{
        free(pairs->kmers);
        free(pairs->counts);
}

static void free_run(struct run *run)
{
        for (size_t i = 0; i < run->nparts; i++)
                free_pairs(&run->parts[i]);
        free(run->parts);
}

/* ---- counting ---- */

struct work {
        struct kc_count_params params;
        struct kc_gpu_params gpu;
        struct reads reads;
        struct run run;
        struct kc_job job;
        struct kc_count_totals totals;
        struct kc_gpu_report report;
        struct kc_error err;
};

static void prepare(struct work *work, int k, uint64_t nreads)
{
        *work = (struct work){
                .params = { .k = k,
                            .nthreads = NTHREADS,
                            .memory_nbytes = 256 << 20,
                            .tmp_dir = "/tmp",
                            .expected_nbases = nreads * MAX_NBASES / 2 },
                .gpu = { .memory_nbytes = (size_t)1 << 30, .read_ahead = true },
                .reads = { .nreads = nreads,
                           .ngenome = nreads * 20 + 1,
                           .k = k,
                           .fail_at = UINT64_MAX,
                           .cancel_at = UINT64_MAX },
                .run = { .nwords = kc_kmer_nwords(k), .fail_at = -1 },
        };
        work->reads.job = &work->job;
        atomic_flag_clear(&work->run.lock);
}

static enum kc_status count_on_device(struct work *work)
{
        struct kc_batch_source source = { &work->reads, next_batch };
        struct kc_run_sink sink = { .ctx = &work->run, .put = put, .cancel = cancel };
        return kc_gpu_count(&work->params, &work->gpu, &source, &sink, &work->job, &work->totals,
                            &work->report, &work->err);
}

static void count_on_host(struct work *work)
{
        struct kc_batch_source source = { &work->reads, next_batch };
        struct kc_run_sink sink = { .ctx = &work->run, .put = put, .cancel = cancel };
        assert_int_equal(KC_OK, kc_cpu_count(&work->params, &source, &sink, &work->job,
                                             &work->totals, &work->err));
}

static void expect(enum kc_status got, enum kc_status wanted, const struct work *work)
{
        if (got != wanted)
                fail_msg("status %d, not %d: %s", (int)got, (int)wanted, work->err.message);
}

/* Both engines on the same reads. change is made to the CUDA engine's work. */
static void compare(int k, bool stranded, uint64_t nreads, void (*change)(struct work *))
{
        static struct work host, device;
        prepare(&host, k, nreads);
        prepare(&device, k, nreads);
        host.params.stranded = device.params.stranded = stranded;
        change(&device);
        count_on_host(&host);
        expect(count_on_device(&device), KC_OK, &device);
        struct pairs wanted = join(&host.run), got = join(&device.run);
        assert_true(device.report.began);
        assert_int_equal(got.n, wanted.n);
        assert_memory_equal(got.kmers, wanted.kmers,
                            got.n * (size_t)host.run.nwords * sizeof *got.kmers);
        assert_memory_equal(got.counts, wanted.counts, got.n * sizeof *got.counts);
        assert_int_equal(device.totals.nkmers, host.totals.nkmers);
        assert_int_equal(device.totals.ndistinct, host.totals.ndistinct);
        assert_int_equal(device.totals.nsaturated, host.totals.nsaturated);
        free_pairs(&wanted);
        free_pairs(&got);
        free_run(&host.run);
        free_run(&device.run);
}

static void as_it_likes(struct work *work)
{
        (void)work;
}

static void in_small_batches(struct work *work)
{
        work->gpu.batch_nkmers = 30000;
        work->gpu.table = KC_TABLE_SLAB;
}

static void in_little_memory(struct work *work)
{
        work->gpu.memory_nbytes = 256 << 20;
        work->gpu.batch_nkmers = 200000;
        work->gpu.read_ahead = false;
        work->params.expected_nbases = 0;
        work->params.memory_nbytes = 1 << 20;
}

static void same_run_as_the_host(void **state)
{
        (void)state;
        for (int stranded = 0; stranded < 2; stranded++) {
                static const int ks[] = { 1, 2, 12, 16, 21, 31, 32, 33, 55, 63, 64 };
                for (size_t i = 0; i < sizeof ks / sizeof *ks; i++) {
                        compare(ks[i], stranded, scaled(3000), as_it_likes);
                        compare(ks[i], stranded, scaled(3000), in_small_batches);
                }
                compare(31, stranded, scaled(20000), in_little_memory);
                compare(55, stranded, scaled(20000), in_little_memory);
        }
}

static void nothing_and_next_to_nothing(void **state)
{
        (void)state;
        for (uint64_t nreads = 0; nreads < 4; nreads++)
                compare(31, false, nreads, as_it_likes);
}

/* ---- failures ---- */

static void wrong_k(void **state)
{
        static struct work work;
        (void)state;
        for (int k = 0; k <= 65; k += 65) {
                prepare(&work, 31, 10);
                work.params.k = k;
                expect(count_on_device(&work), kc_gpu_in_build() ? KC_EUSAGE : KC_EDEVICE, &work);
        }
}

/* Where the device cannot be had, source and sink are as they were, for another engine. */
static void device_that_is_not_there(void **state)
{
        static struct work work;
        (void)state;
        prepare(&work, 31, 10);
        work.gpu.device = 999;
        work.gpu.read_ahead = false;
        expect(count_on_device(&work), KC_EDEVICE, &work);
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
                free_run(&work.run);
        }
        for (int at = 0; at < 2; at++) {
                prepare(&work, 31, scaled(50000));
                work.run.fail_at = at;
                expect(count_on_device(&work), KC_EIO, &work);
                assert_int_equal(atomic_load(&work.run.ncanceled), 1);
                free_run(&work.run);
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
                free_run(&work.run);
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
        free_run(&work.run);
}

/* Without an argument, what needs no device; with "engine", what does. */
int main(int argc, char **argv)
{
        const struct CMUnitTest anywhere[] = {
                cmocka_unit_test(devices_or_a_reason),
                cmocka_unit_test(no_room_still_tells_how_many),
                cmocka_unit_test(wrong_k),
                cmocka_unit_test(device_that_is_not_there),
        };
        const struct CMUnitTest engine[] = {
                cmocka_unit_test(same_run_as_the_host),
                cmocka_unit_test(nothing_and_next_to_nothing),
                cmocka_unit_test(too_little_memory),
                cmocka_unit_test(failing_source_and_sink),
                cmocka_unit_test(canceled),
                cmocka_unit_test(timeline),
        };
        if (argc == 1)
                return cmocka_run_group_tests(anywhere, NULL, NULL);
        if (strcmp(argv[1], "engine") != 0)
                return 2;
        return is_device() ? cmocka_run_group_tests(engine, NULL, NULL) : SKIPPED;
}
