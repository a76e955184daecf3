/*
 * Threads: one function, run the same code on n threads and wait for all.
 */
#ifndef KC_BASE_PARALLEL_H
#define KC_BASE_PARALLEL_H

#include "base/status.h"

#include <pthread.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The stack of every thread, whatever 'ulimit -s' says. A function of htscodecs takes 1.3 MiB of
 * it; what is not touched takes no memory.
 */
enum { KC_STACK_NBYTES = 4 << 20 };

/* pthread_create with a stack of KC_STACK_NBYTES. Returns 0 or an errno. */
int kc_thread_create(pthread_t *thread, void *(*run)(void *arg), void *arg);

/*
 * Call run(ctx, worker, err) for worker = 0 .. nthreads-1, each on a thread of its own (worker 0 on
 * the caller's), and wait for all of them. Each call gets an error of its own; the first failure in
 * time is what the function returns and leaves in err. on_failure (may be NULL) is called once, at
 * once, with ctx by the first thread that fails, to wake the others. KC_ENOMEM if a thread cannot
 * be started.
 */
enum kc_status kc_parallel(int nthreads,
                           enum kc_status (*run)(void *ctx, int worker, struct kc_error *err),
                           void (*on_failure)(void *ctx), void *ctx, struct kc_error *err);

#ifdef __cplusplus
}
#endif
#endif
