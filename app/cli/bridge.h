/*
 * From include/kcount.h, through which commands do their work, to what all commands have in common:
 * failures with their advice, warnings, the progress line, and signals. For the names of outputs,
 * commands give the library signals_guard.
 */
#ifndef APP_CLI_BRIDGE_H
#define APP_CLI_BRIDGE_H

#include "base/job.h"
#include "base/status.h"
#include "include/kcount.h"

/*
 * Convert the result of a function of kcount.h that was given `error`. If it has failed, record why
 * in err, with the remedies, and free the error. So calls read
 *     KC_TRY(bridge_check(kcount_open(&counts, path, &error), &error, err));
 */
enum kc_status bridge_check(enum kcount_status status, struct kcount_error **error,
                            struct kc_error *err);

/* Print the warning of a .kc file on standard error, if there is one. */
void bridge_warn(const struct kcount_counts *counts);

/* Makes a call of kcount.h the job that the progress line and signals watch (struct writing). */
struct bridge_progress {
        struct kc_job *job;
        const char *const *stages; /* [nstages]: those of the call, in the order of the job's */
        int nstages;
};

/* A kcount_progress. ctx: a struct bridge_progress. Cancels the call if the job is canceled. */
bool bridge_progress(void *ctx, const char *stage, uint64_t done, uint64_t total);

#endif
