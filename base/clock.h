/*
 * Elapsed time, and waits of a limited time.
 */
#ifndef KC_BASE_CLOCK_H
#define KC_BASE_CLOCK_H

#include <pthread.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Seconds since an arbitrary fixed point; never decreases. May be called by any thread. */
double kc_clock_seconds(void);

/* Wait until the condition is signaled, but at most this long; the caller holds the lock. The
 * condition has the default clock. */
void kc_clock_wait(pthread_cond_t *condition, pthread_mutex_t *lock, long nanoseconds);

#ifdef __cplusplus
}
#endif

#endif
