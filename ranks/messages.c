#include "ranks/messages_state.h"

#include "base/clock.h"
#include "base/parallel.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A large message comes in pieces, and each piece takes a turn of both pumps, so there are many
 * messages of moderate size. */
enum {
        FULL_NBYTES = 128 << 10, /* a message of this size is sent */
        SPARE_MESSAGES = 12,
};

static_assert(sizeof(struct record_header) + KC_EXCHANGE_MAX_NBYTES <= MESSAGE_NBYTES,
              "a record may not fit in a message");

static int most_out(int nranks)
{
        return 2 * (nranks - 1) + SPARE_MESSAGES;
}

size_t kc_ranks_exchange_nbytes(int nranks)
{
        return ((size_t)most_out(nranks) + KC_EXCHANGE_ARRIVING) * MESSAGE_NBYTES;
}

/* Lock held. */
static enum kc_status check(const struct kc_ranks_exchange *x, struct kc_error *err)
{
        return x->failure.status == KC_OK ? KC_OK : kc_fail_as(err, &x->failure);
}

/* The last values that a rank sends are its last message: while it leaves, it tells no failure. */
void kc_ranks_note_failure(struct kc_ranks_exchange *x, const struct kc_error *failure,
                           enum whose_failure whose)
{
        const bool tells = whose == FAILURE_OWN && x->failure.status == KC_OK && !x->leaving;
        struct kc_error err = { 0 };
        if (whose == FAILURE_BREAKS)
                x->failure = (struct kc_error){ 0 };
        kc_fail_as(&x->failure, failure);
        x->broken |= whose == FAILURE_BREAKS ||
                     (tells && kc_ranks_send_to_others(x, TAG_FAILED, &x->nsettles,
                                                       sizeof x->nsettles, &err) != KC_OK);
        pthread_cond_broadcast(&x->changed);
        pthread_cond_broadcast(&x->room);
}

/* The taker is not called after this; records that still arrive are dropped. Lock held. */
static void stop_taking(struct kc_ranks_exchange *x)
{
        x->takes = false;
        while (x->taking)
                pthread_cond_wait(&x->changed, &x->lock);
}

/* ---- messages out; lock held ---- */

enum kc_status kc_ranks_new_message(struct message **message, size_t cap, struct kc_error *err)
{
        *message = malloc(sizeof **message + cap);
        if (*message == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for messages");
        (*message)->nbytes = 0;
        (*message)->cap = cap;
        return KC_OK;
}

void kc_messages_free(struct message *list)
{
        struct message *message;
        while ((message = kc_messages_pop(&list)) != NULL)
                free(message);
}

static void enqueue(struct kc_ranks_exchange *x, struct message *message, int to, int tag)
{
        message->rank = to;
        message->tag = tag;
        x->nsent += tag >= TAG_RECORDS ? message->nbytes : 0;
        kc_messages_push(&x->queue, message);
}

enum kc_status kc_ranks_send_to_others(struct kc_ranks_exchange *x, int tag, const void *data,
                                       size_t nbytes, struct kc_error *err)
{
        for (int to = 0; to < x->transport->nranks; to++) {
                struct message *message;
                if (to == x->transport->rank || (tag >= TAG_RECORDS && x->ranks[to].seat < 0))
                        continue;
                const enum kc_status status = kc_ranks_new_message(&message, nbytes, err);
                if (status != KC_OK)
                        return status;
                if (nbytes > 0)
                        memcpy(message->data, data, nbytes);
                message->nbytes = nbytes;
                enqueue(x, message, to, tag);
        }
        return KC_OK;
}

static void flush(struct kc_ranks_exchange *x, int to)
{
        struct message *message = x->ranks[to].filling;
        if (message == NULL || message->nbytes == 0) /* an empty one would end the phase */
                return;
        x->ranks[to].filling = NULL;
        enqueue(x, message, to, kc_ranks_records_tag(x));
        if (kc_ranks_is_urgent(x))
                pthread_cond_signal(&x->work);
}

/* ---- the interface ---- */

static enum kc_status begin(void *ctx, const struct kc_exchange_taker *taker, struct kc_error *err)
{
        struct kc_ranks_exchange *x = ctx;
        pthread_mutex_lock(&x->lock);
        const enum kc_status status = check(x, err);
        if (status == KC_OK) {
                x->taker = *taker;
                x->phase++;
                x->nended = 0;
                x->takes = true;
                pthread_cond_signal(&x->work);
        }
        pthread_mutex_unlock(&x->lock);
        return status;
}

static bool has_room_for(const struct message *message, size_t nbytes)
{
        return message != NULL && (message->nbytes == 0 || message->nbytes + nbytes <= FULL_NBYTES);
}

/* Begin another message if there may be one. Otherwise wait until there may be room, but not for
 * long: some versions of glibc occasionally lose a signal (glibc bug 25847). */
static enum kc_status begin_filling(struct kc_ranks_exchange *x, int to, struct kc_error *err)
{
        if (x->nout >= x->most_out && !x->taker.overfills) {
                pthread_cond_signal(&x->work);
                kc_clock_wait(&x->room, &x->lock, 1000 * 1000 * 1000);
                return KC_OK;
        }
        struct message *message = kc_messages_pop(&x->free);
        if (message == NULL && kc_ranks_new_message(&message, MESSAGE_NBYTES, err) != KC_OK)
                return err->status;
        message->nbytes = 0;
        x->nout++;
        x->ranks[to].filling = message;
        pthread_cond_broadcast(&x->room); /* for those that send to the same rank */
        return KC_OK;
}

/* Make room in the message that is being filled. While this waits, another thread may do the same,
 * and then both use the message that it gets. Lock held. */
static enum kc_status make_room(struct kc_ranks_exchange *x, int to, size_t nbytes,
                                struct kc_error *err)
{
        enum kc_status status;
        while ((status = check(x, err)) == KC_OK && !has_room_for(x->ranks[to].filling, nbytes)) {
                flush(x, to);
                KC_TRY(begin_filling(x, to, err));
        }
out:
        return status;
}

static enum kc_status send_records(void *ctx, int member, uint32_t list, const uint8_t *data,
                                   size_t nbytes, struct kc_error *err)
{
        struct kc_ranks_exchange *x = ctx;
        const int to = x->ranks[member].member;
        const struct record_header header = { list, (uint32_t)nbytes };
        pthread_mutex_lock(&x->lock);
        const enum kc_status status = make_room(x, to, sizeof header + nbytes, err);
        if (status == KC_OK) {
                struct message *message = x->ranks[to].filling;
                uint8_t *place = message->data + message->nbytes;
                memcpy(place, &header, sizeof header);
                memcpy(place + sizeof header, data, nbytes);
                message->nbytes += sizeof header + nbytes;
        }
        pthread_mutex_unlock(&x->lock);
        return status;
}

static bool has_room(void *ctx)
{
        struct kc_ranks_exchange *x = ctx;
        pthread_mutex_lock(&x->lock);
        const bool room = x->nout < x->most_out;
        pthread_mutex_unlock(&x->lock);
        return room;
}

static enum kc_status end(void *ctx, bool *over, struct kc_error *err)
{
        struct kc_ranks_exchange *x = ctx;
        enum kc_status status = KC_OK;
        pthread_mutex_lock(&x->lock);
        if (!x->closed) {
                for (int to = 0; to < x->transport->nranks; to++)
                        flush(x, to);
                x->closed = true;
                status = kc_ranks_send_to_others(x, kc_ranks_records_tag(x), NULL, 0, err);
                pthread_cond_signal(&x->work);
        }
        while (status == KC_OK && (status = check(x, err)) == KC_OK && over == NULL &&
               x->nended < x->nmembers - 1)
                pthread_cond_wait(&x->changed, &x->lock);
        const bool ended = status != KC_OK || x->nended == x->nmembers - 1;
        if (ended) {
                x->closed = false;
                stop_taking(x);
        }
        if (over != NULL)
                *over = ended;
        pthread_mutex_unlock(&x->lock);
        return status;
}

static enum kc_status check_ranks(void *ctx, struct kc_error *err)
{
        struct kc_ranks_exchange *x = ctx;
        pthread_mutex_lock(&x->lock);
        const enum kc_status status = check(x, err);
        pthread_mutex_unlock(&x->lock);
        return status;
}

static void fail(void *ctx)
{
        struct kc_ranks_exchange *x = ctx;
        struct kc_error failure = { 0 };
        kc_fail(&failure, KC_ECANCELED, "canceled");
        pthread_mutex_lock(&x->lock);
        kc_ranks_note_failure(x, &failure, FAILURE_OWN);
        pthread_cond_signal(&x->work);
        stop_taking(x);
        pthread_mutex_unlock(&x->lock);
}

struct kc_exchange kc_ranks_exchange_interface(struct kc_ranks_exchange *x)
{
        return (struct kc_exchange){ .ctx = x,
                                     .rank = x->ranks[x->transport->rank].seat,
                                     .nranks = x->nmembers,
                                     .begin = begin,
                                     .send = send_records,
                                     .has_room = has_room,
                                     .end = end,
                                     .check = check_ranks,
                                     .fail = fail };
}

void kc_ranks_exchange_set_leaders(struct kc_ranks_exchange *x, const int *leaders)
{
        pthread_mutex_lock(&x->lock);
        x->nmembers = 0;
        for (int i = 0; i < x->transport->nranks; i++) {
                x->ranks[i].seat = leaders[i] == i ? x->nmembers : -1;
                if (leaders[i] == i)
                        x->ranks[x->nmembers++].member = i;
        }
        x->most_out = most_out(x->nmembers);
        pthread_mutex_unlock(&x->lock);
}

void kc_ranks_exchange_set_patience(struct kc_ranks_exchange *x, double seconds)
{
        pthread_mutex_lock(&x->lock);
        x->patience_seconds = seconds;
        pthread_mutex_unlock(&x->lock);
}

void kc_ranks_exchange_totals(struct kc_ranks_exchange *x, uint64_t *nsent, uint64_t *ntaken)
{
        pthread_mutex_lock(&x->lock);
        *nsent = x->nsent;
        *ntaken = x->ntaken;
        pthread_mutex_unlock(&x->lock);
}

/* ---- life ---- */

static void free_all(struct kc_ranks_exchange *x)
{
        for (int i = 0; x->ranks != NULL && i < x->transport->nranks; i++)
                free(x->ranks[i].filling);
        free(x->ranks);
        kc_messages_free(x->free);
        kc_messages_free(x->empty);
        kc_messages_free(x->queue.first);
        kc_messages_free(x->posted);
        kc_messages_free(x->receiving.first);
        pthread_cond_destroy(&x->work);
        pthread_cond_destroy(&x->room);
        pthread_cond_destroy(&x->changed);
        pthread_mutex_destroy(&x->lock);
        free(x);
}

enum kc_status kc_ranks_exchange_new(struct kc_ranks_exchange **exchange,
                                     const struct kc_transport *transport, struct kc_error *err)
{
        struct kc_ranks_exchange *x = calloc(1, sizeof *x);
        *exchange = NULL;
        if (x == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for messages");
        x->transport = transport;
        x->most_out = most_out(transport->nranks);
        x->patience_seconds = KC_TRANSPORT_PATIENCE_S;
        pthread_mutex_init(&x->lock, NULL);
        pthread_cond_init(&x->changed, NULL);
        pthread_cond_init(&x->room, NULL);
        pthread_cond_init(&x->work, NULL);
        x->turned = x->beaten = kc_clock_seconds();
        x->ranks = calloc((size_t)transport->nranks, sizeof *x->ranks);
        for (; x->ranks != NULL && x->nmembers < transport->nranks; x->nmembers++)
                x->ranks[x->nmembers].seat = x->ranks[x->nmembers].member = x->nmembers;
        if (x->ranks == NULL || kc_thread_create(&x->pump, kc_ranks_run_pump, x) != 0) {
                free_all(x);
                return kc_fail(err, KC_ENOMEM, "out of memory for messages");
        }
        *exchange = x;
        return KC_OK;
}

/* Records that were not sent are not wanted any more. */
static void drop_filling(struct kc_ranks_exchange *x)
{
        for (int to = 0; to < x->transport->nranks; to++)
                if (x->ranks[to].filling != NULL) {
                        kc_messages_keep(&x->free, x->ranks[to].filling);
                        x->ranks[to].filling = NULL;
                        x->nout--;
                }
}

enum kc_status kc_ranks_exchange_settle(struct kc_ranks_exchange *x, const void *mine,
                                        size_t nbytes, void *all, struct kc_error *err)
{
        struct kc_error failure = { 0 };
        memcpy((uint8_t *)all + (size_t)x->transport->rank * nbytes, mine, nbytes);
        pthread_mutex_lock(&x->lock);
        stop_taking(x);
        drop_filling(x);
        x->closed = false;
        for (int i = 0; i < x->transport->nranks; i++)
                x->ranks[i].settled = false;
        x->nsettled = 0;
        x->all = all;
        x->each_nbytes = nbytes;
        x->settling = true;
        if (kc_ranks_send_to_others(x, TAG_SETTLED, mine, nbytes, &failure) != KC_OK)
                kc_ranks_note_failure(x, &failure, FAILURE_BREAKS);
        pthread_cond_signal(&x->work);
        while (x->settling && !x->broken)
                pthread_cond_wait(&x->changed, &x->lock);
        const enum kc_status status = x->broken ? check(x, err) : KC_OK;
        pthread_mutex_unlock(&x->lock);
        return status;
}

/* Once all have settled for the last time, nothing is on its way: each rank sends its last beat
 * before it settles. */
bool kc_ranks_exchange_free(struct kc_ranks_exchange *x)
{
        struct kc_error err = { 0 };
        uint8_t nothing = 0;
        if (x == NULL)
                return false;
        pthread_mutex_lock(&x->lock);
        x->leaving = true;
        pthread_mutex_unlock(&x->lock);
        (void)kc_ranks_exchange_settle(x, &nothing, 0, &nothing, &err);
        pthread_mutex_lock(&x->lock);
        x->stop = true;
        pthread_cond_signal(&x->work);
        pthread_mutex_unlock(&x->lock);
        pthread_join(x->pump, NULL);
        const bool broken = x->broken;
        free_all(x);
        return broken;
}
