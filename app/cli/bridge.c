#include "app/cli/bridge.h"

#include "app/cli/advice.h"
#include "app/library/inside.h"

#include <string.h>

enum kc_status bridge_check(enum kcount_status status, struct kcount_error **error,
                            struct kc_error *err)
{
        if (status == KCOUNT_OK)
                return KC_OK;
        const enum kc_status failed = kc_fail_as(err, kc_library_cause(*error));
        kcount_error_free(*error);
        *error = NULL;
        return failed;
}

void bridge_warn(const struct kcount_counts *counts)
{
        advice_warn(kc_library_warning(counts));
}

/* Who watches the job may find the number of a new stage with the units of the stage before it, as
 * when an engine works. */
bool bridge_progress(void *ctx, const char *stage, uint64_t done, uint64_t total)
{
        const struct bridge_progress *p = ctx;
        int number = 0;
        while (number + 1 < p->nstages && strcmp(p->stages[number], stage) != 0)
                number++;
        atomic_store(&p->job->stage, number);
        atomic_store(&p->job->done, done);
        atomic_store(&p->job->total, total);
        return !kc_job_is_canceled(p->job);
}
