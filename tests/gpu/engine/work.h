/*
 * Work for the tests of the CUDA engine: reads generated from their numbers, counted by it or by
 * the host engine, and the two runs compared. To be included after cmocka.h.
 */
#ifndef KC_TESTS_GPU_ENGINE_WORK_H
#define KC_TESTS_GPU_ENGINE_WORK_H

#include "cpu/cpu_engine.h"
#include "gpu/gpu.h"
#include "kmer/kmer.h"
#include "tests/random.h"
#include "tests/run_support.h"

#include <stdint.h>
#include <unistd.h>

enum { NTHREADS = 3, MAX_NBASES = 400 };

struct reads {
        uint64_t nreads, ngenome; /* reads start below ngenome, so that k-mers repeat */
        int k;
        int max_k;   /* with several k, of which k is the smallest: reads come in pieces; else 0 */
        bool poly_a; /* all bases are A */
        atomic_uint_fast64_t next;
        uint64_t fail_at, cancel_at; /* numbers of reads; UINT64_MAX: none */
        unsigned pause_us;           /* before each batch; 0: none */
        struct kc_job *job;
};

/* KC_TEST_SMALL=1 in the environment: fewer reads, for an emulated device. */
static inline uint64_t scaled(uint64_t nreads)
{
        return getenv("KC_TEST_SMALL") != NULL ? nreads / 8 : nreads;
}

static inline uint64_t random_of(uint64_t number)
{
        return random_mix((number + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

/* Base `at` of the genome is in word at / 32; a read's number determines its place and length. */
static inline void add_read(const struct reads *reads, uint64_t number, struct kc_batch *batch)
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
                uint64_t word = reads->poly_a ? 0
                                : shift       ? low >> shift | high << (64 - shift)
                                              : low;
                if (i + 1 == nwords && nbases % 32)
                        word &= (UINT64_C(1) << nbases % 32 * 2) - 1;
                batch->words[batch->nwords++] = word;
        }
}

/* Cut the batch's last read, if it is long enough, into two pieces that overlap for max_k. */
static inline void cut_read(struct kc_batch *batch, int max_k, bool turned)
{
        struct kc_segment *a = &batch->segments[batch->nsegments - 1], *b = a + 1;
        const uint32_t at = a->nbases / 64, n = at * 32 + (uint32_t)max_k - 1;
        if (n >= a->nbases)
                return;
        *b = (struct kc_segment){ .word = batch->nwords, .nbases = a->nbases - at * 32 };
        a->nbases = n;
        for (uint32_t i = 0; i < (b->nbases + 31) / 32; i++)
                batch->words[batch->nwords++] = batch->words[a->word + at + i];
        if (n % 32)
                batch->words[a->word + n / 32] &= (UINT64_C(1) << n % 32 * 2) - 1;
        *(turned ? &a->nafter : &b->nbefore) = (uint8_t)(max_k - 1);
        batch->nsegments++;
}

static inline enum kc_status next_batch(void *ctx, int worker, struct kc_batch *batch,
                                        struct kc_error *err)
{
        struct reads *reads = ctx;
        uint32_t most = (MAX_NBASES + 31) / 32 * (reads->max_k ? 2 : 1);
        assert_in_range(worker, 0, NTHREADS - 1);
        batch->nwords = batch->nsegments = 0;
        if (reads->pause_us > 0)
                (void)usleep(reads->pause_us);
        while (batch->nsegments + 1 < batch->segments_cap &&
               batch->nwords + most <= batch->words_cap) {
                uint64_t i = atomic_fetch_add(&reads->next, 1);
                if (i >= reads->nreads)
                        break;
                if (i == reads->fail_at)
                        return kc_fail(err, KC_EINPUT, "no read %llu", (unsigned long long)i);
                if (i == reads->cancel_at)
                        atomic_store(&reads->job->cancel, true);
                add_read(reads, i, batch);
                if (reads->max_k)
                        cut_read(batch, reads->max_k, i % 2);
        }
        return KC_OK;
}

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

static inline void prepare(struct work *work, int k, uint64_t nreads)
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

/* Changes to the CUDA engine's work, for tests to choose from. */
static inline void by_default(struct work *work)
{
        (void)work;
}

static inline void in_little_memory(struct work *work)
{
        work->gpu.memory_nbytes = 256 << 20;
        work->gpu.batch_nkmers = 200000;
        work->gpu.read_ahead = false;
        work->params.expected_nbases = 0;
        work->params.memory_nbytes = 1 << 20;
}

/* Use n devices: those that are there, each as often as necessary. */
static inline void use_devices(struct work *work, int n)
{
        struct kc_error err = { 0 };
        int nreal = 0;
        assert_int_equal(kc_gpu_devices(NULL, 0, &nreal, &err), KC_OK);
        work->gpu.nothers = n - 1;
        for (int i = 1; i < n; i++)
                work->gpu.others[i - 1] = i % nreal;
}

static inline enum kc_status count_on_device(struct work *work)
{
        struct kc_batch_source source = { &work->reads, next_batch };
        struct kc_run_sink sink = run_sink(&work->run);
        return kc_gpu_count(&work->params, &work->gpu, &source, &sink, &work->job, &work->totals,
                            &work->report, &work->err);
}

static inline void count_on_host(struct work *work)
{
        struct kc_batch_source source = { &work->reads, next_batch };
        struct kc_run_sink sink = run_sink(&work->run);
        assert_int_equal(KC_OK, kc_cpu_count(&work->params, &source, &sink, &work->job,
                                             &work->totals, &work->err));
}

static inline void expect(enum kc_status got, enum kc_status wanted, const struct work *work)
{
        if (got != wanted)
                fail_msg("status %d, not %d: %s", (int)got, (int)wanted, work->err.message);
}

/* Works for several k that are counted together. All of them use the reads, parameters and job of
 * the first. */
static inline void prepare_all(struct work *works, const int *ks, int n, uint64_t nreads)
{
        for (int i = 0; i < n; i++)
                prepare(&works[i], ks[i], nreads);
        for (int i = 0; i < n; i++) {
                works->reads.k = ks[i] < works->reads.k ? ks[i] : works->reads.k;
                works->reads.max_k = ks[i] > works->reads.max_k ? ks[i] : works->reads.max_k;
        }
}

enum { MAX_TASKS = 8 };

static inline enum kc_status count_all(struct work *works, int n, bool device)
{
        struct kc_batch_source source = { &works->reads, next_batch };
        struct kc_run_sink sinks[MAX_TASKS];
        struct kc_count_task tasks[MAX_TASKS];
        struct kc_gpu_report reports[MAX_TASKS] = { 0 };
        enum kc_status status;
        for (int i = 0; i < n; i++) {
                sinks[i] = run_sink(&works[i].run);
                tasks[i] = (struct kc_count_task){ .k = works[i].params.k, .sink = &sinks[i] };
        }
        if (device)
                status = kc_gpu_count_all(&works->params, &works->gpu, &source, tasks, n,
                                          &works->job, reports, &works->err);
        else
                status = kc_cpu_count_all(&works->params, &source, tasks, n, &works->job,
                                          &works->err);
        for (int i = 0; i < n; i++) {
                works[i].totals = tasks[i].totals;
                works[i].report = reports[i];
        }
        return status;
}

/* The two runs are the same, pair for pair, and so are their totals and what was dropped. */
static inline void expect_same(const struct work *got, const struct work *wanted)
{
        struct pairs a = run_join(&got->run), b = run_join(&wanted->run);
        assert_int_equal(a.n, b.n);
        assert_memory_equal(a.kmers, b.kmers, a.n * (size_t)got->run.nwords * sizeof *a.kmers);
        assert_memory_equal(a.counts, b.counts, a.n * sizeof *a.counts);
        assert_int_equal(got->totals.nkmers, wanted->totals.nkmers);
        assert_int_equal(got->totals.ndistinct, wanted->totals.ndistinct);
        assert_int_equal(got->totals.nsaturated, wanted->totals.nsaturated);
        assert_memory_equal(&got->run.dropped, &wanted->run.dropped, sizeof got->run.dropped);
        pairs_free(&a);
        pairs_free(&b);
}

#endif
