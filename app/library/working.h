/*
 * Lengthy work. It runs in a thread that the library starts. The stack of this thread is
 * large enough, and signals are blocked in it and in those that it starts, so that the caller's
 * handlers do not run there, unless a thread itself has failed. Meanwhile, the caller's thread
 * watches.
 */
#ifndef APP_LIBRARY_WORKING_H
#define APP_LIBRARY_WORKING_H

#include "base/job.h"
#include "base/status.h"
#include "include/kcount.h"

struct kc_working {
        void *ctx;
        enum kc_status (*work)(void *ctx, struct kc_error *err);
        struct kc_job *job;        /* of the work; canceled when the caller wants that */
        const char *const *stages; /* their names for the caller */
        kcount_progress *progress; /* the caller's; NULL: none */
        void *progress_ctx;
};

/* KC_ENOMEM if no thread can be started, and errors of the work. */
enum kc_status kc_working_run(const struct kc_working *working, struct kc_error *err);

/* The same for work that has one name for the caller, whatever the job's stage is.
 *   working  its stages are not used */
enum kc_status kc_working_run_stage(const struct kc_working *working, const char *stage,
                                    struct kc_error *err);

#endif
