/*
 * Walks over a store, with its runs merged.
 */
#include "io/store/merge.h"

#include <stdlib.h>
#include <string.h>

struct kc_cursor {
        struct kc_store *store;
        uint64_t from[KC_MAX_WORDS], to[KC_MAX_WORDS];
        struct kc_walk walk;    /* of the only run */
        struct kc_merge *merge; /* of several, or of tombstones; else NULL */
};

static const uint64_t *copy_bound(uint64_t *to, const uint64_t *kmer, int nwords)
{
        if (kmer == NULL)
                return NULL;
        memcpy(to, kmer, (size_t)nwords * sizeof *to);
        return to;
}

static enum kc_status open_runs(struct kc_cursor *c, struct kc_error *err)
{
        const struct kc_run *run = &c->store->runs[0];
        const struct kc_set set = kc_set_of_one(&c->store);
        if (c->store->nruns == 1 && run->kind == KC_RUN_COUNTS)
                return kc_walk_begin(&c->walk, c->store, run, 0, run->nblocks, err);
        return kc_merge_open(&c->merge, &set, err);
}

enum kc_status kc_cursor_move(struct kc_cursor *c, const uint64_t *from, const uint64_t *to,
                              struct kc_error *err)
{
        from = copy_bound(c->from, from, c->store->nwords);
        to = copy_bound(c->to, to, c->store->nwords);
        return c->merge != NULL ? kc_merge_range(c->merge, from, to, err)
                                : kc_walk_range(&c->walk, from, to, err);
}

enum kc_status kc_cursor_open(struct kc_cursor **cursor, struct kc_store *store,
                              const uint64_t *from, const uint64_t *to, struct kc_error *err)
{
        enum kc_status status;
        struct kc_cursor *c = calloc(1, sizeof *c);
        if (c == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for reading %s", store->path);
        c->store = store;
        KC_TRY(open_runs(c, err));
        KC_TRY(kc_cursor_move(c, from, to, err));
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
        kc_walk_free(&cursor->walk);
        kc_merge_close(cursor->merge);
        free(cursor);
}

enum kc_status kc_cursor_next(struct kc_cursor *c, const uint64_t **kmers, const uint32_t **counts,
                              size_t *n, struct kc_error *err)
{
        if (c->merge != NULL)
                return kc_merge_next(c->merge, kmers, counts, n, err);
        enum kc_status status = kc_walk_next(&c->walk, err);
        *kmers = c->walk.kmers;
        *counts = c->walk.counts;
        *n = c->walk.n;
        return status;
}
