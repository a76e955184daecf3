/*
 * Blocks wait in a ring: block n is in place n % nplaces. Those before nwritten are written, those
 * before nstarted are written or in some thread's hands, and those before nput are full.
 *
 * A thread that finds the ring full compresses what waits. If nothing waits, all blocks of the ring
 * are in the hands of other threads, which finish them whatever happens: so waiting ends.
 */
#include "io/compressor.h"

#include "base/parallel.h"
#include "io/compress/codec.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PER_THREAD = 64 }; /* blocks that wait */

struct waiting_block {
        char *text; /* codec->text_nbytes; NULL before it is used */
        void *block;
        size_t text_nbytes, block_nbytes;
        bool done;
};

struct kc_compressor {
        struct kc_compressor_options options;
        const struct kc_codec *codec; /* NULL: there are no blocks */
        void **states;                /* [nthreads + 1] of the codec, the last one for put; each
                                         is NULL before it is used */
        struct waiting_block *places; /* [nplaces] */
        size_t nplaces;
        size_t used; /* text in the block that is being filled, number nput */

        pthread_mutex_t lock; /* for all below */
        pthread_cond_t moved;
        uint64_t nput, nstarted, nwritten;
        bool writing; /* a thread writes blocks */
        struct kc_error failure;
};

static struct waiting_block *place_of(const struct kc_compressor *c, uint64_t number)
{
        return &c->places[number % c->nplaces];
}

/* ---- compressing, and writing what comes next ---- */

static enum kc_status compress(struct kc_compressor *c, int thread, struct waiting_block *place,
                               struct kc_error *err)
{
        void **state = &c->states[thread];
        if (*state == NULL)
                *state = c->codec->open();
        if (place->block == NULL)
                place->block = malloc(c->codec->block_nbytes);
        place->block_nbytes =
                *state != NULL && place->block != NULL
                        ? c->codec->compress(*state, place->text, place->text_nbytes, place->block)
                        : 0;
        return place->block_nbytes > 0 ? KC_OK
                                       : kc_fail(err, KC_ENOMEM, "out of memory for compressing");
}

/* Under the lock, which is released meanwhile: write the blocks that are done and come next. A
 * failure is kept in c. */
static void write_next(struct kc_compressor *c)
{
        const struct kc_compressor_options *o = &c->options;
        c->writing = true;
        while (c->failure.status == KC_OK && c->nwritten < c->nput &&
               place_of(c, c->nwritten)->done) {
                struct waiting_block *place = place_of(c, c->nwritten);
                struct kc_error own = { 0 };
                pthread_mutex_unlock(&c->lock);
                enum kc_status status = o->write(o->ctx, place->block, place->block_nbytes, &own);
                pthread_mutex_lock(&c->lock);
                if (status != KC_OK)
                        kc_fail_as(&c->failure, &own);
                place->done = false;
                c->nwritten++;
                pthread_cond_broadcast(&c->moved);
        }
        c->writing = false;
}

/* Under the lock, which is released meanwhile. False if no block waits. */
static bool do_one(struct kc_compressor *c, int thread)
{
        if (c->nstarted == c->nput || c->failure.status != KC_OK)
                return false;
        struct waiting_block *place = place_of(c, c->nstarted++);
        struct kc_error own = { 0 };
        pthread_mutex_unlock(&c->lock);
        enum kc_status status = compress(c, thread, place, &own);
        pthread_mutex_lock(&c->lock);
        place->done = true;
        if (status != KC_OK) {
                kc_fail_as(&c->failure, &own);
                pthread_cond_broadcast(&c->moved);
        }
        if (!c->writing)
                write_next(c);
        return true;
}

/* Under the lock. */
static enum kc_status failure_of(const struct kc_compressor *c, struct kc_error *err)
{
        return c->failure.status == KC_OK ? KC_OK : kc_fail_as(err, &c->failure);
}

enum kc_status kc_compressor_help(struct kc_compressor *c, int thread, struct kc_error *err)
{
        if (c->codec == NULL)
                return KC_OK;
        pthread_mutex_lock(&c->lock);
        while (do_one(c, thread))
                ;
        enum kc_status status = failure_of(c, err);
        pthread_mutex_unlock(&c->lock);
        return status;
}

/* ---- text ---- */

/* Wait until the place of the next block is free. */
static enum kc_status make_room(struct kc_compressor *c, struct kc_error *err)
{
        const int putter = c->options.nthreads;
        pthread_mutex_lock(&c->lock);
        while (c->nput - c->nwritten == c->nplaces && c->failure.status == KC_OK)
                if (!do_one(c, putter) && c->failure.status == KC_OK &&
                    c->nput - c->nwritten == c->nplaces)
                        pthread_cond_wait(&c->moved, &c->lock);
        enum kc_status status = failure_of(c, err);
        struct waiting_block *place = place_of(c, c->nput);
        pthread_mutex_unlock(&c->lock);
        if (status == KC_OK && place->text == NULL)
                place->text = malloc(c->codec->text_nbytes);
        if (status == KC_OK && place->text == NULL)
                status = kc_fail(err, KC_ENOMEM, "out of memory for compressing");
        return status;
}

/* The block that is being filled is complete. */
static void end_block(struct kc_compressor *c)
{
        pthread_mutex_lock(&c->lock);
        place_of(c, c->nput)->text_nbytes = c->used;
        c->nput++;
        pthread_mutex_unlock(&c->lock);
        c->used = 0;
}

enum kc_status kc_compressor_put(struct kc_compressor *c, const void *text, size_t nbytes,
                                 struct kc_error *err)
{
        const struct kc_compressor_options *o = &c->options;
        const char *from = text;
        enum kc_status status = KC_OK;
        if (c->codec == NULL)
                return nbytes > 0 ? o->write(o->ctx, text, nbytes, err) : KC_OK;
        while (nbytes > 0) {
                if (c->used == 0)
                        KC_TRY(make_room(c, err));
                const size_t left = c->codec->text_nbytes - c->used;
                const size_t n = nbytes < left ? nbytes : left;
                memcpy(place_of(c, c->nput)->text + c->used, from, n);
                c->used += n;
                from += n;
                nbytes -= n;
                if (n == left)
                        end_block(c);
        }
out:
        return status;
}

static enum kc_status help_to_finish(void *ctx, int worker, struct kc_error *err)
{
        return kc_compressor_help(ctx, worker, err);
}

enum kc_status kc_compressor_finish(struct kc_compressor *c, struct kc_error *err)
{
        const struct kc_compressor_options *o = &c->options;
        char end[KC_CODEC_END_NBYTES];
        enum kc_status status;
        if (c->codec == NULL)
                return KC_OK;
        if (c->used > 0)
                end_block(c);
        KC_TRY(kc_parallel(o->nthreads, help_to_finish, NULL, c, err));
        const size_t n = c->codec->end(c->nput == 0, end);
        if (n > 0)
                status = o->write(o->ctx, end, n, err);
out:
        return status;
}

/* ---- opening and closing ---- */

static size_t count_places(const struct kc_compressor_options *o, const struct kc_codec *codec)
{
        const uint64_t least = (uint64_t)o->nthreads + 1;
        const uint64_t most = (uint64_t)o->nthreads * MOST_PER_THREAD;
        const uint64_t fits = o->memory_nbytes / (codec->text_nbytes + codec->block_nbytes);
        return (size_t)(fits < least ? least : fits > most ? most : fits);
}

uint64_t kc_compressor_nbytes(const struct kc_compressor_options *options)
{
        const struct kc_codec *codec = kc_codec_of(options->compression);
        if (codec == NULL)
                return 0;
        return count_places(options, codec) * (codec->text_nbytes + codec->block_nbytes) +
               ((uint64_t)options->nthreads + 1) * codec->state_nbytes;
}

enum kc_status kc_compressor_open(struct kc_compressor **compressor,
                                  const struct kc_compressor_options *options, struct kc_error *err)
{
        struct kc_compressor *c = calloc(1, sizeof *c);
        *compressor = c;
        if (c == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for compressing");
        c->options = *options;
        c->codec = kc_codec_of(options->compression);
        pthread_mutex_init(&c->lock, NULL);
        pthread_cond_init(&c->moved, NULL);
        if (c->codec == NULL)
                return KC_OK;
        c->nplaces = count_places(options, c->codec);
        c->places = calloc(c->nplaces, sizeof *c->places);
        c->states = calloc((size_t)options->nthreads + 1, sizeof *c->states);
        if (c->places == NULL || c->states == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for compressing");
        return KC_OK;
}

void kc_compressor_close(struct kc_compressor *c)
{
        if (c == NULL)
                return;
        for (size_t i = 0; c->places != NULL && i < c->nplaces; i++) {
                free(c->places[i].text);
                free(c->places[i].block);
        }
        for (int i = 0; c->states != NULL && i <= c->options.nthreads; i++)
                c->codec->close(c->states[i]);
        free(c->places);
        free(c->states);
        pthread_cond_destroy(&c->moved);
        pthread_mutex_destroy(&c->lock);
        free(c);
}
