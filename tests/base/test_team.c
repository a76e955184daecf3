/*
 * Teams: every worker runs once in each round, what one round writes the next one sees, and the
 * first failure is kept for its round only.
 */
#include "base/team.h"

#include <stdio.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MOST = 8, NROUNDS = 2000 };

struct rounds {
        int nthreads, round;
        int values[MOST]; /* of the last round, and one for each worker */
        int fails;        /* the worker that fails; -1: none */
};

/* Each worker reads what its neighbour wrote in the round before. */
static enum kc_status write_round(void *ctx, int worker, struct kc_error *err)
{
        struct rounds *r = ctx;
        int *own = &r->values[worker];
        if (*own != r->round - 1)
                return kc_fail(err, KC_EINPUT, "worker %d has missed a round", worker);
        *own = r->round;
        return worker == r->fails ? kc_fail(err, KC_EIO, "worker %d fails", worker) : KC_OK;
}

static void all_take_part(void **state)
{
        (void)state;
        for (int nthreads = 1; nthreads <= MOST; nthreads *= 2) {
                struct rounds r = { .nthreads = nthreads, .fails = -1 };
                struct kc_team *team;
                struct kc_error err = { 0 };
                assert_int_equal(kc_team_open(&team, nthreads, &err), KC_OK);
                for (r.round = 1; r.round <= NROUNDS; r.round++) {
                        assert_int_equal(kc_team_run(team, write_round, &r, &err), KC_OK);
                        for (int i = 0; i < nthreads; i++)
                                assert_int_equal(r.values[i], r.round);
                }
                kc_team_close(team);
        }
}

static void failures_end_with_their_round(void **state)
{
        struct rounds r = { .nthreads = 3, .round = 1 };
        struct kc_team *team;
        struct kc_error err = { 0 };
        (void)state;
        assert_int_equal(kc_team_open(&team, 3, &err), KC_OK);
        for (r.fails = 0; r.fails < 3; r.fails++, r.round++) {
                char want[40];
                struct kc_error failure = { 0 };
                snprintf(want, sizeof want, "worker %d fails", r.fails);
                assert_int_equal(kc_team_run(team, write_round, &r, &failure), KC_EIO);
                assert_string_equal(failure.message, want);
        }
        assert_int_equal(kc_team_run(team, write_round, &r, &err), KC_OK);
        kc_team_close(team);
        kc_team_close(NULL);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(all_take_part),
                cmocka_unit_test(failures_end_with_their_round),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
