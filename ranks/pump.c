#include "ranks/messages_state.h"

#include "base/clock.h"

#include <string.h>

/* Naps between looks for messages. A large message comes in pieces, only a few each time both ranks
 * look, so naps are shorter while any message is on its way. */
enum {
        IDLE_NAP_NS = 10 * 1000 * 1000, /* when only a failure may come */
        LONG_NAP_NS = 2000 * 1000,      /* when no message is on its way */
        MOVING_NAP_NS = 1000 * 1000,    /* when a message is on its way */
        /* While something is urgent, and for a while after that: the first nap and the longest.
         * Each nap is twice as long as the one before, until something happens. */
        SHORT_NAP_NS = 50 * 1000,
        URGENT_NAP_NS = 400 * 1000,
};

/* ---- messages out ---- */

static enum kc_status post(struct kc_ranks_exchange *x, struct message *message,
                           struct kc_error *err)
{
        const struct kc_transport *t = x->transport;
        kc_messages_keep(&x->posted, message);
        return t->post(t->ctx, message->rank, message->tag, message->data, message->nbytes,
                       &message->request, err);
}

static enum kc_status post_queued(struct kc_ranks_exchange *x, bool *busy, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        pthread_mutex_lock(&x->lock);
        struct message *message = x->queue.first;
        x->queue.first = NULL;
        pthread_mutex_unlock(&x->lock);
        while (message != NULL && status == KC_OK) {
                struct message *next = message->next;
                *busy = true;
                status = post(x, message, err);
                message = next;
        }
        return status;
}

static enum kc_status free_sent(struct kc_ranks_exchange *x, bool *busy, struct kc_error *err)
{
        const struct kc_transport *t = x->transport;
        enum kc_status status = KC_OK;
        for (struct message **m = &x->posted; *m != NULL && status == KC_OK;) {
                struct message *message = *m;
                bool done = false;
                status = t->sent(t->ctx, message->request, &done, err);
                if (!done) {
                        m = &message->next;
                        continue;
                }
                *m = message->next;
                *busy = true;
                pthread_mutex_lock(&x->lock);
                kc_ranks_keep_free(x, message);
                pthread_cond_signal(&x->room);
                pthread_mutex_unlock(&x->lock);
        }
        return status;
}

/* ---- messages in ---- */

/* When settling, what was sent for a gather that has failed is dropped. */
static void take_gathered(struct kc_ranks_exchange *x, const struct message *message)
{
        const int from = message->rank;
        const bool settled = message->tag == TAG_SETTLED;
        pthread_mutex_lock(&x->lock);
        if (x->nmissing > 0 && settled == x->settling) {
                const int place = settled ? from : x->seats[from];
                memcpy(x->gathered + (size_t)place * x->gathered_nbytes, message->data,
                       x->gathered_nbytes);
                x->nmissing--;
                x->settled[from] = settled;
                pthread_cond_broadcast(&x->changed);
        }
        pthread_mutex_unlock(&x->lock);
}

static void take_leave(struct kc_ranks_exchange *x, int from)
{
        kc_watch_left(x->watch, from);
        pthread_mutex_lock(&x->lock);
        x->nleft++;
        pthread_mutex_unlock(&x->lock);
}

static void take_failure(struct kc_ranks_exchange *x)
{
        struct kc_error failure = { 0 };
        kc_fail(&failure, KC_ECANCELED, "another rank has failed");
        kc_ranks_note_failure(x, &failure, false);
        x->nwarned = x->transport->nranks; /* by that rank */
}

static void handle(struct kc_ranks_exchange *x, struct message *message)
{
        const int from = message->rank, tag = message->tag;
        kc_watch_heard(x->watch, from);
        if (tag >= TAG_RECORDS) {
                kc_ranks_deliver(x, message);
                return;
        }
        if (tag >= TAG_GATHER || tag == TAG_SETTLED)
                take_gathered(x, message);
        else if (tag == TAG_LEFT)
                take_leave(x, from);
        else if (tag == TAG_FAILED)
                take_failure(x);
        pthread_mutex_lock(&x->lock);
        kc_messages_keep(&x->empty, message);
        pthread_mutex_unlock(&x->lock);
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
                        status = t->taken(t->ctx, message->request, &done, &message->nbytes, err);
                if (status != KC_OK || !done) {
                        kc_messages_push(&x->receiving, message);
                        continue;
                }
                *busy = true;
                x->nreceiving[message->rank]--;
                x->nhandled++;
                handle(x, message);
        }
        return status;
}

static bool has_incoming(struct kc_ranks_exchange *x)
{
        if (x->incoming == NULL) {
                pthread_mutex_lock(&x->lock);
                x->incoming = kc_messages_pop(&x->empty);
                pthread_mutex_unlock(&x->lock);
        }
        return x->incoming != NULL;
}

/* Begin to receive a message of this kind, if one has arrived and there is room for it. */
static enum kc_status take_one(struct kc_ranks_exchange *x, int from, int tag, bool *got,
                               struct kc_error *err)
{
        const struct kc_transport *t = x->transport;
        struct message *message;
        enum kc_status status;
        *got = false;
        if (!has_incoming(x))
                return KC_OK;
        message = x->incoming;
        status = t->take(t->ctx, from, tag, message->data, MESSAGE_NBYTES, &message->rank,
                         &message->tag, &message->request, err);
        if (status == KC_OK && message->rank >= 0) {
                *got = true;
                x->incoming = NULL;
                x->nreceiving[message->rank]++;
                kc_messages_push(&x->receiving, message);
        }
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
                        const int from = x->members[i];
                        bool got = false;
                        if (from != x->transport->rank && kc_ranks_has_room(x, from))
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
                if (from != x->transport->rank && !x->settled[from] && x->nreceiving[from] == 0)
                        status = take_one(x, from, KC_TRANSPORT_ANY, &got, err);
                *busy |= got;
        }
        return status;
}

/* What the pump looks for. */
struct wanted {
        bool records, gathered, rest, failed, leave;
        int records_tag, gather_tag;
        double patience_seconds;
};

static struct wanted get_wanted(struct kc_ranks_exchange *x)
{
        pthread_mutex_lock(&x->lock);
        const struct wanted wanted = { .records = kc_ranks_expects_records(x),
                                       .gathered = x->nmissing > 0,
                                       .rest = x->settling,
                                       .failed = x->failure.status != KC_OK,
                                       .leave = x->leaving,
                                       .patience_seconds = x->patience_seconds,
                                       .records_tag = kc_ranks_records_tag(x),
                                       .gather_tag = TAG_GATHER + (int)(x->gather % 2) };
        pthread_mutex_unlock(&x->lock);
        return wanted;
}

static enum kc_status take_arrived(struct kc_ranks_exchange *x, const struct wanted *wanted,
                                   bool *busy, struct kc_error *err)
{
        enum kc_status status;
        bool beaten;
        KC_TRY(take_tag(x, TAG_LEFT, busy, err));
        KC_TRY(take_tag(x, TAG_ALIVE, &beaten, err)); /* also those sent before TAG_LEFT */
        if (wanted->rest)
                return take_rest(x, busy, err);
        KC_TRY(take_tag(x, TAG_FAILED, busy, err));
        if (wanted->records)
                KC_TRY(take_phase(x, wanted->records_tag, busy, err));
        if (wanted->gathered)
                KC_TRY(take_tag(x, wanted->gather_tag, busy, err));
out:
        return status;
}

/* ---- turns ---- */

/* Tell the other ranks what they have to know: that a rank has failed, and only after that this
 * rank's values; or that this rank leaves. */
static void tell_others(struct kc_ranks_exchange *x, const struct wanted *wanted)
{
        pthread_mutex_lock(&x->lock);
        if (wanted->failed)
                kc_ranks_send_to_others(x, TAG_FAILED, NULL, 0, &x->nwarned);
        if (wanted->rest && (!wanted->failed || x->nwarned == x->transport->nranks))
                kc_ranks_send_to_others(x, TAG_SETTLED, x->mine, x->gathered_nbytes, &x->nsettled);
        if (wanted->leave)
                kc_ranks_send_to_others(x, TAG_LEFT, NULL, 0, &x->ntold);
        pthread_mutex_unlock(&x->lock);
}

/* Lock held. Messages may have been enqueued since the pump looked. */
static void nap(struct kc_ranks_exchange *x, long nanoseconds)
{
        if (x->queue.first == NULL)
                kc_clock_wait(&x->work, &x->lock, nanoseconds);
}

/* Whether this turn has found so much that more probably waits at the ranks that have sent it. */
static bool receives_much(const struct kc_ranks_exchange *x)
{
        int n = 0;
        for (int from = 0; from < x->transport->nranks; from++)
                n += x->nreceiving[from];
        return n + x->nhandled >= MOST_RECEIVING / 2;
}

/* Lock held. */
static long rare_nap_ns(const struct kc_ranks_exchange *x)
{
        if (x->posted != NULL || x->receiving.first != NULL)
                return MOVING_NAP_NS;
        return kc_ranks_expects_records(x) ? LONG_NAP_NS : IDLE_NAP_NS;
}

/* If nothing is urgent and few messages arrive, nap even after a busy turn: messages pile up until
 * the next look, and counting threads keep the cores. */
static void nap_after(struct kc_ranks_exchange *x, bool busy)
{
        pthread_mutex_lock(&x->lock);
        const bool urgent = kc_ranks_is_urgent(x) || receives_much(x);
        const long longest = kc_ranks_is_patient(x) ? IDLE_NAP_NS : URGENT_NAP_NS;
        if (urgent && busy) {
                x->nap_ns = SHORT_NAP_NS;
        } else if (urgent || x->nap_ns < longest) {
                nap(x, x->nap_ns);
                x->nap_ns = x->nap_ns < longest / 2 ? 2 * x->nap_ns : longest;
        } else {
                nap(x, rare_nap_ns(x));
        }
        pthread_mutex_unlock(&x->lock);
}

/* Settling is over when nothing of this rank's is on its way, and all others have settled, too. */
static void end_settling(struct kc_ranks_exchange *x)
{
        pthread_mutex_lock(&x->lock);
        const bool sent =
                x->nsettled == x->transport->nranks && x->queue.first == NULL && x->posted == NULL;
        if (x->settling && sent && x->nmissing == 0) {
                x->settling = false;
                x->failure = (struct kc_error){ 0 };
                x->phase = x->gather = 0;
                x->nsettled = x->nwarned = 0;
                pthread_cond_broadcast(&x->changed);
        }
        pthread_mutex_unlock(&x->lock);
}

/* This rank may stop when all others are leaving too and nothing of its own is on its way. */
static void end_leaving(struct kc_ranks_exchange *x)
{
        pthread_mutex_lock(&x->lock);
        x->stop = x->ntold == x->transport->nranks && x->queue.first == NULL && x->posted == NULL &&
                  x->receiving.first == NULL && x->nleft == kc_ranks_nothers(x) &&
                  kc_watch_is_quiet(x->watch);
        pthread_mutex_unlock(&x->lock);
}

static enum kc_status turn(struct kc_ranks_exchange *x, struct kc_error *err)
{
        const struct wanted wanted = get_wanted(x);
        enum kc_status status;
        bool busy = false;
        tell_others(x, &wanted);
        KC_TRY(post_queued(x, &busy, err));
        KC_TRY(free_sent(x, &busy, err));
        KC_TRY(take_arrived(x, &wanted, &busy, err));
        KC_TRY(handle_received(x, &busy, err)); /* much of what was taken is complete by now */
        KC_TRY(kc_watch_turn(x->watch, !wanted.leave, wanted.patience_seconds, err));
        if (wanted.rest)
                end_settling(x);
        if (wanted.leave)
                end_leaving(x);
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
                if (turn(x, &failure) != KC_OK)
                        kc_ranks_note_failure(x, &failure, true);
        }
        return NULL;
}
