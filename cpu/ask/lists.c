#include "cpu/ask/lists.h"

#include <stdlib.h>
#include <string.h>

/* The hot loops are written once for any number of words and compiled for 1, 2 and n of them. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

static size_t line_nbytes(int nwords)
{
        return KC_ASK_LINE_NKMERS * (size_t)nwords * sizeof(uint64_t);
}

uint32_t kc_ask_chunk_nkmers(size_t chunk_nbytes, int nwords)
{
        const size_t nlines = (chunk_nbytes - sizeof(struct kc_ask_chunk)) / line_nbytes(nwords);
        return (uint32_t)nlines * KC_ASK_LINE_NKMERS;
}

size_t kc_ask_lists_nbytes(const struct kc_ask_plan *plan)
{
        const struct kc_ask_lists *lists = NULL;
        return plan->nparts * (line_nbytes(plan->nwords) + sizeof *lists->n + sizeof *lists->first +
                               sizeof *lists->tail + sizeof *lists->next);
}

enum kc_status kc_ask_lists_init(struct kc_ask_lists *lists, const struct kc_ask_plan *plan,
                                 struct kc_ask_pool *pool, struct kc_ask_holder *holder,
                                 struct kc_error *err)
{
        const uint32_t n = plan->nparts;
        *lists = (struct kc_ask_lists){
                .plan = plan,
                .pool = pool,
                .holder = holder,
                .chunk_nkmers = kc_ask_chunk_nkmers(pool->chunk_nbytes, plan->nwords),
        };
        lists->full_at = sizeof(struct kc_ask_chunk) +
                         lists->chunk_nkmers / KC_ASK_LINE_NKMERS * line_nbytes(plan->nwords);
        lists->lines = aligned_alloc(KC_ASK_LINE_NBYTES, n * line_nbytes(plan->nwords));
        lists->n = calloc(n, sizeof *lists->n);
        lists->first = calloc(n, sizeof *lists->first);
        lists->tail = calloc(n, sizeof *lists->tail);
        lists->next = calloc(n, sizeof *lists->next);
        if (lists->lines == NULL || lists->n == NULL || lists->first == NULL ||
            lists->tail == NULL || lists->next == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for %u lists", n);
        return KC_OK;
}

void kc_ask_lists_free(struct kc_ask_lists *lists)
{
        free(lists->lines);
        free(lists->n);
        free(lists->first);
        free(lists->tail);
        free(lists->next);
}

void kc_ask_lists_clear(struct kc_ask_lists *lists)
{
        const uint32_t n = lists->plan->nparts;
        memset(lists->n, 0, n * sizeof *lists->n);
        memset(lists->first, 0, n * sizeof *lists->first);
        memset(lists->tail, 0, n * sizeof *lists->tail);
}

/* ---- appending ---- */

/* The chunk that holds the byte before `end`. */
static struct kc_ask_chunk *chunk_before(const struct kc_ask_lists *lists, const void *end)
{
        const uintptr_t mask = ~(uintptr_t)(lists->pool->chunk_nbytes - 1);
        return (struct kc_ask_chunk *)(((uintptr_t)end - 1) & mask);
}

static enum kc_status grow(struct kc_ask_lists *lists, uint32_t part, struct kc_error *err)
{
        struct kc_ask_chunk *chunk;
        enum kc_status status = kc_ask_take_chunk(lists->pool, lists->holder, &chunk, err);
        if (status != KC_OK)
                return status;
        if (lists->tail[part] == NULL)
                lists->first[part] = chunk;
        else
                chunk_before(lists, lists->tail[part])->next = chunk;
        lists->tail[part] = chunk->data;
        return KC_OK;
}

/* Make sure that a whole line fits at the list's tail. */
ALWAYS_INLINE enum kc_status make_room(struct kc_ask_lists *lists, uint32_t part,
                                       struct kc_error *err)
{
        const uintptr_t at = (uintptr_t)lists->tail[part] & (lists->pool->chunk_nbytes - 1);
        return at == 0 || at == lists->full_at ? grow(lists, part, err) : KC_OK;
}

/* A line has been written; the list's next one follows it. Bring that one into the cache long
 * before it is written, or else stores would wait for memory. */
ALWAYS_INLINE void end_line(struct kc_ask_lists *lists, uint32_t part, size_t nbytes)
{
        lists->tail[part] += nbytes;
        for (size_t at = 0; at < nbytes; at += KC_ASK_LINE_NBYTES)
                __builtin_prefetch(lists->tail[part] + at, 1);
}

/* Copy the list's line to its chunk. The last k-mer is copied from where it is: if it were stored
 * in the line first, the wide loads of the line would wait for that store. */
ALWAYS_INLINE enum kc_status flush(struct kc_ask_lists *lists, uint32_t part, const uint64_t *line,
                                   const uint64_t *last, int nw, struct kc_error *err)
{
        const size_t kmer_nbytes = (size_t)nw * sizeof *line,
                     nbytes = (KC_ASK_LINE_NKMERS - 1) * kmer_nbytes;
        enum kc_status status = make_room(lists, part, err);
        if (status != KC_OK)
                return status;
        memcpy(lists->tail[part], line, nbytes);
        memcpy(lists->tail[part] + nbytes, last, kmer_nbytes);
        end_line(lists, part, nbytes + kmer_nbytes);
        return KC_OK;
}

ALWAYS_INLINE enum kc_status append(struct kc_ask_lists *lists, const uint64_t *kmers, size_t n,
                                    int nw, uint16_t *parts, struct kc_error *err)
{
        const size_t nwords = (size_t)nw;
        const uint16_t *prefixes = lists->plan->parts;
        const int shift = lists->plan->shift;
        uint64_t *lines = lists->lines;
        uint32_t *ns = lists->n;
        for (size_t i = 0; i < n; i++)
                parts[i] = prefixes[kc_ask_prefix(kmers + i * nwords, nw, shift)];
        for (size_t i = 0; i < n; i++, kmers += nwords) {
                const uint32_t part = parts[i], in_line = ns[part]++ % KC_ASK_LINE_NKMERS;
                uint64_t *line = lines + part * (size_t)KC_ASK_LINE_NKMERS * nwords;
                if (in_line < KC_ASK_LINE_NKMERS - 1) {
                        memcpy(line + in_line * nwords, kmers, nwords * sizeof *line);
                        continue;
                }
                enum kc_status status = flush(lists, part, line, kmers, nw, err);
                if (status != KC_OK)
                        return status;
        }
        return KC_OK;
}

enum kc_status kc_ask_lists_append(struct kc_ask_lists *lists, const uint64_t *kmers, size_t n,
                                   uint16_t *parts, struct kc_error *err)
{
        const int nw = lists->plan->nwords;
        if (nw == 1)
                return append(lists, kmers, n, 1, parts, err);
        if (nw == 2)
                return append(lists, kmers, n, 2, parts, err);
        return append(lists, kmers, n, nw, parts, err);
}

enum kc_status kc_ask_lists_seal(struct kc_ask_lists *lists, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        const size_t kmer_nbytes = (size_t)lists->plan->nwords * sizeof *lists->lines;
        for (uint32_t p = 0; p < lists->plan->nparts; p++) {
                const uint32_t in_line = lists->n[p] % KC_ASK_LINE_NKMERS;
                if (in_line == 0)
                        continue;
                KC_TRY(make_room(lists, p, err));
                memcpy(lists->tail[p],
                       lists->lines + p * KC_ASK_LINE_NKMERS * (size_t)lists->plan->nwords,
                       in_line * kmer_nbytes);
        }
out:
        return status;
}

/* ---- reading the answers ---- */

void kc_ask_lists_rewind(struct kc_ask_lists *lists)
{
        for (uint32_t p = 0; p < lists->plan->nparts; p++)
                lists->next[p] = lists->n[p] > 0 ? (const uint32_t *)lists->first[p]->data : NULL;
}

void kc_ask_lists_replay(struct kc_ask_lists *lists, const uint16_t *parts, size_t n,
                         uint32_t *counts)
{
        const uintptr_t mask = lists->pool->chunk_nbytes - 1;
        const uintptr_t end = sizeof(struct kc_ask_chunk) + lists->chunk_nkmers * sizeof *counts;
        for (size_t i = 0; i < n; i++) {
                const uint32_t *next = lists->next[parts[i]];
                counts[i] = *next++;
                __builtin_prefetch(next + KC_ASK_LINE_NBYTES / sizeof *next);
                if (((uintptr_t)next & mask) == end) {
                        const struct kc_ask_chunk *chunk = chunk_before(lists, next)->next;
                        next = chunk != NULL ? (const uint32_t *)chunk->data : NULL;
                        __builtin_prefetch(next);
                }
                lists->next[parts[i]] = next;
        }
}
