#include "app/library/working.h"

#include "base/clock.h"
#include "base/parallel.h"
#include "kmer/engine.h"

#include <pthread.h>
#include <signal.h>

enum { WATCH_MS = 100 };

/* Shared by the thread that works and the one that watches. */
struct watched_work {
        const struct kc_working *working;
        struct kc_error *err;
        pthread_mutex_t lock;
        pthread_cond_t wake;
        enum kc_status status; /* once done */
        bool done;
};

static void *work_in_thread(void *arg)
{
        struct watched_work *w = arg;
        const enum kc_status status = w->working->work(w->working->ctx, w->err);
        pthread_mutex_lock(&w->lock);
        w->status = status;
        w->done = true;
        pthread_cond_signal(&w->wake);
        pthread_mutex_unlock(&w->lock);
        return NULL;
}

static bool show(const struct kc_working *w)
{
        const int stage = atomic_load(&w->job->stage);
        const uint64_t done = atomic_load(&w->job->done), total = atomic_load(&w->job->total);
        return w->progress(w->progress_ctx, w->stages[stage],
                           total > 0 && done > total ? total : done, total);
}

/* Call the progress callback until the work is done. */
static void watch(struct watched_work *w)
{
        struct kc_job *job = w->working->job;
        pthread_mutex_lock(&w->lock);
        while (!w->done) {
                pthread_mutex_unlock(&w->lock);
                if (!atomic_load(&job->cancel) && !show(w->working))
                        atomic_store(&job->cancel, true);
                pthread_mutex_lock(&w->lock);
                if (!w->done)
                        kc_clock_wait(&w->wake, &w->lock, WATCH_MS * 1000000L);
        }
        pthread_mutex_unlock(&w->lock);
}

/* Start the thread with signals blocked, except those that the kernel sends to a thread that fails.
 * Were these blocked, it would end the process without calling the handlers that report crashes. */
static int start_thread(pthread_t *thread, struct watched_work *w)
{
        static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL };
        sigset_t blocked, before;
        sigfillset(&blocked);
        for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
                sigdelset(&blocked, faults[i]);
        pthread_sigmask(SIG_SETMASK, &blocked, &before);
        const int failed = kc_thread_create(thread, work_in_thread, w);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        return failed;
}

enum kc_status kc_working_run(const struct kc_working *working, struct kc_error *err)
{
        struct watched_work w = { .working = working, .err = err };
        pthread_t thread;
        pthread_mutex_init(&w.lock, NULL);
        pthread_cond_init(&w.wake, NULL);
        const int failed = start_thread(&thread, &w);
        if (failed) {
                w.status = kc_fail_remedy(err, KC_ENOMEM, KC_REMEDY_FEWER_THREADS,
                                          "cannot start a thread: %s", kc_strerror(failed));
        } else {
                if (working->progress != NULL)
                        watch(&w);
                pthread_join(thread, NULL);
        }
        pthread_mutex_destroy(&w.lock);
        pthread_cond_destroy(&w.wake);
        return w.status;
}

enum kc_status kc_working_run_stage(const struct kc_working *working, const char *stage,
                                    struct kc_error *err)
{
        const char *const stages[KC_NSTAGES] = { stage, stage, stage };
        struct kc_working named = *working;
        named.stages = stages;
        return kc_working_run(&named, err);
}
