/*
 * Where the threads of the CUDA engine wait for each other. Waiting ends if the job is canceled.
 */
#ifndef KC_GPU_DEVICE_GATE_H
#define KC_GPU_DEVICE_GATE_H

#include "base/job.h"
#include "base/status.h"

#include <pthread.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a thread waits for. Threads that wait for parts usually have a bell each: waking all of them
 * for an event that concerns one costs more than most parts take. */
enum kc_gate_bell {
        KC_GATE_DRIVER,
        KC_GATE_WORKERS,
        KC_GATE_FOLLOWERS, /* the threads of further devices */
        KC_GATE_ASKERS,    /* those that look up the reads that other threads prepare */
        KC_GATE_PART_0,    /* of parts 0, 32, 64, ...; the next bell is for 1, 33, ... */
        KC_GATE_NPARTS = 32,
        KC_GATE_NBELLS = KC_GATE_PART_0 + KC_GATE_NPARTS,
};

static inline enum kc_gate_bell kc_gate_part(uint64_t part)
{
        return (enum kc_gate_bell)(KC_GATE_PART_0 + (int)(part % KC_GATE_NPARTS));
}

/* The bell of a device's thread; the thread of device 0 is the driver. */
static inline enum kc_gate_bell kc_gate_device(int device)
{
        return device == 0 ? KC_GATE_DRIVER : KC_GATE_FOLLOWERS;
}

/* One lock for everything that the threads share. "Inside" below means between kc_gate_enter and
 * kc_gate_leave. */
struct kc_gate {
        pthread_mutex_t lock;
        pthread_cond_t bells[KC_GATE_NBELLS];
        const struct kc_job *job;
        bool stopped;
};

void kc_gate_init(struct kc_gate *gate, const struct kc_job *job);
void kc_gate_destroy(struct kc_gate *gate);

void kc_gate_enter(struct kc_gate *gate);
void kc_gate_leave(struct kc_gate *gate);

/* KC_ECANCELED if the job was canceled or the gate stopped. May be called inside the gate or
 * outside. */
enum kc_status kc_gate_check(struct kc_gate *gate, struct kc_error *err);

/* Inside: wait for kc_gate_wake, at most a twentieth of a second (a canceled job wakes nobody). May
 * return early, so check the condition again (kc_gate_await does). Fails like kc_gate_check. */
enum kc_status kc_gate_wait(struct kc_gate *gate, enum kc_gate_bell bell, struct kc_error *err);

/* Inside: wake all threads that wait for this bell, or for any. */
void kc_gate_wake(struct kc_gate *gate, enum kc_gate_bell bell);
void kc_gate_wake_all(struct kc_gate *gate);

/* Outside: make all waits and checks fail from now on. */
void kc_gate_stop(struct kc_gate *gate);

#ifdef __cplusplus
}

/* Outside: wait until condition() is true. It is called inside, so it can also take what it finds:
 * no other thread comes first. Fails like kc_gate_check. */
template <class Condition>
static inline enum kc_status kc_gate_await(struct kc_gate *gate, enum kc_gate_bell bell,
                                           Condition condition, struct kc_error *err)
{
        kc_gate_enter(gate);
        enum kc_status status = kc_gate_check(gate, err);
        while (status == KC_OK && !condition())
                status = kc_gate_wait(gate, bell, err);
        kc_gate_leave(gate);
        return status;
}

/* Outside: make a change inside, and wake those that may wait for it. */
template <class Change>
static inline void kc_gate_tell(struct kc_gate *gate, enum kc_gate_bell bell, Change change)
{
        kc_gate_enter(gate);
        change();
        kc_gate_wake(gate, bell);
        kc_gate_leave(gate);
}
#endif
#endif
