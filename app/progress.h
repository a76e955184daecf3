/*
 * The progress bar: a thread that looks at a job and redraws one line on standard error.
 */
#ifndef APP_PROGRESS_H
#define APP_PROGRESS_H

#include "kmer/engine.h"

#include <stdbool.h>

struct progress;

/*
 * Watch job, whose stages are called names[job->stage] (the units of the first are bytes if
 * first_in_bytes). Returns NULL, and shows nothing, where standard error is no terminal, wanted is
 * false, or a thread cannot be had: a job runs as well without.
 */
struct progress *progress_start(struct kc_job *job, const char *const *names, bool first_in_bytes,
                                bool wanted);

/* Clear the line, free everything. NULL is fine. */
void progress_stop(struct progress *progress);

#endif
