/*
 * Blocks are written in the order of their numbers, and after a failure nothing is.
 */
#include "app/library/order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { NPLACES = 3 };

/* What was written: the places, in order. */
struct written {
        int places[NPLACES], n;
        int failing; /* the place that cannot be written, or -1 */
};

static enum kc_status write_place(void *ctx, int place, struct kc_error *err)
{
        struct written *w = ctx;
        assert_true(w->n < NPLACES);
        w->places[w->n++] = place;
        return place == w->failing ? kc_fail(err, KC_EIO, "no") : KC_OK;
}

static void test_order(void **state)
{
        struct written w = { .failing = -1 };
        struct kc_asking_order order = { 0 };
        struct kc_error err = { 0 };
        (void)state;
        assert_int_equal(kc_asking_order_init(&order, NPLACES, &w, write_place, &err), KC_OK);
        assert_int_equal(kc_asking_order_hand_in(&order, 0, 2, &err), KC_OK);
        assert_int_equal(kc_asking_order_hand_in(&order, 2, 1, &err), KC_OK);
        assert_int_equal(w.n, 0);
        assert_true(kc_asking_order_is_taken(&order, 0));
        assert_int_equal(kc_asking_order_hand_in(&order, 1, 0, &err), KC_OK);
        assert_int_equal(w.n, 3);
        assert_int_equal(w.places[0], 1);
        assert_int_equal(w.places[1], 2);
        assert_int_equal(w.places[2], 0);
        assert_false(kc_asking_order_is_taken(&order, 0));
        assert_int_equal(kc_asking_order_wait(&order, 0, &err), KC_OK);
        kc_asking_order_destroy(&order);
}

/* A thread may hand in its block before the one that failed has stopped the others. */
static void test_failure(void **state)
{
        struct written w = { .failing = 1 };
        struct kc_asking_order order = { 0 };
        struct kc_error err = { 0 };
        (void)state;
        assert_int_equal(kc_asking_order_init(&order, NPLACES, &w, write_place, &err), KC_OK);
        assert_int_equal(kc_asking_order_hand_in(&order, 1, 0, &err), KC_EIO);
        assert_int_equal(kc_asking_order_hand_in(&order, 0, 1, &err), KC_OK);
        assert_int_equal(w.n, 1);
        assert_int_equal(kc_asking_order_wait(&order, 0, &err), KC_ECANCELED);
        kc_asking_order_destroy(&order);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_order),
                cmocka_unit_test(test_failure),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
