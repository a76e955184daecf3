/*
 * Ranks, here threads of the test, count together, on the CPU or on devices. In place of the CUDA
 * engine, the CPU engine counts all reads, and only the k-mers that belong to this rank's engine
 * are passed on.
 */
#include "app/count/joint_count.h"
#include "ranks/messages.h"

#include "tests/cpu/cpu_support.h"
#include "tests/random.h"
#include "tests/ranks/thread_transport.h"

#include <unistd.h>

enum { MAX_TASKS = 2 };

/* What goes wrong on one rank. */
enum trouble {
        TROUBLE_NONE,
        TROUBLE_START,   /* no device */
        TROUBLE_READING, /* its part of the input cannot be read to the end */
        TROUBLE_FEEDING, /* the device fails while it is given reads */
        TROUBLE_PUTTING, /* the device fails while it puts pairs */
        TROUBLE_LOST,    /* k-mers are lost */
        TROUBLE_TWICE,   /* a k-mer is counted by another rank as well */
        TROUBLE_SINK,    /* the output is full, on rank 0 */
        TROUBLE_SIGNAL,  /* the user's */
};

static struct {
        enum trouble trouble;
        int rank;
} plan;

static bool is_in_trouble(enum trouble trouble, int rank)
{
        return plan.trouble == trouble && plan.rank == rank;
}

/* ---- the engine ---- */

struct fake_sink {
        const struct kc_gpu_params *gpu;
        struct kc_count_task *task; /* the caller's */
        struct kc_run_sink all;     /* gets the k-mers of all engines */
        struct kc_job *job;
        int nwords;
        pthread_mutex_t lock; /* guards totals */
};

/* *foreign: another rank counts it as well. */
static bool is_own(const struct kc_gpu_params *gpu, const uint64_t *kmer, int nwords, bool *foreign)
{
        uint64_t hash = 0;
        for (int i = 0; i < nwords; i++)
                hash = random_mix(hash ^ kmer[i]);
        *foreign = gpu->nengines > 1 && hash % (uint64_t)gpu->nengines != (uint64_t)gpu->engine;
        if (is_in_trouble(TROUBLE_LOST, gpu->engine) && hash % 1000 == 0)
                return false;
        if (is_in_trouble(TROUBLE_TWICE, gpu->engine) && hash % 1000 == 0)
                return true;
        return !*foreign;
}

static enum kc_status fake_put(void *ctx, const struct kc_run_pairs *in, struct kc_error *err)
{
        struct fake_sink *s = ctx;
        const struct kc_run_sink *sink = s->task->sink;
        const size_t nw = (size_t)s->nwords;
        struct kc_run_pairs out = { .part = in->part, .last = in->last };
        uint64_t *kmers = malloc(in->n * nw * sizeof *kmers + 1);
        uint32_t *counts = malloc(in->n * sizeof *counts + 1);
        uint64_t nkmers = 0;
        bool foreign;
        if (is_in_trouble(TROUBLE_PUTTING, s->gpu->engine) && in->part == 1)
                return free(kmers), free(counts), kc_fail(err, KC_EDEVICE, "the device fell off");
        if (is_in_trouble(TROUBLE_SIGNAL, s->gpu->engine) && in->part == 1)
                atomic_store(&s->job->cancel, true);
        for (size_t i = 0; i < in->n; i++)
                if (is_own(s->gpu, in->kmers + i * nw, s->nwords, &foreign)) {
                        memcpy(kmers + out.n * nw, in->kmers + i * nw, nw * sizeof *kmers);
                        counts[out.n++] = in->counts[i];
                        nkmers += foreign ? 0 : in->counts[i]; /* so that this goes unnoticed */
                }
        pthread_mutex_lock(&s->lock);
        s->task->totals.nkmers += nkmers;
        s->task->totals.ndistinct += out.n;
        pthread_mutex_unlock(&s->lock);
        out.n = kc_run_filter_pairs(&sink->filter, kmers, counts, out.n, s->nwords, &out.dropped);
        out.kmers = kmers;
        out.counts = counts;
        const enum kc_status status = sink->put(sink->ctx, &out, err);
        free(kmers);
        free(counts);
        return status;
}

struct fake_source {
        const struct kc_gpu_params *gpu;
        const struct kc_batch_source *from;
        int ncalls; /* of worker 0 */
};

static enum kc_status fake_next(void *ctx, int worker, struct kc_batch *batch, struct kc_error *err)
{
        struct fake_source *s = ctx;
        const bool fails = is_in_trouble(TROUBLE_FEEDING, s->gpu->engine) && worker == 0;
        enum kc_status status = KC_OK;
        if (!fails || s->ncalls++ == 0)
                status = s->from->next(s->from->ctx, worker, batch, err);
        if (status != KC_OK || !fails || (s->ncalls == 1 && batch->nsegments > 0))
                return status;
        usleep(100 * 1000); /* the other workers wait for this one by then */
        return kc_fail(err, KC_EDEVICE, "the device fell off");
}

static void fake_cancel(void *ctx)
{
        struct fake_sink *s = ctx;
        s->task->sink->cancel(s->task->sink->ctx);
}

enum kc_status __wrap_kc_gpu_count_all(const struct kc_count_params *params,
                                       const struct kc_gpu_params *gpu,
                                       const struct kc_batch_source *source,
                                       struct kc_count_task *tasks, int ntasks, struct kc_job *job,
                                       struct kc_gpu_report *reports, struct kc_error *err);

enum kc_status __wrap_kc_gpu_count_all(const struct kc_count_params *params,
                                       const struct kc_gpu_params *gpu,
                                       const struct kc_batch_source *source,
                                       struct kc_count_task *tasks, int ntasks, struct kc_job *job,
                                       struct kc_gpu_report *reports, struct kc_error *err)
{
        struct fake_source fake = { .gpu = gpu, .from = source };
        const struct kc_batch_source reads = { &fake, fake_next };
        struct fake_sink sinks[MAX_TASKS];
        struct kc_count_task all[MAX_TASKS];
        assert_null(params->exchange);
        assert_false(gpu->read_ahead);
        assert_int_equal(params->expected_nbases, 1000); /* the least of all ranks */
        if (is_in_trouble(TROUBLE_START, gpu->engine))
                return kc_fail(err, KC_EDEVICE, "no device");
        for (int i = 0; i < ntasks; i++) {
                struct fake_sink *s = &sinks[i];
                *s = (struct fake_sink){ .gpu = gpu,
                                         .task = &tasks[i],
                                         .job = job,
                                         .nwords = kc_kmer_nwords(tasks[i].k) };
                pthread_mutex_init(&s->lock, NULL);
                s->all = (struct kc_run_sink){ .ctx = s,
                                               .filter = { 1, UINT32_MAX },
                                               .put = fake_put,
                                               .cancel = fake_cancel };
                all[i] = (struct kc_count_task){ .k = tasks[i].k, .sink = &s->all };
                tasks[i].totals = (struct kc_count_totals){ 0 };
        }
        const enum kc_status status = kc_cpu_count_all(params, &reads, all, ntasks, job, err);
        for (int i = 0; i < ntasks; i++) {
                reports[i].nread = all[i].totals.nkmers;
                pthread_mutex_destroy(&sinks[i].lock);
        }
        return status;
}

/* ---- ranks ---- */

struct member {
        struct crowd_rank rank;
        struct reads *reads;
        struct kc_count_params params;
        struct kc_count_task tasks[MAX_TASKS];
        int ntasks;
        struct kc_run_sink sinks[MAX_TASKS];
        struct run runs[MAX_TASKS];
        bool on_device;
        struct kc_job job;
};

static enum kc_status read_part(void *ctx, int worker, struct kc_batch *batch, struct kc_error *err)
{
        struct member *m = ctx;
        if (is_in_trouble(TROUBLE_READING, m->rank.transport.rank) &&
            atomic_load(&m->reads->next) > 500)
                return kc_fail(err, KC_EINPUT, "a read is damaged");
        return next_batch(m->reads, worker, batch, err);
}

#include "tests/ranks/crowd.h"

static enum kc_status work_of_member(struct member *m, const struct kc_exchange *exchange,
                                     struct kc_error *err)
{
        const struct kc_batch_source source = { m, read_part };
        const struct kc_gpu_params gpu = { .read_ahead = true };
        struct kc_gpu_report reports[MAX_TASKS];
        m->params.exchange = exchange;
        return joint_count(&m->params, m->on_device ? &gpu : NULL, &source, m->tasks, m->ntasks,
                           &m->job, reports, err);
}

/* The members share one source, so faster members read more. The last of several reads nothing. */
static void begin_crowd(struct crowd *crowd, int nranks, struct reads *reads, struct reads *nothing,
                        const int *k, int nk, const struct kc_run_filter *filter, bool on_device)
{
        memset(crowd, 0, sizeof *crowd);
        post_office_init(&crowd->office, nranks);
        atomic_store(&reads->next, 0);
        reads->nworkers = nothing->nworkers = 3;
        reads->k = k[0];
        reads->piece = nk > 1 ? 100 : 0;
        reads->max_k = k[nk - 1];
        reads->fail_at = -1;
        for (int i = 0; i < nranks; i++) {
                struct member *m = &crowd->members[i];
                m->reads = nranks > 1 && i == nranks - 1 ? nothing : reads;
                m->params = (struct kc_count_params){ .nthreads = 1 + i % 3,
                                                      .memory_nbytes = (uint64_t)(i % 2 ? 1 : 128)
                                                                       << 20,
                                                      .tmp_dir = "/tmp",
                                                      .expected_nbases = 1000 + (uint64_t)i };
                m->on_device = on_device;
                m->ntasks = nk;
                for (int j = 0; j < nk; j++) {
                        m->runs[j] = (struct run){ .filter = *filter,
                                                   .fail_at = -1,
                                                   .nwords = kc_kmer_nwords(k[j]) };
                        m->sinks[j] = run_sink(&m->runs[j]);
                        m->tasks[j] = (struct kc_count_task){ .k = k[j], .sink = &m->sinks[j] };
                }
        }
}

static void end_crowd(struct crowd *crowd)
{
        for (int i = 0; i < crowd->office.nranks; i++)
                for (int j = 0; j < crowd->members[i].ntasks; j++)
                        run_free(&crowd->members[i].runs[j]);
        post_office_destroy(&crowd->office);
}

/* ---- tests ---- */

static const struct kc_run_filter everything = { 1, UINT32_MAX };

/* Rank 0 got the run that a single process counts with the same filter. */
static void expect_counted(struct crowd *crowd, struct reads *reads, int j)
{
        const struct member *first = &crowd->members[0];
        const struct run *got = &first->runs[j];
        struct kc_count_params params = {
                .k = first->tasks[j].k, .nthreads = 2, .memory_nbytes = 64 << 20, .tmp_dir = "/tmp"
        };
        struct run wanted = { .filter = got->filter, .fail_at = -1 };
        struct kc_count_totals totals;
        struct kc_error err = { 0 };
        uint64_t nown = 0;
        assert_int_equal(count(reads, &params, &wanted, &totals, &err), KC_OK);
        struct pairs a = run_join(got), b = run_join(&wanted);
        assert_int_equal(a.n, b.n);
        assert_memory_equal(a.kmers, b.kmers, a.n * (size_t)got->nwords * sizeof *a.kmers);
        assert_memory_equal(a.counts, b.counts, a.n * sizeof *a.counts);
        assert_memory_equal(&got->dropped, &wanted.dropped, sizeof wanted.dropped);
        for (int i = 0; i < crowd->office.nranks; i++) {
                const struct kc_count_totals *own = &crowd->members[i].tasks[j].totals;
                assert_int_equal(own->nkmers, totals.nkmers);
                assert_int_equal(own->ndistinct, totals.ndistinct);
                assert_true(own->nown > 0);
                nown += own->nown;
        }
        assert_int_equal(nown, totals.ndistinct);
        pairs_free(&a);
        pairs_free(&b);
        run_free(&wanted);
}

static void expect_all(struct crowd *crowd, struct reads *reads)
{
        expect_success(crowd);
        for (int j = 0; j < crowd->members[0].ntasks; j++)
                expect_counted(crowd, reads, j);
        const struct kc_job *job = &crowd->members[0].job; /* it shows the last merge */
        const int nk = crowd->members[0].ntasks;
        assert_int_equal(atomic_load(&job->stage), joint_merging_stage(nk, nk - 1));
        assert_true(atomic_load(&job->total) > 0);
        assert_int_equal(atomic_load(&job->done), atomic_load(&job->total));
        end_crowd(crowd);
}

static void ranks_count_what_one_counts(void **state)
{
        static const struct kc_run_filter filters[] = { { 1, UINT32_MAX },
                                                        { 2, UINT32_MAX },
                                                        { 1, 3 } };
        static const int ks[] = { 31, 21, 55, 101 }, several[] = { 31, 55 };
        struct reads reads = { 0 }, nothing = { .fail_at = -1 };
        struct crowd *crowd = malloc(sizeof *crowd);
        (void)state;
        sequenced(&reads, 300000, FEW_CASES ? 300 : 1500, 250);
        for (int i = 0; i < 16; i += THREAD_STRIDE) {
                const int nranks = 1 + i / 4, nk = 1 + i / 2 % 2;
                begin_crowd(crowd, nranks, &reads, &nothing, nk == 1 ? &ks[nranks - 1] : several,
                            nk, &filters[nranks % 3], i % 2);
                run_crowd(crowd);
                reads.piece = 0;
                expect_all(crowd, &reads);
        }
        free(crowd);
        free_reads(&reads);
}

/* All ranks fail; exactly one has a message of its own, unless the user has stopped the count. */
static void expect_failure(struct crowd *crowd, enum kc_status status, const char *message,
                           bool on_any)
{
        const int nown = count_failed(crowd, status, NULL);
        for (int i = 0; i < crowd->office.nranks; i++)
                if (crowd->members[i].rank.status != KC_ECANCELED)
                        assert_non_null(strstr(crowd->members[i].rank.err.message, message));
        assert_true(on_any ? nown > 0 : nown == (status != KC_ECANCELED));
        end_crowd(crowd);
}

static enum kc_status put_counts(void *ctx, const struct kc_run_counts *counts,
                                 struct kc_error *err)
{
        (void)ctx;
        (void)counts;
        return kc_fail(err, KC_EUSAGE, "the engine of the test has pairs");
}

static void a_failure_ends_all_ranks(void **state)
{
        static const struct {
                enum trouble trouble;
                enum kc_status status;
                const char *message;
                bool on_any; /* several ranks may find it at the same time */
        } cases[] = {
                { TROUBLE_START, KC_EDEVICE, "no device", false },
                { TROUBLE_READING, KC_EINPUT, "a read is damaged", false },
                { TROUBLE_FEEDING, KC_EDEVICE, "the device fell off", false },
                { TROUBLE_PUTTING, KC_EDEVICE, "the device fell off", false },
                { TROUBLE_LOST, KC_EDEVICE, "k-mers; please report this", true },
                { TROUBLE_TWICE, KC_EUSAGE, "have counted the same k-mer", true },
                { TROUBLE_SINK, KC_EIO, "the sink is full", false },
                { TROUBLE_SIGNAL, KC_ECANCELED, "", false },
        };
        static const int several[] = { 31, 55 };
        struct reads reads = { 0 }, nothing = { .fail_at = -1 };
        struct crowd *crowd = malloc(sizeof *crowd);
        (void)state;
        sequenced(&reads, 100000, 600, 250);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
                for (int rank = 0; rank < 2; rank++)
                        for (int nk = 1; nk <= 2; nk += THREAD_STRIDE) {
                                plan.trouble = cases[i].trouble;
                                plan.rank = rank;
                                const bool takes_counts =
                                        plan.trouble == TROUBLE_FEEDING && rank == 1;
                                begin_crowd(crowd, 3, &reads, &nothing, several, nk, &everything,
                                            true);
                                for (int j = 0; j < 3 * nk && takes_counts; j++)
                                        crowd->members[j / nk].sinks[j % nk].put_counts =
                                                put_counts;
                                if (plan.trouble == TROUBLE_SINK)
                                        crowd->members[0].runs[nk - 1].fail_at = rank;
                                run_crowd(crowd);
                                expect_failure(crowd, cases[i].status, cases[i].message,
                                               cases[i].on_any);
                        }
        plan.trouble = TROUBLE_NONE;
        free(crowd);
        free_reads(&reads);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(ranks_count_what_one_counts),
                cmocka_unit_test(a_failure_ends_all_ranks),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
