/*
 * Where the threads of the CUDA engine wait for one another, and the way to the job for code that
 * is C++, which does not see struct kc_job.
 */
#ifndef KC_GPU_GATE_H
#define KC_GPU_GATE_H

#include "kmer/engine.h"

#include <pthread.h>

#ifdef __cplusplus
extern "C" {
#endif

struct kc_job;

/* One lock and one condition for all that the threads share. */
struct kc_gate {
        pthread_mutex_t lock;
        pthread_cond_t changed;
        struct kc_job *job;
        bool stopped;
};

void kc_gate_init(struct kc_gate *gate, struct kc_job *job);
void kc_gate_destroy(struct kc_gate *gate);

void kc_gate_enter(struct kc_gate *gate);
void kc_gate_leave(struct kc_gate *gate);

/* KC_ECANCELED if the job was canceled or the gate stopped. Inside of the gate or outside. */
enum kc_status kc_gate_check(struct kc_gate *gate, struct kc_error *err);

/* Inside: wait for kc_gate_wake, a twentieth of a second at most (nobody wakes us when the job is
 * canceled). Fails like kc_gate_check. */
enum kc_status kc_gate_wait(struct kc_gate *gate, struct kc_error *err);

/* Wake all who wait. */
void kc_gate_wake(struct kc_gate *gate);

/* Make all waits and checks fail from now on. */
void kc_gate_stop(struct kc_gate *gate);

/* Tell the job's watcher what is under way. Of KC_STAGE_PARTITION the reader tells done and
 * total. */
void kc_gate_begin_stage(struct kc_gate *gate, enum kc_stage stage, uint64_t total);
void kc_gate_advance(struct kc_gate *gate, uint64_t n);

/* Seconds on a clock that only goes forward. */
double kc_gate_seconds(void);

#ifdef __cplusplus
}
#endif
#endif
