#include "cpu/ask/join.h"

#include <stdlib.h>
#include <string.h>

enum {
        TILE = 256, /* k-mers answered before the answers are written over them */
        PREFETCHED_NLINES = 4,
};

void kc_ask_joiner_free(struct kc_ask_joiner *joiner)
{
        if (joiner->walk != NULL)
                joiner->setup->table->walk_close(joiner->walk);
        free(joiner->answers);
        kc_ask_index_free(&joiner->index);
}

/* ---- the table's side ---- */

/* Decode the next piece of the range that the walk is in, and index it.
 *   at_end  out: there is no other piece after it */
static enum kc_status load_piece(struct kc_ask_joiner *joiner, bool *at_end, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        const struct kc_ask_table *table = joiner->setup->table;
        kc_ask_index_clear(&joiner->index);
        *at_end = false;
        while (joiner->index.n < joiner->setup->piece_nkmers) {
                const uint64_t *kmers;
                const uint32_t *counts;
                size_t n;
                KC_TRY(table->walk_next(joiner->walk, &kmers, &counts, &n, err));
                if (n == 0) {
                        *at_end = true;
                        break;
                }
                KC_TRY(kc_ask_index_add(&joiner->index, kmers, counts, n, err));
        }
        KC_TRY(kc_ask_index_end(&joiner->index, joiner->from, joiner->to, err));
out:
        return status;
}

/* ---- the side of those who ask ---- */

/* A place in the lists of one part: the next chunk, and how many k-mers it has. */
struct chunk_place {
        const struct kc_ask_lists *const *lists; /* of the threads that are left */
        int nlists;
        uint32_t part;
        struct kc_ask_chunk *chunk; /* NULL: the first one of lists[0] */
        uint32_t left;              /* k-mers of lists[0] from this chunk on */
};

/* Chunks lie at irregular distances, so the processor does not prefetch the next one by itself. */
static void prefetch_chunk(const struct kc_ask_chunk *chunk)
{
        for (int i = 0; chunk != NULL && i < PREFETCHED_NLINES; i++)
                __builtin_prefetch((const char *)chunk + i * KC_ASK_LINE_NBYTES, 1);
}

/* Take the next chunk; NULL at the end. */
static struct kc_ask_chunk *take_chunk(struct chunk_place *place, uint32_t *n)
{
        for (; place->nlists > 0; place->lists++, place->nlists--) {
                const struct kc_ask_lists *lists = place->lists[0];
                struct kc_ask_chunk *chunk = place->chunk;
                if (chunk == NULL) {
                        place->left = lists->n[place->part];
                        chunk = place->left > 0 ? lists->first[place->part] : NULL;
                }
                if (chunk != NULL) {
                        *n = place->left < lists->chunk_nkmers ? place->left : lists->chunk_nkmers;
                        place->left -= *n;
                        place->chunk = chunk->next;
                        prefetch_chunk(chunk->next);
                        if (place->left == 0) {
                                place->chunk = NULL;
                                place->lists++;
                                place->nlists--;
                        }
                        return chunk;
                }
        }
        return NULL;
}

/* Write the answers over the k-mers of a chunk. */
static void answer_chunk(const struct kc_ask_joiner *joiner, struct kc_ask_chunk *chunk, uint32_t n)
{
        const size_t kmer_nbytes = (size_t)joiner->setup->plan->nwords * sizeof(uint64_t);
        uint32_t answers[TILE];
        for (uint32_t i = 0; i < n; i += TILE) {
                const uint32_t m = n - i < TILE ? n - i : TILE;
                kc_ask_index_find(&joiner->index, (const uint64_t *)(chunk->data + i * kmer_nbytes),
                                  m, answers);
                memcpy(chunk->data + i * sizeof *answers, answers, m * sizeof *answers);
        }
}

/* ---- parts of several pieces ---- */

static enum kc_status reserve_answers(struct kc_ask_joiner *joiner, struct kc_error *err)
{
        const struct kc_ask_join_setup *setup = joiner->setup;
        if (joiner->answers != NULL)
                return KC_OK;
        joiner->answers_cap = setup->group_nkmers + KC_ASK_MAX_CHUNK_NBYTES / sizeof(uint64_t);
        joiner->answers = malloc(joiner->answers_cap * sizeof *joiner->answers);
        if (joiner->answers == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for %zu answers",
                               joiner->answers_cap);
        return KC_OK;
}

/* Look the k-mers of a group, from `place` on, up in the piece, and add to their answers: a k-mer
 * is in one piece at most, and has count 0 in all others. Returns the number of k-mers. */
static size_t add_group(struct kc_ask_joiner *joiner, struct chunk_place place)
{
        struct kc_ask_chunk *chunk;
        uint32_t n, answers[TILE];
        size_t ngroup = 0;
        const size_t nw = (size_t)joiner->setup->plan->nwords;
        while (ngroup < joiner->setup->group_nkmers && (chunk = take_chunk(&place, &n)) != NULL) {
                const uint64_t *kmers = (const uint64_t *)chunk->data;
                for (uint32_t i = 0; i < n; i += TILE) {
                        const uint32_t m = n - i < TILE ? n - i : TILE;
                        kc_ask_index_find(&joiner->index, kmers + i * nw, m, answers);
                        for (uint32_t j = 0; j < m; j++)
                                joiner->answers[ngroup + i + j] |= answers[j];
                }
                ngroup += n;
        }
        return ngroup;
}

/* Write the answers of a group over its k-mers; *place moves past it. */
static void write_group(const struct kc_ask_joiner *joiner, size_t ngroup,
                        struct chunk_place *place)
{
        for (size_t at = 0; at < ngroup;) {
                uint32_t n;
                struct kc_ask_chunk *chunk = take_chunk(place, &n);
                memcpy(chunk->data, joiner->answers + at, n * sizeof *joiner->answers);
                at += n;
        }
}

/* The first piece has been loaded, and it is not the last one. */
static enum kc_status join_pieces(struct kc_ask_joiner *joiner, struct chunk_place place,
                                  struct kc_error *err)
{
        enum kc_status status = KC_OK;
        const struct kc_ask_table *table = joiner->setup->table;
        bool at_end = false;
        KC_TRY(reserve_answers(joiner, err));
        for (;;) {
                memset(joiner->answers, 0, joiner->answers_cap * sizeof *joiner->answers);
                size_t ngroup = add_group(joiner, place);
                while (!at_end) {
                        KC_TRY(load_piece(joiner, &at_end, err));
                        (void)add_group(joiner, place);
                }
                write_group(joiner, ngroup, &place);
                struct chunk_place rest = place;
                uint32_t n;
                if (take_chunk(&rest, &n) == NULL)
                        break;
                KC_TRY(table->walk_move(joiner->walk, joiner->from, joiner->to, err));
                KC_TRY(load_piece(joiner, &at_end, err));
        }
out:
        return status;
}

/* ---- one part ---- */

static uint64_t nasked(const struct kc_ask_lists *const *lists, int nlists, uint32_t part)
{
        uint64_t n = 0;
        for (int i = 0; i < nlists; i++)
                n += lists[i]->n[part];
        return n;
}

enum kc_status kc_ask_join(struct kc_ask_joiner *joiner, const struct kc_ask_lists *const *lists,
                           int nlists, uint32_t part, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        const struct kc_ask_join_setup *setup = joiner->setup;
        struct chunk_place place = { .lists = lists, .nlists = nlists, .part = part };
        struct kc_ask_chunk *chunk;
        uint32_t n;
        bool at_end;
        if (nasked(lists, nlists, part) == 0)
                return KC_OK;
        if (joiner->walk == NULL)
                KC_TRY(setup->table->walk_open(setup->table->ctx, &joiner->walk, err));
        kc_ask_plan_range(setup->plan, part, joiner->from, joiner->to);
        KC_TRY(setup->table->walk_move(joiner->walk, joiner->from, joiner->to, err));
        KC_TRY(load_piece(joiner, &at_end, err));
        if (!at_end)
                return join_pieces(joiner, place, err);
        while ((chunk = take_chunk(&place, &n)) != NULL)
                answer_chunk(joiner, chunk, n);
out:
        return status;
}
