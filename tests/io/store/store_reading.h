/*
 * For the tests of the store: every way of reading a file, compared with the set that it holds.
 */
#ifndef KC_TESTS_IO_STORE_STORE_READING_H
#define KC_TESTS_IO_STORE_STORE_READING_H

#include "store_support.h"

/* Index of the first k-mer that is not below kmer or, if after is set, that is above it. */
static inline size_t lower_bound(const struct pair_set *s, const uint64_t *kmer, bool after)
{
        size_t i = 0;
        while (i < s->n &&
               kc_kmer_compare(s->kmers + i * s->nw, kmer, (int)s->nw) < (after ? 1 : 0))
                i++;
        return i;
}

/* ---- reading, compared with the reference ---- */

static inline void check_walk(struct kc_store *store, const struct pair_set *s,
                              const uint64_t *from, const uint64_t *to)
{
        struct kc_error err = { 0 };
        struct kc_cursor *cursor;
        const uint64_t *kmers;
        const uint32_t *counts;
        size_t n, at = from ? lower_bound(s, from, false) : 0;
        size_t end = to ? lower_bound(s, to, true) : s->n;
        assert_ok(kc_cursor_open(&cursor, store, from, to, &err), err);
        for (;;) {
                assert_ok(kc_cursor_next(cursor, &kmers, &counts, &n, &err), err);
                if (n == 0)
                        break;
                assert_true(at + n <= end);
                assert_memory_equal(kmers, s->kmers + at * s->nw, n * s->nw * sizeof *kmers);
                assert_memory_equal(counts, s->counts + at, n * sizeof *counts);
                at += n;
        }
        assert_true(at >= end);
        assert_ok(kc_cursor_next(cursor, &kmers, &counts, &n, &err), err);
        assert_int_equal(n, 0);
        kc_cursor_close(cursor);
}

static inline void random_kmer(const struct pair_set *s, uint64_t *rng, uint64_t *kmer)
{
        for (size_t w = 0; w < s->nw; w++)
                kmer[w] = next_random(rng);
        kmer[s->nw - 1] &= kc_kmer_top_mask(s->k);
        if (s->n > 0 && next_random(rng) % 3 != 0) /* mostly one of the set, or its neighbour */
                memcpy(kmer, s->kmers + next_random(rng) % s->n * s->nw, s->nw * sizeof *kmer);
        if (next_random(rng) % 3 == 0)
                kmer[0] ^= 1;
}

static inline void check_ranges(struct kc_store *store, const struct pair_set *s)
{
        uint64_t rng = 7, a[KC_MAX_WORDS], b[KC_MAX_WORDS];
        check_walk(store, s, NULL, NULL);
        for (int i = 0; i < 40; i++) {
                random_kmer(s, &rng, a);
                random_kmer(s, &rng, b);
                check_walk(store, s, a, b); /* empty if a is above b */
                check_walk(store, s, a, a);
                check_walk(store, s, NULL, a);
                check_walk(store, s, a, NULL);
        }
}

/* One by one, and all together, each of them twice. */
static inline void check_lookups(struct kc_store *store, const struct pair_set *s)
{
        enum { N = 2000 };
        struct kc_error err = { 0 };
        struct kc_lookup *lookup;
        uint64_t rng = 8, *kmers = malloc(2 * N * s->nw * sizeof *kmers);
        uint32_t counts[2 * N], together[2 * N];
        assert_ok(kc_lookup_open(&lookup, store, &err), err);
        for (size_t i = 0; i < N; i++) {
                uint64_t *kmer = kmers + i * s->nw;
                random_kmer(s, &rng, kmer);
                size_t at = lower_bound(s, kmer, false);
                bool there =
                        at < s->n && kc_kmer_compare(s->kmers + at * s->nw, kmer, (int)s->nw) == 0;
                assert_ok(kc_lookup_count(lookup, kmer, &counts[i], &err), err);
                assert_int_equal(counts[i], there ? s->counts[at] : 0);
        }
        memcpy(kmers + N * s->nw, kmers, N * s->nw * sizeof *kmers);
        memcpy(counts + N, counts, N * sizeof *counts);
        assert_ok(kc_lookup_counts(lookup, kmers, 0, together, &err), err);
        assert_ok(kc_lookup_counts(lookup, kmers, 2 * N, together, &err), err);
        assert_memory_equal(together, counts, sizeof counts);
        kc_lookup_close(lookup);
        free(kmers);
}

static inline void check_histogram(struct kc_store *store, const struct pair_set *s)
{
        struct kc_error err = { 0 };
        struct kc_histogram_row *rows;
        size_t nrows;
        uint64_t ndistinct = 0;
        assert_ok(kc_store_histogram(store, 3, NULL, &rows, &nrows, &err), err);
        for (size_t i = 0; i < nrows; i++) {
                uint64_t n = 0;
                for (size_t j = 0; j < s->n; j++)
                        n += s->counts[j] == rows[i].count;
                assert_true(i == 0 || rows[i - 1].count < rows[i].count);
                assert_int_equal(rows[i].ndistinct, n);
                ndistinct += n;
        }
        assert_int_equal(ndistinct, s->n);
        free(rows);
}

/* Walks over the parts together give each k-mer once. */
static inline void check_split(struct kc_store *store, const struct pair_set *s, size_t nparts)
{
        struct kc_error err = { 0 };
        struct kc_store_info info;
        uint64_t *bounds;
        size_t nbounds, total = 0;
        assert_ok(kc_store_split(store, NULL, NULL, nparts, &bounds, &nbounds, &err), err);
        assert_true(nbounds < nparts);
        kc_store_get_info(store, &info);
        for (size_t p = 0; p <= nbounds; p++) {
                size_t begin = p == 0 ? 0 : lower_bound(s, bounds + (p - 1) * s->nw, false);
                size_t end = p == nbounds ? s->n : lower_bound(s, bounds + p * s->nw, false);
                assert_true(begin < end || s->n == 0 || info.ntombstone_runs > 0);
                if (s->n > 100000)
                        assert_true(end - begin < 2 * s->n / nparts + 2048);
                total += end - begin;
        }
        assert_int_equal(total, s->n);
        free(bounds);
}

/* The bounds of a range are in it; most of a large one is cut, and a single k-mer is not. */
static inline void check_split_range(struct kc_store *store, const struct pair_set *s,
                                     size_t nparts)
{
        struct kc_error err = { 0 };
        for (size_t tenth = 1; tenth < 10 && s->n > 0; tenth++) {
                const uint64_t *from = s->kmers + s->n * tenth / 20 * s->nw;
                const uint64_t *to = s->kmers + (s->n - 1 - s->n * tenth / 20) * s->nw;
                uint64_t *bounds;
                size_t nbounds;
                assert_ok(kc_store_split(store, from, to, nparts, &bounds, &nbounds, &err), err);
                assert_true(nbounds < nparts);
                assert_true(nbounds > 0 || s->n < 100000 || nparts == 1 || tenth > 1);
                for (size_t i = 0; i < nbounds; i++) {
                        const uint64_t *bound = bounds + i * s->nw;
                        const uint64_t *before = i == 0 ? from : bound - s->nw;
                        assert_true(kc_kmer_compare(before, bound, (int)s->nw) < 0);
                        assert_true(kc_kmer_compare(bound, to, (int)s->nw) <= 0);
                }
                free(bounds);
                assert_ok(kc_store_split(store, from, from, nparts, &bounds, &nbounds, &err), err);
                assert_int_equal(nbounds, 0);
                free(bounds);
        }
}

static inline void check_all(const char *path, const struct pair_set *s)
{
        struct kc_error err = { 0 };
        struct kc_store *store = NULL;
        assert_ok(kc_store_open(&store, path, &err), err);
        assert_ok(kc_store_check(store, 1, NULL, &err), err);
        assert_ok(kc_store_check(store, 3, NULL, &err), err);
        check_ranges(store, s);
        check_lookups(store, s);
        check_histogram(store, s);
        check_split(store, s, 1);
        check_split(store, s, 4);
        check_split_range(store, s, 4);
        kc_store_close(store);
}

#endif
