/*
 * Tests of walks: the CUDA engine counts several passes after each walk over the reads. To be
 * included after cmocka.h.
 */
#ifndef KC_TESTS_GPU_ENGINE_GPU_WALKS_H
#define KC_TESTS_GPU_ENGINE_GPU_WALKS_H

#include "tests/gpu/engine/work.h"

/* Every walk that could have npasses passes had them, if the reads stayed on the device. Devices
 * that share their walks all make as many walks as the device with the most passes needs. */
static inline void expect_walks(const struct work *work, int npasses)
{
        const struct kc_gpu_report *report = &work->report;
        const bool on_device = report->kept_host_nbytes + report->kept_file_nbytes == 0;
        const uint64_t n = on_device ? (uint64_t)npasses : 1;
        uint64_t most = 0;
        for (int i = 0; i < report->nparts; i++)
                most = report->parts[i].npasses > most ? report->parts[i].npasses : most;
        for (int i = 0; i < report->nparts; i++) {
                const struct kc_gpu_part_report *part = &report->parts[i];
                const uint64_t own = report->nshared > 0 ? most : part->npasses;
                assert_int_equal(part->nwalks, (own + n - 1) / n);
                assert_true(part->nshared == (report->nshared > 0 ? part->nwalks : 0));
        }
}

static inline void in_tiny_batches(struct work *work)
{
        work->gpu.batch_nkmers = 4096;
}

enum { MOST_LISTS = 32 }; /* lists of records in a walk: one for each device and pass */

/* Expect that the CUDA engine on n devices, with npasses passes in each walk, produces the same run
 * as the host. Returns how many walks were shared. */
static inline uint64_t compare_walks(int n, int k, int npasses, void (*change)(struct work *))
{
        static struct work host, device;
        const bool stranded = npasses % 2 == 0;
        const struct kc_run_filter filter = { npasses % 3 + 1, UINT32_MAX };
        prepare(&host, k, scaled(10000));
        prepare(&device, k, scaled(10000));
        host.params.stranded = device.params.stranded = stranded;
        host.run.filter = device.run.filter = filter;
        change(&host);
        change(&device);
        host.params.memory_nbytes = 256 << 20;
        device.gpu.walk_npasses = npasses;
        use_devices(&device, n);
        count_on_host(&host);
        expect(count_on_device(&device), KC_OK, &device);
        expect_same(&device, &host);
        expect_walks(&device, npasses);
        assert_true(device.report.npasses > (uint64_t)npasses || change != in_tiny_batches);
        assert_true(device.report.nrecounted > 0 || !device.reads.poly_a || k > 32); /* rounds */
        run_free(&host.run);
        run_free(&device.run);
        return device.report.nshared;
}

/* All k-mers are equal: one pass of a walk has all records. */
static inline void of_one_letter(struct work *work)
{
        work->gpu.batch_nkmers = 4096;
        work->reads.poly_a = true;
}

/* One read again and again: some of the passes have all records. */
static inline void of_one_read(struct work *work)
{
        work->gpu.batch_nkmers = 4096;
        work->reads.ngenome = 1;
}

static inline void walks_of_several_passes(void **state)
{
        static const int ks[] = { 21, 31, 55, 77, 101 };
        void (*const changes[])(struct work *) = { in_tiny_batches, in_little_memory, of_one_letter,
                                                   of_one_read, by_default };
        (void)state;
        for (int npasses = 1; npasses <= 6; npasses++)
                for (int i = 0; i < 5; i++)
                        compare_walks(1, ks[(i + npasses) % 5], npasses, changes[i]);
        for (int i = 0; i < 5; i++)
                compare_walks(1, ks[i], 3, in_tiny_batches);
}

/* Devices share walks if all of them have the reads, if they have few enough lists in all, and if
 * they are peers. Only emulated devices are certain to be peers. */
static inline void several_devices_walk(void **state)
{
        static const int ks[] = { 21, 31, 55, 77, 101 }, ns[] = { 2, 3, 5, 8 };
        const bool are_peers =
                getenv("KC_EMULATOR_DEVICES") != NULL && getenv("KC_EMULATOR_PEERS") == NULL;
        (void)state;
        for (int npasses = 1; npasses <= 6; npasses++)
                for (int i = 0; i < 4; i++) {
                        const int k = ks[(npasses + i) % 5], n = ns[i];
                        const uint64_t nshared = compare_walks(n, k, npasses, in_tiny_batches);
                        assert_true(nshared == 0 || n * npasses <= MOST_LISTS);
                        assert_true(nshared > 0 || n * npasses > MOST_LISTS || !are_peers);
                        if (i == 0 || i == npasses % 4)
                                compare_walks(n, k, npasses,
                                              npasses % 2 ? of_one_read : of_one_letter);
                }
}

#endif
