/* Walks over the k-mers in order. */
#include "app/library/library.h"

#include <stdlib.h>
#include <string.h>

struct kcount_cursor {
        struct kc_cursor *walk;
        int nwords;
        /* What the walk has returned and the caller has not taken yet. */
        const uint64_t *kmers;
        const uint32_t *counts;
        size_t n;
};

static const uint64_t *copy_bound(const uint64_t *bound, int nwords, uint64_t *copy)
{
        if (bound == NULL)
                return NULL;
        kc_library_turn_words(bound, nwords, 1, copy);
        return copy;
}

enum kcount_status kcount_cursor_open(struct kcount_cursor **cursor, struct kcount_counts *counts,
                                      const uint64_t *from, const uint64_t *to,
                                      struct kcount_error **error)
{
        struct kc_error err = { 0 };
        uint64_t first[KC_MAX_WORDS], last[KC_MAX_WORDS];
        enum kc_status status;
        struct kcount_cursor *c = calloc(1, sizeof *c);
        if (c == NULL)
                KC_TRY(kc_fail(&err, KC_ENOMEM, "out of memory for a cursor"));
        c->nwords = counts->nwords;
        KC_TRY(kc_cursor_open(&c->walk, counts->store, copy_bound(from, c->nwords, first),
                              copy_bound(to, c->nwords, last), &err));
        *cursor = c;
        return KCOUNT_OK;
out:
        free(c);
        return kc_library_failed(&err, error);
}

enum kc_status kc_library_cursor_some(struct kcount_cursor *c, size_t cap, const uint64_t **kmers,
                                      const uint32_t **counts, size_t *n, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        if (c->n == 0)
                status = kc_cursor_next(c->walk, &c->kmers, &c->counts, &c->n, err);
        if (status != KC_OK)
                c->n = 0;
        *n = c->n < cap ? c->n : cap;
        *kmers = c->kmers;
        *counts = c->counts;
        c->kmers += *n * (size_t)c->nwords;
        c->counts += *n;
        c->n -= *n;
        return status;
}

enum kcount_status kcount_cursor_next(struct kcount_cursor *cursor, uint64_t *kmers,
                                      uint32_t *counts, size_t cap, size_t *n,
                                      struct kcount_error **error)
{
        const size_t nwords = (size_t)cursor->nwords;
        struct kc_error err = { 0 };
        const uint64_t *some;
        const uint32_t *theirs;
        size_t done = 0;
        while (done < cap) {
                size_t m;
                if (kc_library_cursor_some(cursor, cap - done, &some, &theirs, &m, &err) != KC_OK)
                        return kc_library_failed(&err, error);
                if (m == 0)
                        break;
                kc_library_turn_words(some, cursor->nwords, m, kmers + done * nwords);
                memcpy(counts + done, theirs, m * sizeof *counts);
                done += m;
        }
        *n = done;
        return KCOUNT_OK;
}

void kcount_cursor_close(struct kcount_cursor *cursor)
{
        if (cursor == NULL)
                return;
        kc_cursor_close(cursor->walk);
        free(cursor);
}
