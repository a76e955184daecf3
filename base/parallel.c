#include "base/parallel.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int kc_thread_create(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
        pthread_attr_t attributes;
        int code = pthread_attr_init(&attributes);
        if (code != 0)
                return code;
        code = pthread_attr_setstacksize(&attributes, KC_STACK_NBYTES);
        if (code == 0)
                code = pthread_create(thread, &attributes, run, arg);
        pthread_attr_destroy(&attributes);
        return code;
}

struct team {
        enum kc_status (*run)(void *ctx, int worker, struct kc_error *err);
        void (*on_failure)(void *ctx);
        void *ctx;
        pthread_mutex_t lock;
        struct kc_error first;
};

struct member {
        struct team *team;
        int worker;
        pthread_t thread;
};

static void report(struct team *team, const struct kc_error *err)
{
        pthread_mutex_lock(&team->lock);
        bool is_first = team->first.status == KC_OK;
        if (is_first)
                team->first = *err;
        pthread_mutex_unlock(&team->lock);
        if (is_first && team->on_failure)
                team->on_failure(team->ctx);
}

static void *work(void *arg)
{
        struct member *me = arg;
        struct kc_error err = { 0 };
        enum kc_status status = me->team->run(me->team->ctx, me->worker, &err);
        if (status != KC_OK) {
                kc_fail(&err, status, "failed without a message");
                report(me->team, &err);
        }
        return NULL;
}

enum kc_status kc_parallel(int nthreads,
                           enum kc_status (*run)(void *ctx, int worker, struct kc_error *err),
                           void (*on_failure)(void *ctx), void *ctx, struct kc_error *err)
{
        struct team team = { .run = run, .on_failure = on_failure, .ctx = ctx };
        struct member *members = calloc((size_t)nthreads, sizeof *members);
        if (members == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for %d threads", nthreads);
        pthread_mutex_init(&team.lock, NULL);

        int nstarted = 1;
        for (; nstarted < nthreads; nstarted++) {
                struct member *m = &members[nstarted];
                *m = (struct member){ .team = &team, .worker = nstarted };
                int code = kc_thread_create(&m->thread, work, m);
                if (code != 0) {
                        struct kc_error failure = { 0 };
                        kc_fail_remedy(&failure, KC_ENOMEM, KC_REMEDY_FEWER_THREADS,
                                       "cannot start thread %d of %d: %s", nstarted + 1, nthreads,
                                       strerror(code));
                        report(&team, &failure);
                        break;
                }
        }
        if (nstarted == nthreads) {
                members[0] = (struct member){ .team = &team, .worker = 0 };
                work(&members[0]);
        }
        for (int i = 1; i < nstarted; i++)
                pthread_join(members[i].thread, NULL);
        pthread_mutex_destroy(&team.lock);
        free(members);
        if (team.first.status != KC_OK)
                return kc_fail_as(err, &team.first);
        return KC_OK;
}
