#include "ranks/exchange.h"

#include "base/parallel.h"
#include "ranks/watch.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
        MESSAGE_NBYTES = 1 << 20,
        SPARE_MESSAGES = 4,
        /* Between looks for messages, in a phase or a gather: a message needs several steps of both
         * ranks, so the nap after one is short; while nothing comes, each is twice the last one. */
        SHORT_NAP_NS = 50 * 1000,
        LONG_NAP_NS = 1000 * 1000,
        IDLE_NAP_NS = 10 * 1000 * 1000, /* when only a failure may come */
};

/* Of two phases, or gathers, that follow each other, messages of the second can arrive before those
 * of the first, but not those of the third: the second does not end without this rank. */
enum tag {
        TAG_FAILED,
        TAG_SETTLED,
        TAG_ALIVE,                    /* see ranks/watch.h */
        TAG_LEFT,                     /* nothing more follows from this rank */
        TAG_GATHER,                   /* and the next */
        TAG_RECORDS = TAG_GATHER + 2, /* and the next; an empty message ends a rank's phase */
};

struct message {
        struct message *next;
        int to, tag;
        size_t nbytes;
        void *request;
        uint8_t data[MESSAGE_NBYTES];
};

/* In a message, before the records of a list. */
struct record_header {
        uint32_t list, nbytes;
};

struct kc_ranks_exchange {
        const struct kc_transport *transport;
        pthread_t pump;
        pthread_mutex_t lock;   /* guards what follows, except `incoming` and `posted` */
        pthread_cond_t changed; /* for callers */
        pthread_cond_t work;    /* for the pump */
        struct message *free;
        struct message **filling; /* [nranks] with records; or NULL */
        struct message *queue, **queue_end;
        struct kc_error failure; /* of this rank or, as KC_ECANCELED, of another */
        bool broken;             /* the transport has failed */
        /* the phase */
        struct kc_exchange_taker taker;
        bool takes;    /* this phase's records; they are dropped after a failure */
        bool in_taker; /* the pump is calling it */
        unsigned phase;
        int nended; /* ranks that send nothing more in it */
        /* the gather; settling is one, too */
        unsigned gather;
        int nmissing;        /* other ranks whose values have not arrived */
        const uint8_t *mine; /* this rank's values, when settling */
        uint8_t *gathered;
        size_t gathered_nbytes; /* of a rank */
        /* settling */
        bool settling;
        bool *settled; /* [nranks] other ranks of which nothing more is to be taken */
        /* the end */
        bool leaving, stop;
        int nleft; /* other ranks that have left */
        double patience_seconds;
        uint64_t nsent, ntaken;
        /* the pump's */
        uint8_t *incoming;      /* [MESSAGE_NBYTES] */
        struct message *posted; /* on their way */
        int nwarned;  /* ranks below this have been sent the failure; nranks: no more need be */
        int nsettled; /* ranks below this have been sent this rank's values */
        int ntold;    /* ranks below this have been told that this rank leaves */
        struct kc_watch *watch;
        long nap_ns; /* the next nap between looks for messages */
};

static int nothers(const struct kc_ranks_exchange *x)
{
        return x->transport->nranks - 1;
}

static int nmessages(int nranks)
{
        return 2 * (nranks - 1) + SPARE_MESSAGES;
}

size_t kc_ranks_exchange_nbytes(int nranks)
{
        return ((size_t)nmessages(nranks) + 1) * MESSAGE_NBYTES;
}

/* Lock held. */
static enum kc_status check(const struct kc_ranks_exchange *x, struct kc_error *err)
{
        return x->failure.status == KC_OK ? KC_OK : kc_fail_as(err, &x->failure);
}

/* A failure that breaks the exchange replaces one that was noted before. */
static void note_failure(struct kc_ranks_exchange *x, const struct kc_error *failure, bool breaks)
{
        pthread_mutex_lock(&x->lock);
        if (breaks)
                x->failure = (struct kc_error){ 0 };
        x->broken |= breaks;
        kc_fail_as(&x->failure, failure);
        pthread_cond_broadcast(&x->changed);
        pthread_mutex_unlock(&x->lock);
}

/* ---- messages out; lock held ---- */

static struct message *take_free(struct kc_ranks_exchange *x)
{
        struct message *message = x->free;
        if (message != NULL) {
                x->free = message->next;
                message->nbytes = 0;
        }
        return message;
}

static void enqueue(struct kc_ranks_exchange *x, struct message *message, int to, int tag)
{
        message->to = to;
        message->tag = tag;
        message->next = NULL;
        x->nsent += tag >= TAG_RECORDS ? message->nbytes : 0;
        *x->queue_end = message;
        x->queue_end = &message->next;
        pthread_cond_signal(&x->work);
}

/* Wait for a free message. */
static enum kc_status get_message(struct kc_ranks_exchange *x, struct message **message,
                                  struct kc_error *err)
{
        enum kc_status status;
        while ((status = check(x, err)) == KC_OK && (*message = take_free(x)) == NULL)
                pthread_cond_wait(&x->changed, &x->lock);
        return status;
}

/* Send the same message to all other ranks, as far as there are free messages; the caller goes on later.
 *   next  in/out: ranks below this have been sent it */
static void send_to_others(struct kc_ranks_exchange *x, int tag, const void *data, size_t nbytes,
                           int *next)
{
        for (; *next < x->transport->nranks; ++*next) {
                struct message *message;
                if (*next == x->transport->rank)
                        continue;
                if ((message = take_free(x)) == NULL)
                        break;
                if (nbytes > 0)
                        memcpy(message->data, data, nbytes);
                message->nbytes = nbytes;
                enqueue(x, message, *next, tag);
        }
}

/* Likewise, but wait for free messages. */
static enum kc_status send_to_all(struct kc_ranks_exchange *x, int tag, const void *data,
                                  size_t nbytes, struct kc_error *err)
{
        enum kc_status status;
        int next = 0;
        while ((status = check(x, err)) == KC_OK) {
                send_to_others(x, tag, data, nbytes, &next);
                if (next == x->transport->nranks)
                        break;
                pthread_cond_wait(&x->changed, &x->lock);
        }
        return status;
}

static int records_tag(const struct kc_ranks_exchange *x)
{
        return TAG_RECORDS + (int)(x->phase % 2);
}

static void flush(struct kc_ranks_exchange *x, int to)
{
        struct message *message = x->filling[to];
        x->filling[to] = NULL;
        if (message != NULL)
                enqueue(x, message, to, records_tag(x));
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

/* Make room in the message that is being filled. While this waits, another thread may do the same. */
static enum kc_status make_room(struct kc_ranks_exchange *x, int to, size_t nbytes,
                                struct kc_error *err)
{
        enum kc_status status = check(x, err);
        while (status == KC_OK) {
                struct message *message = x->filling[to];
                if (message != NULL && message->nbytes + nbytes <= MESSAGE_NBYTES)
                        break;
                flush(x, to);
                status = get_message(x, &message, err);
                if (status != KC_OK)
                        break;
                if (x->filling[to] != NULL)
                        enqueue(x, x->filling[to], to, records_tag(x));
                x->filling[to] = message;
        }
        return status;
}

static enum kc_status send_records(void *ctx, int to, uint32_t list, const uint8_t *data,
                                   size_t nbytes, struct kc_error *err)
{
        struct kc_ranks_exchange *x = ctx;
        const struct record_header header = { list, (uint32_t)nbytes };
        pthread_mutex_lock(&x->lock);
        const enum kc_status status = make_room(x, to, sizeof header + nbytes, err);
        if (status == KC_OK) {
                struct message *message = x->filling[to];
                memcpy(message->data + message->nbytes, &header, sizeof header);
                memcpy(message->data + message->nbytes + sizeof header, data, nbytes);
                message->nbytes += sizeof header + nbytes;
        }
        pthread_mutex_unlock(&x->lock);
        return status;
}

static void flush_records(void *ctx, int to)
{
        struct kc_ranks_exchange *x = ctx;
        pthread_mutex_lock(&x->lock);
        flush(x, to);
        pthread_mutex_unlock(&x->lock);
}

/* No call of the taker after this. Lock held. */
static void stop_taking(struct kc_ranks_exchange *x)
{
        x->takes = false;
        while (x->in_taker)
                pthread_cond_wait(&x->changed, &x->lock);
}

static enum kc_status end(void *ctx, struct kc_error *err)
{
        struct kc_ranks_exchange *x = ctx;
        pthread_mutex_lock(&x->lock);
        for (int to = 0; to < x->transport->nranks; to++)
                flush(x, to);
        enum kc_status status = send_to_all(x, records_tag(x), NULL, 0, err);
        while (status == KC_OK && x->nended < nothers(x)) {
                pthread_cond_wait(&x->changed, &x->lock);
                status = check(x, err);
        }
        stop_taking(x);
        pthread_mutex_unlock(&x->lock);
        return status;
}

static void expect_gathered(struct kc_ranks_exchange *x, size_t nbytes, void *all)
{
        x->nmissing = nothers(x);
        x->gathered = all;
        x->gathered_nbytes = nbytes;
}

static enum kc_status gather(void *ctx, const void *mine, size_t nbytes, void *all,
                             struct kc_error *err)
{
        struct kc_ranks_exchange *x = ctx;
        memcpy((uint8_t *)all + (size_t)x->transport->rank * nbytes, mine, nbytes);
        pthread_mutex_lock(&x->lock);
        x->gather++;
        expect_gathered(x, nbytes, all);
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
        note_failure(x, &failure, false);
        pthread_mutex_lock(&x->lock);
        stop_taking(x);
        pthread_cond_signal(&x->work); /* the pump tells the others */
        pthread_mutex_unlock(&x->lock);
}

struct kc_exchange kc_ranks_exchange_interface(struct kc_ranks_exchange *x)
{
        return (struct kc_exchange){ .ctx = x,
                                     .rank = x->transport->rank,
                                     .nranks = x->transport->nranks,
                                     .begin = begin,
                                     .send = send_records,
                                     .flush = flush_records,
                                     .end = end,
                                     .gather = gather,
                                     .check = check_ranks,
                                     .fail = fail };
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

/* ---- the pump: messages out ---- */

static enum kc_status post(struct kc_ranks_exchange *x, struct message *message,
                           struct kc_error *err)
{
        const struct kc_transport *t = x->transport;
        message->next = x->posted;
        x->posted = message;
        return t->post(t->ctx, message->to, message->tag, message->data, message->nbytes,
                       &message->request, err);
}

static enum kc_status post_queued(struct kc_ranks_exchange *x, bool *busy, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        pthread_mutex_lock(&x->lock);
        struct message *message = x->queue;
        x->queue = NULL;
        x->queue_end = &x->queue;
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
                message->next = x->free;
                x->free = message;
                pthread_cond_broadcast(&x->changed);
                pthread_mutex_unlock(&x->lock);
        }
        return status;
}

/* ---- the pump: messages in ---- */

static enum kc_status hand_over(const struct kc_exchange_taker *taker, const uint8_t *data,
                                size_t nbytes, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (size_t at = 0; at < nbytes && status == KC_OK;) {
                struct record_header header;
                memcpy(&header, data + at, sizeof header);
                at += sizeof header;
                status = taker->take(taker->ctx, header.list, data + at, header.nbytes, err);
                at += header.nbytes;
        }
        return status;
}

/* False: the taker may not be called any more. Otherwise, call leave_taker afterwards. */
static bool enter_taker(struct kc_ranks_exchange *x)
{
        pthread_mutex_lock(&x->lock);
        const bool takes = x->takes && x->failure.status == KC_OK;
        x->in_taker = takes;
        pthread_mutex_unlock(&x->lock);
        return takes;
}

static void leave_taker(struct kc_ranks_exchange *x)
{
        pthread_mutex_lock(&x->lock);
        x->in_taker = false;
        pthread_cond_broadcast(&x->changed);
        pthread_mutex_unlock(&x->lock);
}

static void take_records(struct kc_ranks_exchange *x, size_t nbytes)
{
        struct kc_error failure = { 0 };
        if (enter_taker(x)) {
                if (hand_over(&x->taker, x->incoming, nbytes, &failure) != KC_OK)
                        note_failure(x, &failure, false);
                leave_taker(x);
        }
        pthread_mutex_lock(&x->lock);
        x->ntaken += nbytes;
        x->nended += nbytes == 0;
        pthread_cond_broadcast(&x->changed);
        pthread_mutex_unlock(&x->lock);
}

/* When settling, what was sent for a gather that has failed is dropped. */
static void take_gathered(struct kc_ranks_exchange *x, int from, bool settled)
{
        pthread_mutex_lock(&x->lock);
        if (x->nmissing > 0 && settled == x->settling) {
                memcpy(x->gathered + (size_t)from * x->gathered_nbytes, x->incoming,
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

static void handle(struct kc_ranks_exchange *x, int from, int tag, size_t nbytes)
{
        struct kc_error failure = { 0 };
        kc_watch_heard(x->watch, from);
        if (tag >= TAG_RECORDS) {
                take_records(x, nbytes);
        } else if (tag >= TAG_GATHER || tag == TAG_SETTLED) {
                take_gathered(x, from, tag == TAG_SETTLED);
        } else if (tag == TAG_LEFT) {
                take_leave(x, from);
        } else if (tag == TAG_FAILED) {
                kc_fail(&failure, KC_ECANCELED, "another rank has failed");
                note_failure(x, &failure, false);
                x->nwarned = x->transport->nranks; /* by that rank */
        }
}

/* Take a message of this kind, if one has arrived. */
static enum kc_status take_one(struct kc_ranks_exchange *x, int from, int tag, bool *got,
                               struct kc_error *err)
{
        const struct kc_transport *t = x->transport;
        int got_from, got_tag;
        size_t nbytes;
        const enum kc_status status = t->take(t->ctx, from, tag, x->incoming, MESSAGE_NBYTES,
                                              &got_from, &got_tag, &nbytes, err);
        *got = status == KC_OK && got_from >= 0;
        if (*got)
                handle(x, got_from, got_tag, nbytes);
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

/* Whether the taker has room for what this rank sends. */
static bool is_ready(struct kc_ranks_exchange *x, int from)
{
        if (!enter_taker(x))
                return false;
        const bool ready = x->taker.ready == NULL || x->taker.ready(x->taker.ctx, from);
        leave_taker(x);
        return ready;
}

/* Take the records that have arrived, as far as the taker has room for them. */
static enum kc_status take_phase(struct kc_ranks_exchange *x, int tag, bool *busy,
                                 struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (int from = 0; from < x->transport->nranks && status == KC_OK; from++) {
                bool got = from != x->transport->rank;
                while (got && status == KC_OK && is_ready(x, from)) {
                        status = take_one(x, from, tag, &got, err);
                        *busy |= got;
                }
        }
        return status;
}

/* Take whatever has come from ranks that have not settled: after that, it belongs to what follows. */
static enum kc_status take_rest(struct kc_ranks_exchange *x, bool *busy, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (int from = 0; from < x->transport->nranks && status == KC_OK; from++) {
                bool got = from != x->transport->rank;
                while (got && status == KC_OK && !x->settled[from]) {
                        status = take_one(x, from, KC_TRANSPORT_ANY, &got, err);
                        *busy |= got;
                }
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
        const struct wanted wanted = { .records = x->takes &&
                                                  x->nended<nothers(x), .gathered = x->nmissing> 0,
                                       .rest = x->settling,
                                       .failed = x->failure.status != KC_OK,
                                       .leave = x->leaving,
                                       .patience_seconds = x->patience_seconds,
                                       .records_tag = records_tag(x),
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

/* ---- the pump ---- */

/* What the other ranks are to know: that a rank has failed, and only then this rank's values; or
 * that this rank leaves. */
static void tell_others(struct kc_ranks_exchange *x, const struct wanted *wanted)
{
        pthread_mutex_lock(&x->lock);
        if (wanted->failed)
                send_to_others(x, TAG_FAILED, NULL, 0, &x->nwarned);
        if (wanted->rest && (!wanted->failed || x->nwarned == x->transport->nranks))
                send_to_others(x, TAG_SETTLED, x->mine, x->gathered_nbytes, &x->nsettled);
        if (wanted->leave)
                send_to_others(x, TAG_LEFT, NULL, 0, &x->ntold);
        pthread_mutex_unlock(&x->lock);
}

static void nap(struct kc_ranks_exchange *x, long nanoseconds)
{
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += nanoseconds;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_mutex_lock(&x->lock);
        if (x->queue == NULL)
                pthread_cond_timedwait(&x->work, &x->lock, &until);
        pthread_mutex_unlock(&x->lock);
}

/* After a turn in which nothing happened. */
static void nap_after(struct kc_ranks_exchange *x, const struct wanted *wanted)
{
        if (wanted->records || wanted->gathered || wanted->rest || wanted->leave ||
            x->posted != NULL) {
                nap(x, x->nap_ns);
                x->nap_ns = x->nap_ns < LONG_NAP_NS / 2 ? 2 * x->nap_ns : LONG_NAP_NS;
        } else {
                nap(x, IDLE_NAP_NS);
        }
}

/* Settling is over when nothing of this rank's is on its way, and all others have settled, too. */
static void end_settling(struct kc_ranks_exchange *x)
{
        pthread_mutex_lock(&x->lock);
        const bool sent =
                x->nsettled == x->transport->nranks && x->queue == NULL && x->posted == NULL;
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
        x->stop = x->ntold == x->transport->nranks && x->queue == NULL && x->posted == NULL &&
                  x->nleft == nothers(x) && kc_watch_is_quiet(x->watch);
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
        KC_TRY(kc_watch_turn(x->watch, !wanted.leave, wanted.patience_seconds, err));
        if (wanted.rest)
                end_settling(x);
        if (wanted.leave)
                end_leaving(x);
        if (busy)
                x->nap_ns = SHORT_NAP_NS;
        else
                nap_after(x, &wanted);
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

static void *run_pump(void *arg)
{
        struct kc_ranks_exchange *x = arg;
        while (!must_stop(x)) {
                struct kc_error failure = { 0 };
                if (turn(x, &failure) != KC_OK)
                        note_failure(x, &failure, true);
        }
        return NULL;
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
        free(x->settled);
        free_messages(x->free);
        free_messages(x->queue);
        free_messages(x->posted);
        free(x->incoming);
        kc_watch_free(x->watch);
        pthread_cond_destroy(&x->work);
        pthread_cond_destroy(&x->changed);
        pthread_mutex_destroy(&x->lock);
        free(x);
}

static bool allocate(struct kc_ranks_exchange *x)
{
        x->filling = calloc((size_t)x->transport->nranks, sizeof(struct message *));
        x->settled = calloc((size_t)x->transport->nranks, sizeof *x->settled);
        x->incoming = malloc(MESSAGE_NBYTES);
        for (int i = 0; i < nmessages(x->transport->nranks); i++) {
                struct message *message = malloc(sizeof *message);
                if (message == NULL)
                        return false;
                message->next = x->free;
                x->free = message;
        }
        return x->filling != NULL && x->settled != NULL && x->incoming != NULL;
}

enum kc_status kc_ranks_exchange_new(struct kc_ranks_exchange **exchange,
                                     const struct kc_transport *transport, struct kc_error *err)
{
        struct kc_ranks_exchange *x = calloc(1, sizeof *x);
        *exchange = NULL;
        if (x == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for messages");
        x->transport = transport;
        x->nap_ns = SHORT_NAP_NS;
        x->patience_seconds = KC_TRANSPORT_PATIENCE_S;
        x->queue_end = &x->queue;
        pthread_mutex_init(&x->lock, NULL);
        pthread_cond_init(&x->changed, NULL);
        pthread_cond_init(&x->work, NULL);
        if (!allocate(x) || kc_watch_new(&x->watch, transport, TAG_ALIVE, err) != KC_OK ||
            kc_thread_create(&x->pump, run_pump, x) != 0) {
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
                        x->filling[to]->next = x->free;
                        x->free = x->filling[to];
                        x->filling[to] = NULL;
                }
}

enum kc_status kc_ranks_exchange_settle(struct kc_ranks_exchange *x, const void *mine,
                                        size_t nbytes, void *all, struct kc_error *err)
{
        memcpy((uint8_t *)all + (size_t)x->transport->rank * nbytes, mine, nbytes);
        pthread_mutex_lock(&x->lock);
        stop_taking(x);
        drop_filling(x);
        memset(x->settled, 0, (size_t)x->transport->nranks * sizeof *x->settled);
        expect_gathered(x, nbytes, all);
        x->mine = mine;
        x->settling = true;
        pthread_cond_signal(&x->work);
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
        pthread_cond_signal(&x->work);
        pthread_mutex_unlock(&x->lock);
        pthread_join(x->pump, NULL);
        const bool broken = x->broken;
        free_all(x);
        return broken;
}
