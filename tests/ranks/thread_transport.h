/*
 * Ranks that are threads of a test: their messages are copied into queues. A message
 * counts as sent only when it has been taken, as large messages do with MPI.
 */
#ifndef KC_TESTS_THREAD_TRANSPORT_H
#define KC_TESTS_THREAD_TRANSPORT_H

#include "ranks/transport.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RANKS = 8 };

struct letter {
        struct letter *next, *next_of_all;
        int from, tag;
        size_t nbytes;
        atomic_bool taken;
        bool asked; /* `taken` has been called for it */
        uint8_t *data;
};

struct post_office {
        int nranks;
        atomic_int unreachable; /* what this rank sends, and what is sent to it, is lost; or -1 */
        pthread_mutex_t lock;
        struct letter *boxes[MAX_RANKS], **ends[MAX_RANKS];
        struct letter *all; /* freed at the end, because ranks that stop do not free theirs */
};

struct thread_rank {
        struct post_office *office;
        int rank;
};

/* What a rank of a crowd has (tests/ranks/crowd.h). */
struct crowd_rank {
        struct thread_rank thread;
        struct kc_transport transport;
        struct kc_ranks_exchange *exchange;
        struct kc_error err;
        enum kc_status status, settled, all[MAX_RANKS];
        pthread_t id;
};

static inline enum kc_status thread_post(void *ctx, int to, int tag, const void *data,
                                         size_t nbytes, union kc_transport_request *request,
                                         struct kc_error *err)
{
        struct thread_rank *r = ctx;
        struct post_office *office = r->office;
        struct letter *letter = malloc(sizeof *letter);
        (void)err;
        letter->data = malloc(nbytes + 1);
        letter->next = NULL;
        letter->from = r->rank;
        letter->tag = tag;
        letter->asked = false;
        letter->nbytes = nbytes;
        atomic_init(&letter->taken, false);
        memcpy(letter->data, data, nbytes);
        pthread_mutex_lock(&office->lock);
        const int unreachable = atomic_load(&office->unreachable);
        letter->next_of_all = office->all;
        office->all = letter;
        if (unreachable != to && unreachable != r->rank) {
                *office->ends[to] = letter;
                office->ends[to] = &letter->next;
        }
        pthread_mutex_unlock(&office->lock);
        request->pointer = letter;
        return KC_OK;
}

static inline enum kc_status thread_sent(void *ctx, union kc_transport_request *request, bool *done,
                                         struct kc_error *err)
{
        struct letter *letter = request->pointer;
        (void)ctx;
        (void)err;
        *done = atomic_load(&letter->taken);
        return KC_OK;
}

static inline enum kc_status thread_take(void *ctx, int from, int tag, void *data, size_t cap,
                                         int *got_from, int *got_tag,
                                         union kc_transport_request *request, struct kc_error *err)
{
        struct thread_rank *r = ctx;
        struct post_office *office = r->office;
        struct letter *got = NULL;
        *got_from = -1;
        pthread_mutex_lock(&office->lock);
        for (struct letter **l = &office->boxes[r->rank]; *l != NULL; l = &(*l)->next) {
                struct letter *letter = *l;
                if ((tag != KC_TRANSPORT_ANY && letter->tag != tag) ||
                    (from != KC_TRANSPORT_ANY && letter->from != from))
                        continue;
                *l = letter->next;
                if (office->ends[r->rank] == &letter->next)
                        office->ends[r->rank] = l;
                *got_from = letter->from;
                *got_tag = letter->tag;
                request->pointer = got = letter;
                if (letter->nbytes <= cap)
                        memcpy(data, letter->data, letter->nbytes);
                free(letter->data);
                letter->data = NULL;
                atomic_store(&letter->taken, true);
                break;
        }
        pthread_mutex_unlock(&office->lock);
        return got == NULL || got->nbytes <= cap ? KC_OK
                                                 : kc_fail(err, KC_EIO, "too long a message");
}

/* Some messages are not there yet when they are asked for the first time. The rest of one from a
 * rank that is lost never comes. */
static inline enum kc_status thread_taken(void *ctx, union kc_transport_request *request,
                                          bool *done, size_t *nbytes, struct kc_error *err)
{
        const struct thread_rank *r = ctx;
        struct letter *letter = request->pointer;
        (void)err;
        *done = (letter->nbytes % 3 != 0 || letter->asked) &&
                letter->from != atomic_load(&r->office->unreachable);
        letter->asked = true;
        *nbytes = letter->nbytes;
        return KC_OK;
}

static inline struct kc_transport thread_transport(struct thread_rank *rank,
                                                   struct post_office *office, int number)
{
        *rank = (struct thread_rank){ office, number };
        return (struct kc_transport){ .ctx = rank,
                                      .rank = number,
                                      .nranks = office->nranks,
                                      .post = thread_post,
                                      .sent = thread_sent,
                                      .take = thread_take,
                                      .taken = thread_taken };
}

static inline void post_office_init(struct post_office *office, int nranks)
{
        *office = (struct post_office){ .nranks = nranks, .unreachable = -1 };
        pthread_mutex_init(&office->lock, NULL);
        for (int i = 0; i < nranks; i++)
                office->ends[i] = &office->boxes[i];
}

static inline void post_office_destroy(struct post_office *office)
{
        for (struct letter *letter = office->all, *next; letter != NULL; letter = next) {
                next = letter->next_of_all;
                free(letter->data);
                free(letter);
        }
        pthread_mutex_destroy(&office->lock);
}

#endif
