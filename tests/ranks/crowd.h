/*
 * Ranks that are threads of a test, each with an exchange of its own. Include this after cmocka.h
 * and after the test's `struct member`, which has a `struct crowd_rank rank` and what that rank
 * works on.
 */
#ifndef KC_TESTS_CROWD_H
#define KC_TESTS_CROWD_H

struct crowd {
        struct post_office office;
        struct member members[MAX_RANKS];
};

/* What a rank does until all settle; each test defines it. */
static enum kc_status work_of_member(struct member *m, const struct kc_exchange *exchange,
                                     struct kc_error *err);

static void *run_member(void *arg)
{
        struct member *m = arg;
        struct crowd_rank *r = &m->rank;
        const struct kc_exchange exchange = kc_ranks_exchange_interface(r->exchange);
        r->status = work_of_member(m, &exchange, &r->err);
        r->settled = kc_ranks_exchange_settle(r->exchange, &r->status, sizeof r->status, r->all,
                                              &r->err);
        assert_int_equal(kc_ranks_exchange_free(r->exchange), r->settled != KC_OK);
        return NULL;
}

static void run_crowd(struct crowd *crowd)
{
        const int n = crowd->office.nranks;
        for (int i = 0; i < n; i++) {
                struct crowd_rank *r = &crowd->members[i].rank;
                r->transport = thread_transport(&r->thread, &crowd->office, i);
                assert_int_equal(kc_ranks_exchange_new(&r->exchange, &r->transport, &r->err),
                                 KC_OK);
        }
        for (int i = 0; i < n; i++)
                assert_int_equal(pthread_create(&crowd->members[i].rank.id, NULL, run_member,
                                                &crowd->members[i]),
                                 0);
        for (int i = 0; i < n; i++)
                pthread_join(crowd->members[i].rank.id, NULL);
}

static void expect_settled(const struct crowd *crowd)
{
        for (int i = 0; i < crowd->office.nranks; i++) {
                assert_int_equal(crowd->members[i].rank.settled, KC_OK);
                assert_null(crowd->office.boxes[i]);
                for (int j = 0; j < crowd->office.nranks; j++)
                        assert_int_equal(crowd->members[i].rank.all[j],
                                         crowd->members[j].rank.status);
        }
}

/* All ranks must have failed, with KC_ECANCELED or with this status. Returns how many of them do
 * not have KC_ECANCELED.
 *   message  that these must have; NULL: any */
static int count_failed(const struct crowd *crowd, enum kc_status status, const char *message)
{
        int nown = 0;
        expect_settled(crowd);
        for (int i = 0; i < crowd->office.nranks; i++) {
                const struct crowd_rank *r = &crowd->members[i].rank;
                assert_int_not_equal(r->status, KC_OK);
                if (r->status == KC_ECANCELED)
                        continue;
                assert_int_equal(r->status, status);
                if (message != NULL)
                        assert_string_equal(r->err.message, message);
                nown++;
        }
        return nown;
}

static void expect_success(const struct crowd *crowd)
{
        expect_settled(crowd);
        for (int i = 0; i < crowd->office.nranks; i++) {
                assert_string_equal(crowd->members[i].rank.err.message, "");
                assert_int_equal(crowd->members[i].rank.status, KC_OK);
        }
}

#endif
