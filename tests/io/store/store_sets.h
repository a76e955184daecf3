/*
 * Sets of k-mers with counts, as lists in which each count is looked up by itself; and .kc files
 * made of them, with several runs and with tombstones.
 */
#ifndef KC_TESTS_IO_STORE_STORE_SETS_H
#define KC_TESTS_IO_STORE_STORE_SETS_H

#include "store_reading.h"

enum { MAX_FILES = 4, NTHREADS = 3 };

/* ---- sets ---- */

/* The count of a k-mer, 0 if it is absent. */
static inline uint32_t count_in(const struct pair_set *s, const uint64_t *kmer)
{
        size_t low = 0, high = s->n;
        while (low < high) {
                size_t middle = (low + high) / 2;
                int order = kc_kmer_compare(s->kmers + middle * s->nw, kmer, (int)s->nw);
                if (order == 0)
                        return s->counts[middle];
                if (order < 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        return 0;
}

static inline void add_pair(struct pair_set *s, const uint64_t *kmer, uint64_t count)
{
        memcpy(s->kmers + s->n * s->nw, kmer, s->nw * sizeof *kmer);
        s->counts[s->n++] = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
}

static inline struct pair_set empty_set(const struct pair_set *model, size_t cap)
{
        struct pair_set s = { .k = model->k, .stranded = model->stranded, .nw = model->nw };
        s.kmers = malloc((cap + 1) * s.nw * sizeof *s.kmers);
        s.counts = malloc((cap + 1) * sizeof *s.counts);
        assert_true(s.kmers != NULL && s.counts != NULL);
        return s;
}

/* The k-mers of all sets, once each; the counts mean nothing. */
static inline struct pair_set all_kmers(const struct pair_set *sets, size_t nsets)
{
        size_t cap = 0, nw = sets[0].nw;
        for (size_t i = 0; i < nsets; i++)
                cap += sets[i].n;
        struct pair_set all = empty_set(&sets[0], cap);
        for (size_t i = 0; i < nsets; i++)
                for (size_t j = 0; j < sets[i].n; j++)
                        add_pair(&all, sets[i].kmers + j * nw, 1);
        qsort_r(all.kmers, all.n, nw * sizeof *all.kmers, compare_kmers, &nw);
        size_t n = 0;
        for (size_t i = 0; i < all.n; i++)
                if (i == 0 ||
                    kc_kmer_compare(all.kmers + (n - 1) * nw, all.kmers + i * nw, (int)nw) != 0)
                        memmove(all.kmers + n++ * nw, all.kmers + i * nw, nw * sizeof *all.kmers);
        all.n = n;
        return all;
}

/* Some k-mers of s and some others, all with new counts. */
static inline struct pair_set relative(const struct pair_set *s, size_t nothers, uint64_t seed)
{
        struct pair_set others = make_set(s->k, s->stranded, nothers, seed);
        struct pair_set some = empty_set(s, s->n);
        for (size_t i = 0; i < s->n; i++)
                if (next_random(&seed) % 3 != 0)
                        add_pair(&some, s->kmers + i * s->nw, 1);
        struct pair_set r = all_kmers((struct pair_set[]){ some, others }, 2);
        for (size_t i = 0; i < r.n; i++)
                r.counts[i] = random_count(&seed);
        free_set(&some);
        free_set(&others);
        return r;
}

/* Set *older to what a file holds after newer is appended to it as tombstones or as counts. */
static inline void model_append(struct pair_set *older, const struct pair_set *newer,
                                bool tombstones)
{
        struct pair_set all = all_kmers((struct pair_set[]){ *older, *newer }, 2);
        struct pair_set out = empty_set(older, all.n);
        for (size_t i = 0; i < all.n; i++) {
                const uint64_t *kmer = all.kmers + i * all.nw;
                uint64_t a = count_in(older, kmer), b = count_in(newer, kmer);
                if (tombstones ? b == 0 : true)
                        add_pair(&out, kmer, a + b);
        }
        free_set(&all);
        free_set(older);
        *older = out;
}

/* ---- operations ---- */

/* The count of a k-mer in the result; 0 if it is absent. */
static inline uint64_t expected_count(enum kc_set_operation operation, enum kc_count_rule rule,
                                      const uint32_t *counts, size_t n)
{
        uint64_t sum = 0, least = UINT64_MAX, most = 0, left = 0, right = 0, nhave = 0;
        for (size_t i = 0; i < n; i++) {
                if (counts[i] == 0)
                        continue;
                nhave++;
                sum += counts[i];
                least = counts[i] < least ? counts[i] : least;
                most = counts[i] > most ? counts[i] : most;
                left = left ? left : counts[i];
                right = counts[i];
        }
        uint64_t rest = sum - counts[0], difference = counts[0] > rest ? counts[0] - rest : 0;
        if (nhave == 0 || (operation == KC_SET_INTERSECT && nhave < n))
                return 0;
        if (operation == KC_SET_SUBTRACT && rule == KC_RULE_LEFT)
                return rest == 0 ? counts[0] : 0;
        switch (rule) {
        case KC_RULE_SUM:
                return sum;
        case KC_RULE_MIN:
                return least;
        case KC_RULE_MAX:
                return most;
        case KC_RULE_DIFFERENCE:
                return difference;
        case KC_RULE_LEFT:
                return left;
        default:
                return right;
        }
}

static inline struct pair_set model_set(const struct kc_set *set, const struct pair_set *models)
{
        struct pair_set all = all_kmers(models, set->nstores);
        struct pair_set out = empty_set(&all, all.n);
        for (size_t i = 0; i < all.n; i++) {
                uint32_t counts[MAX_FILES] = { 0 };
                for (size_t f = 0; f < set->nstores; f++)
                        counts[f] = count_in(&models[f], all.kmers + i * all.nw);
                uint64_t count = expected_count(set->operation, set->rule, counts, set->nstores);
                if (count > 0)
                        add_pair(&out, all.kmers + i * all.nw, count);
        }
        free_set(&all);
        return out;
}

/* ---- files ---- */

static inline void append_set(const char *path, const struct pair_set *s, bool tombstones,
                              uint64_t seed)
{
        struct kc_error err = { 0 };
        struct kc_store_writer *w = NULL;
        int k;
        bool stranded;
        struct kc_store_written written;
        struct pair_set ones = empty_set(s, s->n);
        for (size_t i = 0; i < s->n; i++)
                add_pair(&ones, s->kmers + i * s->nw, tombstones ? 1 : s->counts[i]);
        struct kc_store_origin origin = make_origin(sum_of_counts(&ones));
        assert_ok(kc_store_append(&w, path, tombstones, &k, &stranded, &err), err);
        assert_int_equal(k, s->k);
        assert_int_equal(stranded, s->stranded);
        assert_ok(feed_set(&ones, kc_store_sink(w), NTHREADS, 700, seed, &err), err);
        assert_ok(kc_store_commit(w, &origin, &written, &err), err);
        check_written(&written, path);
        assert_int_equal(written.nunique, count_unique(&ones));
        free_set(&ones);
}

static inline void run_set_into(const struct kc_set *set, const char *path, int nthreads,
                                uint32_t min, uint32_t max)
{
        struct kc_error err = { 0 };
        struct kc_store_writer *w = NULL;
        struct kc_store_options options = kc_set_options(set, min, max);
        struct kc_store_origin origin;
        const char **names;
        options.replace = true;
        assert_ok(kc_store_create(&w, path, &options, &err), err);
        struct kc_run_sink sink = kc_store_sink(w);
        assert_ok(kc_set_run(set, nthreads, NULL, &sink, &origin, &names, &err), err);
        assert_ok(kc_store_commit(w, &origin, NULL, &err), err);
        free(names);
}

static inline struct kc_store *open_store(const char *path)
{
        struct kc_error err = { 0 };
        struct kc_store *store = NULL;
        assert_ok(kc_store_open(&store, path, &err), err);
        return store;
}

static inline void compact_into(const char *path, const char *out, int nthreads)
{
        struct kc_store *store = open_store(path);
        run_set_into(&(struct kc_set){ &store, 1, KC_SET_UNION, KC_RULE_SUM }, out, nthreads, 1,
                     UINT32_MAX);
        kc_store_close(store);
}

static const char *const file_paths[MAX_FILES] = { "a.kc", "b.kc", "c.kc", "d.kc" };

/* Files of one run, of two, of tombstones; of sizes around a block's. */
static inline void write_files(struct pair_set *models, struct kc_store **stores, int k, size_t n,
                               uint64_t seed)
{
        for (size_t f = 0; f < MAX_FILES; f++) {
                models[f] = f == 0 ? make_set(k, false, n, seed)
                                   : relative(&models[0], n / 2 + f, seed + f);
                write_set(&models[f], file_paths[f], 2, 900, seed);
                for (size_t run = 0; run < f; run++) {
                        struct pair_set r = relative(&models[f], n / 3, seed + 10 * f + run);
                        append_set(file_paths[f], &r, run == 1, seed);
                        model_append(&models[f], &r, run == 1);
                        free_set(&r);
                }
                stores[f] = open_store(file_paths[f]);
        }
}

static inline void close_files(struct pair_set *models, struct kc_store **stores)
{
        for (size_t f = 0; f < MAX_FILES; f++) {
                kc_store_close(stores[f]);
                free_set(&models[f]);
                unlink(file_paths[f]);
        }
}

/* For sets too large for check_all. */
static inline void check_pairs(const char *path, const struct pair_set *s)
{
        struct kc_error err = { 0 };
        struct kc_store *store = open_store(path);
        assert_ok(kc_store_check(store, NTHREADS, NULL, &err), err);
        check_walk(store, s, NULL, NULL);
        kc_store_close(store);
}

#endif
