#include "ranks/run/pending.h"

#include <stdlib.h>
#include <string.h>

enum { PENDING_NBYTES = 8 << 20 }; /* beyond that, threads wait before they add more */

struct blocks {
        struct blocks *next;
        uint64_t part, offset;
        size_t nwords;
        uint64_t words[];
};

struct block_queue {
        struct blocks *first, **end;
};

struct kc_pending {
        const struct kc_exchange *exchange;
        const struct kc_run_guest *guest;
        pthread_mutex_t lock; /* guards all below */
        pthread_cond_t changed;
        struct block_queue unplaced, placed;
        size_t nbytes; /* of all, including those that are being written */
        bool ended, canceled;
};

uint64_t kc_pending_nbytes(void)
{
        return PENDING_NBYTES + 2 * KC_EXCHANGE_MAX_NBYTES; /* the last ones may exceed it */
}

/* ---- queues ---- */

static void push(struct block_queue *queue, struct blocks *blocks)
{
        blocks->next = NULL;
        *queue->end = blocks;
        queue->end = &blocks->next;
}

static struct blocks *pop(struct block_queue *queue)
{
        struct blocks *blocks = queue->first;
        if (blocks == NULL)
                return NULL;
        queue->first = blocks->next;
        if (queue->first == NULL)
                queue->end = &queue->first;
        return blocks;
}

static void free_queue(struct block_queue *queue)
{
        for (struct blocks *blocks; (blocks = pop(queue)) != NULL;)
                free(blocks);
}

/* ---- life ---- */

enum kc_status kc_pending_new(struct kc_pending **pending, const struct kc_exchange *exchange,
                              const struct kc_run_guest *guest, struct kc_error *err)
{
        struct kc_pending *p = calloc(1, sizeof *p);
        *pending = p;
        if (p == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        p->exchange = exchange;
        p->guest = guest;
        p->unplaced.end = &p->unplaced.first;
        p->placed.end = &p->placed.first;
        pthread_mutex_init(&p->lock, NULL);
        pthread_cond_init(&p->changed, NULL);
        return KC_OK;
}

void kc_pending_free(struct kc_pending *p)
{
        if (p == NULL)
                return;
        free_queue(&p->unplaced);
        free_queue(&p->placed);
        pthread_cond_destroy(&p->changed);
        pthread_mutex_destroy(&p->lock);
        free(p);
}

/* ---- writing ---- */

/* Write blocks that have a place, or wait until something has changed; lock held. */
static enum kc_status write_or_wait(struct kc_pending *p, struct kc_error *err)
{
        if (p->canceled)
                return kc_fail(err, KC_ECANCELED, "canceled");
        struct blocks *blocks = pop(&p->placed);
        if (blocks == NULL)
                return kc_exchange_wait(p->exchange, &p->changed, &p->lock, err);
        pthread_mutex_unlock(&p->lock);
        const size_t nbytes = blocks->nwords * sizeof *blocks->words;
        const enum kc_status status =
                p->guest->write(p->guest->ctx, blocks->words, blocks->nwords, blocks->offset, err);
        free(blocks);
        pthread_mutex_lock(&p->lock);
        p->nbytes -= nbytes;
        pthread_cond_broadcast(&p->changed);
        return status;
}

enum kc_status kc_pending_write(struct kc_pending *p, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        pthread_mutex_lock(&p->lock);
        while (status == KC_OK && !(p->ended && p->nbytes == 0))
                status = write_or_wait(p, err);
        pthread_mutex_unlock(&p->lock);
        return status;
}

static enum kc_status wait_for_room(struct kc_pending *p, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        pthread_mutex_lock(&p->lock);
        while (status == KC_OK && p->nbytes >= PENDING_NBYTES)
                status = write_or_wait(p, err);
        pthread_mutex_unlock(&p->lock);
        return status;
}

enum kc_status kc_pending_add(struct kc_pending *p, uint64_t part, const uint64_t *words,
                              size_t nwords, struct kc_error *err)
{
        const size_t nbytes = nwords * sizeof *words;
        enum kc_status status = wait_for_room(p, err);
        if (status != KC_OK)
                return status;
        struct blocks *blocks = malloc(sizeof *blocks + nbytes);
        if (blocks == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for blocks");
        *blocks = (struct blocks){ .part = part, .nwords = nwords };
        memcpy(blocks->words, words, nbytes);
        pthread_mutex_lock(&p->lock);
        push(&p->unplaced, blocks);
        p->nbytes += nbytes;
        pthread_mutex_unlock(&p->lock);
        return KC_OK;
}

/* ---- places ---- */

enum kc_status kc_pending_place(struct kc_pending *p, uint64_t part, uint64_t offset,
                                struct kc_error *err)
{
        enum kc_status status = KC_OK;
        pthread_mutex_lock(&p->lock);
        struct blocks *blocks = p->unplaced.first;
        if (blocks == NULL || blocks->part != part) {
                status = kc_fail(err, KC_EUSAGE, "blocks got their places out of order");
        } else {
                (void)pop(&p->unplaced);
                blocks->offset = offset;
                push(&p->placed, blocks);
                pthread_cond_broadcast(&p->changed);
        }
        pthread_mutex_unlock(&p->lock);
        return status;
}

void kc_pending_end(struct kc_pending *p)
{
        pthread_mutex_lock(&p->lock);
        p->ended = true;
        pthread_cond_broadcast(&p->changed);
        pthread_mutex_unlock(&p->lock);
}

void kc_pending_cancel(struct kc_pending *p)
{
        pthread_mutex_lock(&p->lock);
        p->canceled = true;
        pthread_cond_broadcast(&p->changed);
        pthread_mutex_unlock(&p->lock);
}
