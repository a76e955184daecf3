#include "ranks/run.h"

#include "base/turn.h"
#include "ranks/run/part_encoder.h"
#include "ranks/run/stripe.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
        /* of the blocks in a frame, roughly; see KC_PART_MAX_BLOCKS */
        SENT_NBYTES = 128 << 10,
        QUEUE_NBYTES = 1 << 20, /* of a rank: beyond that, its frames wait where they are */
        COUNTS_NBYTES = KC_PART_MAX_BLOCKS * KC_BLOCK_NKMERS * 4,
        DESCRIPTION_NBYTES = KC_PART_MAX_BLOCKS * 76 + KC_RUN_NROWS * 8 + 256,
};

/* A frame is sent in one piece: the counts, the description of the blocks, and the words, which may
 * exceed their limit by a block. */
static_assert(COUNTS_NBYTES + DESCRIPTION_NBYTES + SENT_NBYTES + 72000 <= KC_EXCHANGE_MAX_NBYTES,
              "a frame may be too long");

/* What a rank sends of a part. */
enum frame_kind { FRAME_PAIRS, FRAME_BLOCKS, FRAME_END };

/* The arrays follow, each at a multiple of 8 bytes.
 *   pairs:   kmers, counts
 *   blocks:  firsts, last, rows, block_nwords, big_counts, words */
struct frame_header {
        uint32_t kind, nblocks;
        uint64_t n, nwords, nbig;
};

/* On rank 0. */
struct frame {
        struct frame *next;
        uint64_t part;
        size_t nbytes;
        _Alignas(8) uint8_t data[];
};

struct queue {
        struct frame *first, **end;
        size_t nbytes;
};

/* On other ranks: a part that a sorter is putting. */
struct sender {
        struct sender *next;
        struct kc_joint_run *run;
        struct kc_part_encoder *encoder;
        uint64_t part;
        bool has_turn;
        uint8_t *buffer; /* [KC_EXCHANGE_MAX_NBYTES] */
};

struct kc_joint_run {
        struct kc_joint_run_setup setup;
        pthread_mutex_t lock; /* guards all below */
        pthread_cond_t changed;
        bool canceled;
        struct queue *queues; /* [nranks] on rank 0 */
        struct sender *idle, *busy;
        struct kc_turn turn;      /* of this rank's parts, to be sent */
        struct kc_stripe *stripe; /* belongs to the thread that has the turn; not on rank 0 */
};

static size_t rounded(size_t nbytes)
{
        return (nbytes + 7) / 8 * 8;
}

static int owner(const struct kc_joint_run *run, uint64_t part)
{
        return kc_exchange_owner(run->setup.exchange, part, run->setup.stripe);
}

/* How many parts before this one belong to the same rank. */
static uint64_t turn_of(const struct kc_joint_run *run, uint64_t part)
{
        const uint64_t stripe = run->setup.stripe;
        return part / stripe / (uint64_t)run->setup.exchange->nranks * stripe + part % stripe;
}

/* ---- other ranks: encode and send ---- */

static uint8_t *put_array(uint8_t *to, const void *data, size_t nbytes)
{
        memcpy(to, data, nbytes);
        memset(to + nbytes, 0, rounded(nbytes) - nbytes);
        return to + rounded(nbytes);
}

/* Parts are sent in the order of their numbers. */
static enum kc_status take_turn(struct sender *s, struct kc_error *err)
{
        if (s->has_turn)
                return KC_OK;
        if (!kc_turn_wait(&s->run->turn, turn_of(s->run, s->part)))
                return kc_fail(err, KC_ECANCELED, "canceled");
        s->has_turn = true;
        if (s->part % s->run->setup.stripe == 0)
                kc_stripe_begin(s->run->stripe, s->run->setup.starts[s->part]);
        return KC_OK;
}

/* By the sender that has the turn. */
static enum kc_status send_frame(struct sender *s, const struct frame_header *header,
                                 const uint8_t *end, struct kc_error *err)
{
        const struct kc_exchange *exchange = s->run->setup.exchange;
        memcpy(s->buffer, header, sizeof *header);
        return exchange->send(exchange->ctx, 0, (uint32_t)s->part, s->buffer,
                              (size_t)(end - s->buffer), err);
}

static enum kc_status send_pairs(void *ctx, const uint64_t *kmers, const uint32_t *counts, size_t n,
                                 struct kc_error *err)
{
        struct sender *s = ctx;
        const struct frame_header header = { .kind = FRAME_PAIRS, .n = n };
        uint8_t *to = s->buffer + sizeof header;
        to = put_array(to, kmers, n * (size_t)s->run->setup.nwords * sizeof *kmers);
        to = put_array(to, counts, n * sizeof *counts);
        return send_frame(s, &header, to, err);
}

static enum kc_status send_blocks(void *ctx, const struct kc_run_blocks *b, struct kc_error *err)
{
        struct sender *s = ctx;
        const struct frame_header header = { .kind = FRAME_BLOCKS,
                                             .nblocks = (uint32_t)b->nblocks,
                                             .n = b->n,
                                             .nwords = b->nwords,
                                             .nbig = b->nbig };
        const size_t kmer_nbytes = (size_t)s->run->setup.nwords * sizeof(uint64_t);
        uint8_t *to = s->buffer + sizeof header;
        to = put_array(to, b->firsts, b->nblocks * kmer_nbytes);
        to = put_array(to, b->last_kmer, kmer_nbytes);
        to = put_array(to, b->rows, KC_RUN_NROWS * sizeof *b->rows);
        to = put_array(to, b->block_nwords, b->nblocks * sizeof *b->block_nwords);
        to = put_array(to, b->big_counts, b->nbig * sizeof *b->big_counts);
        to = put_array(to, b->words, b->nwords * sizeof *b->words);
        return send_frame(s, &header, to, err);
}

/* ---- other ranks: from parts to stripes ---- */

static struct kc_part_taker taker_of_stripe(struct sender *s)
{
        return (struct kc_part_taker){ s, send_pairs, send_blocks };
}

static enum kc_status add_pairs(void *ctx, const uint64_t *kmers, const uint32_t *counts, size_t n,
                                struct kc_error *err)
{
        struct sender *s = ctx;
        const struct kc_part_taker taker = taker_of_stripe(s);
        enum kc_status status;
        KC_TRY(take_turn(s, err));
        KC_TRY(kc_stripe_add_pairs(s->run->stripe, kmers, counts, n, &taker, err));
out:
        return status;
}

static enum kc_status add_blocks(void *ctx, const struct kc_run_blocks *b, struct kc_error *err)
{
        struct sender *s = ctx;
        const struct kc_part_taker taker = taker_of_stripe(s);
        enum kc_status status;
        KC_TRY(take_turn(s, err));
        KC_TRY(kc_stripe_add_blocks(s->run->stripe, b, &taker, err));
out:
        return status;
}

static bool ends_stripe(const struct kc_joint_run *run, uint64_t part)
{
        return (part + 1) % run->setup.stripe == 0 || part + 1 == run->setup.nparts;
}

/* After the last piece of a part. */
static enum kc_status send_end(struct sender *s, struct kc_error *err)
{
        struct kc_joint_run *run = s->run;
        const struct kc_part_taker taker = taker_of_stripe(s);
        const struct frame_header header = { .kind = FRAME_END };
        enum kc_status status;
        KC_TRY(take_turn(s, err));
        if (ends_stripe(run, s->part))
                KC_TRY(kc_stripe_end(run->stripe, &taker, err));
        KC_TRY(send_frame(s, &header, s->buffer + sizeof header, err));
        if (ends_stripe(run, s->part))
                run->setup.exchange->flush(run->setup.exchange->ctx, 0);
out:
        return status;
}

static void free_sender(struct sender *s)
{
        if (s == NULL)
                return;
        kc_part_encoder_free(s->encoder);
        free(s->buffer);
        free(s);
}

static enum kc_status new_sender(struct kc_joint_run *run, struct sender **out,
                                 struct kc_error *err)
{
        struct sender *s = calloc(1, sizeof *s);
        enum kc_status status = KC_ENOMEM;
        if (s != NULL && (s->buffer = malloc(KC_EXCHANGE_MAX_NBYTES)) != NULL)
                status = kc_part_encoder_new(&s->encoder, run->setup.nwords, SENT_NBYTES, err);
        if (status != KC_OK) {
                free_sender(s);
                return kc_fail(err, KC_ENOMEM, "out of memory for encoding blocks");
        }
        s->run = run;
        *out = s;
        return KC_OK;
}

/* The sender of this part, which only one thread puts. */
static struct sender *find_sender(struct kc_joint_run *run, uint64_t part)
{
        pthread_mutex_lock(&run->lock);
        struct sender *s = run->busy;
        while (s != NULL && s->part != part)
                s = s->next;
        pthread_mutex_unlock(&run->lock);
        return s;
}

static enum kc_status begin_part(struct kc_joint_run *run, uint64_t part, struct sender **sender,
                                 struct kc_error *err)
{
        const uint64_t *start = &run->setup.starts[part];
        pthread_mutex_lock(&run->lock);
        struct sender *s = run->idle;
        if (s != NULL)
                run->idle = s->next;
        pthread_mutex_unlock(&run->lock);
        if (s == NULL) {
                const enum kc_status status = new_sender(run, &s, err);
                if (status != KC_OK)
                        return status;
        }
        s->part = part;
        s->has_turn = false;
        kc_part_encoder_begin(s->encoder, start[0], start[1] - start[0]);
        pthread_mutex_lock(&run->lock);
        s->next = run->busy;
        run->busy = s;
        pthread_mutex_unlock(&run->lock);
        *sender = s;
        return KC_OK;
}

static void retire(struct kc_joint_run *run, struct sender *s)
{
        pthread_mutex_lock(&run->lock);
        struct sender **at = &run->busy;
        while (*at != s)
                at = &(*at)->next;
        *at = s->next;
        s->next = run->idle;
        run->idle = s;
        pthread_mutex_unlock(&run->lock);
}

static enum kc_status end_part(struct kc_joint_run *run, struct sender *s,
                               const struct kc_part_taker *taker, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(kc_part_encoder_end(s->encoder, taker, err));
        KC_TRY(send_end(s, err));
        kc_turn_pass(&run->turn);
        retire(run, s);
out:
        return status;
}

static enum kc_status put(void *ctx, const struct kc_run_pairs *pairs, struct kc_error *err)
{
        struct kc_joint_run *run = ctx;
        struct sender *s = find_sender(run, pairs->part);
        enum kc_status status = KC_OK;
        if (s == NULL)
                KC_TRY(begin_part(run, pairs->part, &s, err));
        const struct kc_part_taker taker = { s, add_pairs, add_blocks };
        KC_TRY(kc_part_encoder_add(s->encoder, pairs->kmers, pairs->counts, pairs->n, &taker, err));
        if (pairs->last)
                KC_TRY(end_part(run, s, &taker, err));
out:
        return status;
}

void kc_joint_run_cancel(struct kc_joint_run *run)
{
        pthread_mutex_lock(&run->lock);
        run->canceled = true;
        pthread_cond_broadcast(&run->changed);
        pthread_mutex_unlock(&run->lock);
        kc_turn_stop(&run->turn);
}

static void cancel(void *ctx)
{
        kc_joint_run_cancel(ctx);
}

/* ---- rank 0: take and feed ---- */

static enum kc_status take(void *ctx, uint32_t part, const uint8_t *data, size_t nbytes,
                           struct kc_error *err)
{
        struct kc_joint_run *run = ctx;
        struct queue *queue = &run->queues[owner(run, part)];
        struct frame *frame = malloc(sizeof *frame + nbytes);
        if (frame == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for the blocks of other ranks");
        *frame = (struct frame){ .part = part, .nbytes = nbytes };
        memcpy(frame->data, data, nbytes);
        pthread_mutex_lock(&run->lock);
        *queue->end = frame;
        queue->end = &frame->next;
        queue->nbytes += nbytes;
        pthread_cond_broadcast(&run->changed);
        pthread_mutex_unlock(&run->lock);
        return KC_OK;
}

static bool ready(void *ctx, int from)
{
        struct kc_joint_run *run = ctx;
        pthread_mutex_lock(&run->lock);
        const bool room = run->queues[from].nbytes < QUEUE_NBYTES;
        pthread_mutex_unlock(&run->lock);
        return room;
}

static struct frame *pop(struct queue *queue)
{
        struct frame *frame = queue->first;
        if (frame == NULL)
                return NULL;
        queue->first = frame->next;
        if (queue->first == NULL)
                queue->end = &queue->first;
        queue->nbytes -= frame->nbytes;
        return frame;
}

/* Wait for the next frame of a rank. The queue does not show that a rank has failed. */
static enum kc_status next_frame(struct kc_joint_run *run, int rank, struct frame **frame,
                                 struct kc_error *err)
{
        enum kc_status status = KC_OK;
        *frame = NULL;
        pthread_mutex_lock(&run->lock);
        while (status == KC_OK && (*frame = pop(&run->queues[rank])) == NULL) {
                if (run->canceled)
                        status = kc_fail(err, KC_ECANCELED, "canceled");
                else
                        status = kc_exchange_wait(run->setup.exchange, &run->changed, &run->lock,
                                                  err);
        }
        pthread_mutex_unlock(&run->lock);
        return status;
}

static const void *get_array(const uint8_t **from, size_t nbytes)
{
        const uint8_t *array = *from;
        *from += rounded(nbytes);
        return array;
}

static enum kc_status feed_pairs(struct kc_joint_run *run, const struct frame *frame,
                                 const struct frame_header *header, bool last, struct kc_error *err)
{
        const struct kc_run_sink *sink = run->setup.sink;
        const uint8_t *from = frame->data + sizeof *header;
        struct kc_run_pairs pairs = { .part = frame->part, .last = last, .n = header->n };
        pairs.kmers = get_array(&from, header->n * (size_t)run->setup.nwords * sizeof(uint64_t));
        pairs.counts = get_array(&from, header->n * sizeof(uint32_t));
        return sink->put(sink->ctx, &pairs, err);
}

static enum kc_status feed_blocks(struct kc_joint_run *run, const struct frame *frame,
                                  const struct frame_header *header, struct kc_error *err)
{
        const struct kc_run_sink *sink = run->setup.sink;
        const size_t kmer_nbytes = (size_t)run->setup.nwords * sizeof(uint64_t);
        const uint8_t *from = frame->data + sizeof *header;
        struct kc_run_blocks b = { .part = frame->part,
                                   .n = header->n,
                                   .nblocks = header->nblocks,
                                   .nwords = header->nwords,
                                   .nbig = header->nbig };
        b.firsts = get_array(&from, b.nblocks * kmer_nbytes);
        b.last_kmer = get_array(&from, kmer_nbytes);
        b.rows = get_array(&from, KC_RUN_NROWS * sizeof(uint64_t));
        b.block_nwords = get_array(&from, b.nblocks * sizeof(uint32_t));
        b.big_counts = get_array(&from, b.nbig * sizeof(uint32_t));
        b.words = (uint64_t *)(uintptr_t)get_array(&from, b.nwords * sizeof(uint64_t));
        return sink->joint->enter(sink->ctx, &b, err);
}

/* *ended: it was the part's last frame. */
static enum kc_status feed_frame(struct kc_joint_run *run, struct frame *frame, bool *ended,
                                 struct kc_error *err)
{
        struct frame_header header;
        memcpy(&header, frame->data, sizeof header);
        *ended = header.kind == FRAME_END;
        if (header.kind == FRAME_BLOCKS)
                return feed_blocks(run, frame, &header, err);
        return feed_pairs(run, frame, &header, *ended, err);
}

static enum kc_status feed_part(struct kc_joint_run *run, uint64_t part, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        bool ended = false;
        while (status == KC_OK && !ended) {
                struct frame *frame;
                status = next_frame(run, owner(run, part), &frame, err);
                if (status != KC_OK)
                        break;
                if (frame->part != part)
                        status = kc_fail(err, KC_EUSAGE, "a rank sent its parts out of order");
                else
                        status = feed_frame(run, frame, &ended, err);
                free(frame);
        }
        return status;
}

enum kc_status kc_joint_run_serve(struct kc_joint_run *run, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (uint64_t part = 0; part < run->setup.nparts && status == KC_OK; part++)
                if (owner(run, part) != 0)
                        status = feed_part(run, part, err);
        return status;
}

/* ---- the run ---- */

/* A queue may exceed its limit by what is on its way. Each sender, and the stripe, holds one
 * frame and the blocks for it. */
uint64_t kc_joint_run_nbytes(int rank, int nranks, int nthreads)
{
        if (rank == 0)
                return (uint64_t)(nranks - 1) *
                       (QUEUE_NBYTES + KC_EXCHANGE_AHEAD * KC_EXCHANGE_MAX_NBYTES);
        return ((uint64_t)nthreads + 1) * 3 * KC_EXCHANGE_MAX_NBYTES;
}

struct kc_exchange_taker kc_joint_run_taker(struct kc_joint_run *run)
{
        return (struct kc_exchange_taker){
                .ctx = run, .take = take, .ready = ready, .urgent = true
        };
}

struct kc_run_sink kc_joint_run_sink(struct kc_joint_run *run)
{
        if (run->setup.exchange->rank == 0)
                return *run->setup.sink;
        return (struct kc_run_sink){
                .ctx = run, .filter = run->setup.sink->filter, .put = put, .cancel = cancel
        };
}

static enum kc_status begin_queues(struct kc_joint_run *run, struct kc_error *err)
{
        const int n = run->setup.exchange->nranks;
        run->queues = calloc((size_t)n, sizeof *run->queues);
        if (run->queues == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        for (int i = 0; i < n; i++)
                run->queues[i].end = &run->queues[i].first;
        return KC_OK;
}

enum kc_status kc_joint_run_new(struct kc_joint_run **run, const struct kc_joint_run_setup *setup,
                                struct kc_error *err)
{
        struct kc_joint_run *r = calloc(1, sizeof *r);
        enum kc_status status;
        *run = NULL;
        if (r == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        r->setup = *setup;
        pthread_mutex_init(&r->lock, NULL);
        pthread_cond_init(&r->changed, NULL);
        kc_turn_init(&r->turn);
        KC_TRY(begin_queues(r, err));
        if (setup->exchange->rank != 0)
                KC_TRY(kc_stripe_new(&r->stripe, setup->nwords, SENT_NBYTES, err));
        *run = r;
        r = NULL;
out:
        kc_joint_run_free(r);
        return status;
}

void kc_joint_run_free(struct kc_joint_run *run)
{
        if (run == NULL)
                return;
        for (int i = 0; run->queues != NULL && i < run->setup.exchange->nranks; i++)
                for (struct frame *frame; (frame = pop(&run->queues[i])) != NULL;)
                        free(frame);
        for (struct sender *s = run->idle, *next; s != NULL; s = next) {
                next = s->next;
                free_sender(s);
        }
        for (struct sender *s = run->busy, *next; s != NULL; s = next) {
                next = s->next;
                free_sender(s);
        }
        free(run->queues);
        kc_stripe_free(run->stripe);
        kc_turn_destroy(&run->turn);
        pthread_cond_destroy(&run->changed);
        pthread_mutex_destroy(&run->lock);
        free(run);
}
