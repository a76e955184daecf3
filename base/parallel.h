/*
 * Threads: run one function on n threads and wait for all of them.
 */
#ifndef KC_BASE_PARALLEL_H
#define KC_BASE_PARALLEL_H

#include "base/status.h"

#include <pthread.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The stack of every thread, whatever 'ulimit -s' says. A function of htscodecs needs 1.3 MiB of
 * stack; untouched pages take no memory.
 */
enum { KC_STACK_NBYTES = 4 << 20 };

/* pthread_create with a stack of KC_STACK_NBYTES. Returns 0 or an errno value. */
int kc_thread_create(pthread_t *thread, void *(*run)(void *arg), void *arg);

/*
 * Call run(ctx, worker, err) for worker = 0 .. nthreads-1, each on its own thread (worker 0 on the
 * caller's), and wait for all of them. Each call gets its own error; the function returns the
 * failure that came first in time and leaves it in err. The first thread that fails immediately
 * calls on_failure(ctx) (may be NULL), once, to wake the others. KC_ENOMEM if a thread cannot be
 * started: then worker 0 does not run.
 */
enum kc_status kc_parallel(int nthreads,
                           enum kc_status (*run)(void *ctx, int worker, struct kc_error *err),
                           void (*on_failure)(void *ctx), void *ctx, struct kc_error *err);

#ifdef __cplusplus
}
#endif
#endif
