#include "base/turn.h"

/* The sections are short: most waits end before a thread could go to sleep. */
enum { NSPINS = 200 };

void kc_turn_init(struct kc_turn *turn)
{
        atomic_init(&turn->next, 0);
        atomic_init(&turn->stopped, false);
        for (int i = 0; i < KC_TURN_NQUEUES; i++) {
                struct kc_turn_queue *queue = &turn->queues[i];
                atomic_init(&queue->nsleepers, 0);
                pthread_mutex_init(&queue->lock, NULL);
                pthread_cond_init(&queue->moved, NULL);
        }
}

void kc_turn_destroy(struct kc_turn *turn)
{
        for (int i = 0; i < KC_TURN_NQUEUES; i++) {
                pthread_mutex_destroy(&turn->queues[i].lock);
                pthread_cond_destroy(&turn->queues[i].moved);
        }
}

static void pause_cpu(void)
{
#if defined(__x86_64__)
        __builtin_ia32_pause();
#else
        atomic_signal_fence(memory_order_seq_cst);
#endif
}

static bool must_wait(struct kc_turn *turn, uint64_t number)
{
        return atomic_load(&turn->next) < number && !atomic_load(&turn->stopped);
}

static void sleep_until(struct kc_turn *turn, uint64_t number)
{
        struct kc_turn_queue *queue = &turn->queues[number % KC_TURN_NQUEUES];
        pthread_mutex_lock(&queue->lock);
        atomic_fetch_add(&queue->nsleepers, 1);
        while (must_wait(turn, number))
                pthread_cond_wait(&queue->moved, &queue->lock);
        atomic_fetch_sub(&queue->nsleepers, 1);
        pthread_mutex_unlock(&queue->lock);
}

bool kc_turn_wait(struct kc_turn *turn, uint64_t number)
{
        for (int i = 0; i < NSPINS && must_wait(turn, number); i++)
                pause_cpu();
        if (must_wait(turn, number))
                sleep_until(turn, number);
        return atomic_load(&turn->next) == number && !atomic_load(&turn->stopped);
}

static void wake(struct kc_turn_queue *queue)
{
        pthread_mutex_lock(&queue->lock);
        pthread_cond_broadcast(&queue->moved);
        pthread_mutex_unlock(&queue->lock);
}

/* Both sides write first and read afterwards, sequentially consistent: so either the thread that is
 * about to sleep sees the new `next`, or this thread sees that it sleeps. */
void kc_turn_pass(struct kc_turn *turn)
{
        uint64_t number = atomic_fetch_add(&turn->next, 1) + 1;
        struct kc_turn_queue *queue = &turn->queues[number % KC_TURN_NQUEUES];
        if (atomic_load(&queue->nsleepers) > 0)
                wake(queue);
}

void kc_turn_stop(struct kc_turn *turn)
{
        atomic_store(&turn->stopped, true);
        for (int i = 0; i < KC_TURN_NQUEUES; i++)
                wake(&turn->queues[i]);
}

void kc_turn_restart(struct kc_turn *turn)
{
        atomic_store(&turn->next, 0);
}
