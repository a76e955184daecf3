#include "base/job.h"

#include <stddef.h>

bool kc_job_is_canceled(const struct kc_job *job)
{
        return job != NULL && atomic_load_explicit(&job->cancel, memory_order_relaxed);
}

void kc_job_expect(struct kc_job *job, uint64_t total)
{
        if (job == NULL)
                return;
        atomic_store(&job->done, 0);
        atomic_store(&job->total, total);
}

void kc_job_advance(struct kc_job *job, uint64_t n)
{
        if (job != NULL)
                atomic_fetch_add_explicit(&job->done, n, memory_order_relaxed);
}

void kc_job_begin_stage(struct kc_job *job, int stage, uint64_t total)
{
        kc_job_expect(job, total);
        if (job != NULL)
                atomic_store(&job->stage, stage);
}
