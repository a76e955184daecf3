/*
 * For the tests of the store: made-up sets of k-mers, and files written from them.
 */
#ifndef KC_TESTS_IO_STORE_STORE_SUPPORT_H
#define KC_TESTS_IO_STORE_STORE_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/parallel.h"
#include "io/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/files.h"
#include "tests/random.h"

struct pair_set {
        int k;
        bool stranded;
        size_t nw, n;
        uint64_t *kmers;
        uint32_t *counts;
};

/* A status other than KC_OK ends the test with the message. */
#define assert_ok(expr, err) \
        do { \
                if ((expr) != KC_OK) \
                        fail_msg("%s", (err).message); \
        } while (0)

static inline int compare_kmers(const void *a, const void *b, void *nw)
{
        return kc_kmer_compare(a, b, (int)*(size_t *)nw);
}

static inline uint32_t random_count(uint64_t *rng)
{
        uint64_t r = next_random(rng);
        if (r % 4 != 0)
                return 1;
        if (r % 1000 == 0)
                return UINT32_MAX - (uint32_t)(r >> 40 & 3);
        return 2 + (uint32_t)(r >> 8 & 31) + (r % 100 == 0 ? (uint32_t)(r >> 20 & 0xffff) : 0);
}

/* About n random k-mers (fewer where 4^k is near n), ascending, canonical unless stranded. */
static inline struct pair_set make_set(int k, bool stranded, size_t n, uint64_t seed)
{
        struct pair_set s = { .k = k, .stranded = stranded, .nw = (size_t)kc_kmer_nwords(k) };
        s.kmers = malloc((n + 1) * s.nw * sizeof *s.kmers);
        s.counts = malloc((n + 1) * sizeof *s.counts);
        assert_true(s.kmers != NULL && s.counts != NULL);
        for (size_t i = 0; i < n; i++) {
                uint64_t *kmer = s.kmers + i * s.nw;
                for (size_t w = 0; w < s.nw; w++)
                        kmer[w] = next_random(&seed);
                kmer[s.nw - 1] &= kc_kmer_top_mask(k);
                if (!stranded)
                        kc_kmer_canonical(kmer, k);
        }
        qsort_r(s.kmers, n, s.nw * sizeof *s.kmers, compare_kmers, &s.nw);
        for (size_t i = 0; i < n; i++) {
                if (s.n > 0 &&
                    kc_kmer_compare(s.kmers + (s.n - 1) * s.nw, s.kmers + i * s.nw, (int)s.nw) == 0)
                        continue;
                memmove(s.kmers + s.n * s.nw, s.kmers + i * s.nw, s.nw * sizeof *s.kmers);
                s.counts[s.n++] = random_count(&seed);
        }
        return s;
}

static inline void free_set(struct pair_set *s)
{
        free(s->kmers);
        free(s->counts);
}

static inline uint64_t sum_of_counts(const struct pair_set *s)
{
        uint64_t sum = 0;
        for (size_t i = 0; i < s->n; i++)
                sum += s->counts[i];
        return sum;
}

static inline uint64_t count_unique(const struct pair_set *s)
{
        uint64_t nunique = 0;
        for (size_t i = 0; i < s->n; i++)
                nunique += s->counts[i] == 1;
        return nunique;
}

/* Put a part in a single call, unfiltered. */
static inline enum kc_status put_part(const struct kc_run_sink *sink, uint64_t part,
                                      const uint64_t *kmers, const uint32_t *counts, size_t n,
                                      struct kc_error *err)
{
        const struct kc_run_pairs pairs = {
                .part = part, .last = true, .kmers = kmers, .counts = counts, .n = n
        };
        return sink->put(sink->ctx, &pairs, err);
}

/* Filter n pairs of the set like an engine, and hand over the rest. */
static inline enum kc_status put_filtered(const struct kc_run_sink *sink, uint64_t part, bool last,
                                          const struct pair_set *s, size_t at, size_t n,
                                          struct kc_error *err)
{
        uint64_t *kmers = malloc(n * s->nw * sizeof *kmers + 1);
        uint32_t *counts = malloc(n * sizeof *counts + 1);
        assert_true(kmers != NULL && counts != NULL);
        memcpy(kmers, s->kmers + at * s->nw, n * s->nw * sizeof *kmers);
        memcpy(counts, s->counts + at, n * sizeof *counts);
        struct kc_run_pairs pairs = {
                .part = part, .last = last, .kmers = kmers, .counts = counts
        };
        pairs.n = kc_run_filter_pairs(&sink->filter, kmers, counts, n, (int)s->nw, &pairs.dropped);
        const enum kc_status status = sink->put(sink->ctx, &pairs, err);
        free(kmers);
        free(counts);
        return status;
}

/* Several threads put a set as random parts, each in random calls. */
struct feed {
        const struct pair_set *set;
        struct kc_run_sink sink;
        size_t *ends; /* of parts */
        size_t nparts;
        uint64_t seed;
        atomic_size_t next;
};

static inline enum kc_status feed_parts(void *ctx, int worker, struct kc_error *err)
{
        struct feed *f = ctx;
        const struct pair_set *s = f->set;
        enum kc_status status = KC_OK;
        (void)worker;
        for (size_t p; status == KC_OK && (p = atomic_fetch_add(&f->next, 1)) < f->nparts;) {
                uint64_t rng = f->seed + p;
                size_t at = p == 0 ? 0 : f->ends[p - 1];
                bool last;
                do {
                        size_t n = f->ends[p] - at;
                        if (next_random(&rng) % 4 == 0)
                                n = next_random(&rng) % (n + 1);
                        last = at + n == f->ends[p] && next_random(&rng) % 8 != 0;
                        status = put_filtered(&f->sink, p, last, s, at, n, err);
                        at += n;
                } while (!last && status == KC_OK);
        }
        return status;
}

static inline void cancel_feed(void *ctx)
{
        struct feed *f = ctx;
        f->sink.cancel(f->sink.ctx);
}

/* mean_part: average number of pairs in a part; parts may be empty. */
static inline enum kc_status feed_set(const struct pair_set *s, struct kc_run_sink sink,
                                      int nthreads, size_t mean_part, uint64_t seed,
                                      struct kc_error *err)
{
        struct feed f = { .set = s, .sink = sink, .seed = seed };
        f.ends = malloc((s->n + 1000) * sizeof *f.ends);
        assert_non_null(f.ends);
        for (size_t at = 0; at < s->n || f.nparts < 3;) {
                size_t n = next_random(&seed) % (2 * mean_part + 1);
                at = n < s->n - at ? at + n : s->n;
                f.ends[f.nparts++] = at;
                if (f.nparts == s->n + 999)
                        f.ends[f.nparts - 1] = at = s->n;
        }
        enum kc_status status = kc_parallel(nthreads, feed_parts, cancel_feed, &f, err);
        free(f.ends);
        return status;
}

static const char *const input_names[] = { "a.fq.gz", "", "dir/b c.fa" };

static inline struct kc_store_origin make_origin(uint64_t nkmers)
{
        return (struct kc_store_origin){ .names = input_names,
                                         .nnames = 3,
                                         .nreads = 11,
                                         .nbases = 22,
                                         .nskipped = 33,
                                         .nlow_quality = 44,
                                         .nkmers = nkmers };
}

/* What a commit reports is what the file contains when it is opened again. */
static inline void check_written(const struct kc_store_written *written, const char *path)
{
        const struct kc_store_info *w = &written->info;
        struct kc_store *store = NULL;
        struct kc_store_info info;
        struct kc_error err = { 0 };
        assert_ok(kc_store_open(&store, path, &err), err);
        kc_store_get_info(store, &info);
#define SAME(field) assert_int_equal(w->field, info.field)
        SAME(version), SAME(k), SAME(stranded), SAME(nruns), SAME(ntombstone_runs);
        SAME(nlinked_runs), SAME(ntombstones), SAME(file_nbytes), SAME(ndistinct), SAME(nunique);
        SAME(max_count), SAME(sum), SAME(nkmers), SAME(nsaturated), SAME(ndropped_kmers);
        SAME(ndropped_distinct), SAME(min_count), SAME(max_count_kept), SAME(nreads);
        SAME(nbases), SAME(nskipped), SAME(nlow_quality);
#undef SAME
        assert_true(w->names == NULL && w->nnames == 0);
        kc_store_close(store);
}

/* One run, one file. */
static inline void write_set(const struct pair_set *s, const char *path, int nthreads,
                             size_t mean_part, uint64_t seed)
{
        struct kc_error err = { 0 };
        struct kc_store_options options = { .k = s->k, .stranded = s->stranded, .replace = true };
        struct kc_store_origin origin = make_origin(sum_of_counts(s));
        struct kc_store_writer *w = NULL;
        assert_ok(kc_store_create(&w, path, &options, &err), err);
        assert_ok(feed_set(s, kc_store_sink(w), nthreads, mean_part, seed, &err), err);
        struct kc_store_written written;
        assert_ok(kc_store_commit(w, &origin, &written, &err), err);
        check_written(&written, path);
        assert_int_equal(written.nunique, count_unique(s));
}

static inline uint8_t *read_file(const char *path, size_t *nbytes)
{
        FILE *f = fopen(path, "rb");
        assert_non_null(f);
        fseek(f, 0, SEEK_END);
        *nbytes = (size_t)ftell(f);
        rewind(f);
        uint8_t *data = malloc(*nbytes + 1);
        assert_non_null(data);
        assert_int_equal(fread(data, 1, *nbytes, f), *nbytes);
        fclose(f);
        return data;
}

static inline void assert_same_files(const char *a, const char *b)
{
        size_t na, nb;
        uint8_t *x = read_file(a, &na), *y = read_file(b, &nb);
        assert_int_equal(na, nb);
        assert_memory_equal(x, y, na);
        free(x);
        free(y);
}

/* Tests run in a folder of their own. */
static inline int enter_folder(void **state)
{
        static char folder[64];
        snprintf(folder, sizeof folder, "/tmp/kcount-test-store-XXXXXX");
        *state = folder;
        return mkdtemp(folder) == NULL || chdir(folder) != 0;
}

/* The same in memory if /dev/shm exists: for tests that write and flush thousands of files. */
static inline int enter_memory(void **state)
{
        static char folder[] = "/dev/shm/kcount-test-store-XXXXXX";
        if (mkdtemp(folder) == NULL)
                return enter_folder(state);
        *state = folder;
        return chdir(folder) != 0;
}

/* Fails if a test has left a file. */
static inline int leave_folder(void **state)
{
        return chdir("/") != 0 || rmdir(*state) != 0;
}

#endif
