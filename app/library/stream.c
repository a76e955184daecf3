/*
 * Streams of sequences: they are copied into blocks, which kc_asking_run asks, and their counts are
 * spread over the places of all k-mers, also of those with letters that are not bases.
 */
#include "app/library/asking.h"
#include "app/library/library.h"
#include "app/library/question.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
        BLOCK_NBASES = 1 << 18,     /* about this many letters in a block; fewer if there is... */
        BLOCKS_EACH = 4,            /* ...no memory for several of each thread... */
        KMER_NBYTES = 6,            /* ...with their counts */
        BLOCK_NSEQUENCES = 1 << 11, /* ...and at most this many sequences */
        MOST_NBASES = INT32_MAX,    /* of a sequence */
};

struct stream_block {
        struct kc_asking_block base; /* the first field */
        uint64_t first;
        struct kcount_sequence sequences[BLOCK_NSEQUENCES];
        struct kc_ask_sequence asked[BLOCK_NSEQUENCES];
        char *letters; /* [cap] */
        size_t n, cap;
};

/* The counts of a block, for its thread. */
struct stream_slot {
        uint32_t *found; /* [cap] */
        bool *valid;     /* [cap] */
        size_t cap;
};

struct streaming {
        struct kcount_stream stream;
        struct kc_library_asking asking;
        size_t block_nbases;
        struct stream_slot *slots; /* [asking.nthreads] */
        pthread_mutex_t lock;      /* for all below */
        bool ended;
        uint64_t nblocks, nsequences;
        uint64_t nheld, held_nbytes; /* blocks that are not released; with slots */
};

static enum kc_status given_up(struct kc_error *err)
{
        return kc_fail(err, KC_ECANCELED, "canceled by a callback");
}

/* ---- blocks ---- */

static void free_block(struct stream_block *block)
{
        if (block != NULL)
                free(block->letters);
        free(block);
}

static enum kc_status append(const struct streaming *s, struct stream_block *b,
                             const struct kcount_sequence *sequence, struct kc_error *err)
{
        if (sequence->nbases > MOST_NBASES)
                return kc_fail(err, KC_EUSAGE, "a sequence has %zu letters; the most are %d",
                               sequence->nbases, MOST_NBASES);
        if (sequence->nbases > b->cap - b->n) {
                const size_t cap = b->n + sequence->nbases + s->block_nbases;
                char *letters = realloc(b->letters, cap);
                if (letters == NULL)
                        return kc_fail(err, KC_ENOMEM, "out of memory for sequences");
                b->letters = letters;
                b->cap = cap;
        }
        if (sequence->nbases > 0)
                memcpy(b->letters + b->n, sequence->bases, sequence->nbases);
        b->sequences[b->base.nsequences++].nbases = sequence->nbases;
        b->n += sequence->nbases;
        return KC_OK;
}

/* Under the lock. */
static enum kc_status fill(struct streaming *s, struct stream_block *b, struct kc_error *err)
{
        enum { AT_ONCE = 64 };
        struct kcount_sequence given[AT_ONCE];
        enum kc_status status = KC_OK;
        while (b->n < s->block_nbases && b->base.nsequences + AT_ONCE <= BLOCK_NSEQUENCES) {
                size_t n = 0;
                if (!s->stream.next(s->stream.ctx, given, AT_ONCE, &n))
                        return given_up(err);
                if (n > AT_ONCE)
                        return kc_fail(err, KC_EUSAGE,
                                       "the callback gave %zu sequences, where there was room for "
                                       "%d",
                                       n, AT_ONCE);
                s->ended = n == 0;
                if (s->ended)
                        break;
                for (size_t i = 0; i < n; i++)
                        KC_TRY(append(s, b, &given[i], err));
        }
out:
        return status;
}

/* Under the lock: the block is complete, and its letters have their final place. */
static void describe(struct streaming *s, struct stream_block *b)
{
        const char *letters = b->letters;
        for (size_t i = 0; i < b->base.nsequences; i++) {
                const size_t n = b->sequences[i].nbases;
                b->sequences[i].bases = letters;
                b->asked[i] = (struct kc_ask_sequence){ letters, (uint32_t)n };
                letters += n;
        }
        b->first = s->nsequences;
        b->base.number = s->nblocks++;
        b->base.nbases = b->base.nunits = b->n;
        s->nsequences += b->base.nsequences;
        s->held_nbytes += sizeof *b + b->cap;
        s->nheld++;
}

static enum kc_status next_block(void *ctx, int worker, struct kc_asking_block **block, bool *ended,
                                 struct kc_error *err)
{
        struct streaming *s = ctx;
        struct stream_block *b = NULL;
        enum kc_status status = KC_OK;
        (void)worker;
        *block = NULL;
        pthread_mutex_lock(&s->lock);
        if (!s->ended && (s->nheld == 0 || s->held_nbytes < s->asking.nbytes)) {
                b = calloc(1, sizeof *b);
                status = b != NULL ? fill(s, b, err)
                                   : kc_fail(err, KC_ENOMEM, "out of memory for sequences");
                s->ended |= status != KC_OK; /* so that no other thread asks the callback again */
        }
        if (status == KC_OK && b != NULL && b->base.nsequences > 0) {
                describe(s, b);
                *block = &b->base;
                b = NULL;
        }
        *ended |= s->ended && *block == NULL;
        pthread_mutex_unlock(&s->lock);
        free_block(b);
        return status;
}

static enum kc_status sequences(void *ctx, int worker, const struct kc_asking_block *block,
                                const struct kc_ask_sequence **asked, struct kc_error *err)
{
        (void)ctx, (void)worker, (void)err;
        *asked = ((const struct stream_block *)block)->asked;
        return KC_OK;
}

static void release(void *ctx, struct kc_asking_block *block)
{
        struct streaming *s = ctx;
        struct stream_block *b = (struct stream_block *)block;
        pthread_mutex_lock(&s->lock);
        s->held_nbytes -= sizeof *b + b->cap;
        s->nheld--;
        pthread_mutex_unlock(&s->lock);
        free_block(b);
}

static void resize_slot(void *ctx, uint64_t from_nbytes, uint64_t to_nbytes)
{
        struct streaming *s = ctx;
        pthread_mutex_lock(&s->lock);
        s->held_nbytes += to_nbytes - from_nbytes;
        pthread_mutex_unlock(&s->lock);
}

/* ---- answers ---- */

static enum kc_status reserve(struct stream_slot *slot, size_t n, struct kc_error *err)
{
        if (n <= slot->cap)
                return KC_OK;
        free(slot->found);
        free(slot->valid);
        slot->found = malloc(n * sizeof *slot->found);
        slot->valid = malloc(n);
        slot->cap = slot->found != NULL && slot->valid != NULL ? n : 0;
        return slot->cap > 0 ? KC_OK : kc_fail(err, KC_ENOMEM, "out of memory for counts");
}

/* Store the counts of all k-mers of a block. */
static void spread(struct stream_slot *slot, size_t nkmers, const struct kc_asked *asked)
{
        uint32_t *found = slot->found;
        bool *valid = slot->valid;
        memset(found, 0, nkmers * sizeof *found);
        memset(valid, 0, nkmers);
        for (size_t i = 0; i < asked->block->nsequences; i++) {
                const struct kc_ask_answer *answer = &asked->answers[i];
                const uint32_t *counts = answer->counts;
                for (size_t j = 0; j < answer->nstretches; j++) {
                        const struct kc_ask_stretch stretch = answer->stretches[j];
                        memcpy(found + stretch.begin, counts, stretch.n * sizeof *counts);
                        memset(valid + stretch.begin, true, stretch.n);
                        counts += stretch.n;
                }
                found += answer->summary.nwindows;
                valid += answer->summary.nwindows;
        }
}

static struct kcount_asked asked_of(const struct streaming *s, const struct kc_asked *asked)
{
        const struct stream_block *b = (const struct stream_block *)asked->block;
        const struct stream_slot *slot = &s->slots[asked->slot];
        return (struct kcount_asked){ b->first, b->sequences, b->base.nsequences, slot->found,
                                      slot->valid };
}

/* Counts are wanted, so each worker has one slot: they have the same numbers. */
static enum kc_status format(void *ctx, int worker, const struct kc_asked *asked,
                             struct kc_error *err)
{
        const struct streaming *s = ctx;
        const struct stream_block *b = (const struct stream_block *)asked->block;
        struct stream_slot *slot = &s->slots[asked->slot];
        const size_t nkmers =
                kc_question_count(s->asking.k, b->sequences, asked->block->nsequences);
        enum kc_status status;
        KC_TRY(reserve(slot, nkmers, err));
        if (nkmers > 0)
                spread(slot, nkmers, asked);
        const struct kcount_asked given = asked_of(s, asked);
        if (s->stream.format != NULL && !s->stream.format(s->stream.ctx, worker, &given))
                return given_up(err);
out:
        return status;
}

static uint64_t slot_nbytes(const void *ctx, int slot)
{
        const struct stream_slot *place = &((const struct streaming *)ctx)->slots[slot];
        return place->cap * (sizeof *place->found + sizeof *place->valid);
}

static enum kc_status write_block(void *ctx, const struct kc_asked *asked, struct kc_error *err)
{
        const struct streaming *s = ctx;
        const struct kcount_asked given = asked_of(s, asked);
        return s->stream.write(s->stream.ctx, asked->slot, &given) ? KC_OK : given_up(err);
}

/* ---- all of it ---- */

static enum kc_status ask(struct streaming *s, struct kcount_asker *asker, struct kc_error *err)
{
        const struct kc_asking_source source = { .ctx = s,
                                                 .next = next_block,
                                                 .sequences = sequences,
                                                 .release = release,
                                                 .resize_slot = resize_slot };
        const struct kc_asking_consumer consumer = {
                .ctx = s, .format = format, .slot_nbytes = slot_nbytes, .write = write_block
        };
        s->slots = calloc((size_t)s->asking.nthreads, sizeof *s->slots);
        return s->slots != NULL ? kc_library_ask_blocks(asker, &source, &consumer, err)
                                : kc_fail(err, KC_ENOMEM, "out of memory for threads");
}

enum kcount_status kcount_ask_stream(struct kcount_asker *asker, const struct kcount_stream *stream,
                                     struct kcount_error **error)
{
        struct streaming s = { .asking = kc_library_asking(asker) };
        struct kc_error err = { 0 };
        const uint64_t most =
                s.asking.nbytes / (BLOCKS_EACH * KMER_NBYTES * (uint64_t)s.asking.nthreads);
        s.block_nbases = most < BLOCK_NBASES ? (size_t)most + 1 : BLOCK_NBASES;
        memcpy(&s.stream, stream, stream->size < sizeof s.stream ? stream->size : sizeof s.stream);
        pthread_mutex_init(&s.lock, NULL);
        const enum kc_status status = ask(&s, asker, &err);
        pthread_mutex_destroy(&s.lock);
        for (int i = 0; s.slots != NULL && i < s.asking.nthreads; i++) {
                free(s.slots[i].found);
                free(s.slots[i].valid);
        }
        free(s.slots);
        return status == KC_OK ? KCOUNT_OK : kc_library_failed(&err, error);
}
