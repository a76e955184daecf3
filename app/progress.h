/*
 * The progress bar: a thread that watches a job and redraws one line on standard error.
 */
#ifndef APP_PROGRESS_H
#define APP_PROGRESS_H

#include "kmer/engine.h"

#include <stdbool.h>

struct progress;

/*
 * Watch job, whose stages have the names names[job->stage] (the first one's units are bytes if
 * first_in_bytes). Returns NULL and shows nothing if standard error is not a terminal, wanted is
 * false, or no thread can be started. job and names must outlive the bar.
 */
struct progress *progress_start(struct kc_job *job, const char *const *names, bool first_in_bytes,
                                bool wanted);

/* Stop the thread, clear the line, free everything. NULL is fine. */
void progress_stop(struct progress *progress);

#endif
