#include "kmer/joint_run.h"

#include "base/turn.h"
#include "kmer/part_encoder.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
        WORDS_NBYTES = 128 << 10,    /* of the blocks in a frame, roughly; see KC_PART_MAX_BLOCKS */
        QUEUE_NBYTES = 2 << 20,      /* of a rank: beyond that, its frames wait where they are */
        CHECK_NS = 20 * 1000 * 1000, /* between checks whether a rank has failed */
};

/* A frame is sent in one piece: the words and one more block, the counts, and what describes
 * them. */
static_assert(WORDS_NBYTES + 72000 + KC_PART_MAX_BLOCKS * (KC_BLOCK_NKMERS * 4 + 68) +
                              KC_RUN_NROWS * 8 + 256 <=
                      KC_EXCHANGE_MAX_NBYTES,
              "a frame may be too long");

/* What a rank sends of a part. */
enum frame_kind { FRAME_PAIRS, FRAME_BLOCKS, FRAME_END };

/* The arrays follow, each at a multiple of 8 bytes.
 *   pairs:   kmers, counts
 *   blocks:  firsts, last, words, rows, block_nwords, big_counts */
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
        struct kc_turn turn; /* of this rank's parts, to be sent */
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
static enum kc_status send_frame(struct sender *s, const struct frame_header *header,
                                 const uint8_t *end, struct kc_error *err)
{
        const struct kc_exchange *exchange = s->run->setup.exchange;
        if (!s->has_turn && !kc_turn_wait(&s->run->turn, turn_of(s->run, s->part)))
                return kc_fail(err, KC_ECANCELED, "canceled");
        s->has_turn = true;
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
        const size_t kmer_nbytes = (size_t)s->run->setup.nwords * sizeof(uint64_t);
        const struct frame_header header = { .kind = FRAME_BLOCKS,
                                             .nblocks = (uint32_t)b->nblocks,
                                             .n = b->n,
                                             .nwords = b->nwords,
                                             .nbig = b->nbig };
        uint8_t *to = s->buffer + sizeof header;
        to = put_array(to, b->firsts, b->nblocks * kmer_nbytes);
        to = put_array(to, b->last_kmer, kmer_nbytes);
        to = put_array(to, b->words, b->nwords * sizeof *b->words);
        to = put_array(to, b->rows, KC_RUN_NROWS * sizeof *b->rows);
        to = put_array(to, b->block_nwords, b->nblocks * sizeof *b->block_nwords);
        to = put_array(to, b->big_counts, b->nbig * sizeof *b->big_counts);
        return send_frame(s, &header, to, err);
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
                status = kc_part_encoder_new(&s->encoder, run->setup.nwords, WORDS_NBYTES, err);
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
        const struct frame_header header = { .kind = FRAME_END };
        enum kc_status status;
        KC_TRY(kc_part_encoder_end(s->encoder, taker, err));
        KC_TRY(send_frame(s, &header, s->buffer + sizeof header, err));
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
        const struct kc_part_taker taker = { s, send_pairs, send_blocks };
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
        const struct kc_exchange *exchange = run->setup.exchange;
        enum kc_status status = KC_OK;
        *frame = NULL;
        pthread_mutex_lock(&run->lock);
        while (status == KC_OK && (*frame = pop(&run->queues[rank])) == NULL) {
                struct timespec until;
                clock_gettime(CLOCK_REALTIME, &until);
                until.tv_nsec += CHECK_NS;
                until.tv_sec += until.tv_nsec / 1000000000;
                until.tv_nsec %= 1000000000;
                pthread_cond_timedwait(&run->changed, &run->lock, &until);
                if (run->canceled)
                        status = kc_fail(err, KC_ECANCELED, "canceled");
                else
                        status = exchange->check(exchange->ctx, err);
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

static enum kc_status feed_blocks(struct kc_joint_run *run, struct frame *frame,
                                  const struct frame_header *header, struct kc_error *err)
{
        const struct kc_run_sink *sink = run->setup.sink;
        const size_t kmer_nbytes = (size_t)run->setup.nwords * sizeof(uint64_t);
        const uint8_t *from = frame->data + sizeof *header;
        struct kc_run_blocks b = { .part = frame->part,
                                   .within = true,
                                   .n = header->n,
                                   .nblocks = header->nblocks,
                                   .nwords = header->nwords,
                                   .nbig = header->nbig };
        b.firsts = get_array(&from, b.nblocks * kmer_nbytes);
        b.last_kmer = get_array(&from, kmer_nbytes);
        b.words = (uint64_t *)(uintptr_t)get_array(&from, b.nwords * sizeof(uint64_t));
        b.rows = get_array(&from, KC_RUN_NROWS * sizeof(uint64_t));
        b.block_nwords = get_array(&from, b.nblocks * sizeof(uint32_t));
        b.big_counts = get_array(&from, b.nbig * sizeof(uint32_t));
        return sink->put_blocks(sink->ctx, &b, err);
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

enum kc_status kc_joint_run_feed(struct kc_joint_run *run, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (uint64_t part = 0; part < run->setup.nparts && status == KC_OK; part++)
                if (owner(run, part) != 0)
                        status = feed_part(run, part, err);
        return status;
}

/* ---- the run ---- */

/* A queue may exceed its limit by the frames of one message; a sender has a frame, and what it is
 * made of. */
uint64_t kc_joint_run_nbytes(int rank, int nranks, int nthreads)
{
        if (rank == 0)
                return (uint64_t)(nranks - 1) * (QUEUE_NBYTES + 2 * KC_EXCHANGE_MAX_NBYTES);
        return (uint64_t)nthreads * 2 * KC_EXCHANGE_MAX_NBYTES;
}

struct kc_exchange_taker kc_joint_run_taker(struct kc_joint_run *run)
{
        return (struct kc_exchange_taker){ .ctx = run, .take = take, .ready = ready };
}

struct kc_run_sink kc_joint_run_sink(struct kc_joint_run *run)
{
        if (run->setup.exchange->rank == 0)
                return *run->setup.sink;
        return (struct kc_run_sink){
                .ctx = run, .filter = run->setup.sink->filter, .put = put, .cancel = cancel
        };
}

enum kc_status kc_joint_run_new(struct kc_joint_run **run, const struct kc_joint_run_setup *setup,
                                struct kc_error *err)
{
        struct kc_joint_run *r = calloc(1, sizeof *r);
        *run = NULL;
        if (r == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        r->setup = *setup;
        r->queues = calloc((size_t)setup->exchange->nranks, sizeof *r->queues);
        if (r->queues == NULL) {
                free(r);
                return kc_fail(err, KC_ENOMEM, "out of memory");
        }
        for (int i = 0; i < setup->exchange->nranks; i++)
                r->queues[i].end = &r->queues[i].first;
        pthread_mutex_init(&r->lock, NULL);
        pthread_cond_init(&r->changed, NULL);
        kc_turn_init(&r->turn);
        *run = r;
        return KC_OK;
}

void kc_joint_run_free(struct kc_joint_run *run)
{
        if (run == NULL)
                return;
        for (int i = 0; i < run->setup.exchange->nranks; i++)
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
        kc_turn_destroy(&run->turn);
        pthread_cond_destroy(&run->changed);
        pthread_mutex_destroy(&run->lock);
        free(run);
}
