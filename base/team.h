/*
 * A team: threads that stay, for functions that run on all of them many times. kc_parallel, which
 * starts and joins threads each time, takes a few tenths of a millisecond.
 */
#ifndef KC_BASE_TEAM_H
#define KC_BASE_TEAM_H

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct kc_team;

/*
 * Start a team of nthreads, of which the caller of kc_team_run is the first.
 *   team  out: to be closed with kc_team_close; NULL on failure
 * KC_ENOMEM, also if a thread cannot be started.
 */
enum kc_status kc_team_open(struct kc_team **team, int nthreads, struct kc_error *err);

/* Call run(ctx, worker, err) for worker = 0 .. nthreads - 1, each on its own thread (worker 0 on
 * the caller's), and wait for all of them. Fails like kc_parallel. One thread at a time may use a
 * team. */
enum kc_status kc_team_run(struct kc_team *team,
                           enum kc_status (*run)(void *ctx, int worker, struct kc_error *err),
                           void *ctx, struct kc_error *err);

/* End the threads. NULL is fine. */
void kc_team_close(struct kc_team *team);

#ifdef __cplusplus
}
#endif
#endif
