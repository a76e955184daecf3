#include "ranks/broadcast.h"

#include "base/clock.h"
#include "base/job.h"
#include "ranks/messages_state.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
        /* A batch of at most this size fits in one record. If reads are short, a word has at least
         * half of its bases; if they are long, there are few segments. */
        MAX_WORDS = 44 << 10,
        MAX_SEGMENTS = 13 << 10,
        INBOX_NBYTES = 8 << 20,
        NAP_NS = 1000 * 1000, /* between looks for room, for the end and for failures */
};

/* In a parcel, before the words and the segments. */
struct parcel_header {
        uint32_t nwords, nsegments;
};

static_assert(sizeof(struct parcel_header) + MAX_WORDS * sizeof(uint64_t) +
                              MAX_SEGMENTS * sizeof(struct kc_segment) <=
                      KC_EXCHANGE_MAX_NBYTES,
              "a batch may be too long for a record");

enum stage {
        STAGE_NEW,
        STAGE_OPEN,
        STAGE_CLOSED, /* this rank sends no more */
        STAGE_ENDING, /* a worker looks whether all ranks are at their end */
        STAGE_OVER,   /* no rank sends any more, and everything has arrived */
};

enum worker_state { WORKER_NEW, WORKER_READING, WORKER_ENDED };

struct kc_broadcast {
        struct kc_broadcast_setup setup;
        pthread_mutex_t lock;   /* guards all below */
        pthread_cond_t changed; /* for workers */
        enum stage stage;
        struct kc_error failure;
        uint32_t max_words, max_segments; /* of a batch, so that every rank has room for it */
        struct message_queue inbox;
        size_t inbox_nbytes;
        int nreading;
        enum worker_state workers[]; /* [nworkers] */
};

uint64_t kc_broadcast_nbytes(int nranks, int nworkers)
{
        const uint64_t nothers = (uint64_t)nranks - 1, n = (uint64_t)nworkers;
        const uint64_t ncoming = nothers * KC_EXCHANGE_AHEAD; /* to a full inbox */
        const uint64_t nsent = n * nothers; /* by workers that have found room at the same time */
        return (2 * n + nsent + ncoming) * KC_EXCHANGE_MAX_NBYTES + INBOX_NBYTES;
}

/* ---- failure ---- */

/* Lock held. The exchange does not wake a worker when a rank has failed. */
static enum kc_status check(const struct kc_broadcast *b, struct kc_error *err)
{
        const struct kc_exchange *exchange = b->setup.exchange;
        if (b->failure.status != KC_OK)
                return kc_fail_as(err, &b->failure);
        if (kc_job_is_canceled(b->setup.job))
                return kc_fail(err, KC_ECANCELED, "canceled");
        return exchange->check(exchange->ctx, err);
}

/* ---- from other ranks: called by the exchange ---- */

static enum kc_status take(void *ctx, uint32_t list, const uint8_t *data, size_t nbytes,
                           struct kc_error *err)
{
        struct kc_broadcast *b = ctx;
        struct message *parcel;
        (void)list;
        if (kc_ranks_new_message(&parcel, nbytes, err) != KC_OK)
                return err->status;
        parcel->nbytes = nbytes;
        memcpy(parcel->data, data, nbytes);
        pthread_mutex_lock(&b->lock);
        kc_messages_push(&b->inbox, parcel);
        b->inbox_nbytes += nbytes;
        pthread_cond_broadcast(&b->changed);
        pthread_mutex_unlock(&b->lock);
        return KC_OK;
}

static bool ready(void *ctx)
{
        struct kc_broadcast *b = ctx;
        pthread_mutex_lock(&b->lock);
        const bool room = b->inbox_nbytes < INBOX_NBYTES;
        pthread_mutex_unlock(&b->lock);
        return room;
}

/* ---- to other ranks ---- */

static enum kc_status send(struct kc_broadcast *b, const struct kc_batch *batch,
                           struct kc_error *err)
{
        const struct kc_exchange *exchange = b->setup.exchange;
        const struct parcel_header header = { batch->nwords, batch->nsegments };
        const size_t words = batch->nwords * sizeof *batch->words;
        const size_t segments = batch->nsegments * sizeof *batch->segments;
        const size_t nbytes = sizeof header + words + segments;
        enum kc_status status = KC_OK;
        uint8_t *data = malloc(nbytes);
        if (data == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for reads to send");
        memcpy(data, &header, sizeof header);
        memcpy(data + sizeof header, batch->words, words);
        memcpy(data + sizeof header + words, batch->segments, segments);
        for (int to = 0; to < exchange->nranks && status == KC_OK; to++)
                if (to != exchange->rank)
                        status = exchange->send(exchange->ctx, to, 0, data, nbytes, err);
        free(data);
        return status;
}

/* The worker's own source is at its end. */
static void end_reading(struct kc_broadcast *b, int worker)
{
        pthread_mutex_lock(&b->lock);
        b->workers[worker] = WORKER_ENDED;
        if (--b->nreading == 0 && b->stage == STAGE_OPEN)
                b->stage = STAGE_CLOSED;
        pthread_mutex_unlock(&b->lock);
}

/* Look whether all ranks are at their end. Lock held, but released meanwhile: the exchange may be
 * asking whether this rank is ready. */
static enum kc_status try_to_end(struct kc_broadcast *b, struct kc_error *err)
{
        const struct kc_exchange *exchange = b->setup.exchange;
        bool over;
        b->stage = STAGE_ENDING;
        pthread_mutex_unlock(&b->lock);
        const enum kc_status status = exchange->end(exchange->ctx, &over, err);
        pthread_mutex_lock(&b->lock);
        b->stage = status == KC_OK && over ? STAGE_OVER : STAGE_CLOSED;
        pthread_cond_broadcast(&b->changed);
        return status;
}

/* ---- the source ---- */

/* Agree on the size of a batch, and begin the phase. Lock held. */
static enum kc_status open_phase(struct kc_broadcast *b, const struct kc_batch *batch,
                                 struct kc_error *err)
{
        const struct kc_exchange *exchange = b->setup.exchange;
        const struct kc_exchange_taker taker = {
                .ctx = b, .take = take, .ready = ready, .overfills = true, .urgent = true
        };
        uint64_t caps[] = { batch->words_cap, batch->segments_cap };
        enum kc_status status;
        KC_TRY(check(b, err));
        KC_TRY(kc_exchange_combine(exchange, KC_EXCHANGE_LEAST, caps, 2, err));
        b->max_words = caps[0] < MAX_WORDS ? (uint32_t)caps[0] : MAX_WORDS;
        b->max_segments = caps[1] < MAX_SEGMENTS ? (uint32_t)caps[1] : MAX_SEGMENTS;
        KC_TRY(exchange->begin(exchange->ctx, &taker, err));
        b->stage = STAGE_OPEN;
out:
        return status == KC_OK ? KC_OK : kc_fail_as(&b->failure, err);
}

/* The first worker begins the phase; the others wait for it at the lock. */
static enum kc_status begin(struct kc_broadcast *b, int worker, const struct kc_batch *batch,
                            struct kc_error *err)
{
        enum kc_status status = KC_OK;
        pthread_mutex_lock(&b->lock);
        if (b->stage == STAGE_NEW)
                status = open_phase(b, batch, err);
        if (b->workers[worker] == WORKER_NEW) {
                b->workers[worker] = WORKER_READING;
                b->nreading++;
        }
        pthread_mutex_unlock(&b->lock);
        return status;
}

/* What a worker does next. */
struct turn {
        struct message *parcel; /* pass this on to the engine; or NULL */
        bool reads;             /* read its own part; it can be sent at once */
};

/* Lock held. The batches of all ranks should come equally fast: a worker reads unless much has
 * arrived, or there is no room for what it would send. */
static bool find_turn(struct kc_broadcast *b, int worker, struct turn *turn)
{
        const struct kc_exchange *exchange = b->setup.exchange;
        *turn = (struct turn){ 0 };
        if (b->workers[worker] == WORKER_READING && b->inbox_nbytes < INBOX_NBYTES / 2 &&
            exchange->has_room(exchange->ctx))
                turn->reads = true;
        else
                turn->parcel = kc_messages_pop(&b->inbox.first);
        if (turn->parcel != NULL)
                b->inbox_nbytes -= turn->parcel->nbytes;
        return turn->reads || turn->parcel != NULL ||
               (b->stage == STAGE_OVER && b->workers[worker] == WORKER_ENDED);
}

/* Wait until there is something to do. A turn neither to read nor to pass on: there is no more. */
static enum kc_status next_turn(struct kc_broadcast *b, int worker, struct turn *turn,
                                struct kc_error *err)
{
        enum kc_status status;
        pthread_mutex_lock(&b->lock);
        while ((status = check(b, err)) == KC_OK && !find_turn(b, worker, turn)) {
                if (b->stage == STAGE_CLOSED)
                        KC_TRY(try_to_end(b, err));
                if (b->stage != STAGE_OVER)
                        kc_clock_wait(&b->changed, &b->lock, NAP_NS);
        }
out:
        pthread_mutex_unlock(&b->lock);
        return status;
}

/* Fill the batch from this rank's part, with no more than every rank can take, and send it. */
static enum kc_status read_own(struct kc_broadcast *b, int worker, struct kc_batch *batch,
                               struct kc_error *err)
{
        const struct kc_batch_source *own = b->setup.own;
        const uint32_t words_cap = batch->words_cap, segments_cap = batch->segments_cap;
        batch->words_cap = b->max_words;
        batch->segments_cap = b->max_segments;
        enum kc_status status = own->next(own->ctx, worker, batch, err);
        batch->words_cap = words_cap;
        batch->segments_cap = segments_cap;
        if (status != KC_OK)
                return status;
        if (batch->nsegments == 0)
                return end_reading(b, worker), KC_OK;
        pthread_mutex_lock(&b->lock);
        const bool late = b->stage != STAGE_OPEN;
        pthread_mutex_unlock(&b->lock);
        return late ? kc_fail(err, KC_EUSAGE, "a worker came late") : send(b, batch, err);
}

static void unpack(const struct message *parcel, struct kc_batch *batch)
{
        struct parcel_header header;
        const uint8_t *from = parcel->data;
        memcpy(&header, from, sizeof header);
        from += sizeof header;
        batch->nwords = header.nwords;
        batch->nsegments = header.nsegments;
        memcpy(batch->words, from, header.nwords * sizeof *batch->words);
        from += header.nwords * sizeof *batch->words;
        memcpy(batch->segments, from, header.nsegments * sizeof *batch->segments);
}

/* Fill the batch from either side; it stays empty only at the end of both. */
static enum kc_status fill(struct kc_broadcast *b, int worker, struct kc_batch *batch,
                           struct kc_error *err)
{
        enum kc_status status;
        struct turn turn;
        batch->nwords = batch->nsegments = 0;
        do {
                KC_TRY(next_turn(b, worker, &turn, err));
                if (turn.parcel != NULL)
                        unpack(turn.parcel, batch);
                free(turn.parcel);
                if (turn.reads)
                        KC_TRY(read_own(b, worker, batch, err));
        } while (batch->nsegments == 0 && turn.reads);
out:
        return status;
}

static enum kc_status next(void *ctx, int worker, struct kc_batch *batch, struct kc_error *err)
{
        struct kc_broadcast *b = ctx;
        struct kc_error failure = { 0 };
        enum kc_status status = begin(b, worker, batch, &failure);
        if (status == KC_OK)
                status = fill(b, worker, batch, &failure);
        if (status == KC_OK)
                return KC_OK;
        pthread_mutex_lock(&b->lock);
        kc_fail_as(&b->failure, &failure);
        pthread_cond_broadcast(&b->changed);
        pthread_mutex_unlock(&b->lock);
        return kc_fail_as(err, &failure);
}

/* ---- life ---- */

enum kc_status kc_broadcast_new(struct kc_broadcast **broadcast,
                                const struct kc_broadcast_setup *setup, struct kc_error *err)
{
        const size_t nworkers = (size_t)setup->nworkers;
        struct kc_broadcast *b = calloc(1, sizeof *b + nworkers * sizeof *b->workers);
        *broadcast = b;
        if (b == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        b->setup = *setup;
        pthread_mutex_init(&b->lock, NULL);
        pthread_cond_init(&b->changed, NULL);
        return KC_OK;
}

struct kc_batch_source kc_broadcast_source(struct kc_broadcast *b)
{
        return (struct kc_batch_source){ .ctx = b, .next = next };
}

void kc_broadcast_free(struct kc_broadcast *b)
{
        if (b == NULL)
                return;
        if (b->stage != STAGE_NEW &&
            b->stage != STAGE_OVER) /* the exchange may still call the taker */
                b->setup.exchange->fail(b->setup.exchange->ctx);
        kc_messages_free(b->inbox.first);
        pthread_cond_destroy(&b->changed);
        pthread_mutex_destroy(&b->lock);
        free(b);
}
