/*
 * The progress bar: a thread that watches a job and redraws one line on standard error.
 */
#ifndef APP_CLI_PROGRESS_H
#define APP_CLI_PROGRESS_H

#include "app/cli/progress_line.h"
#include "kmer/engine.h"

#include <stdbool.h>

/* What is shown: the stages of a job by their numbers. Those in a row that have the same label are
 * shown as one, so a label may be repeated for a stage that does not occur. */
struct progress_plan {
        const char *const *labels;
        int nlabels;
        enum progress_unit unit; /* of the first stage */
};

struct progress;

/*
 * Watch a job. Returns NULL and shows nothing if wanted is false, if standard error is not a
 * terminal on which a line can be drawn over, or if no thread can be started. job and the labels
 * must outlive the progress.
 */
struct progress *progress_start(struct kc_job *job, const struct progress_plan *plan, bool wanted);

/* Stop the thread, remove the line, free everything. NULL is fine. */
void progress_stop(struct progress *progress);

#endif
