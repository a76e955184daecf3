#include "app/cli/progress.h"

#include "app/cli/message.h"
#include "app/cli/size.h"
#include "app/cli/terminal.h"
#include "app/cli/ticker.h"
#include "base/clock.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct progress {
        struct kc_job *job;
        struct progress_plan plan;
        double start, stage_start; /* seconds */
        struct progress_state shown;
        struct ticker *ticker;
};

/* For tests, KC_REDRAW_MS makes it shorter. */
static double redraw_seconds(void)
{
        const char *text = getenv("KC_REDRAW_MS");
        uint64_t ms;
        return text != NULL && parse_number(text, &ms) && ms > 0 ? (double)ms * 1e-3 : 0.2;
}

/* The number of the job's stage among those that are shown, from 1 on. */
static int number_of(const struct progress_plan *plan, int stage)
{
        int number = 1;
        for (int i = 1; i <= stage; i++)
                number += strcmp(plan->labels[i], plan->labels[i - 1]) != 0;
        return number;
}

static int longest_label(const struct progress_plan *plan)
{
        int longest = 0;
        for (int i = 0; i < plan->nlabels; i++)
                if ((int)strlen(plan->labels[i]) > longest)
                        longest = (int)strlen(plan->labels[i]);
        return longest;
}

static void begin_stage(struct progress *p, int stage, double now)
{
        p->stage_start = now;
        p->shown.label = p->plan.labels[stage];
        p->shown.stage = number_of(&p->plan, stage);
        p->shown.done = 0;
        p->shown.fraction = -1;
}

/* Take over what the job has done. Between two stages, the job may have the number of one stage and
 * the units of the other, but what is shown never decreases. */
static void update(struct progress *p, double now)
{
        struct progress_state *shown = &p->shown;
        const int stage = atomic_load(&p->job->stage);
        const double done = (double)atomic_load(&p->job->done);
        const double total = (double)atomic_load(&p->job->total);
        const double fraction = total <= 0 ? -1 : done < total ? done / total : 1;
        if (number_of(&p->plan, stage) > shown->stage)
                begin_stage(p, stage, now);
        shown->done = done > shown->done ? done : shown->done;
        shown->fraction = fraction > shown->fraction ? fraction : shown->fraction;
        shown->seconds = now - p->start;
        shown->stage_seconds = now - p->stage_start;
}

static bool draw(void *ctx)
{
        static const struct terminal_size usual = { .ncolumns = 80, .nrows = 24 };
        struct progress *p = ctx;
        char line[PROGRESS_LINE_NBYTES];
        update(p, kc_clock_seconds());
        progress_line(&p->shown, terminal_size(STDERR_FILENO, usual).ncolumns, line);
        message_show_status(line);
        return true;
}

struct progress *progress_start(struct kc_job *job, const struct progress_plan *plan, bool wanted)
{
        struct progress *p = NULL;
        if (!wanted || !terminal_can_redraw(STDERR_FILENO) || (p = calloc(1, sizeof *p)) == NULL)
                return NULL;
        p->job = job;
        p->plan = *plan;
        p->start = kc_clock_seconds();
        p->shown.unit = plan->unit;
        p->shown.label_columns = longest_label(plan);
        p->shown.nstages = number_of(plan, plan->nlabels - 1);
        begin_stage(p, 0, p->start);
        p->ticker = ticker_start(redraw_seconds(), draw, p);
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
        message_show_status("");
        free(progress);
}
