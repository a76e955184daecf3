#include "ranks/messages_state.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

/* Naps between looks for messages. A large message comes in pieces, only a few each time both ranks
 * look, so naps are shorter while any message is on its way. Each nap is twice as long as the one
 * before, until something urgent happens. */
enum {
        SHORT_NAP_NS = 50 * 1000,
        URGENT_NAP_NS = 400 * 1000,     /* the longest while something is urgent */
        MOVING_NAP_NS = 1000 * 1000,    /* when a message is on its way */
        LONG_NAP_NS = 2000 * 1000,      /* when records may come */
        IDLE_NAP_NS = 10 * 1000 * 1000, /* when only a failure may come */
};

enum { BEATS = 24 }; /* in the time after which a silent rank is lost */

/* The most that a turn adds to the time that a rank has been silent: if more time has passed, this
 * process was itself stopped, perhaps together with the others. */
#define TURN_SECONDS 1.0

/* ---- whether the other ranks are still there ---- */

/* Lock held. Ranks lose patience one after another, so that usually only one reports a loss, and
 * ends the others. */
static enum kc_status check_heard(struct kc_ranks_exchange *x, int from, double passed,
                                  struct kc_error *err)
{
        struct rank *rank = &x->ranks[from];
        const bool waits = x->settling ? !rank->settled : x->takes && rank->seat >= 0;
        double *silent = &rank->silent_seconds;
        *silent = waits ? *silent + (passed < TURN_SECONDS ? passed : TURN_SECONDS) : 0;
        if (from == x->transport->rank || *silent < x->patience_seconds + x->transport->rank)
                return KC_OK;
        return kc_fail(err, KC_EIO,
                       "nothing was heard from rank %d for %.0f seconds; it has stopped, or "
                       "cannot be reached",
                       from, *silent);
}

/*
 * A rank that has stopped, or that can no longer be reached, sends nothing, but no call of the
 * transport fails because of that. So every rank sends every other one an empty message, a beat,
 * every few seconds. A rank that has sent nothing for a long time, while this one waited for it, is
 * lost.
 */
static enum kc_status watch(struct kc_ranks_exchange *x, struct kc_error *err)
{
        const double now = kc_clock_seconds(), passed = now - x->turned;
        enum kc_status status = KC_OK;
        pthread_mutex_lock(&x->lock);
        x->turned = now;
        if (now - x->beaten >= x->patience_seconds / BEATS && !x->leaving) {
                x->beaten = now;
                status = kc_ranks_send_to_others(x, TAG_ALIVE, NULL, 0, err);
        }
        for (int i = 0; i < x->transport->nranks && status == KC_OK; i++)
                status = check_heard(x, i, passed, err);
        pthread_mutex_unlock(&x->lock);
        return status;
}

/* ---- messages out ---- */

static enum kc_status post_queued(struct kc_ranks_exchange *x, bool *busy, struct kc_error *err)
{
        const struct kc_transport *t = x->transport;
        enum kc_status status = KC_OK;
        pthread_mutex_lock(&x->lock);
        struct message *list = x->queue.first;
        x->queue.first = NULL;
        pthread_mutex_unlock(&x->lock);
        while (list != NULL) {
                struct message *message = kc_messages_pop(&list);
                *busy = true;
                if (status == KC_OK)
                        status = t->post(t->ctx, message->rank, message->tag, message->data,
                                         message->nbytes, &message->request, err);
                kc_messages_keep(&x->posted, message);
        }
        return status;
}

static void let_go(struct kc_ranks_exchange *x, struct message *message)
{
        if (message->cap < MESSAGE_NBYTES) {
                free(message);
                return;
        }
        pthread_mutex_lock(&x->lock);
        kc_messages_keep(&x->free, message);
        x->nout--;
        pthread_cond_signal(&x->room);
        pthread_mutex_unlock(&x->lock);
}

static enum kc_status free_sent(struct kc_ranks_exchange *x, bool *busy, struct kc_error *err)
{
        const struct kc_transport *t = x->transport;
        enum kc_status status = KC_OK;
        for (struct message **m = &x->posted; *m != NULL && status == KC_OK;) {
                struct message *message = *m;
                bool done = false;
                status = t->sent(t->ctx, &message->request, &done, err);
                if (!done) {
                        m = &message->next;
                        continue;
                }
                *m = message->next;
                *busy = true;
                let_go(x, message);
        }
        return status;
}

/* ---- the taker ---- */

/* Whether the taker may be called. It is not replaced by another one until end_taking. */
static bool begin_taking(struct kc_ranks_exchange *x)
{
        pthread_mutex_lock(&x->lock);
        const bool takes = x->takes && x->failure.status == KC_OK;
        x->taking = takes;
        pthread_mutex_unlock(&x->lock);
        return takes;
}

static void end_taking(struct kc_ranks_exchange *x)
{
        pthread_mutex_lock(&x->lock);
        x->taking = false;
        pthread_cond_broadcast(&x->changed);
        pthread_mutex_unlock(&x->lock);
}

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

static void take_records(struct kc_ranks_exchange *x, const struct message *message)
{
        struct kc_error failure = { 0 };
        if (!begin_taking(x))
                return;
        const enum kc_status status = hand_over(&x->taker, message, &failure);
        pthread_mutex_lock(&x->lock);
        if (status != KC_OK)
                kc_ranks_note_failure(x, &failure, FAILURE_OWN);
        x->ntaken += message->nbytes;
        x->nended += message->nbytes == 0;
        pthread_mutex_unlock(&x->lock);
        end_taking(x);
}

/* Whether another message with records should be received from this rank. There must be room for it
 * and for a message of another kind after it, and the taker must be ready. */
static bool has_room(struct kc_ranks_exchange *x, int from)
{
        if (x->narriving >= KC_EXCHANGE_ARRIVING - 1 ||
            x->ranks[from].nreceiving >= KC_EXCHANGE_AHEAD || !begin_taking(x))
                return false;
        const bool room = x->taker.ready == NULL || x->taker.ready(x->taker.ctx);
        end_taking(x);
        return room;
}

/* ---- messages in ---- */

/* A rank leaves without values, perhaps before others expect that. */
static void take_settled(struct kc_ranks_exchange *x, const struct message *message)
{
        struct kc_error failure = { 0 };
        pthread_mutex_lock(&x->lock);
        if (message->nbytes != x->each_nbytes) {
                kc_fail(&failure, KC_EIO, "rank %d has ended before the others", message->rank);
                kc_ranks_note_failure(x, &failure, FAILURE_BREAKS);
        }
        if (!x->broken) { /* otherwise the caller may be gone, and settling must not succeed */
                memcpy(x->all + (size_t)message->rank * x->each_nbytes, message->data,
                       x->each_nbytes);
                x->ranks[message->rank].settled = true;
                x->nsettled++;
        }
        pthread_mutex_unlock(&x->lock);
}

static void take_failure(struct kc_ranks_exchange *x, const struct message *message)
{
        struct kc_error failure = { 0 };
        uint32_t nsettles;
        memcpy(&nsettles, message->data, sizeof nsettles);
        kc_fail(&failure, KC_ECANCELED, "another rank has failed");
        pthread_mutex_lock(&x->lock);
        if (nsettles == x->nsettles)
                kc_ranks_note_failure(x, &failure, FAILURE_ANOTHERS);
        pthread_mutex_unlock(&x->lock);
}

static void handle(struct kc_ranks_exchange *x, const struct message *message)
{
        x->ranks[message->rank].silent_seconds = 0;
        if (message->tag >= TAG_RECORDS)
                take_records(x, message);
        else if (message->tag == TAG_SETTLED)
                take_settled(x, message);
        else if (message->tag == TAG_FAILED)
                take_failure(x, message);
}

static bool has_message_from(const struct message_queue *queue, int rank)
{
        const struct message *message = queue->first;
        while (message != NULL && message->rank != rank)
                message = message->next;
        return message != NULL;
}

/* Handle the messages that are there. A message waits for earlier ones of the same rank, but not
 * for those of other ranks: one of these may be lost. */
static enum kc_status handle_received(struct kc_ranks_exchange *x, bool *busy, struct kc_error *err)
{
        const struct kc_transport *t = x->transport;
        struct message *list = x->receiving.first;
        enum kc_status status = KC_OK;
        x->receiving.first = NULL;
        x->nhandled = 0;
        while (list != NULL) {
                struct message *message = kc_messages_pop(&list);
                bool done = false;
                if (status == KC_OK && !has_message_from(&x->receiving, message->rank))
                        status = t->taken(t->ctx, &message->request, &done, &message->nbytes, err);
                if (status != KC_OK || !done) {
                        kc_messages_push(&x->receiving, message);
                        continue;
                }
                *busy = true;
                x->ranks[message->rank].nreceiving--;
                x->narriving--;
                x->nhandled++;
                handle(x, message);
                kc_messages_keep(&x->empty, message);
        }
        return status;
}

/* Begin to receive a message of this kind, if one has arrived and there is room for it. */
static enum kc_status take_one(struct kc_ranks_exchange *x, int from, int tag, bool *got,
                               struct kc_error *err)
{
        const struct kc_transport *t = x->transport;
        enum kc_status status = KC_OK;
        *got = false;
        if (x->narriving == KC_EXCHANGE_ARRIVING)
                return KC_OK;
        struct message *message = kc_messages_pop(&x->empty);
        if (message == NULL)
                KC_TRY(kc_ranks_new_message(&message, MESSAGE_NBYTES, err));
        status = t->take(t->ctx, from, tag, message->data, MESSAGE_NBYTES, &message->rank,
                         &message->tag, &message->request, err);
        *got = status == KC_OK && message->rank >= 0;
        if (*got) {
                x->ranks[message->rank].nreceiving++;
                x->narriving++;
                kc_messages_push(&x->receiving, message);
        } else {
                kc_messages_keep(&x->empty, message);
        }
out:
        return status;
}

/* Take all messages with this tag that have arrived. */
static enum kc_status take_tag(struct kc_ranks_exchange *x, int tag, bool *busy,
                               struct kc_error *err)
{
        enum kc_status status;
        bool got;
        while ((status = take_one(x, KC_TRANSPORT_ANY, tag, &got, err)) == KC_OK && got)
                *busy = true;
        return status;
}

/* Take the records that have arrived, as far as there is room for them, from all ranks in turn. */
static enum kc_status take_phase(struct kc_ranks_exchange *x, int tag, bool *busy,
                                 struct kc_error *err)
{
        enum kc_status status = KC_OK;
        bool any = true;
        while (any && status == KC_OK) {
                any = false;
                for (int i = 0; i < x->nmembers && status == KC_OK; i++) {
                        const int from = x->ranks[i].member;
                        bool got = false;
                        if (from != x->transport->rank && has_room(x, from))
                                status = take_one(x, from, tag, &got, err);
                        any |= got;
                }
                *busy |= any;
        }
        return status;
}

/* Take whatever has come from ranks that have not settled, one message of a rank at a time, because
 * what follows a rank's TAG_SETTLED must not be taken yet. */
static enum kc_status take_rest(struct kc_ranks_exchange *x, bool *busy, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (int from = 0; from < x->transport->nranks && status == KC_OK; from++) {
                bool got = false;
                if (from != x->transport->rank && !x->ranks[from].settled &&
                    x->ranks[from].nreceiving == 0)
                        status = take_one(x, from, KC_TRANSPORT_ANY, &got, err);
                *busy |= got;
        }
        return status;
}

static enum kc_status take_arrived(struct kc_ranks_exchange *x, bool *busy, struct kc_error *err)
{
        enum kc_status status;
        bool beaten;
        pthread_mutex_lock(&x->lock);
        const bool settling = x->settling, records = kc_ranks_expects_records(x);
        const int records_tag = kc_ranks_records_tag(x);
        pthread_mutex_unlock(&x->lock);
        KC_TRY(take_tag(x, TAG_ALIVE, &beaten, err));
        if (settling)
                return take_rest(x, busy, err);
        KC_TRY(take_tag(x, TAG_FAILED, busy, err));
        if (records)
                KC_TRY(take_phase(x, records_tag, busy, err));
out:
        return status;
}

/* ---- turns ---- */

/* If nothing is urgent and few messages arrive, nap even after a busy turn: messages pile up until
 * the next look, and counting threads keep the cores. */
static void nap_after(struct kc_ranks_exchange *x, bool busy)
{
        long longest = IDLE_NAP_NS;
        pthread_mutex_lock(&x->lock);
        const bool much = x->narriving + x->nhandled >= KC_EXCHANGE_AHEAD - 1;
        const bool urgent = much || kc_ranks_is_urgent(x);
        /* a rank that is not a member only settles, and may be late for it */
        if (urgent && x->ranks[x->transport->rank].seat >= 0)
                longest = URGENT_NAP_NS;
        else if (x->posted != NULL || x->receiving.first != NULL)
                longest = MOVING_NAP_NS;
        else if (kc_ranks_expects_records(x))
                longest = LONG_NAP_NS;
        if (urgent && busy) {
                x->nap_ns = SHORT_NAP_NS;
        } else {
                x->nap_ns = x->nap_ns < longest ? x->nap_ns : longest;
                if (x->queue.first == NULL) /* none was enqueued since the pump looked */
                        kc_clock_wait(&x->work, &x->lock, x->nap_ns);
                x->nap_ns *= 2;
        }
        pthread_mutex_unlock(&x->lock);
}

/* Settling is over when all others have settled, too, and nothing from this rank is on its way but
 * failures: others may not take one before all have settled. When a rank leaves, not even those. */
static void end_settling(struct kc_ranks_exchange *x)
{
        const struct message *left = x->posted;
        pthread_mutex_lock(&x->lock);
        while (left != NULL && left->tag == TAG_FAILED && !x->leaving)
                left = left->next;
        if (x->settling && !x->broken && x->queue.first == NULL && left == NULL &&
            x->nsettled == x->transport->nranks - 1) {
                x->settling = false;
                x->nsettles++;
                x->failure = (struct kc_error){ 0 };
                x->phase = 0;
                pthread_cond_broadcast(&x->changed);
        }
        pthread_mutex_unlock(&x->lock);
}

static enum kc_status turn(struct kc_ranks_exchange *x, struct kc_error *err)
{
        enum kc_status status;
        bool busy = false;
        KC_TRY(watch(x, err));
        KC_TRY(post_queued(x, &busy, err));
        KC_TRY(free_sent(x, &busy, err));
        KC_TRY(take_arrived(x, &busy, err));
        KC_TRY(handle_received(x, &busy, err)); /* much of what was taken is complete by now */
        end_settling(x);
        nap_after(x, busy);
out:
        return status;
}

/* Once the exchange is broken, its callers find out by themselves: the pump has nothing to do. */
static bool must_stop(struct kc_ranks_exchange *x)
{
        pthread_mutex_lock(&x->lock);
        const bool stop = x->stop || x->broken;
        pthread_mutex_unlock(&x->lock);
        return stop;
}

void *kc_ranks_run_pump(void *arg)
{
        struct kc_ranks_exchange *x = arg;
        x->nap_ns = SHORT_NAP_NS;
        while (!must_stop(x)) {
                struct kc_error failure = { 0 };
                if (turn(x, &failure) == KC_OK)
                        continue;
                pthread_mutex_lock(&x->lock);
                kc_ranks_note_failure(x, &failure, FAILURE_BREAKS);
                pthread_mutex_unlock(&x->lock);
        }
        return NULL;
}
