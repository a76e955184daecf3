#include "app/count/joint_devices.h"

#include "app/cli/options.h"
#include "app/library/memory.h"
#include "base/clock.h"
#include "base/parallel.h"
#include "cpu/cpu_engine.h"
#include "kmer/kmer.h"
#include "kmer/remedy.h"
#include "ranks/broadcast.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
        QUEUE_NBYTES = 8 << 20,
        BUNDLE_PAIRS = 4 << 10,
        ORDER_SHARE = 3, /* ordering gets 1/3: the device has most of the CUDA engine's pairs */
        ORDER_THREAD_MIB = 36,
};

/* Pairs on their way from the device's engine. */
struct bundle {
        struct bundle *next;
        int task;
        size_t n, at; /* at: pairs before this have been taken */
        uint32_t *counts;
        uint64_t kmers[]; /* [n * nwords], then the counts */
};

struct joint_devices;

/* The device engine's sink for one k. */
struct device_sink {
        struct joint_devices *joint;
        int task, nwords;
        struct kc_run_sink sink;
        /* guarded by the lock until the run is complete */
        struct kc_run_dropped dropped;
        uint64_t expected_npairs;
};

struct joint_devices {
        const struct joint_devices_setup *setup;
        const struct kc_exchange *exchange;
        struct kc_count_params counting, ordering; /* of the two engines */
        struct kc_gpu_params gpu;
        struct kc_broadcast *broadcast;
        struct kc_count_task *tasks;        /* the caller's */
        struct kc_count_task *device_tasks; /* [ntasks] with sinks of the device's engine */
        struct device_sink *sinks;          /* [ntasks] */
        int ntasks;
        struct kc_gpu_report *reports;
        struct kc_error failures[2]; /* of the two threads */
        struct kc_job order_job;     /* the progress bar does not show the engine that orders */
        pthread_mutex_t lock;        /* guards all below */
        pthread_cond_t filled;       /* a bundle has come, or no more will */
        pthread_cond_t changed;      /* anything else */
        struct bundle *first, **end;
        size_t nbytes;
        bool canceled, counted, ordered;
};

/* ---- the queue ---- */

/* Wait for the signal, or until the next check of what changes without one. Lock held. */
static void wait(struct joint_devices *j, pthread_cond_t *signaled)
{
        kc_clock_wait(signaled, &j->lock, KC_EXCHANGE_CHECK_NS);
}

/* Lock held. */
static enum kc_status check(const struct joint_devices *j, struct kc_error *err)
{
        if (j->canceled || kc_job_is_canceled(j->setup->job))
                return kc_fail(err, KC_ECANCELED, "canceled");
        return j->exchange->check(j->exchange->ctx, err);
}

static size_t bundle_nbytes(size_t n, int nwords)
{
        return sizeof(struct bundle) + n * ((size_t)nwords * sizeof(uint64_t) + sizeof(uint32_t));
}

static enum kc_status push(struct device_sink *s, const uint64_t *kmers, const uint32_t *counts,
                           size_t n, struct kc_error *err)
{
        struct joint_devices *j = s->joint;
        const size_t nbytes = bundle_nbytes(n, s->nwords), nwords = n * (size_t)s->nwords;
        struct bundle *bundle = malloc(nbytes);
        if (bundle == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for counted k-mers");
        *bundle = (struct bundle){ .task = s->task, .n = n };
        bundle->counts = (uint32_t *)(bundle->kmers + nwords);
        memcpy(bundle->kmers, kmers, nwords * sizeof *kmers);
        memcpy(bundle->counts, counts, n * sizeof *counts);
        enum kc_status status;
        pthread_mutex_lock(&j->lock);
        while ((status = check(j, err)) == KC_OK && j->nbytes > QUEUE_NBYTES)
                wait(j, &j->changed);
        if (status == KC_OK) {
                *j->end = bundle;
                j->end = &bundle->next;
                j->nbytes += nbytes;
                pthread_cond_signal(&j->filled);
        }
        pthread_mutex_unlock(&j->lock);
        if (status != KC_OK)
                free(bundle);
        return status;
}

/* Returns NULL if there is none. Lock held. */
static struct bundle *pop(struct joint_devices *j)
{
        struct bundle *bundle = j->first;
        if (bundle == NULL)
                return NULL;
        j->first = bundle->next;
        if (j->first == NULL)
                j->end = &j->first;
        j->nbytes -= bundle_nbytes(bundle->n, j->sinks[bundle->task].nwords);
        pthread_cond_broadcast(&j->changed);
        return bundle;
}

/* Put back a bundle that has been taken only in part. */
static void push_front(struct joint_devices *j, struct bundle *bundle)
{
        pthread_mutex_lock(&j->lock);
        bundle->next = j->first;
        if (j->first == NULL)
                j->end = &bundle->next;
        j->first = bundle;
        j->nbytes += bundle_nbytes(bundle->n, j->sinks[bundle->task].nwords);
        pthread_cond_signal(&j->filled);
        pthread_mutex_unlock(&j->lock);
}

/* ---- the sinks of the device's engine ---- */

static enum kc_status put(void *ctx, const struct kc_run_pairs *pairs, struct kc_error *err)
{
        struct device_sink *s = ctx;
        enum kc_status status = KC_OK;
        pthread_mutex_lock(&s->joint->lock);
        kc_run_add_dropped(&s->dropped, &pairs->dropped);
        pthread_mutex_unlock(&s->joint->lock);
        for (size_t at = 0; at < pairs->n && status == KC_OK; at += BUNDLE_PAIRS) {
                const size_t n = pairs->n - at < BUNDLE_PAIRS ? pairs->n - at : BUNDLE_PAIRS;
                status = push(s, pairs->kmers + at * (size_t)s->nwords, pairs->counts + at, n, err);
        }
        return status;
}

static void expect(void *ctx, uint64_t npairs)
{
        struct device_sink *s = ctx;
        pthread_mutex_lock(&s->joint->lock);
        s->expected_npairs = npairs;
        pthread_mutex_unlock(&s->joint->lock);
}

/* Wake all threads that wait on this rank. */
static void wake(struct joint_devices *j)
{
        pthread_mutex_lock(&j->lock);
        j->canceled = true;
        pthread_cond_broadcast(&j->filled);
        pthread_cond_broadcast(&j->changed);
        pthread_mutex_unlock(&j->lock);
        kc_broadcast_cancel(j->broadcast);
}

static void cancel(void *ctx)
{
        struct device_sink *s = ctx;
        wake(s->joint);
}

/* ---- the source of the engine that orders ---- */

/* Whether it is known which run the next pairs belong to, or that no more will come. The runs come
 * one after another. Lock held. */
static bool is_known(const struct joint_devices *j)
{
        return j->first != NULL || j->counted;
}

static bool has_more(const struct joint_devices *j, int task)
{
        return j->first != NULL && j->first->task == task;
}

static void take_pairs(struct joint_devices *j, struct bundle *bundle, struct kc_pair_batch *batch)
{
        const size_t left = bundle->n - bundle->at, nwords = (size_t)j->sinks[bundle->task].nwords;
        batch->n = left < batch->cap ? left : batch->cap;
        memcpy(batch->kmers, bundle->kmers + bundle->at * nwords,
               batch->n * nwords * sizeof *batch->kmers);
        memcpy(batch->counts, bundle->counts + bundle->at, batch->n * sizeof *batch->counts);
        bundle->at += batch->n;
        if (bundle->at < bundle->n)
                push_front(j, bundle);
        else
                free(bundle);
}

static enum kc_status next(void *ctx, int worker, struct kc_pair_batch *batch, struct kc_error *err)
{
        struct device_sink *s = ctx;
        struct joint_devices *j = s->joint;
        struct bundle *bundle = NULL;
        enum kc_status status;
        (void)worker;
        batch->n = 0;
        pthread_mutex_lock(&j->lock);
        while ((status = check(j, err)) == KC_OK && !is_known(j))
                wait(j, &j->filled);
        if (status == KC_OK && has_more(j, s->task))
                bundle = pop(j);
        else
                pthread_cond_broadcast(&j->filled); /* the others are at the end, too */
        pthread_mutex_unlock(&j->lock);
        if (bundle != NULL)
                take_pairs(j, bundle, batch);
        return status;
}

/* ---- the two threads ---- */

/* Wait until the next run begins, or it is known that there is none. By then the exchange is free
 * for ordering.
 *   npairs  out: about how many pairs the run has, on this rank */
static enum kc_status wait_for_run(struct joint_devices *j, const struct device_sink *s,
                                   uint64_t *npairs, struct kc_error *err)
{
        enum kc_status status;
        pthread_mutex_lock(&j->lock);
        while ((status = check(j, err)) == KC_OK && !is_known(j))
                wait(j, &j->filled);
        *npairs = s->expected_npairs;
        pthread_mutex_unlock(&j->lock);
        return status;
}

static enum kc_status order_run(struct joint_devices *j, int task, struct kc_error *err)
{
        struct device_sink *s = &j->sinks[task];
        struct kc_pair_source source = { .ctx = s, .next = next, .dropped = &s->dropped };
        struct kc_count_params params = j->ordering;
        struct kc_count_totals totals;
        uint64_t npairs;
        enum kc_status status;
        KC_TRY(wait_for_run(j, s, &source.expected_npairs, err));
        KC_TRY(kc_exchange_sum(j->exchange, &source.expected_npairs, 1, err));
        params.k = j->tasks[task].k;
        KC_TRY(kc_cpu_order(&params, &source, j->tasks[task].sink, &j->order_job, &totals, &npairs,
                            err));
        j->tasks[task].totals = totals;
out:
        return status;
}

static bool takes_counts(const struct kc_count_task *task)
{
        return task->sink->put_counts != NULL;
}

/* If there is nothing to order, this only watches for a failure of another rank. */
static enum kc_status order_all(struct joint_devices *j, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        uint64_t npairs;
        for (int i = 0; i < j->ntasks && status == KC_OK; i++)
                status = takes_counts(&j->tasks[i]) ? wait_for_run(j, &j->sinks[i], &npairs, err)
                                                    : order_run(j, i, err);
        pthread_mutex_lock(&j->lock);
        j->ordered = status == KC_OK;
        pthread_cond_broadcast(&j->changed);
        pthread_mutex_unlock(&j->lock);
        return status;
}

/* Count, then watch for the user's signal while the other thread orders. */
static enum kc_status count_all(struct joint_devices *j, struct kc_error *err)
{
        const struct kc_batch_source source = kc_broadcast_source(j->broadcast);
        enum kc_status status;
        KC_TRY(kc_gpu_count_all(&j->counting, &j->gpu, &source, j->device_tasks, j->ntasks,
                                j->setup->job, j->reports, err));
        pthread_mutex_lock(&j->lock);
        j->counted = true;
        pthread_cond_broadcast(&j->filled);
        while ((status = check(j, err)) == KC_OK && !j->ordered)
                wait(j, &j->changed);
        pthread_mutex_unlock(&j->lock);
out:
        return status;
}

static enum kc_status work(void *ctx, int thread, struct kc_error *err)
{
        struct joint_devices *j = ctx;
        struct kc_error *own = &j->failures[thread];
        const enum kc_status status = thread == 0 ? count_all(j, own) : order_all(j, own);
        return status == KC_OK ? KC_OK : kc_fail_as(err, own);
}

static void stop(void *ctx)
{
        struct joint_devices *j = ctx;
        atomic_store(&j->order_job.cancel, true);
        atomic_store(&j->setup->job->cancel, true);
        wake(j);
        j->exchange->fail(j->exchange->ctx); /* the engine that orders may be waiting in it */
}

/* An engine that fails stops the other one before it returns, so the first thread to report a
 * failure may be the one that was stopped. */
static enum kc_status run_threads(struct joint_devices *j, struct kc_error *err)
{
        struct kc_error first = { 0 };
        if (kc_parallel(2, work, stop, j, &first) == KC_OK)
                return KC_OK;
        for (int i = 0; i < 2; i++)
                if (j->failures[i].status != KC_OK && j->failures[i].status != KC_ECANCELED)
                        return kc_fail_as(err, &j->failures[i]);
        return kc_fail_as(err, &first);
}

/* ---- all of it ---- */

/* The counts of all ranks must add up to the k-mers of all reads, whose number each rank knows. */
static enum kc_status add_up(const struct joint_devices *j, int task, struct kc_error *err)
{
        struct kc_count_totals *totals = &j->tasks[task].totals;
        const struct kc_count_totals *own = &j->device_tasks[task].totals;
        const uint64_t nread = j->reports[task].nread;
        uint64_t values[] = { own->nkmers, own->ndistinct, own->nsaturated };
        enum kc_status status;
        KC_TRY(kc_exchange_sum(j->exchange, values, sizeof values / sizeof *values, err));
        if (values[0] != nread)
                return kc_fail_remedy(err, KC_EDEVICE, KC_REMEDY_CPU,
                                      "the devices of all processes counted %" PRIu64 " of %" PRIu64
                                      " k-mers; please report this",
                                      values[0], nread);
        if (takes_counts(&j->tasks[task]))
                totals->stage_seconds[KC_STAGE_ORDER] = own->stage_seconds[KC_STAGE_ORDER];
        else /* from the first pair to the last block */
                totals->stage_seconds[KC_STAGE_ORDER] += totals->stage_seconds[KC_STAGE_PARTITION];
        totals->stage_seconds[KC_STAGE_PARTITION] = own->stage_seconds[KC_STAGE_PARTITION];
        totals->stage_seconds[KC_STAGE_COUNT] = own->stage_seconds[KC_STAGE_COUNT];
        totals->nkmers = values[0];
        totals->ndistinct = values[1];
        totals->nsaturated = values[2];
        totals->nown = own->ndistinct;
        totals->spilled_nbytes += own->spilled_nbytes;
out:
        return status;
}

/* Divide the memory among waiting reads, the two engines, and the queue between the engines. */
static void divide_memory(struct joint_devices *j)
{
        const struct kc_count_params *params = j->setup->params;
        const uint64_t all = params->memory_nbytes;
        const uint64_t fixed = kc_broadcast_nbytes(j->exchange->nranks, params->nthreads) +
                               2 * (uint64_t)QUEUE_NBYTES;
        const uint64_t rest = all > 2 * fixed ? all - fixed : all / 2;
        const uint64_t most = rest / ORDER_SHARE / (ORDER_THREAD_MIB * MEMORY_MIB) + 1;
        j->counting = j->ordering = *params;
        j->ordering.memory_nbytes = rest / ORDER_SHARE;
        j->counting.memory_nbytes = rest - j->ordering.memory_nbytes;
        if (most < (uint64_t)params->nthreads)
                j->ordering.nthreads = (int)most;
        j->counting.exchange = NULL;
}

static void make_sinks(struct joint_devices *j)
{
        for (int i = 0; i < j->ntasks; i++) {
                const struct kc_run_sink *sink = j->tasks[i].sink;
                struct device_sink *s = &j->sinks[i];
                *s = (struct device_sink){ .joint = j,
                                           .task = i,
                                           .nwords = kc_kmer_nwords(j->tasks[i].k) };
                s->sink = (struct kc_run_sink){ .ctx = s,
                                                .filter = sink->filter,
                                                .put = put,
                                                .expect = expect,
                                                .cancel = cancel };
                j->device_tasks[i] = (struct kc_count_task){
                        .k = j->tasks[i].k, .sink = takes_counts(&j->tasks[i]) ? sink : &s->sink
                };
        }
}

/* Set up what must be the same on all ranks, and what is this rank's own. */
static enum kc_status prepare(struct joint_devices *j, struct kc_error *err)
{
        enum kc_status status;
        const struct kc_broadcast_setup setup = { .exchange = j->exchange,
                                                  .own = j->setup->source,
                                                  .nworkers = j->setup->params->nthreads,
                                                  .job = j->setup->job };
        divide_memory(j);
        make_sinks(j);
        KC_TRY(kc_exchange_least(j->exchange, &j->counting.expected_nbases, 1, err));
        j->gpu = *j->setup->gpu;
        j->gpu.stored = NULL;
        j->gpu.read_ahead = false;
        j->gpu.engine = j->exchange->rank;
        j->gpu.nengines = j->exchange->nranks;
        KC_TRY(kc_broadcast_new(&j->broadcast, &setup, err));
out:
        return status;
}

enum kc_status joint_devices_count(const struct joint_devices_setup *setup,
                                   struct kc_count_task *tasks, int ntasks,
                                   struct kc_gpu_report *reports, struct kc_error *err)
{
        struct kc_count_task device_tasks[OPTION_NUMBERS_MAX];
        struct device_sink sinks[OPTION_NUMBERS_MAX];
        struct joint_devices j = { .setup = setup,
                                   .exchange = setup->params->exchange,
                                   .tasks = tasks,
                                   .device_tasks = device_tasks,
                                   .sinks = sinks,
                                   .ntasks = ntasks,
                                   .reports = reports };
        enum kc_status status;
        memset(reports, 0, (size_t)ntasks * sizeof *reports);
        j.end = &j.first;
        pthread_mutex_init(&j.lock, NULL);
        pthread_cond_init(&j.filled, NULL);
        pthread_cond_init(&j.changed, NULL);
        KC_TRY(prepare(&j, err));
        KC_TRY(run_threads(&j, err));
        for (int i = 0; i < ntasks; i++)
                KC_TRY(add_up(&j, i, err));
out:
        if (status != KC_OK)
                j.exchange->fail(j.exchange->ctx);
        for (struct bundle *bundle; (bundle = pop(&j)) != NULL;)
                free(bundle);
        kc_broadcast_free(j.broadcast);
        pthread_cond_destroy(&j.filled);
        pthread_cond_destroy(&j.changed);
        pthread_mutex_destroy(&j.lock);
        return status;
}
