/*
 * A critical section that threads pass through in the order of their numbers: 0, 1, 2, ...
 */
#ifndef KC_BASE_TURN_H
#define KC_BASE_TURN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
        KC_TURN_NQUEUES = 64, /* waiters are spread over these: passing a turn wakes one queue */
};

struct kc_turn {
        atomic_uint_fast64_t next; /* the number whose turn it is */
        atomic_bool stopped;
        struct kc_turn_queue { /* number n waits in queue n % KC_TURN_NQUEUES */
                atomic_int nsleepers;
                pthread_mutex_t lock;
                pthread_cond_t moved;
        } queues[KC_TURN_NQUEUES];
};

void kc_turn_init(struct kc_turn *turn);
void kc_turn_destroy(struct kc_turn *turn);

/*
 * wait: block until all lower numbers have passed. False if the turn will not come, because the
 * number has passed before or all turns are stopped.
 * pass: end the turn; only the thread whose turn it is may call it. Every number must pass exactly
 * once, or higher numbers wait until kc_turn_stop.
 */
bool kc_turn_wait(struct kc_turn *turn, uint64_t number);
void kc_turn_pass(struct kc_turn *turn);

/* From any thread: wake all waiters; their calls and all later ones return false. */
void kc_turn_stop(struct kc_turn *turn);

/* Begin at 0 again; no thread may be waiting. Turns that were stopped stay stopped. */
void kc_turn_restart(struct kc_turn *turn);

#endif
