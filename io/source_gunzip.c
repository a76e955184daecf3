/*
 * A gzip stream in a regular file, inflated by all who ask for text (io/gunzip.h). Whoever comes
 * takes the next piece of the file and guesses; in the pieces' order guesses are accepted and
 * chunks numbered; then each makes its own text. A piece without text gives no chunk, and pieces
 * go on behind the file's end until all text has been given, for a piece of a file that expands
 * beyond measure gives but a part of its text.
 */
#include "io/gunzip.h"
#include "io/source.h"
#include "io/turn.h"

#include <stdlib.h>

enum {
        MIN_PIECE = 1 << 10,
        CHUNKS_A_PIECE = 4,    /* a piece has as many bytes as so many chunks... */
        PIECES_A_WORKER = 4,   /* ...or fewer, so that each worker gets so many... */
        MIN_CHUNKS_A_PIECE = 2, /* ...but then no fewer than this */
        MAX_EXPANSION = 16,    /* of a piece, in one chunk */
};

/* What a thread needs for a piece, kept for the next one. */
struct room {
        struct room *next;
        struct kc_piece piece;
        struct kc_piece_sums sums;
        uint8_t window[KC_WINDOW];
        struct kc_view view;
        uint8_t *packed;
        size_t packed_cap;
};

struct gunzip_source {
        struct kc_source base;
        bool begun;
        size_t piece_nbytes, max_text;
        uint64_t next_piece;
        struct room *rooms; /* those in no use */
        struct kc_turn accepting, folding;
        struct kc_gunzip gunzip; /* but for crc and nbytes, of whose turn it is to accept */
        bool ended;              /* likewise */
};

/* ---- rooms and views ---- */

/* Long pieces, for the search for a block costs as much as inflating three times its bytes. */
static size_t choose_piece(const struct kc_source *source)
{
        uint64_t most = (uint64_t)CHUNKS_A_PIECE * source->chunk_nbytes;
        uint64_t least = (uint64_t)MIN_CHUNKS_A_PIECE * source->chunk_nbytes;
        uint64_t nbytes = source->input.size / (PIECES_A_WORKER * (unsigned)source->nworkers);
        nbytes = nbytes > most ? most : nbytes < least ? least : nbytes;
        return nbytes < MIN_PIECE ? MIN_PIECE : (size_t)nbytes;
}

/* Under the source's lock. */
static enum kc_status begin(struct gunzip_source *gz, struct kc_error *err)
{
        struct kc_source *source = &gz->base;
        enum kc_status status = kc_gunzip_init(&gz->gunzip, source->input.name, err);
        gz->gunzip.place.bit = 8 * source->input.offset;
        gz->piece_nbytes = choose_piece(source);
        gz->max_text = MAX_EXPANSION * gz->piece_nbytes;
        gz->begun = true;
        return status;
}

/* Take the number of the next piece, and a room for it; NULL with err. */
static struct room *take_piece(struct gunzip_source *gz, uint64_t *number, struct kc_error *err)
{
        pthread_mutex_lock(&gz->base.lock);
        *number = gz->next_piece++;
        if (!gz->begun)
                begin(gz, err);
        struct room *room = gz->rooms;
        if (room != NULL)
                gz->rooms = room->next;
        pthread_mutex_unlock(&gz->base.lock);
        if (room == NULL)
                room = calloc(1, sizeof *room);
        if (room == NULL)
                kc_fail(err, KC_ENOMEM, "out of memory for reading");
        return room;
}

static void give_back(struct gunzip_source *gz, struct room *room)
{
        if (room == NULL)
                return;
        pthread_mutex_lock(&gz->base.lock);
        room->next = gz->rooms;
        gz->rooms = room;
        pthread_mutex_unlock(&gz->base.lock);
}

/* See n bytes of the file from here on; fewer at its end. */
static enum kc_status see(struct gunzip_source *gz, struct room *room, uint64_t from, size_t n,
                          struct kc_error *err)
{
        size_t got = 0;
        if (n > room->packed_cap) {
                free(room->packed);
                room->packed = malloc(n);
                room->packed_cap = room->packed == NULL ? 0 : n;
                if (room->packed == NULL)
                        return kc_fail(err, KC_ENOMEM, "out of memory for reading");
        }
        enum kc_status status = kc_input_read_at(&gz->base.input, room->packed, n, from, &got, err);
        room->view = (struct kc_view){ room->packed, got, from, got < n };
        return status;
}

/* ---- the stages of a piece ---- */

struct guess_ctx {
        const struct gunzip_source *gz;
        uint64_t number;
};

static bool window_is_known(const void *ctx)
{
        const struct guess_ctx *guess = ctx;
        return kc_turn_has_come(&guess->gz->accepting, guess->number);
}

static enum kc_status guess(struct gunzip_source *gz, struct room *room, uint64_t number,
                            struct kc_error *err)
{
        struct guess_ctx ctx = { gz, number };
        uint64_t size = gz->base.input.size, from = number * gz->piece_nbytes;
        uint64_t to = from + gz->piece_nbytes < size ? from + gz->piece_nbytes : size;
        struct kc_guess_limits limits = { to, gz->max_text, window_is_known, &ctx };
        room->piece.key = KC_NO_BLOCK;
        room->view = (struct kc_view){ 0 };
        if (from >= size || window_is_known(&ctx))
                return KC_OK;
        enum kc_status status = see(gz, room, from, gz->piece_nbytes + KC_BLOCK_LOOKAHEAD, err);
        if (status != KC_OK || room->view.n < (size_t)(to - from))
                return status;
        return kc_piece_guess(&room->piece, &room->view, from, &limits, err);
}

/* Is the place in view, with enough behind it? */
static bool sees_place(const struct room *room, uint64_t byte)
{
        const struct kc_view *view = &room->view;
        return byte >= view->offset && byte - view->offset < view->n &&
               (view->ends || view->offset + view->n - byte >= KC_BLOCK_LOOKAHEAD);
}

/* In turn. A view in which nothing moves is too small. */
static enum kc_status accept(struct gunzip_source *gz, struct room *room, uint64_t number,
                             struct kc_error *err)
{
        const struct kc_gunzip_place *place = &gz->gunzip.place;
        uint64_t size = gz->base.input.size, to = (number + 1) * gz->piece_nbytes;
        uint64_t before = place->bit;
        enum kc_status status = KC_OK;
        if (to >= size)
                to = UINT64_MAX / 16;
        size_t n = gz->piece_nbytes + KC_BLOCK_LOOKAHEAD;
        if (!sees_place(room, before / 8))
                KC_TRY(see(gz, room, before / 8, n, err));
        for (;;) {
                enum kc_gunzip_phase phase = place->phase;
                KC_TRY(kc_piece_accept(&room->piece, &gz->gunzip, room->window, &room->view, to,
                                       gz->max_text, err));
                if (place->bit > before || place->phase != phase || before >= 8 * to ||
                    room->piece.nbytes > 0 || place->phase == KC_AT_END)
                        break;
                n *= 2;
                KC_TRY(see(gz, room, before / 8, n, err));
        }
out:
        return status;
}

/* In turn: have the piece's text accepted, and number the chunk. Returns false if it gets none. */
static bool pass_through(struct gunzip_source *gz, struct room *room, uint64_t number,
                         struct kc_chunk *chunk)
{
        if (gz->ended)
                return false;
        uint64_t before = gz->gunzip.place.bit;
        if (chunk->error.status == KC_OK)
                accept(gz, room, number, &chunk->error);
        chunk->last = chunk->error.status != KC_OK || gz->gunzip.place.phase == KC_AT_END;
        chunk->input_nbytes += gz->gunzip.place.bit / 8 - before / 8;
        if (!chunk->last && room->piece.nsymbols + room->piece.nbytes == 0 &&
            room->piece.nends == 0)
                return false;
        chunk->seq = gz->base.next_seq++;
        gz->ended = chunk->last;
        return true;
}

static void finish(struct gunzip_source *gz, struct room *room, struct kc_chunk *chunk)
{
        size_t n = room->piece.nsymbols + room->piece.nbytes;
        struct kc_error *err = &chunk->error;
        if (kc_chunk_reserve(chunk, n, err) != KC_OK)
                return;
        kc_piece_finish(&room->piece, room->window, chunk->buffer + chunk->front, &room->sums,
                        gz->base.input.name, err);
        chunk->text = chunk->front;
        chunk->end = chunk->front + n;
}

static bool fill(struct kc_source *source, struct kc_chunk *chunk)
{
        struct gunzip_source *gz = (struct gunzip_source *)source;
        struct kc_error *err = &chunk->error;
        bool filled, ended;
        do {
                uint64_t number;
                struct room *room = take_piece(gz, &number, err);
                if (err->status == KC_OK)
                        guess(gz, room, number, err);
                kc_turn_wait(&gz->accepting, number);
                filled = pass_through(gz, room, number, chunk);
                ended = gz->ended;
                kc_turn_pass(&gz->accepting);
                if (filled && err->status == KC_OK)
                        finish(gz, room, chunk);
                kc_turn_wait(&gz->folding, number);
                if (filled && err->status == KC_OK)
                        kc_gunzip_fold(&gz->gunzip, &room->piece, &room->sums, err);
                kc_turn_pass(&gz->folding);
                give_back(gz, room);
        } while (!filled && !ended);
        return filled;
}

static void free_gunzip(struct kc_source *source)
{
        struct gunzip_source *gz = (struct gunzip_source *)source;
        while (gz->rooms != NULL) {
                struct room *room = gz->rooms;
                gz->rooms = room->next;
                kc_piece_free(&room->piece);
                free(room->packed);
                free(room);
        }
        kc_gunzip_free(&gz->gunzip);
        kc_turn_destroy(&gz->accepting);
        kc_turn_destroy(&gz->folding);
        free(gz);
}

static const struct kc_source_ops gunzip_ops = { .fill = fill, .free = free_gunzip };

struct kc_source *kc_source_new_gunzip(void)
{
        struct gunzip_source *gz = calloc(1, sizeof *gz);
        if (gz == NULL)
                return NULL;
        gz->base.ops = &gunzip_ops;
        kc_turn_init(&gz->accepting);
        kc_turn_init(&gz->folding);
        return &gz->base;
}
