#include "app/cli/ticker.h"

#include "base/parallel.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct ticker {
        double seconds;
        bool (*tick)(void *ctx);
        void *ctx;
        pthread_t thread;
        pthread_mutex_t lock;
        pthread_cond_t wake;
        bool stop;
};

static void advance(struct timespec *time, double seconds)
{
        const long long nanoseconds = time->tv_nsec + (long long)(seconds * 1e9);
        time->tv_sec += nanoseconds / 1000000000;
        time->tv_nsec = nanoseconds % 1000000000;
}

static void *run(void *arg)
{
        struct ticker *t = arg;
        struct timespec until;
        pthread_mutex_lock(&t->lock);
        clock_gettime(CLOCK_MONOTONIC, &until);
        while (!t->stop) {
                advance(&until, t->seconds);
                while (!t->stop && pthread_cond_timedwait(&t->wake, &t->lock, &until) == 0)
                        ;
                if (!t->stop && !t->tick(t->ctx))
                        break;
        }
        pthread_mutex_unlock(&t->lock);
        return NULL;
}

static void destroy(struct ticker *t)
{
        pthread_cond_destroy(&t->wake);
        pthread_mutex_destroy(&t->lock);
        free(t);
}

struct ticker *ticker_start(double seconds, bool (*tick)(void *ctx), void *ctx)
{
        struct ticker *t = calloc(1, sizeof *t);
        if (t == NULL)
                return NULL;
        t->seconds = seconds;
        t->tick = tick;
        t->ctx = ctx;
        pthread_mutex_init(&t->lock, NULL);
        pthread_condattr_t clock;
        pthread_condattr_init(&clock);
        pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
        pthread_cond_init(&t->wake, &clock);
        pthread_condattr_destroy(&clock);
        if (kc_thread_create(&t->thread, run, t) != 0) {
                destroy(t);
                return NULL;
        }
        return t;
}

void ticker_stop(struct ticker *t)
{
        if (t == NULL)
                return;
        pthread_mutex_lock(&t->lock);
        t->stop = true;
        pthread_cond_signal(&t->wake);
        pthread_mutex_unlock(&t->lock);
        pthread_join(t->thread, NULL);
        destroy(t);
}
