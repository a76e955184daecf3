/*
 * Turns: threads pass in the order of their numbers, and a stop wakes all waiting threads.
 */
#include "base/turn.h"

#include "base/parallel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { NTHREADS = 9, NTURNS = 20000 };

struct turns {
        struct kc_turn turn;
        atomic_uint_fast64_t next;
        uint64_t npassed; /* guarded by the turn */
        atomic_int nrefused;
};

static enum kc_status pass_turns(void *ctx, int thread, struct kc_error *err)
{
        struct turns *t = ctx;
        (void)thread;
        for (uint64_t n; (n = atomic_fetch_add(&t->next, 1)) < NTURNS;) {
                if (!kc_turn_wait(&t->turn, n) || t->npassed != n)
                        return kc_fail(err, KC_EUSAGE, "turn %d came when it should not", (int)n);
                t->npassed++;
                kc_turn_pass(&t->turn);
        }
        return KC_OK;
}

static void threads_pass_in_order(void **state)
{
        (void)state;
        struct turns t = { .npassed = 0 };
        kc_turn_init(&t.turn);
        for (int again = 0; again < 2; again++) {
                struct kc_error err = { 0 };
                atomic_store(&t.next, 0);
                t.npassed = 0;
                kc_turn_restart(&t.turn);
                assert_int_equal(kc_parallel(NTHREADS, pass_turns, NULL, &t, &err), KC_OK);
                assert_int_equal(t.npassed, NTURNS);
                assert_false(kc_turn_wait(&t.turn, NTURNS - 1)); /* already passed */
                assert_true(kc_turn_wait(&t.turn, NTURNS));
        }
        kc_turn_destroy(&t.turn);
}

/* Thread 0 stops the turns instead of passing turn 0, once the others wait for later turns. */
static enum kc_status wait_or_stop(void *ctx, int thread, struct kc_error *err)
{
        struct turns *t = ctx;
        (void)err;
        if (thread == 0) {
                while (atomic_load(&t->turn.queues[NTHREADS - 1].nsleepers) == 0)
                        ;
                kc_turn_stop(&t->turn);
        } else if (!kc_turn_wait(&t->turn, (uint64_t)thread)) {
                atomic_fetch_add(&t->nrefused, 1);
        }
        return KC_OK;
}

static void stop_wakes_all(void **state)
{
        (void)state;
        struct turns t = { .npassed = 0 };
        struct kc_error err = { 0 };
        kc_turn_init(&t.turn);
        assert_int_equal(kc_parallel(NTHREADS, wait_or_stop, NULL, &t, &err), KC_OK);
        assert_int_equal(atomic_load(&t.nrefused), NTHREADS - 1);
        assert_false(kc_turn_wait(&t.turn, 0));
        kc_turn_destroy(&t.turn);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(threads_pass_in_order),
                cmocka_unit_test(stop_wakes_all),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
