#include "ranks/messages_state.h"

#include "base/clock.h"
#include "base/parallel.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A large message comes in pieces, and each piece takes a turn of both pumps, so there are many
 * messages of moderate size. */
enum {
        SPARE_MESSAGES = 12,
        ARRIVING_MESSAGES = 12,
};

static_assert(sizeof(struct record_header) + KC_EXCHANGE_MAX_NBYTES <= MESSAGE_NBYTES,
              "a record may not fit in a message");

static int nmessages(int nranks)
{
        return 2 * (nranks - 1) + SPARE_MESSAGES;
}

size_t kc_ranks_exchange_nbytes(int nranks)
{
        return ((size_t)nmessages(nranks) + ARRIVING_MESSAGES) * MESSAGE_NBYTES;
}

/* Lock held. */
static enum kc_status check(const struct kc_ranks_exchange *x, struct kc_error *err)
{
        return x->failure.status == KC_OK ? KC_OK : kc_fail_as(err, &x->failure);
}

void kc_ranks_note_failure(struct kc_ranks_exchange *x, const struct kc_error *failure, bool breaks)
{
        pthread_mutex_lock(&x->lock);
        if (breaks)
                x->failure = (struct kc_error){ 0 };
        x->broken |= breaks;
        kc_fail_as(&x->failure, failure);
        pthread_cond_broadcast(&x->changed);
        pthread_cond_broadcast(&x->room);
        pthread_mutex_unlock(&x->lock);
}

/* ---- messages out; lock held ---- */

static struct message *take_free(struct kc_ranks_exchange *x)
{
        struct message *message = kc_messages_pop(&x->free);
        if (message != NULL) {
                message->nbytes = 0;
                x->nfree--;
        }
        return message;
}

/* The caller then wakes the pump if it has to, as do callers of kc_ranks_send_to_others and
 * flush. */
static void enqueue(struct kc_ranks_exchange *x, struct message *message, int to, int tag)
{
        message->rank = to;
        message->tag = tag;
        x->nsent += tag >= TAG_RECORDS ? message->nbytes : 0;
        kc_messages_push(&x->queue, message);
}

void kc_ranks_send_to_others(struct kc_ranks_exchange *x, int tag, const void *data, size_t nbytes,
                             int *next)
{
        for (; *next < x->transport->nranks; ++*next) {
                struct message *message;
                if (*next == x->transport->rank || (tag >= TAG_GATHER && x->seats[*next] < 0))
                        continue;
                if ((message = take_free(x)) == NULL)
                        break;
                if (nbytes > 0)
                        memcpy(message->data, data, nbytes);
                message->nbytes = nbytes;
                enqueue(x, message, *next, tag);
        }
}

/* Wake the pump, and wait until there may be room, but not for long: some versions of glibc
 * occasionally lose a signal (glibc bug 25847). */
static void wait_for_room(struct kc_ranks_exchange *x)
{
        kc_ranks_wake_pump(x);
        kc_clock_wait(&x->room, &x->lock, 1000 * 1000 * 1000);
}

/* Send the same message to all other ranks; wait for free messages. */
static enum kc_status send_to_all(struct kc_ranks_exchange *x, int tag, const void *data,
                                  size_t nbytes, struct kc_error *err)
{
        enum kc_status status;
        int next = 0;
        while ((status = check(x, err)) == KC_OK) {
                kc_ranks_send_to_others(x, tag, data, nbytes, &next);
                if (next == x->transport->nranks)
                        break;
                wait_for_room(x);
        }
        kc_ranks_wake_pump(x);
        return status;
}

/* If threads are still copying records into the message, the last of them enqueues it. */
static void flush(struct kc_ranks_exchange *x, int to)
{
        struct message *message = x->filling[to];
        if (message == NULL || message->nbytes == 0) /* an empty one would end the phase */
                return;
        x->filling[to] = NULL;
        if (atomic_fetch_sub(&message->nholders, 1) == 1)
                enqueue(x, message, to, kc_ranks_records_tag(x));
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
                kc_ranks_wake_pump(x);
        }
        pthread_mutex_unlock(&x->lock);
        return status;
}

static bool has_room_for(const struct message *message, size_t nbytes)
{
        return message != NULL && (message->nbytes == 0 || message->nbytes + nbytes <= FULL_NBYTES);
}

/* Make room in the message that is being filled. While this waits, another thread may do the same,
 * and then both use the message that it gets. *urgent: the caller must wake the pump once it has
 * released the lock. */
static enum kc_status make_room(struct kc_ranks_exchange *x, int to, size_t nbytes, bool *urgent,
                                struct kc_error *err)
{
        enum kc_status status;
        *urgent = false;
        while ((status = check(x, err)) == KC_OK && !has_room_for(x->filling[to], nbytes)) {
                flush(x, to);
                *urgent = kc_ranks_is_urgent(x);
                x->filling[to] = take_free(x);
                if (x->filling[to] == NULL) {
                        wait_for_room(x);
                } else {
                        atomic_store(&x->filling[to]->nholders, 1);
                        pthread_cond_broadcast(&x->room);
                }
        }
        return status;
}

/* This thread has copied its records into the message. */
static void release(struct kc_ranks_exchange *x, struct message *message, int to)
{
        if (atomic_fetch_sub(&message->nholders, 1) > 1)
                return;
        pthread_mutex_lock(&x->lock);
        enqueue(x, message, to, kc_ranks_records_tag(x));
        const bool urgent = kc_ranks_is_urgent(x);
        pthread_mutex_unlock(&x->lock);
        if (urgent)
                kc_ranks_wake_pump(x);
}

/* Many threads send small records, so they copy them without the lock. */
static enum kc_status send_records(void *ctx, int member, uint32_t list, const uint8_t *data,
                                   size_t nbytes, struct kc_error *err)
{
        struct kc_ranks_exchange *x = ctx;
        const int to = x->members[member];
        const struct record_header header = { list, (uint32_t)nbytes };
        struct message *message = NULL;
        uint8_t *place = NULL;
        bool urgent;
        pthread_mutex_lock(&x->lock);
        const enum kc_status status = make_room(x, to, sizeof header + nbytes, &urgent, err);
        if (status == KC_OK) {
                message = x->filling[to];
                place = message->data + message->nbytes;
                message->nbytes += sizeof header + nbytes;
                atomic_fetch_add(&message->nholders, 1);
        }
        pthread_mutex_unlock(&x->lock);
        if (urgent)
                kc_ranks_wake_pump(x);
        if (status != KC_OK)
                return status;
        memcpy(place, &header, sizeof header);
        memcpy(place + sizeof header, data, nbytes);
        release(x, message, to);
        return KC_OK;
}

static enum kc_status end(void *ctx, struct kc_error *err)
{
        struct kc_ranks_exchange *x = ctx;
        pthread_mutex_lock(&x->lock);
        for (int to = 0; to < x->transport->nranks; to++)
                flush(x, to);
        x->ending = true;
        enum kc_status status = send_to_all(x, kc_ranks_records_tag(x), NULL, 0, err);
        while (status == KC_OK && x->nended < x->nmembers - 1) {
                pthread_cond_wait(&x->changed, &x->lock);
                status = check(x, err);
        }
        x->ending = false;
        kc_ranks_stop_taking(x);
        pthread_mutex_unlock(&x->lock);
        return status;
}

static void expect_gathered(struct kc_ranks_exchange *x, int nothers, size_t nbytes, void *all)
{
        x->nmissing = nothers;
        x->gathered = all;
        x->gathered_nbytes = nbytes;
}

static enum kc_status gather(void *ctx, const void *mine, size_t nbytes, void *all,
                             struct kc_error *err)
{
        struct kc_ranks_exchange *x = ctx;
        memcpy((uint8_t *)all + (size_t)x->seats[x->transport->rank] * nbytes, mine, nbytes);
        pthread_mutex_lock(&x->lock);
        x->gather++;
        expect_gathered(x, x->nmembers - 1, nbytes, all);
        enum kc_status status =
                send_to_all(x, TAG_GATHER + (int)(x->gather % 2), mine, nbytes, err);
        while (status == KC_OK && x->nmissing > 0) {
                pthread_cond_wait(&x->changed, &x->lock);
                status = check(x, err);
        }
        x->nmissing = 0;
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
        kc_ranks_note_failure(x, &failure, false);
        pthread_mutex_lock(&x->lock);
        kc_ranks_stop_taking(x);
        kc_ranks_wake_pump(x); /* it tells the others */
        pthread_mutex_unlock(&x->lock);
}

struct kc_exchange kc_ranks_exchange_interface(struct kc_ranks_exchange *x)
{
        return (struct kc_exchange){ .ctx = x,
                                     .rank = x->seats[x->transport->rank],
                                     .nranks = x->nmembers,
                                     .begin = begin,
                                     .send = send_records,
                                     .end = end,
                                     .gather = gather,
                                     .check = check_ranks,
                                     .fail = fail };
}

void kc_ranks_exchange_set_leaders(struct kc_ranks_exchange *x, const int *leaders)
{
        pthread_mutex_lock(&x->lock);
        x->nmembers = 0;
        for (int i = 0; i < x->transport->nranks; i++) {
                x->seats[i] = leaders[i] == i ? x->nmembers : -1;
                if (leaders[i] == i)
                        x->members[x->nmembers++] = i;
        }
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

static void free_messages(struct message *message)
{
        while (message != NULL) {
                struct message *next = message->next;
                free(message);
                message = next;
        }
}

static void free_all(struct kc_ranks_exchange *x)
{
        for (int i = 0; x->filling != NULL && i < x->transport->nranks; i++)
                free(x->filling[i]);
        free(x->filling);
        free(x->members);
        free(x->seats);
        free(x->settled);
        free(x->nwaiting);
        free(x->nreceiving);
        free_messages(x->free);
        free_messages(x->empty);
        free_messages(x->queue.first);
        free_messages(x->posted);
        free_messages(x->receiving.first);
        free(x->incoming);
        kc_watch_free(x->watch);
        pthread_cond_destroy(&x->arrival);
        pthread_cond_destroy(&x->work);
        pthread_cond_destroy(&x->room);
        pthread_cond_destroy(&x->changed);
        pthread_mutex_destroy(&x->lock);
        free(x);
}

static bool allocate_messages(struct message **list, int n)
{
        for (int i = 0; i < n; i++) {
                struct message *message = malloc(sizeof *message);
                if (message == NULL)
                        return false;
                kc_messages_keep(list, message);
        }
        return true;
}

static bool allocate(struct kc_ranks_exchange *x)
{
        const size_t nranks = (size_t)x->transport->nranks;
        x->filling = calloc(nranks, sizeof(struct message *));
        x->members = calloc(nranks, sizeof *x->members);
        x->seats = calloc(nranks, sizeof *x->seats);
        x->settled = calloc(nranks, sizeof *x->settled);
        x->nwaiting = calloc(nranks, sizeof *x->nwaiting);
        x->nreceiving = calloc(nranks, sizeof *x->nreceiving);
        if (x->filling == NULL || x->members == NULL || x->seats == NULL || x->settled == NULL ||
            x->nwaiting == NULL || x->nreceiving == NULL)
                return false;
        for (; x->nmembers < x->transport->nranks; x->nmembers++)
                x->members[x->nmembers] = x->seats[x->nmembers] = x->nmembers;
        return allocate_messages(&x->free, x->nmessages) &&
               allocate_messages(&x->empty, ARRIVING_MESSAGES);
}

/* Called once the pump has ended, if there was one. */
static void finish_taking(struct kc_ranks_exchange *x)
{
        pthread_mutex_lock(&x->lock);
        x->finished = true;
        pthread_cond_signal(&x->arrival);
        pthread_mutex_unlock(&x->lock);
        pthread_join(x->taking, NULL);
}

static bool start_threads(struct kc_ranks_exchange *x)
{
        if (kc_thread_create(&x->taking, kc_ranks_run_taking, x) != 0)
                return false;
        if (kc_thread_create(&x->pump, kc_ranks_run_pump, x) == 0)
                return true;
        finish_taking(x);
        return false;
}

enum kc_status kc_ranks_exchange_new(struct kc_ranks_exchange **exchange,
                                     const struct kc_transport *transport, struct kc_error *err)
{
        struct kc_ranks_exchange *x = calloc(1, sizeof *x);
        *exchange = NULL;
        if (x == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for messages");
        x->transport = transport;
        x->nmessages = x->nfree = nmessages(transport->nranks);
        x->patience_seconds = KC_TRANSPORT_PATIENCE_S;
        pthread_mutex_init(&x->lock, NULL);
        pthread_cond_init(&x->changed, NULL);
        pthread_cond_init(&x->room, NULL);
        pthread_cond_init(&x->work, NULL);
        pthread_cond_init(&x->arrival, NULL);
        if (!allocate(x) || kc_watch_new(&x->watch, transport, TAG_ALIVE, err) != KC_OK ||
            !start_threads(x)) {
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
                if (x->filling[to] != NULL) {
                        kc_ranks_keep_free(x, x->filling[to]);
                        x->filling[to] = NULL;
                }
}

enum kc_status kc_ranks_exchange_settle(struct kc_ranks_exchange *x, const void *mine,
                                        size_t nbytes, void *all, struct kc_error *err)
{
        memcpy((uint8_t *)all + (size_t)x->transport->rank * nbytes, mine, nbytes);
        pthread_mutex_lock(&x->lock);
        kc_ranks_stop_taking(x);
        drop_filling(x);
        memset(x->settled, 0, (size_t)x->transport->nranks * sizeof *x->settled);
        expect_gathered(x, kc_ranks_nothers(x), nbytes, all);
        x->mine = mine;
        x->settling = true;
        kc_ranks_wake_pump(x);
        while (x->settling && !x->broken)
                pthread_cond_wait(&x->changed, &x->lock);
        const enum kc_status status = x->broken ? check(x, err) : KC_OK;
        pthread_mutex_unlock(&x->lock);
        return status;
}

bool kc_ranks_exchange_free(struct kc_ranks_exchange *x)
{
        if (x == NULL)
                return false;
        pthread_mutex_lock(&x->lock);
        x->leaving = true;
        kc_ranks_wake_pump(x);
        pthread_mutex_unlock(&x->lock);
        pthread_join(x->pump, NULL);
        finish_taking(x);
        const bool broken = x->broken;
        free_all(x);
        return broken;
}
