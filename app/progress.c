#include "app/progress.h"

#include "base/clock.h"
#include "base/parallel.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { REDRAW_MS = 200, BAR_WIDTH = 30 };

struct progress {
        struct kc_job *job;
        const char *const *names;
        bool first_in_bytes;
        int stage;
        double stage_start; /* seconds */
        pthread_t thread;
        pthread_mutex_t lock;
        pthread_cond_t wake;
        bool stop;
};

/* "  12.3 MB/s" or nothing. */
static void format_rate(const struct progress *p, double done, double seconds, char text[32])
{
        text[0] = '\0';
        if (p->first_in_bytes && p->stage == 0 && seconds > 0)
                snprintf(text, 32, "  %.1f MB/s", done / seconds * 1e-6);
}

/* "  ETA 1:05" or nothing. */
static void format_eta(double done, double total, double seconds, char text[32])
{
        text[0] = '\0';
        if (done <= 0 || total <= done || seconds < 1)
                return;
        double left = seconds * (total - done) / done;
        if (left < 360000)
                snprintf(text, 32, "  ETA %d:%02d", (int)left / 60, (int)left % 60);
}

/* If the terminal is gone, counting continues. */
static void put(const char *text)
{
        if (write(STDERR_FILENO, text, strlen(text)) < 0)
                return;
}

static void draw(struct progress *p)
{
        int stage = atomic_load(&p->job->stage);
        double now = kc_clock_seconds();
        if (stage != p->stage) {
                p->stage = stage;
                p->stage_start = now;
        }
        double done = (double)atomic_load(&p->job->done);
        double total = (double)atomic_load(&p->job->total);
        double seconds = now - p->stage_start;
        char rate[32], eta[32], bar[BAR_WIDTH + 1], line[256];
        format_rate(p, done, seconds, rate);
        format_eta(done, total, seconds, eta);
        if (total > 0) {
                double share = done < total ? done / total : 1;
                memset(bar, ' ', BAR_WIDTH);
                memset(bar, '=', (size_t)(share * BAR_WIDTH));
                bar[BAR_WIDTH] = '\0';
                snprintf(line, sizeof line, "\r%-8s [%s] %3d%%%s%s\033[K", p->names[stage], bar,
                         (int)(share * 100), rate, eta);
        } else {
                snprintf(line, sizeof line, "\r%-8s %.0f MB%s\033[K", p->names[stage], done * 1e-6,
                         rate);
        }
        put(line);
}

static void *watch(void *arg)
{
        struct progress *p = arg;
        struct timespec until;
        pthread_mutex_lock(&p->lock);
        clock_gettime(CLOCK_MONOTONIC, &until);
        while (!p->stop) {
                until.tv_nsec += REDRAW_MS * 1000000L;
                until.tv_sec += until.tv_nsec / 1000000000L;
                until.tv_nsec %= 1000000000L;
                while (!p->stop && pthread_cond_timedwait(&p->wake, &p->lock, &until) == 0)
                        ;
                if (!p->stop)
                        draw(p);
        }
        pthread_mutex_unlock(&p->lock);
        return NULL;
}

static void destroy(struct progress *p)
{
        pthread_cond_destroy(&p->wake);
        pthread_mutex_destroy(&p->lock);
        free(p);
}

struct progress *progress_start(struct kc_job *job, const char *const *names, bool first_in_bytes,
                                bool wanted)
{
        struct progress *p = NULL;
        if (!wanted || !isatty(STDERR_FILENO) || (p = calloc(1, sizeof *p)) == NULL)
                return NULL;
        p->job = job;
        p->names = names;
        p->first_in_bytes = first_in_bytes;
        p->stage_start = kc_clock_seconds();
        pthread_mutex_init(&p->lock, NULL);
        pthread_condattr_t clock;
        pthread_condattr_init(&clock);
        pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
        pthread_cond_init(&p->wake, &clock);
        pthread_condattr_destroy(&clock);
        if (kc_thread_create(&p->thread, watch, p) != 0) {
                destroy(p);
                return NULL;
        }
        return p;
}

void progress_stop(struct progress *progress)
{
        if (progress == NULL)
                return;
        pthread_mutex_lock(&progress->lock);
        progress->stop = true;
        pthread_cond_signal(&progress->wake);
        pthread_mutex_unlock(&progress->lock);
        pthread_join(progress->thread, NULL);
        put("\r\033[K");
        destroy(progress);
}
