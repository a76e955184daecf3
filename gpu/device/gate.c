#include "gpu/device/gate.h"

#include <time.h>

enum { WAIT_NS = 50 * 1000 * 1000 };

void kc_gate_init(struct kc_gate *gate, const struct kc_job *job)
{
        pthread_condattr_t clock;
        pthread_mutex_init(&gate->lock, NULL);
        pthread_condattr_init(&clock);
        pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
        for (int i = 0; i < KC_GATE_NBELLS; i++)
                pthread_cond_init(&gate->bells[i], &clock);
        pthread_condattr_destroy(&clock);
        gate->job = job;
        gate->stopped = false;
}

void kc_gate_destroy(struct kc_gate *gate)
{
        for (int i = 0; i < KC_GATE_NBELLS; i++)
                pthread_cond_destroy(&gate->bells[i]);
        pthread_mutex_destroy(&gate->lock);
}

void kc_gate_enter(struct kc_gate *gate)
{
        pthread_mutex_lock(&gate->lock);
}

void kc_gate_leave(struct kc_gate *gate)
{
        pthread_mutex_unlock(&gate->lock);
}

enum kc_status kc_gate_check(struct kc_gate *gate, struct kc_error *err)
{
        if (kc_job_is_canceled(gate->job) || __atomic_load_n(&gate->stopped, __ATOMIC_RELAXED))
                return kc_fail(err, KC_ECANCELED, "canceled");
        return KC_OK;
}

enum kc_status kc_gate_wait(struct kc_gate *gate, enum kc_gate_bell bell, struct kc_error *err)
{
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += WAIT_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&gate->bells[bell], &gate->lock, &until);
        return kc_gate_check(gate, err);
}

void kc_gate_wake(struct kc_gate *gate, enum kc_gate_bell bell)
{
        pthread_cond_broadcast(&gate->bells[bell]);
}

void kc_gate_wake_all(struct kc_gate *gate)
{
        for (int i = 0; i < KC_GATE_NBELLS; i++)
                pthread_cond_broadcast(&gate->bells[i]);
}

void kc_gate_stop(struct kc_gate *gate)
{
        __atomic_store_n(&gate->stopped, true, __ATOMIC_RELAXED);
        pthread_mutex_lock(&gate->lock);
        kc_gate_wake_all(gate);
        pthread_mutex_unlock(&gate->lock);
}
