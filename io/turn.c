#include "io/turn.h"

/* The sections are short: most waits end before sleeping would have begun. */
enum { NSPINS = 200 };

void kc_turn_init(struct kc_turn *turn)
{
        atomic_init(&turn->next, 0);
        atomic_init(&turn->nsleepers, 0);
        pthread_mutex_init(&turn->lock, NULL);
        pthread_cond_init(&turn->moved, NULL);
}

void kc_turn_destroy(struct kc_turn *turn)
{
        pthread_mutex_destroy(&turn->lock);
        pthread_cond_destroy(&turn->moved);
}

static void relax(void)
{
#if defined(__x86_64__)
        __builtin_ia32_pause();
#else
        atomic_signal_fence(memory_order_seq_cst);
#endif
}

void kc_turn_wait(struct kc_turn *turn, uint64_t number)
{
        for (int i = 0; i < NSPINS; i++) {
                if (atomic_load_explicit(&turn->next, memory_order_acquire) == number)
                        return;
                relax();
        }
        pthread_mutex_lock(&turn->lock);
        atomic_fetch_add(&turn->nsleepers, 1);
        while (atomic_load(&turn->next) != number)
                pthread_cond_wait(&turn->moved, &turn->lock);
        atomic_fetch_sub(&turn->nsleepers, 1);
        pthread_mutex_unlock(&turn->lock);
}

/* Either the store is seen by who is about to sleep, or the sleeper is seen here: both sides write
 * first and read then, sequentially consistent. */
void kc_turn_pass(struct kc_turn *turn)
{
        atomic_fetch_add(&turn->next, 1);
        if (atomic_load(&turn->nsleepers) == 0)
                return;
        pthread_mutex_lock(&turn->lock);
        pthread_cond_broadcast(&turn->moved);
        pthread_mutex_unlock(&turn->lock);
}
