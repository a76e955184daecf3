#include "app/progress.h"

#include "app/ticker.h"
#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BAR_WIDTH = 30 };
#define REDRAW_SECONDS 0.2

struct progress {
        struct kc_job *job;
        const char *const *names;
        bool first_in_bytes;
        int stage;
        double stage_start; /* seconds */
        struct ticker *ticker;
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

static bool draw(void *ctx)
{
        struct progress *p = ctx;
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
        return true;
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
        p->ticker = ticker_start(REDRAW_SECONDS, draw, p);
        if (p->ticker == NULL) {
                free(p);
                return NULL;
        }
        return p;
}

void progress_stop(struct progress *progress)
{
        if (progress == NULL)
                return;
        ticker_stop(progress->ticker);
        put("\r\033[K");
        free(progress);
}
