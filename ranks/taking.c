#include "ranks/messages_state.h"

#include <string.h>

/* Pass the records of a message to the taker. */
static enum kc_status hand_over(const struct kc_exchange_taker *taker,
                                const struct message *message, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (size_t at = 0; at < message->nbytes && status == KC_OK;) {
                struct record_header header;
                memcpy(&header, message->data + at, sizeof header);
                at += sizeof header;
                status = taker->take(taker->ctx, header.list, message->data + at, header.nbytes,
                                     err);
                at += header.nbytes;
        }
        return status;
}

/* Whether the taker may be called. Lock held. */
static bool may_take(const struct kc_ranks_exchange *x)
{
        return x->takes && x->failure.status == KC_OK;
}

/* Whether the pump may be waiting for an empty message or for the taker to be ready. Lock held. */
static bool is_awaited(const struct kc_ranks_exchange *x)
{
        return x->taker.ready != NULL || x->empty == NULL || x->empty->next == NULL;
}

/* Lock held, but not while the taker is called. */
static void take(struct kc_ranks_exchange *x, struct message *message)
{
        struct kc_error failure = { 0 };
        if (may_take(x)) {
                pthread_mutex_unlock(&x->lock);
                if (hand_over(&x->taker, message, &failure) != KC_OK)
                        kc_ranks_note_failure(x, &failure, false);
                pthread_mutex_lock(&x->lock);
        }
        x->ntaken += message->nbytes;
        x->nended += message->nbytes == 0;
        x->nwaiting[message->rank]--;
        x->nusing--;
        if (message->nbytes == 0 || !x->takes)
                pthread_cond_broadcast(&x->changed);
        const bool awaited = is_awaited(x);
        kc_messages_keep(&x->empty, message);
        pthread_mutex_unlock(&x->lock);
        if (awaited)
                kc_ranks_wake_pump(x);
        pthread_mutex_lock(&x->lock);
}

void *kc_ranks_run_taking(void *exchange)
{
        struct kc_ranks_exchange *x = exchange;
        pthread_mutex_lock(&x->lock);
        while (x->arrived.first != NULL || !x->finished)
                if (x->arrived.first != NULL)
                        take(x, kc_messages_pop(&x->arrived.first));
                else
                        pthread_cond_wait(&x->arrival, &x->lock);
        pthread_mutex_unlock(&x->lock);
        return NULL;
}

void kc_ranks_stop_taking(struct kc_ranks_exchange *x)
{
        x->takes = false;
        while (x->nusing > 0)
                pthread_cond_wait(&x->changed, &x->lock);
}

void kc_ranks_deliver(struct kc_ranks_exchange *x, struct message *message)
{
        pthread_mutex_lock(&x->lock);
        if (x->takes) {
                x->nwaiting[message->rank]++;
                x->nusing++;
                kc_messages_push(&x->arrived, message);
        } else {
                kc_messages_keep(&x->empty, message);
        }
        pthread_mutex_unlock(&x->lock);
        pthread_cond_signal(&x->arrival);
}

bool kc_ranks_has_room(struct kc_ranks_exchange *x, int from)
{
        pthread_mutex_lock(&x->lock);
        const struct kc_exchange_taker taker = x->taker;
        bool room =
                may_take(x) && x->empty != NULL && (x->incoming != NULL || x->empty->next != NULL);
        if (taker.ready == NULL)
                room = room && x->nreceiving[from] < MOST_RECEIVING;
        else
                room = room && x->nwaiting[from] + x->nreceiving[from] < KC_EXCHANGE_AHEAD;
        if (room && taker.ready != NULL) {
                x->nusing++; /* the phase does not end meanwhile */
                pthread_mutex_unlock(&x->lock);
                room = taker.ready(taker.ctx, x->seats[from]);
                pthread_mutex_lock(&x->lock);
                x->nusing--;
                if (!x->takes)
                        pthread_cond_broadcast(&x->changed);
        }
        pthread_mutex_unlock(&x->lock);
        return room;
}
