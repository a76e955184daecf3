/*
 * A running job as its watchers see it: its progress, and a way to cancel it. C++ code uses the
 * functions, because it cannot read C's atomics.
 */
#ifndef KC_BASE_JOB_H
#define KC_BASE_JOB_H

#ifndef __cplusplus
#include <stdatomic.h>
#endif
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct kc_job;

#ifndef __cplusplus
/* Zero-initialise. Any thread may read all fields and set cancel at any time. */
struct kc_job {
        atomic_bool cancel;         /* set by a watcher: the work soon stops with KC_ECANCELED */
        atomic_int stage;           /* 0, 1, ...; enum kc_stage for an engine */
        atomic_uint_fast64_t done;  /* units of the current stage */
        atomic_uint_fast64_t total; /* 0 if unknown */
};
#endif

/* All of these may be called from any thread, with job NULL too. */
bool kc_job_is_canceled(const struct kc_job *job);

/* Reset the count of units of the current stage, which is stage 0 in a new job. total: how many
 * there will be; 0 if unknown. */
void kc_job_expect(struct kc_job *job, uint64_t total);
void kc_job_advance(struct kc_job *job, uint64_t n);

/* Begin another stage, and to count its units. */
void kc_job_begin_stage(struct kc_job *job, int stage, uint64_t total);

#ifdef __cplusplus
}
#endif
#endif
