/*
 * A gzip stream in a regular file, inflated by all threads that ask for text (io/inflate/gunzip.h).
 *
 *      regions:   0 ....... | 1 ....... | 2 ....... | 3 ....... | 4 ....... | 5 ...
 *                 accepted    ^head:      guessed     being       guessed     ^next
 *                             being                   guessed
 *                             accepted
 *
 * The file is cut into regions of equal size. A thread that asks for text accepts the region at the
 * head, if that has been guessed and no other thread is accepting; otherwise it guesses the next
 * region, if not too many are guessed already; otherwise it waits. No thread keeps a region while
 * it does anything else, so a thread that does not return keeps no other waiting.
 *
 * A region with more text than a chunk should hold stays at the head and gives several chunks.
 * Chunks are numbered as they are accepted; checksums are folded in the order of these numbers.
 */
#include "base/turn.h"
#include "io/inflate/gunzip.h"
#include "io/inflate/source.h"

#include <stdatomic.h>
#include <stdlib.h>

enum {
        MIN_REGION = 1 << 10,
        CHUNKS_PER_REGION = 2,     /* a region has as many bytes as this many chunks... */
        REGIONS_PER_WORKER = 4,    /* ...or fewer, so that each worker gets this many... */
        MIN_CHUNKS_PER_REGION = 1, /* ...but then no fewer than this */
        MAX_EXPANSION = 16,        /* most text of a chunk, in sizes of a region */
        EXPANSION = 4,             /* usual text of a chunk, likewise */
        MIN_TEXT = 1 << 18,        /* text of a region, however little memory there is */
        MAX_FUTILE = 8, /* successive regions without a block that make guesses rare... */
        RARE = 16,      /* ...one region in this many */
        LOOKAHEAD_NBYTES =
                2 * KC_BLOCK_LOOKAHEAD, /* bytes seen after a region, where its last block ends */
};

/* A region in progress, and what its worker needs; reused for other regions. */
struct room {
        struct room *next;
        uint64_t region;
        bool skips_guess;      /* not worth a guess */
        struct kc_region text; /* of the region */
        uint8_t window[KC_WINDOW];
        struct kc_view view;
        uint8_t *packed;
        size_t packed_cap;
};

struct gunzip_source {
        struct kc_source base;
        size_t region_nbytes, max_text;
        uint64_t nregions;
        struct kc_turn folding;
        struct kc_gunzip gunzip;   /* owned by the thread that accepts; crc and nbytes by the one
                                      that folds */
        uint64_t counted;          /* likewise: bytes of the file that chunks have consumed */
        atomic_uint_fast64_t head; /* written under the lock */

        /* under the source's lock */
        pthread_cond_t changed;
        uint64_t next;
        bool accepting;
        unsigned nfutile;
        struct room **guessed; /* [max_rooms]: region r at r % max_rooms */
        size_t max_rooms;      /* from the head to the next region, at most */
        struct room *unused;
};

/* ---- rooms and views ---- */

static enum kc_status no_memory(struct kc_error *err)
{
        return kc_fail(err, KC_ENOMEM, "out of memory for reading");
}

/*
 * The most text of a region for which memory suffices. There are five rooms for every two workers,
 * since some guessed regions wait; each room holds symbols of two bytes, then bytes, in arrays with
 * space to spare, and the region. Every worker has a chunk, too.
 */
static size_t most_text(const struct kc_source *source)
{
        enum { SHARES = 14 };
        size_t share = source->memory_nbytes / (unsigned)source->nworkers / SHARES;
        return share > MIN_TEXT ? share : MIN_TEXT;
}

/* Long regions, because searching for a block costs as much as inflating ten times its bytes. */
static size_t choose_region(const struct kc_source *source, size_t most_text)
{
        uint64_t most = (uint64_t)CHUNKS_PER_REGION * source->chunk_nbytes;
        uint64_t least = (uint64_t)MIN_CHUNKS_PER_REGION * source->chunk_nbytes;
        uint64_t nbytes = source->input.size / (REGIONS_PER_WORKER * (unsigned)source->nworkers);
        nbytes = nbytes > most ? most : nbytes < least ? least : nbytes;
        nbytes = nbytes > most_text / EXPANSION ? most_text / EXPANSION : nbytes;
        return nbytes < MIN_REGION ? MIN_REGION : (size_t)nbytes;
}

/* Under the lock, once. */
static enum kc_status begin(struct gunzip_source *gz, struct kc_error *err)
{
        struct kc_source *source = &gz->base;
        enum kc_status status;
        KC_TRY(kc_gunzip_init(&gz->gunzip, source->input.name, source->input.size, err));
        gz->gunzip.place.bit = 8 * source->input.offset;
        gz->counted = source->input.offset;
        const size_t most = most_text(source);
        gz->region_nbytes = choose_region(source, most);
        gz->max_text = MAX_EXPANSION * gz->region_nbytes;
        if (gz->max_text > most)
                gz->max_text = most;
        gz->nregions = source->input.size / gz->region_nbytes + 1;
        size_t nworkers = (size_t)source->nworkers, max_rooms = nworkers + nworkers / 2 + 1;
        gz->guessed = calloc(max_rooms, sizeof(struct room *));
        if (gz->guessed == NULL)
                return no_memory(err);
        gz->max_rooms = max_rooms;
out:
        return status;
}

static struct room *take_room(struct gunzip_source *gz)
{
        struct room *room = gz->unused;
        if (room == NULL)
                return calloc(1, sizeof *room);
        gz->unused = room->next;
        return room;
}

static void give_back(struct gunzip_source *gz, struct room *room)
{
        pthread_mutex_lock(&gz->base.lock);
        room->next = gz->unused;
        gz->unused = room;
        pthread_mutex_unlock(&gz->base.lock);
}

static void free_room(struct room *room)
{
        if (room == NULL)
                return;
        kc_region_free(&room->text);
        free(room->packed);
        free(room);
}

/* Bring n bytes of the file from here on into view; fewer at its end. */
static enum kc_status read_view(struct gunzip_source *gz, struct room *room, uint64_t from,
                                size_t n, struct kc_error *err)
{
        size_t got = 0;
        if (n > room->packed_cap) {
                free(room->packed);
                room->packed = malloc(n);
                room->packed_cap = room->packed == NULL ? 0 : n;
                if (room->packed == NULL)
                        return no_memory(err);
        }
        enum kc_status status = kc_input_read_at(&gz->base.input, room->packed, n, from, &got, err);
        room->view = (struct kc_view){ room->packed, got, from, got < n };
        return status;
}

/* ---- choosing what to do ---- */

enum duty { NOTHING, GUESS, ACCEPT };

/* Under the lock. GUESS with *room NULL: there is no memory for it. */
static enum duty choose(struct gunzip_source *gz, struct room **room)
{
        uint64_t head = atomic_load_explicit(&gz->head, memory_order_relaxed);
        struct room **first = &gz->guessed[head % gz->max_rooms];
        if (!gz->accepting && *first != NULL) {
                *room = *first;
                *first = NULL;
                gz->accepting = true;
                return ACCEPT;
        }
        if (gz->next == gz->nregions || gz->next - head >= gz->max_rooms)
                return NOTHING;
        *room = take_room(gz);
        if (*room != NULL) {
                (*room)->region = gz->next++;
                (*room)->skips_guess = gz->nfutile >= MAX_FUTILE && (*room)->region % RARE != 0;
        }
        return GUESS;
}

/* Wait for something to do. NOTHING: the file has ended, or there was a failure; then the chunk is
 * numbered. */
static enum duty next_duty(struct gunzip_source *gz, struct room **room, struct kc_chunk *chunk)
{
        enum duty duty = NOTHING;
        struct kc_error *err = &chunk->error;
        pthread_mutex_lock(&gz->base.lock);
        if (gz->max_rooms == 0 && !gz->base.ended)
                begin(gz, err);
        while (duty == NOTHING && !gz->base.ended && err->status == KC_OK) {
                duty = choose(gz, room);
                if (duty == NOTHING)
                        pthread_cond_wait(&gz->changed, &gz->base.lock);
        }
        if (duty == GUESS && *room == NULL)
                no_memory(err);
        if (err->status != KC_OK) {
                duty = NOTHING;
                chunk->last = gz->base.ended = true;
                chunk->seq = gz->base.next_seq++;
                pthread_cond_broadcast(&gz->changed);
        }
        pthread_mutex_unlock(&gz->base.lock);
        return duty;
}

static void put_guessed(struct gunzip_source *gz, struct room *room)
{
        pthread_mutex_lock(&gz->base.lock);
        gz->guessed[room->region % gz->max_rooms] = room;
        pthread_cond_broadcast(&gz->changed);
        pthread_mutex_unlock(&gz->base.lock);
}

/*
 * End accepting: number the chunk if it is filled, and go on to the next region, or to the rest of
 * this one.
 */
static void move_on(struct gunzip_source *gz, const struct room *room, bool done, bool filled,
                    struct kc_chunk *chunk)
{
        struct room *rest = NULL;
        pthread_mutex_lock(&gz->base.lock);
        if (!done && !chunk->last) {
                rest = take_room(gz);
                if (rest == NULL) {
                        no_memory(&chunk->error);
                        chunk->last = filled = true;
                }
        }
        if (rest != NULL) {
                rest->region = room->region;
                kc_region_empty(&rest->text);
                gz->guessed[room->region % gz->max_rooms] = rest;
        }
        if (filled)
                chunk->seq = gz->base.next_seq++;
        gz->base.ended |= chunk->last;
        if (done)
                atomic_fetch_add_explicit(&gz->head, 1, memory_order_release);
        gz->accepting = false;
        pthread_cond_broadcast(&gz->changed);
        pthread_mutex_unlock(&gz->base.lock);
}

/* ---- guessing ---- */

struct guess_ctx {
        const struct gunzip_source *gz;
        uint64_t region;
};

static bool window_is_known(const void *ctx)
{
        const struct guess_ctx *guess = ctx;
        return atomic_load_explicit(&guess->gz->head, memory_order_acquire) == guess->region;
}

static void note_guess(struct gunzip_source *gz, bool futile)
{
        pthread_mutex_lock(&gz->base.lock);
        gz->nfutile = futile ? gz->nfutile + 1 : 0;
        pthread_mutex_unlock(&gz->base.lock);
}

/* A failure here is not reported: if it persists, the thread that accepts meets it again. */
static void guess(struct gunzip_source *gz, struct room *room)
{
        struct guess_ctx ctx = { gz, room->region };
        struct kc_error unused = { 0 };
        uint64_t from = room->region * gz->region_nbytes, size = gz->base.input.size;
        uint64_t to = from + gz->region_nbytes < size ? from + gz->region_nbytes : size;
        struct kc_guess_limits limits = { to, gz->max_text, window_is_known, &ctx };
        kc_region_empty(&room->text);
        room->view = (struct kc_view){ 0 };
        if (room->skips_guess || from >= to || window_is_known(&ctx))
                return;
        if (read_view(gz, room, from, gz->region_nbytes + LOOKAHEAD_NBYTES, &unused) != KC_OK ||
            room->view.n < (size_t)(to - from))
                return;
        if (kc_region_guess(&room->text, &room->view, from, &limits, &unused) != KC_OK)
                kc_region_empty(&room->text);
        else
                note_guess(gz, room->text.key == KC_NO_BLOCK);
}

/* ---- accepting ---- */

/* Is the place in view, with enough after it? */
static bool is_in_view(const struct room *room, uint64_t byte)
{
        const struct kc_view *view = &room->view;
        return byte >= view->offset && byte - view->offset < view->n &&
               (view->ends || view->offset + view->n - byte >= KC_BLOCK_LOOKAHEAD);
}

static enum kc_status read_next_view(struct gunzip_source *gz, struct room *room, size_t n,
                                     struct kc_error *err)
{
        enum kc_status status = read_view(gz, room, gz->gunzip.place.bit / 8, n, err);
        if (status != KC_OK)
                kc_region_empty(&room->text);
        return status;
}

/* *done: the region is complete. A view in which nothing moves is too small. */
static enum kc_status accept(struct gunzip_source *gz, struct room *room, bool *done,
                             struct kc_error *err)
{
        const struct kc_gunzip_place *place = &gz->gunzip.place;
        uint64_t to = (room->region + 1) * gz->region_nbytes, before = place->bit;
        size_t n = gz->region_nbytes + LOOKAHEAD_NBYTES;
        enum kc_gunzip_phase phase = place->phase;
        enum kc_status status = KC_OK;
        if (room->region + 1 == gz->nregions)
                to = UINT64_MAX / 16;
        if (!is_in_view(room, before / 8))
                KC_TRY(read_next_view(gz, room, n, err));
        for (;;) {
                KC_TRY(kc_region_accept(&room->text, &gz->gunzip, room->window, &room->view, to,
                                        gz->max_text, done, err));
                if (*done || place->bit > before || place->phase != phase || room->text.nbytes > 0)
                        break;
                n *= 2;
                KC_TRY(read_next_view(gz, room, n, err));
        }
out:
        return status;
}

/* Accept the region or a part of it. Returns false if that fills no chunk. */
static bool pass_through(struct gunzip_source *gz, struct room *room, struct kc_chunk *chunk)
{
        const struct kc_region *region = &room->text;
        bool done = false;
        accept(gz, room, &done, &chunk->error);
        chunk->last = chunk->error.status != KC_OK || gz->gunzip.place.phase == KC_AT_END;
        bool filled = chunk->last || region->nsymbols + region->nbytes + region->nends > 0 ||
                      region->open_before > 0;
        if (filled) {
                chunk->input_nbytes = gz->gunzip.place.bit / 8 - gz->counted;
                gz->counted += chunk->input_nbytes;
        }
        move_on(gz, room, done, filled, chunk);
        return filled || chunk->last;
}

/* Note where BGZF ends without its end-of-file block. If there are several such places, prefer one
 * within a line; whether the one before the region is within a line is not known here.
 *   text  of the region, [n] */
static void note_open_ends(const struct kc_region *region, const uint8_t *text, size_t n,
                           struct kc_open_end *open)
{
        bool in_line = false;
        *open = (struct kc_open_end){ region->open_before > 0, region->open_before, n };
        for (size_t i = 0; i < region->nends && !in_line; i++) {
                const struct kc_member_end *end = &region->ends[i];
                in_line = end->open && end->text > 0 && text[end->text - 1] != '\n';
                if (end->open && (in_line || !open->found))
                        *open = (struct kc_open_end){ true, end->offset, n - end->text };
        }
}

/* Write the accepted text. A failure found here lies before one that accepting found in the
 * file. */
static void finish(struct gunzip_source *gz, const struct room *room, struct kc_chunk *chunk)
{
        struct kc_error first = { 0 };
        struct kc_region_sums sums;
        size_t n = room->text.nsymbols + room->text.nbytes;
        if (kc_chunk_reserve(chunk, n, &first) == KC_OK)
                kc_region_finish(&room->text, room->window, chunk->buffer + chunk->front, &sums,
                                 gz->base.input.name, &first);
        kc_turn_wait(&gz->folding, chunk->seq);
        if (first.status == KC_OK)
                kc_gunzip_fold(&gz->gunzip, &room->text, &sums, &first);
        kc_turn_pass(&gz->folding);
        chunk->text = chunk->front;
        chunk->end = chunk->front + (first.status == KC_OK ? n : 0);
        if (first.status == KC_OK)
                note_open_ends(&room->text, chunk->buffer + chunk->front, n, &chunk->open_end);
        else
                chunk->error = first;
}

static bool fill(struct kc_source *source, struct kc_chunk *chunk)
{
        struct gunzip_source *gz = (struct gunzip_source *)source;
        for (;;) {
                struct room *room = NULL;
                switch (next_duty(gz, &room, chunk)) {
                case NOTHING:
                        if (chunk->error.status == KC_OK)
                                return false;
                        kc_turn_wait(&gz->folding, chunk->seq);
                        kc_turn_pass(&gz->folding);
                        return true;
                case GUESS:
                        guess(gz, room);
                        put_guessed(gz, room);
                        break;
                case ACCEPT:
                        if (pass_through(gz, room, chunk)) {
                                finish(gz, room, chunk);
                                give_back(gz, room);
                                return true;
                        }
                        give_back(gz, room);
                        break;
                }
        }
}

static void free_gunzip(struct kc_source *source)
{
        struct gunzip_source *gz = (struct gunzip_source *)source;
        while (gz->unused != NULL) {
                struct room *room = gz->unused;
                gz->unused = room->next;
                free_room(room);
        }
        for (size_t i = 0; i < gz->max_rooms; i++)
                free_room(gz->guessed[i]);
        free(gz->guessed);
        kc_gunzip_free(&gz->gunzip);
        kc_turn_destroy(&gz->folding);
        pthread_cond_destroy(&gz->changed);
        free(gz);
}

/* A block that begins before PROBE_FROM is the file's first one, which every file has. */
enum { PROBE_FROM = 64, PROBE_NBYTES = 1 << 20 };

/* Stored blocks do not count: copying them takes less time than finding them. */
static bool has_dynamic_block(const uint8_t *in, size_t nin)
{
        uint64_t end = 8 * (uint64_t)nin, bit = kc_deflate_find(in, nin, 8 * PROBE_FROM, end);
        while (bit != KC_NO_BLOCK && (kc_deflate_block_key(in, nin, bit) & KC_STORED_KEY) != 0)
                bit = kc_deflate_find(in, nin, bit + 1, end);
        return bit != KC_NO_BLOCK;
}

bool kc_source_can_gunzip(const struct kc_input *in)
{
        size_t got = 0;
        struct kc_error unused = { 0 };
        uint8_t *probe = in->regular ? malloc(PROBE_NBYTES) : NULL;
        bool can = probe != NULL &&
                   kc_input_read_at(in, probe, PROBE_NBYTES, in->offset, &got, &unused) == KC_OK &&
                   has_dynamic_block(probe, got);
        free(probe);
        return can;
}

static const struct kc_source_ops gunzip_ops = { .fill = fill, .free = free_gunzip };

struct kc_source *kc_source_new_gunzip(void)
{
        struct gunzip_source *gz = calloc(1, sizeof *gz);
        if (gz == NULL)
                return NULL;
        gz->base.ops = &gunzip_ops;
        kc_turn_init(&gz->folding);
        pthread_cond_init(&gz->changed, NULL);
        return &gz->base;
}
