/*
 * Walks over a store, runs merged, and the cutting of the key space for several of them.
 */
#include "io/store_file.h"

#include <stdlib.h>
#include <string.h>

struct kc_cursor {
        const struct kc_store *store;
        uint64_t from[KC_MAX_WORDS], to[KC_MAX_WORDS];
        struct kc_walk *walks; /* one a run */
        uint64_t *kmers;       /* merged pairs, where there are several runs */
        uint32_t *counts;
};

static const uint64_t *copy_bound(uint64_t *to, const uint64_t *kmer, int nwords)
{
        if (kmer == NULL)
                return NULL;
        memcpy(to, kmer, (size_t)nwords * sizeof *to);
        return to;
}

static enum kc_status open_walks(struct kc_cursor *c, const uint64_t *from, const uint64_t *to,
                                 struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (uint32_t r = 0; r < c->store->nruns; r++) {
                const struct kc_run *run = &c->store->runs[r];
                KC_TRY(kc_walk_begin(&c->walks[r], c->store, run, 0, run->nblocks, err));
                KC_TRY(kc_walk_range(&c->walks[r], from, to, err));
                if (c->store->nruns > 1)
                        KC_TRY(kc_walk_next(&c->walks[r], err));
        }
out:
        return status;
}

enum kc_status kc_cursor_open(struct kc_cursor **cursor, struct kc_store *store,
                              const uint64_t *from, const uint64_t *to, struct kc_error *err)
{
        enum kc_status status;
        const size_t nw = (size_t)store->nwords;
        struct kc_cursor *c = calloc(1, sizeof *c);
        if (c == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for reading %s", store->path);
        c->store = store;
        c->walks = calloc(store->nruns, sizeof *c->walks);
        c->kmers = malloc(KC_BLOCK_NKMERS * nw * sizeof *c->kmers);
        c->counts = malloc(KC_BLOCK_NKMERS * sizeof *c->counts);
        if (c->walks == NULL || c->kmers == NULL || c->counts == NULL) {
                status = kc_fail(err, KC_ENOMEM, "out of memory for reading %s", store->path);
                goto out;
        }
        KC_TRY(open_walks(c, copy_bound(c->from, from, store->nwords),
                          copy_bound(c->to, to, store->nwords), err));
        *cursor = c;
        c = NULL;
out:
        kc_cursor_close(c);
        return status;
}

void kc_cursor_close(struct kc_cursor *cursor)
{
        if (cursor == NULL)
                return;
        for (uint32_t r = 0; cursor->walks != NULL && r < cursor->store->nruns; r++)
                kc_walk_free(&cursor->walks[r]);
        free(cursor->walks);
        free(cursor->kmers);
        free(cursor->counts);
        free(cursor);
}

/* The walk with the smallest k-mer, NULL where all are at their end. */
static const struct kc_walk *least(const struct kc_cursor *c)
{
        const struct kc_walk *best = NULL;
        for (uint32_t r = 0; r < c->store->nruns; r++) {
                const struct kc_walk *w = &c->walks[r];
                if (w->n > 0 &&
                    (best == NULL || kc_kmer_compare(w->kmers, best->kmers, c->store->nwords) < 0))
                        best = w;
        }
        return best;
}

/* Step over kmer in all walks that stand there; *count is the sum, at most UINT32_MAX. */
static enum kc_status take(struct kc_cursor *c, const uint64_t *kmer, uint32_t *count,
                           struct kc_error *err)
{
        enum kc_status status = KC_OK;
        uint64_t sum = 0;
        for (uint32_t r = 0; r < c->store->nruns; r++) {
                struct kc_walk *w = &c->walks[r];
                if (w->n == 0 || kc_kmer_compare(w->kmers, kmer, c->store->nwords) != 0)
                        continue;
                sum += *w->counts++;
                w->kmers += c->store->nwords;
                if (--w->n == 0)
                        KC_TRY(kc_walk_next(w, err));
        }
        *count = sum > UINT32_MAX ? UINT32_MAX : (uint32_t)sum;
out:
        return status;
}

static enum kc_status merge(struct kc_cursor *c, size_t *n, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        const size_t nw = (size_t)c->store->nwords;
        for (*n = 0; *n < KC_BLOCK_NKMERS; ++*n) {
                const struct kc_walk *w = least(c);
                if (w == NULL)
                        break;
                uint64_t *kmer = c->kmers + *n * nw;
                memcpy(kmer, w->kmers, nw * sizeof *kmer);
                KC_TRY(take(c, kmer, &c->counts[*n], err));
        }
out:
        return status;
}

enum kc_status kc_cursor_next(struct kc_cursor *c, const uint64_t **kmers, const uint32_t **counts,
                              size_t *n, struct kc_error *err)
{
        if (c->store->nruns > 1) {
                *kmers = c->kmers;
                *counts = c->counts;
                return merge(c, n, err);
        }
        enum kc_status status = kc_walk_next(&c->walks[0], err);
        *kmers = c->walks[0].kmers;
        *counts = c->walks[0].counts;
        *n = c->walks[0].n;
        return status;
}
