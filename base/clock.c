#include "base/clock.h"

#include <time.h>

double kc_clock_seconds(void)
{
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void kc_clock_wait(pthread_cond_t *condition, pthread_mutex_t *lock, long nanoseconds)
{
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += nanoseconds;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(condition, lock, &until);
}
