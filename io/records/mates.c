/*
 * Pairs: two streams in step, or one whose records are mates in turn.
 *
 * A thread that wants pairs takes those whose two records are in the batches at the heads of the
 * two queues. If a queue is empty, it fetches another batch instead, outside the lock, and puts it
 * into the queue by its number. A batch goes back to its pool when no pair refers to it any more.
 */
#include "io/records.h"

#include "io/input/input.h"
#include "io/records/memory.h"

#include <pthread.h>
#include <stdlib.h>

struct pooled {
        struct kc_record_batch batch;
        size_t next;     /* the first record that is in no pair yet */
        unsigned nusers; /* batches of pairs that refer to it */
        bool queued;
        struct pooled *after; /* in the queue, or in the pool */
};

/* The batches of one stream. */
struct side {
        struct kc_records *records;
        const char *name;
        struct pooled *all;   /* [nall] */
        struct pooled *queue; /* in the order of their numbers */
        struct pooled *pool;  /* unused */
        size_t nall;
        uint64_t head;    /* number of the batch that comes next */
        uint64_t ntaken;  /* records that are in pairs, or were */
        uint64_t nqueued; /* records that are in the queue, and in no pair yet */
        uint64_t nusual;  /* about how many records a batch has */
        unsigned nfetching;
        bool ended; /* nothing is left to fetch */
};

struct kc_mates {
        struct side sides[2]; /* an interleaved file has only the first one */
        unsigned nsides;
        pthread_mutex_t lock; /* for all below, and the sides' queues, pools and numbers */
        pthread_cond_t changed;
        struct kc_error failure;
        uint64_t nbatches; /* of pairs */
};

/* ---- batches ---- */

/* Under the lock: the batch whose records come next; NULL if it is not there yet. */
static struct pooled *head(const struct side *side)
{
        struct pooled *first = side->queue;
        return first != NULL && first->batch.number == side->head ? first : NULL;
}

/* Under the lock. */
static void enqueue(struct side *side, struct pooled *pooled)
{
        struct pooled **at = &side->queue;
        while (*at != NULL && (*at)->batch.number < pooled->batch.number)
                at = &(*at)->after;
        pooled->after = *at;
        *at = pooled;
        pooled->queued = true;
        pooled->next = 0;
        side->nqueued += side->nusual = pooled->batch.n;
}

static void recycle(struct side *side, struct pooled *pooled)
{
        if (pooled->queued || pooled->nusers > 0)
                return;
        pooled->after = side->pool;
        side->pool = pooled;
}

/* Take the next n records of the batch at the head for pairs. */
static void take(struct side *side, size_t n)
{
        struct pooled *pooled = side->queue;
        pooled->next += n;
        side->ntaken += n;
        side->nqueued -= n;
        if (pooled->next < pooled->batch.n)
                return;
        side->queue = pooled->after;
        side->head++;
        pooled->queued = false;
        recycle(side, pooled);
}

/* A piece of a record cannot be in a pair. Only the first and the last of a batch can be pieces. */
static enum kc_status check_whole(const struct side *side, const struct kc_record_batch *batch,
                                  struct kc_error *err)
{
        const struct kc_seq_record *ends[] = { &batch->records[0], &batch->records[batch->n - 1] };
        for (int i = 0; i < 2; i++)
                if ((ends[i]->flags & KC_RECORD_WHOLE) != KC_RECORD_WHOLE)
                        return kc_fail(err, KC_EINPUT,
                                       "%s: record %llu is too long to be one of a pair",
                                       side->name, (unsigned long long)ends[i]->number + 1);
        return KC_OK;
}

/* Under the lock, which is released meanwhile: fetch a batch into one from the pool. */
static void fetch(struct kc_mates *mates, struct side *side)
{
        struct pooled *pooled = side->pool;
        struct kc_error own = { 0 };
        side->pool = pooled->after;
        side->nfetching++;
        pthread_mutex_unlock(&mates->lock);
        enum kc_status status = kc_records_next(side->records, &pooled->batch, &own);
        if (status == KC_OK && pooled->batch.n > 0)
                status = check_whole(side, &pooled->batch, &own);
        const size_t n = status == KC_OK ? pooled->batch.n : 0;
        pthread_mutex_lock(&mates->lock);
        side->nfetching--;
        if (status != KC_OK)
                kc_fail_as(&mates->failure, &own);
        if (n > 0)
                enqueue(side, pooled);
        else
                recycle(side, pooled);
        side->ended |= n == 0;
        pthread_cond_broadcast(&mates->changed);
}

/* ---- pairs ---- */

/* Under the lock: number the pairs, and note what they refer to. */
static void hold(struct kc_mates *mates, struct kc_mate_batch *pairs, struct pooled *const batch[2])
{
        pairs->number = mates->nbatches++;
        for (int i = 0; i < 2; i++) {
                pairs->batch[i] = &batch[i]->batch;
                pairs->held[i] = batch[i];
                batch[i]->nusers++;
        }
}

/* Under the lock: false if a batch is missing. */
static bool pair_two(struct kc_mates *mates, struct kc_mate_batch *pairs)
{
        struct side *sides = mates->sides;
        struct pooled *const heads[] = { head(&sides[0]), head(&sides[1]) };
        if (heads[0] == NULL || heads[1] == NULL)
                return false;
        const size_t left[] = { heads[0]->batch.n - heads[0]->next,
                                heads[1]->batch.n - heads[1]->next };
        pairs->n = left[0] < left[1] ? left[0] : left[1];
        pairs->step = 1;
        pairs->pair = sides[0].ntaken;
        pairs->first[0] = heads[0]->next;
        pairs->first[1] = heads[1]->next;
        hold(mates, pairs, heads);
        take(&sides[0], pairs->n);
        take(&sides[1], pairs->n);
        return true;
}

/* Likewise. The last record of a batch may be the mate of the first one of the next batch. */
static bool pair_interleaved(struct kc_mates *mates, struct kc_mate_batch *pairs)
{
        struct side *side = mates->sides;
        struct pooled *first = head(side);
        if (first == NULL)
                return false;
        const size_t left = first->batch.n - first->next;
        struct pooled *second = left > 1 ? first : first->after;
        if (second == NULL || (left == 1 && second->batch.number != side->head + 1))
                return false;
        pairs->n = left > 1 ? left / 2 : 1;
        pairs->step = 2;
        pairs->pair = side->ntaken / 2;
        pairs->first[0] = first->next;
        pairs->first[1] = left > 1 ? first->next + 1 : 0;
        hold(mates, pairs, (struct pooled *const[2]){ first, second });
        take(side, left > 1 ? 2 * pairs->n : 1);
        if (left == 1)
                take(side, 1);
        return true;
}

/* Whether no records of this side will come besides those in its queue. */
static bool is_over(const struct side *side)
{
        return side->ended && side->nfetching == 0;
}

/* Under the lock, when no pair can be made of what is queued: whether that is the end. */
static bool at_end(const struct kc_mates *mates)
{
        const struct side *a = &mates->sides[0], *b = &mates->sides[1];
        if (mates->nsides == 1)
                return is_over(a);
        return (is_over(a) && a->queue == NULL && (is_over(b) || b->queue != NULL)) ||
               (is_over(b) && b->queue == NULL && a->queue != NULL);
}

/* At the end, under the lock: no record may be left. */
static enum kc_status check_end(const struct kc_mates *mates, struct kc_error *err)
{
        for (unsigned i = 0; i < mates->nsides; i++) {
                const struct side *side = &mates->sides[i];
                const struct side *other = &mates->sides[mates->nsides == 2 ? 1 - i : 0];
                if (side->queue != NULL)
                        return kc_fail(err, KC_EINPUT, "%s: record %llu has no mate: %s ends there",
                                       side->name, (unsigned long long)side->ntaken + 1,
                                       other->name);
        }
        return KC_OK;
}

/* Under the lock: the side to fetch a batch of, which is the one with fewer records to come; NULL:
 * none can be fetched now. */
static struct side *choose(struct kc_mates *mates)
{
        struct side *chosen = NULL;
        uint64_t least = UINT64_MAX;
        for (unsigned i = 0; i < mates->nsides; i++) {
                struct side *side = &mates->sides[i];
                const uint64_t n = side->nqueued + side->nfetching * side->nusual;
                if (side->ended || side->pool == NULL || n >= least)
                        continue;
                chosen = side;
                least = n;
        }
        return chosen;
}

enum kc_status kc_mates_next(struct kc_mates *mates, struct kc_mate_batch *pairs,
                             struct kc_error *err)
{
        enum kc_status status = KC_OK;
        *pairs = (struct kc_mate_batch){ 0 };
        pthread_mutex_lock(&mates->lock);
        while (mates->failure.status == KC_OK) {
                if (mates->nsides == 1 ? pair_interleaved(mates, pairs) : pair_two(mates, pairs))
                        break;
                if (at_end(mates)) {
                        check_end(mates, &mates->failure);
                        break;
                }
                struct side *side = choose(mates);
                if (side != NULL)
                        fetch(mates, side);
                else
                        pthread_cond_wait(&mates->changed, &mates->lock);
        }
        if (pairs->n == 0 && mates->failure.status != KC_OK)
                status = kc_fail_as(err, &mates->failure);
        pthread_mutex_unlock(&mates->lock);
        return status;
}

void kc_mates_release(struct kc_mates *mates, struct kc_mate_batch *pairs)
{
        pthread_mutex_lock(&mates->lock);
        for (unsigned i = 0; i < 2; i++) {
                struct pooled *pooled = pairs->held[i];
                pooled->nusers--;
                recycle(&mates->sides[mates->nsides == 2 ? i : 0], pooled);
        }
        pthread_cond_broadcast(&mates->changed);
        pthread_mutex_unlock(&mates->lock);
}

/* ---- opening and closing ---- */

/* n batches: more than are held beside the next one, and enough for a pair. */
static enum kc_status open_side(struct side *side, const char *path,
                                const struct kc_records_options *options, size_t n,
                                struct kc_error *err)
{
        enum kc_status status;
        side->name = kc_input_name(path);
        side->nusual = 1;
        KC_TRY(kc_records_open(&side->records, path, options, err));
        side->all = calloc(n, sizeof *side->all);
        if (side->all == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for reading");
        for (side->nall = 0; side->nall < n; side->nall++)
                recycle(side, &side->all[side->nall]);
out:
        return status;
}

enum kc_status kc_mates_open(struct kc_mates **mates, const char *first, const char *second,
                             const struct kc_records_options *options, struct kc_error *err)
{
        struct kc_mates *p = calloc(1, sizeof *p);
        const size_t nheld = options->nheld != 0 ? options->nheld : (size_t)options->nthreads;
        const size_t n = nheld + 1;
        enum kc_status status;
        *mates = NULL;
        if (p == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for reading");
        pthread_mutex_init(&p->lock, NULL);
        pthread_cond_init(&p->changed, NULL);
        p->nsides = second != NULL ? 2 : 1;
        KC_TRY(open_side(&p->sides[0], first, options, second != NULL ? n : 2 * n, err));
        if (second != NULL)
                KC_TRY(open_side(&p->sides[1], second, options, n, err));
        *mates = p;
        p = NULL;
out:
        kc_mates_close(p);
        return status;
}

const struct kc_records *kc_mates_stream(const struct kc_mates *mates, int mate)
{
        return mates->sides[mates->nsides == 2 ? mate : 0].records;
}

void kc_mates_close(struct kc_mates *mates)
{
        if (mates == NULL)
                return;
        for (unsigned i = 0; i < mates->nsides; i++) {
                for (size_t j = 0; j < mates->sides[i].nall; j++)
                        kc_record_batch_free(&mates->sides[i].all[j].batch);
                free(mates->sides[i].all);
                kc_records_close(mates->sides[i].records);
        }
        pthread_cond_destroy(&mates->changed);
        pthread_mutex_destroy(&mates->lock);
        free(mates);
}
