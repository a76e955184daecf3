/*
 * Messages of ranks, here threads of the test, of which only leaders take part in phases and
 * gathers, while the others settle.
 */
#include "base/parallel.h"
#include "ranks/messages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/ranks/thread_transport.h"

enum { NROUNDS = 3, NRECORDS = 2000 };

struct member {
        struct crowd *crowd;
        int rank;
        uint64_t ntaken, sum; /* of the records of others */
        enum kc_status status;
        enum kc_status agreed[MAX_RANKS];
};

struct crowd {
        struct post_office office;
        const int *leaders;
        int nleaders, failing; /* the rank that fails in the second round; -1: none */
        struct member members[MAX_RANKS];
};

static enum kc_status take(void *ctx, uint32_t list, const uint8_t *data, size_t nbytes,
                           struct kc_error *err)
{
        struct member *m = ctx;
        uint64_t value;
        (void)err;
        assert_int_equal(nbytes, sizeof value);
        memcpy(&value, data, sizeof value);
        m->ntaken++;
        m->sum += value + list;
        return KC_OK;
}

static bool ready(void *ctx)
{
        (void)ctx;
        return true;
}

/* Leaders tell each other who they are, then send each other records. */
static enum kc_status work(struct member *m, const struct kc_exchange *x, struct kc_error *err)
{
        const struct kc_exchange_taker taker = { .ctx = m, .take = take, .ready = ready };
        void *gathered;
        enum kc_status status;
        KC_TRY(kc_exchange_gather(x, &m->rank, sizeof m->rank, &gathered, err));
        const int *all = gathered;
        for (int i = 0; i < x->nranks; i++)
                assert_int_equal(m->crowd->leaders[all[i]], all[i]);
        assert_int_equal(all[x->rank], m->rank);
        free(gathered);
        KC_TRY(x->begin(x->ctx, &taker, err));
        for (uint64_t i = 0; i < NRECORDS; i++)
                for (int to = 0; to < x->nranks; to++)
                        if (to != x->rank)
                                KC_TRY(x->send(x->ctx, to, 1, (const uint8_t *)&i, sizeof i, err));
        KC_TRY(x->end(x->ctx, NULL, err));
out:
        return status;
}

static enum kc_status run(struct member *m, struct kc_ranks_exchange *messages)
{
        const struct crowd *crowd = m->crowd;
        struct kc_error err = { 0 };
        const struct kc_exchange x = kc_ranks_exchange_interface(messages);
        const bool leads = crowd->leaders[m->rank] == m->rank;
        assert_int_equal(x.nranks, crowd->nleaders);
        assert_true(leads == (x.rank >= 0));
        for (int round = 0; round < NROUNDS && m->status == KC_OK; round++) {
                if (leads)
                        m->status = work(m, &x, &err);
                if (round == 1 && m->rank == crowd->failing) {
                        m->status = KC_EDEVICE;
                        (x.fail)(x.ctx); /* fail is a macro of cmocka */
                }
        }
        return kc_ranks_exchange_settle(messages, &m->status, sizeof m->status, m->agreed, &err);
}

static void *run_member(void *arg)
{
        struct member *m = arg;
        struct thread_rank thread;
        struct kc_ranks_exchange *messages;
        struct kc_error err = { 0 };
        const struct kc_transport transport = thread_transport(&thread, &m->crowd->office, m->rank);
        int all[MAX_RANKS];
        assert_int_equal(kc_ranks_exchange_new(&messages, &transport, &err), KC_OK);
        assert_int_equal(kc_ranks_exchange_settle(messages, &m->rank, sizeof m->rank, all, &err),
                         KC_OK);
        kc_ranks_exchange_set_leaders(messages, m->crowd->leaders);
        assert_int_equal(run(m, messages), KC_OK);
        assert_false(kc_ranks_exchange_free(messages));
        return NULL;
}

static void run_crowd(struct crowd *crowd, int nranks, const int *leaders, int failing)
{
        pthread_t threads[MAX_RANKS];
        memset(crowd, 0, sizeof *crowd);
        post_office_init(&crowd->office, nranks);
        crowd->leaders = leaders;
        crowd->failing = failing;
        for (int i = 0; i < nranks; i++) {
                crowd->nleaders += leaders[i] == i;
                crowd->members[i] = (struct member){ .crowd = crowd, .rank = i };
        }
        for (int i = 0; i < nranks; i++)
                assert_int_equal(kc_thread_create(&threads[i], run_member, &crowd->members[i]), 0);
        for (int i = 0; i < nranks; i++)
                pthread_join(threads[i], NULL);
        post_office_destroy(&crowd->office);
}

static const struct {
        int nranks, leaders[MAX_RANKS];
} cases[] = {
        { 1, { 0 } },
        { 2, { 0, 0 } },
        { 3, { 0, 1, 0 } },
        { 3, { 0, 1, 2 } },
        { 5, { 0, 0, 2, 2, 0 } },
        { 8, { 0, 0, 0, 0, 0, 0, 0, 0 } },
        { 8, { 0, 1, 0, 1, 4, 4, 6, 0 } },
};

static void only_leaders_take_part(void **state)
{
        struct crowd *crowd = malloc(sizeof *crowd);
        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                const int n = cases[i].nranks;
                run_crowd(crowd, n, cases[i].leaders, -1);
                const uint64_t nrecords = (uint64_t)NRECORDS * NROUNDS;
                for (int j = 0; j < n; j++) {
                        const struct member *m = &crowd->members[j];
                        const uint64_t nothers =
                                cases[i].leaders[j] == j ? (uint64_t)crowd->nleaders - 1 : 0;
                        assert_int_equal(m->status, KC_OK);
                        assert_int_equal(m->ntaken, nothers * nrecords);
                        assert_int_equal(m->sum, nothers * nrecords * (NRECORDS + 1) / 2);
                        for (int from = 0; from < n; from++)
                                assert_int_equal(m->agreed[from], KC_OK);
                }
        }
        free(crowd);
}

/* Whichever rank fails, whether it takes part or not: all of them learn it when they settle. */
static void all_learn_of_a_failure(void **state)
{
        struct crowd *crowd = malloc(sizeof *crowd);
        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                const int n = cases[i].nranks;
                for (int failing = 0; failing < n; failing += 1 + n / 4) {
                        run_crowd(crowd, n, cases[i].leaders, failing);
                        for (int j = 0; j < n; j++) {
                                const struct member *m = &crowd->members[j];
                                assert_int_equal(m->agreed[failing], KC_EDEVICE);
                                assert_true(j == failing || m->status == KC_OK ||
                                            m->status == KC_ECANCELED);
                                for (int from = 0; from < n; from++)
                                        assert_int_equal(m->agreed[from],
                                                         crowd->members[from].status);
                        }
                }
        }
        free(crowd);
}

/* ---- a few ranks ---- */

struct few {
        struct post_office office;
        struct thread_rank threads[3];
        struct kc_transport transports[3];
        struct kc_ranks_exchange *messages[3];
        struct kc_exchange interfaces[3];
};

static void few_init(struct few *few, int n, const int *leaders)
{
        struct kc_error err = { 0 };
        post_office_init(&few->office, n);
        for (int i = 0; i < n; i++) {
                few->transports[i] = thread_transport(&few->threads[i], &few->office, i);
                assert_int_equal(
                        kc_ranks_exchange_new(&few->messages[i], &few->transports[i], &err), KC_OK);
                kc_ranks_exchange_set_leaders(few->messages[i], leaders);
                few->interfaces[i] = kc_ranks_exchange_interface(few->messages[i]);
        }
}

/* Settle twice, after a while. */
struct waiting {
        struct kc_ranks_exchange *messages;
        unsigned ms;
        pthread_t thread;
};

static void *settle_twice(void *arg)
{
        const struct waiting *w = arg;
        struct kc_error err = { 0 };
        int own = 1, all[3];
        usleep(w->ms * 1000);
        for (int i = 0; i < 2; i++) {
                memset(all, 0, sizeof all);
                assert_int_equal(kc_ranks_exchange_settle(w->messages, &own, sizeof own, all, &err),
                                 KC_OK);
                assert_int_equal(all[1], 1);
                assert_int_equal(all[2], 1);
        }
        assert_false(kc_ranks_exchange_free(w->messages));
        return NULL;
}

static void *fail_after_50_ms(void *arg)
{
        const struct kc_exchange *x = arg;
        usleep(50 * 1000);
        (x->fail)(x->ctx);
        return NULL;
}

/* Rank 1 settles, that is, it waits for its leader, and is then canceled. Rank 0 learns this before
 * it settles, or not at all if it settles, too, and waits for rank 2; in no case later. */
static void a_waiting_rank_fails(void **state)
{
        const int leaders[] = { 0, 0, 0 };
        (void)state;
        for (int early = 0; early < 2; early++) {
                struct few few;
                struct kc_error err = { 0 };
                struct waiting others[2] = { { .ms = 0 }, { .ms = 200 } };
                const struct kc_exchange *own = &few.interfaces[0];
                pthread_t failing;
                int all[3] = { 0 };
                few_init(&few, 3, leaders);
                for (int i = 0; i < 2; i++) {
                        others[i].messages = few.messages[i + 1];
                        kc_thread_create(&others[i].thread, settle_twice, &others[i]);
                }
                kc_thread_create(&failing, fail_after_50_ms, &few.interfaces[1]);
                for (int i = 0; !early && i < 1000 && own->check(own->ctx, &err) == KC_OK; i++)
                        usleep(10 * 1000);
                assert_true(early || own->check(own->ctx, &err) == KC_ECANCELED);
                for (int i = 0; i < 2; i++) {
                        assert_int_equal(
                                kc_ranks_exchange_settle(few.messages[0], &i, sizeof i, all, &err),
                                KC_OK);
                        assert_int_equal(all[1], 1);
                        usleep(50 * 1000);
                        assert_int_equal(own->check(own->ctx, &err), KC_OK);
                }
                assert_false(kc_ranks_exchange_free(few.messages[0]));
                pthread_join(failing, NULL);
                for (int i = 0; i < 2; i++)
                        pthread_join(others[i].thread, NULL);
                post_office_destroy(&few.office);
        }
}

/* Ranks 1 and 2 settle, that is, they wait for their leader, and are then canceled. Neither takes
 * the other's failure until all have settled, but neither waits for its own to be taken. */
static void two_waiting_ranks_fail(void **state)
{
        struct few few;
        struct waiting waiting[3] = { { 0 } };
        pthread_t failing[2];
        (void)state;
        few_init(&few, 3, (const int[]){ 0, 0, 0 });
        for (int i = 0; i < 3; i++)
                waiting[i].messages = few.messages[i];
        for (int i = 1; i < 3; i++) {
                kc_thread_create(&waiting[i].thread, settle_twice, &waiting[i]);
                kc_thread_create(&failing[i - 1], fail_after_50_ms, &few.interfaces[i]);
        }
        for (int i = 0; i < 2; i++)
                pthread_join(failing[i], NULL);
        kc_thread_create(&waiting[0].thread, settle_twice, &waiting[0]);
        for (int i = 0; i < 3; i++)
                pthread_join(waiting[i].thread, NULL);
        post_office_destroy(&few.office);
}

static void *leave_after_50_ms(void *arg)
{
        usleep(50 * 1000);
        assert_true(kc_ranks_exchange_free(arg));
        return NULL;
}

/* Rank 0 settles, but rank 1 leaves instead: its last message, which is empty, is not taken for its
 * values. */
static void a_rank_leaves_early(void **state)
{
        struct few few;
        struct kc_error err = { 0 };
        int own = 1, all[2];
        pthread_t leaving;
        (void)state;
        few_init(&few, 2, (const int[]){ 0, 0 });
        kc_thread_create(&leaving, leave_after_50_ms, few.messages[1]);
        assert_int_equal(kc_ranks_exchange_settle(few.messages[0], &own, sizeof own, all, &err),
                         KC_EIO);
        assert_non_null(strstr(err.message, "rank 1 has ended before the others"));
        pthread_join(leaving, NULL);
        assert_true(kc_ranks_exchange_free(few.messages[0]));
        post_office_destroy(&few.office);
}

/* Rank 0 has sent all it had to send, and then cannot be reached: rank 1, which still sends, finds
 * that out. */
static void a_silent_taker_is_lost(void **state)
{
        struct few few;
        struct member member = { 0 };
        const struct kc_exchange_taker taker = { .ctx = &member, .take = take };
        enum kc_status status = KC_OK;
        struct kc_error err = { 0 };
        bool over;
        (void)state;
        few_init(&few, 2, (const int[]){ 0, 1 });
        for (int i = 0; i < 2; i++) {
                const struct kc_exchange *x = &few.interfaces[i];
                kc_ranks_exchange_set_patience(few.messages[i], 1);
                assert_int_equal(x->begin(x->ctx, &taker, &err), KC_OK);
        }
        assert_int_equal(few.interfaces[0].end(few.interfaces[0].ctx, &over, &err), KC_OK);
        usleep(200 * 1000);
        atomic_store(&few.office.unreachable, 0);
        const struct kc_exchange *x = &few.interfaces[1];
        for (uint64_t i = 0; status == KC_OK; i++)
                status = x->send(x->ctx, 0, 1, (const uint8_t *)&i, sizeof i, &err);
        assert_int_equal(status, KC_EIO);
        assert_non_null(strstr(err.message, "nothing was heard from rank 0"));
        for (int i = 0; i < 2; i++)
                assert_true(kc_ranks_exchange_free(few.messages[i]));
        post_office_destroy(&few.office);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(only_leaders_take_part), cmocka_unit_test(all_learn_of_a_failure),
                cmocka_unit_test(a_waiting_rank_fails),   cmocka_unit_test(two_waiting_ranks_fail),
                cmocka_unit_test(a_rank_leaves_early),    cmocka_unit_test(a_silent_taker_is_lost),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
