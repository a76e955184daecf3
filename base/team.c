#include "base/team.h"

#include "base/parallel.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct hand {
        struct kc_team *team;
        int worker;
        pthread_t thread;
};

struct kc_team {
        int nthreads, nstarted; /* the first one is not started */
        pthread_mutex_t lock;
        pthread_cond_t begin, end;
        /* Guarded by the lock: */
        enum kc_status (*run)(void *ctx, int worker, struct kc_error *err); /* NULL: go home */
        void *ctx;
        unsigned round; /* counts calls of kc_team_run */
        int nleft;      /* threads that still run this round's function */
        struct kc_error first;
        struct hand hands[];
};

/* Run the round's function as one of the workers. */
static void take_part(struct kc_team *team, int worker)
{
        struct kc_error err = { 0 };
        enum kc_status status = team->run(team->ctx, worker, &err);
        if (status != KC_OK)
                kc_fail(&err, status, "failed without a message");
        pthread_mutex_lock(&team->lock);
        if (status != KC_OK && team->first.status == KC_OK)
                team->first = err;
        if (--team->nleft == 0)
                pthread_cond_signal(&team->end);
        pthread_mutex_unlock(&team->lock);
}

static void *work(void *arg)
{
        struct hand *me = arg;
        struct kc_team *team = me->team;
        for (unsigned round = 1;; round++) {
                pthread_mutex_lock(&team->lock);
                while (team->round != round)
                        pthread_cond_wait(&team->begin, &team->lock);
                bool ends = team->run == NULL;
                pthread_mutex_unlock(&team->lock);
                if (ends)
                        return NULL;
                take_part(team, me->worker);
        }
}

static void begin_round(struct kc_team *team,
                        enum kc_status (*run)(void *ctx, int worker, struct kc_error *err),
                        void *ctx)
{
        pthread_mutex_lock(&team->lock);
        team->run = run;
        team->ctx = ctx;
        team->first = (struct kc_error){ 0 };
        team->nleft = team->nthreads;
        team->round++;
        pthread_cond_broadcast(&team->begin);
        pthread_mutex_unlock(&team->lock);
}

void kc_team_close(struct kc_team *team)
{
        if (team == NULL)
                return;
        begin_round(team, NULL, NULL);
        for (int i = 1; i < team->nstarted; i++)
                pthread_join(team->hands[i].thread, NULL);
        pthread_cond_destroy(&team->end);
        pthread_cond_destroy(&team->begin);
        pthread_mutex_destroy(&team->lock);
        free(team);
}

enum kc_status kc_team_open(struct kc_team **team, int nthreads, struct kc_error *err)
{
        struct kc_team *fresh = calloc(1, sizeof *fresh + (size_t)nthreads * sizeof *fresh->hands);
        *team = NULL;
        if (fresh == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for %d threads", nthreads);
        fresh->nthreads = nthreads;
        pthread_mutex_init(&fresh->lock, NULL);
        pthread_cond_init(&fresh->begin, NULL);
        pthread_cond_init(&fresh->end, NULL);
        for (fresh->nstarted = 1; fresh->nstarted < nthreads; fresh->nstarted++) {
                struct hand *hand = &fresh->hands[fresh->nstarted];
                *hand = (struct hand){ .team = fresh, .worker = fresh->nstarted };
                int code = kc_thread_create(&hand->thread, work, hand);
                if (code != 0) {
                        kc_fail_remedy(err, KC_ENOMEM, KC_REMEDY_FEWER_THREADS,
                                       "cannot start thread %d of %d: %s", fresh->nstarted + 1,
                                       nthreads, strerror(code));
                        kc_team_close(fresh);
                        return KC_ENOMEM;
                }
        }
        *team = fresh;
        return KC_OK;
}

enum kc_status kc_team_run(struct kc_team *team,
                           enum kc_status (*run)(void *ctx, int worker, struct kc_error *err),
                           void *ctx, struct kc_error *err)
{
        begin_round(team, run, ctx);
        take_part(team, 0);
        pthread_mutex_lock(&team->lock);
        while (team->nleft != 0)
                pthread_cond_wait(&team->end, &team->lock);
        pthread_mutex_unlock(&team->lock);
        return team->first.status == KC_OK ? KC_OK : kc_fail_as(err, &team->first);
}
