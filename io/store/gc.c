/*
 * The histogram of a file by GC content and count.
 */
#include "base/simd.h"
#include "io/store/cells.h"
#include "io/store/parts.h"

#include <stdlib.h>

/* C is 1 and G is 2, so the two bits of a base differ if it is one of them. */
static inline uint64_t mark_gc(uint64_t word)
{
        return (word ^ word >> 1) & UINT64_C(0x5555555555555555);
}

KC_SIMD_CLONES
static void count_gc_of_words(const uint64_t *words, size_t n, uint32_t *gc)
{
        for (size_t i = 0; i < n; i++)
                gc[i] = (uint32_t)__builtin_popcountll(mark_gc(words[i]));
}

KC_SIMD_CLONES
static void count_gc_of_pairs(const uint64_t *words, size_t n, uint32_t *gc)
{
        /* the marks of the second word go to the odd bits */
        for (size_t i = 0; i < n; i++)
                gc[i] = (uint32_t)__builtin_popcountll(mark_gc(words[2 * i]) |
                                                       mark_gc(words[2 * i + 1]) << 1);
}

KC_SIMD_CLONES
static void count_gc_of_many(const uint64_t *words, size_t n, size_t nwords, uint32_t *gc)
{
        for (size_t i = 0; i < n; i++) {
                uint32_t sum = 0;
                for (size_t w = 0; w < nwords; w++)
                        sum += (uint32_t)__builtin_popcountll(mark_gc(words[i * nwords + w]));
                gc[i] = sum;
        }
}

static void count_gc(const uint64_t *kmers, size_t n, size_t nwords, uint32_t *gc)
{
        if (nwords == 1)
                count_gc_of_words(kmers, n, gc);
        else if (nwords == 2)
                count_gc_of_pairs(kmers, n, gc);
        else
                count_gc_of_many(kmers, n, nwords, gc);
}

/* ---- threads ---- */

struct gc_tally {
        size_t nwords;
        struct kc_cells *cells; /* of each worker */
};

static enum kc_status take(void *ctx, int worker, uint64_t part, bool last, const uint64_t *kmers,
                           const uint32_t *counts, size_t n, struct kc_error *err)
{
        const struct gc_tally *t = ctx;
        uint32_t gc[KC_BLOCK_NKMERS];
        (void)part;
        (void)last;
        count_gc(kmers, n, t->nwords, gc);
        return kc_cells_add(&t->cells[worker], (const uint32_t *const[]){ gc, counts }, n, err);
}

static enum kc_status new_cells(struct gc_tally *t, int nthreads, uint32_t most,
                                struct kc_error *err)
{
        enum kc_status status = KC_OK;
        t->cells = calloc((size_t)nthreads, sizeof *t->cells);
        if (t->cells == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for the histogram by GC content");
        for (int i = 0; i < nthreads && status == KC_OK; i++)
                status = kc_cells_init(&t->cells[i], 2, (const uint32_t[]){ 0, most }, err);
        return status;
}

static enum kc_status list_cells(struct gc_tally *t, int nthreads, struct kc_gc_cell **cells,
                                 size_t *ncells, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_joint_cell *list = NULL;
        struct kc_gc_cell *out;
        size_t n;
        for (int i = 1; i < nthreads; i++)
                KC_TRY(kc_cells_move(&t->cells[0], &t->cells[i], err));
        KC_TRY(kc_cells_list(&t->cells[0], &list, &n, err));
        out = malloc((n + 1) * sizeof *out);
        if (out == NULL)
                KC_TRY(kc_fail(err, KC_ENOMEM, "out of memory for the histogram by GC content"));
        for (size_t i = 0; i < n; i++)
                out[i] = (struct kc_gc_cell){ .gc = list[i].counts[0],
                                              .count = list[i].counts[1],
                                              .ndistinct = list[i].ndistinct,
                                              .sum = list[i].sums[1] };
        *cells = out;
        *ncells = n;
out:
        free(list);
        return status;
}

static void free_cells(struct gc_tally *t, int nthreads)
{
        for (int i = 0; t->cells != NULL && i < nthreads; i++)
                kc_cells_free(&t->cells[i]);
        free(t->cells);
}

enum kc_status kc_store_gc(struct kc_store *store, uint32_t most, int nthreads, struct kc_job *job,
                           struct kc_gc_cell **cells, size_t *ncells, struct kc_error *err)
{
        const struct kc_set set = kc_set_of_one(&store);
        struct gc_tally t = { .nwords = (size_t)store->nwords };
        const struct kc_parts_taker taker = { .ctx = &t, .take = take };
        struct kc_join_totals totals;
        enum kc_status status;
        KC_TRY(new_cells(&t, nthreads, most, err));
        KC_TRY(kc_parts_merge(&set, nthreads, job, &taker, &totals, err));
        KC_TRY(kc_stores_check_read(&store, 1, totals.nread, err));
        KC_TRY(list_cells(&t, nthreads, cells, ncells, err));
out:
        free_cells(&t, nthreads);
        return status;
}
