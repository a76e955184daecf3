/*
 * A section that threads pass through in the order of numbers: 0, 1, 2, ...
 */
#ifndef KC_BASE_TURN_H
#define KC_BASE_TURN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

enum {
        KC_TURN_NQUEUES = 64, /* for who waits: a turn wakes none but its own */
};

struct kc_turn {
        atomic_uint_fast64_t next; /* whose turn it is */
        struct kc_turn_queue {     /* number n waits in queue n % KC_TURN_NQUEUES */
                atomic_int nsleepers;
                pthread_mutex_t lock;
                pthread_cond_t moved;
        } queues[KC_TURN_NQUEUES];
};

void kc_turn_init(struct kc_turn *turn);
void kc_turn_destroy(struct kc_turn *turn);

/* Wait until all numbers below have passed. Every number must come, and pass. */
void kc_turn_wait(struct kc_turn *turn, uint64_t number);
void kc_turn_pass(struct kc_turn *turn);

#endif
