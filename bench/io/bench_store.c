/*
 * Rates of the store, on a synthetic set of k-mers like those of sequencing: keys spread evenly,
 * most counts 1 (errors), the others about the coverage.
 *
 *      bench_store [-n PAIRS] [-k K] [-t THREADS] [-o FILE]
 *
 * The pairs come from a generator that is much faster than the store; its own time is measured
 * first, with a sink that discards them, and printed. The merge is of two such files that share
 * half of their k-mers; its rates are of k-mers read, and of bytes read and written.
 */
#include "base/clock.h"
#include "base/parallel.h"
#include "io/store.h"
#include "kmer/block_codec.h"
#include "tests/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PART_NPAIRS = 50000 };

struct bench {
        uint64_t npairs, nparts;
        uint64_t variant; /* another number gives another set that shares half of its k-mers */
        int k, nwords, nthreads;
        const char *path;
        const struct kc_run_sink *sink;
        struct kc_store *store;
        const uint64_t *bounds;
        size_t nbounds;
        atomic_uint_fast64_t next_part, sum;
};

struct clocks {
        double wall, cpu;
};

static struct clocks now(void)
{
        struct rusage u;
        getrusage(RUSAGE_SELF, &u);
        return (struct clocks){ kc_clock_seconds(),
                                (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
                                        1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) };
}

static void report(const char *what, struct clocks begin, double n)
{
        struct clocks end = now();
        printf("%-24s %8.3f s wall %8.3f s CPU %9.1f M/s wall %7.2f ns CPU each\n", what,
               end.wall - begin.wall, end.cpu - begin.cpu, n / (end.wall - begin.wall) / 1e6,
               (end.cpu - begin.cpu) / n * 1e9);
}

static void die(const struct kc_error *err)
{
        fprintf(stderr, "bench_store: %s\n", err->message);
        exit(1);
}

/* Pair i of the set: its key lies in the i-th of npairs equal ranges of the upper word. */
static void make_part(const struct bench *b, uint64_t part, uint64_t *kmers, uint32_t *counts,
                      size_t n)
{
        const int top_nbits = 2 * b->k - 64 * (b->nwords - 1);
        const uint64_t step = (uint64_t)(((__uint128_t)1 << (top_nbits - 1)) / b->npairs);
        for (size_t i = 0; i < n; i++) {
                uint64_t index = part * PART_NPAIRS + i,
                         r = random_mix(index ^ (index % 2 ? b->variant << 40 : 0));
                uint64_t *kmer = kmers + i * (size_t)b->nwords;
                for (int w = 0; w + 1 < b->nwords; w++)
                        kmer[w] = r * (uint64_t)(2 * w + 3);
                kmer[b->nwords - 1] = index * step + (uint64_t)((__uint128_t)r * step >> 64);
                counts[i] = r % 5 ? 1 : 12 + (uint32_t)((r >> 8 & 15) + (r >> 12 & 15));
        }
}

static enum kc_status give_parts(void *ctx, int worker, struct kc_error *err)
{
        (void)worker;
        struct bench *b = ctx;
        enum kc_status status = KC_OK;
        uint64_t *kmers = malloc(PART_NPAIRS * (size_t)b->nwords * sizeof *kmers);
        uint32_t *counts = malloc(PART_NPAIRS * sizeof *counts);
        if (kmers == NULL || counts == NULL)
                status = kc_fail(err, KC_ENOMEM, "out of memory");
        while (status == KC_OK) {
                uint64_t part = atomic_fetch_add(&b->next_part, 1);
                if (part >= b->nparts)
                        break;
                uint64_t nleft = b->npairs - part * PART_NPAIRS;
                const struct kc_run_pairs pairs = {
                        .part = part,
                        .last = true,
                        .kmers = kmers,
                        .counts = counts,
                        .n = nleft < PART_NPAIRS ? (size_t)nleft : PART_NPAIRS,
                };
                make_part(b, part, kmers, counts, pairs.n);
                status = b->sink->put(b->sink->ctx, &pairs, err);
        }
        free(kmers);
        free(counts);
        return status;
}

static enum kc_status drop(void *ctx, const struct kc_run_pairs *pairs, struct kc_error *err)
{
        (void)err;
        struct bench *b = ctx;
        uint64_t sum = 0;
        for (size_t i = 0; i < pairs->n; i++)
                sum += pairs->counts[i];
        atomic_fetch_add(&b->sum, sum);
        return KC_OK;
}

static void give_all(struct bench *b, const struct kc_run_sink *sink)
{
        struct kc_error err = { 0 };
        b->sink = sink;
        atomic_store(&b->next_part, 0);
        if (kc_parallel(b->nthreads, give_parts, NULL, b, &err) != KC_OK)
                die(&err);
}

static uint64_t file_nbytes(const char *path)
{
        struct stat st;
        return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static void write_store(struct bench *b, const char *path)
{
        struct kc_error err = { 0 };
        struct kc_store_options options = { .k = b->k, .stranded = true, .replace = true };
        struct kc_store_origin origin;
        struct kc_store_writer *writer;
        if (kc_store_create(&writer, path, &options, &err) != KC_OK)
                die(&err);
        struct kc_run_sink sink = kc_store_sink(writer);
        give_all(b, &sink);
        origin = (struct kc_store_origin){ .nkmers = b->sum };
        if (kc_store_commit(writer, &origin, NULL, &err) != KC_OK)
                die(&err);
}

/* Also sets b->sum. */
static void bench_generator(struct bench *b)
{
        struct clocks begin = now();
        atomic_store(&b->sum, 0);
        give_all(b, &(struct kc_run_sink){ .ctx = b, .filter = { 1, UINT32_MAX }, .put = drop });
        report("generator alone", begin, (double)b->npairs);
}

static void bench_write(struct bench *b)
{
        bench_generator(b);
        struct clocks begin = now();
        write_store(b, b->path);
        report("generator, store", begin, (double)b->npairs);
        uint64_t nbytes = file_nbytes(b->path);
        printf("%-24s %8.3f bytes a k-mer, %llu in all\n", "size",
               (double)nbytes / (double)b->npairs, (unsigned long long)nbytes);
}

static void merge_files(const struct bench *b, const char *const *inputs, const char *output)
{
        struct kc_error err = { 0 };
        struct kc_store *stores[2];
        for (int i = 0; i < 2; i++)
                if (kc_store_open(&stores[i], inputs[i], &err) != KC_OK)
                        die(&err);
        const struct kc_set set = { stores, 2, KC_SET_UNION, KC_RULE_SUM };
        struct kc_store_options options = kc_set_options(&set, 1, UINT32_MAX);
        struct kc_store_origin origin;
        struct kc_store_writer *writer;
        const char **names;
        options.replace = true;
        if (kc_store_create(&writer, output, &options, &err) != KC_OK)
                die(&err);
        struct kc_run_sink sink = kc_store_sink(writer);
        if (kc_set_run(&set, b->nthreads, NULL, &sink, &origin, &names, &err) != KC_OK ||
            kc_store_commit(writer, &origin, NULL, &err) != KC_OK)
                die(&err);
        free(names);
        for (int i = 0; i < 2; i++)
                kc_store_close(stores[i]);
}

static void bench_merge(struct bench *b)
{
        char other[4096], output[4096];
        snprintf(other, sizeof other, "%s.other", b->path);
        snprintf(output, sizeof output, "%s.merged", b->path);
        b->variant = 1;
        bench_generator(b);
        write_store(b, other);
        struct clocks begin = now();
        merge_files(b, (const char *const[]){ b->path, other }, output);
        struct clocks end = now();
        report("merge of two", begin, 2 * (double)b->npairs);
        double nbytes = (double)(file_nbytes(b->path) + file_nbytes(other) + file_nbytes(output));
        printf("%-24s %8.3f GB/s wall, %8.3f GB/s CPU\n", "",
               nbytes / (end.wall - begin.wall) * 1e-9, nbytes / (end.cpu - begin.cpu) * 1e-9);
        unlink(other);
        unlink(output);
}

/* The codec alone, on one block in cache, repeatedly. */
static void bench_codec(const struct bench *b)
{
        enum { NROUNDS = 20000 };
        const size_t n = KC_BLOCK_NKMERS;
        static uint64_t kmers[KC_BLOCK_NKMERS * KC_MAX_WORDS], out[KC_BLOCK_NKMERS * KC_MAX_WORDS];
        static uint32_t counts[KC_BLOCK_NKMERS];
        uint64_t *words = malloc((kc_block_max_words(b->nwords) + KC_BLOCK_PADDING) * 8);
        if (words == NULL)
                exit(1);
        struct kc_block_plan plan;
        make_part(b, b->nparts / 2, kmers, counts, n);
        struct clocks begin = now();
        for (int i = 0; i < NROUNDS; i++)
                kc_block_plan(&plan, kmers, counts, n, b->nwords);
        report("codec: plan", begin, (double)n * NROUNDS);
        begin = now();
        for (int i = 0; i < NROUNDS; i++)
                kc_block_encode(&plan, kmers, counts, b->nwords, words);
        report("codec: encode", begin, (double)n * NROUNDS);
        begin = now();
        for (int i = 0; i < NROUNDS; i++)
                if (!kc_block_decode(words, plan.nwords, kmers, b->nwords, n, out, counts))
                        exit(1);
        report("codec: decode", begin, (double)n * NROUNDS);
        begin = now();
        uint32_t count = 0;
        for (int i = 0; i < NROUNDS * 10; i++)
                if (!kc_block_find(words, plan.nwords, kmers, b->nwords, n,
                                   kmers + (size_t)i * 7 % n * (size_t)b->nwords, &count))
                        exit(1);
        report("codec: find", begin, NROUNDS * 10.0);
        free(words);
}

static enum kc_status walk_part(void *ctx, int worker, struct kc_error *err)
{
        struct bench *b = ctx;
        struct kc_cursor *cursor = NULL;
        const uint64_t *kmers;
        const uint32_t *counts;
        uint64_t sum = 0;
        size_t n, p = (size_t)worker, nw = (size_t)b->nwords;
        enum kc_status status;
        /* a bound is in both adjacent ranges, which does not matter for a rate */
        KC_TRY(kc_cursor_open(&cursor, b->store, p == 0 ? NULL : b->bounds + (p - 1) * nw,
                              p == b->nbounds ? NULL : b->bounds + p * nw, err));
        do {
                KC_TRY(kc_cursor_next(cursor, &kmers, &counts, &n, err));
                for (size_t i = 0; i < n; i++)
                        sum += counts[i];
        } while (n > 0);
        atomic_fetch_add(&b->sum, sum);
out:
        kc_cursor_close(cursor);
        return status;
}

static void bench_lookup(struct bench *b)
{
        enum { NLOOKUPS = 200000 };
        struct kc_error err = { 0 };
        struct kc_lookup *lookup;
        uint64_t kmer[KC_MAX_WORDS] = { 0 };
        uint32_t count;
        const int top_nbits = 2 * b->k - 64 * (b->nwords - 1);
        struct clocks begin = now();
        if (kc_lookup_open(&lookup, b->store, &err) != KC_OK)
                die(&err);
        for (int i = 0; i < NLOOKUPS; i++) {
                kmer[b->nwords - 1] = random_mix((uint64_t)i) >> (64 - top_nbits);
                if (kc_lookup_count(lookup, kmer, &count, &err) != KC_OK)
                        die(&err);
        }
        report("lookups, random", begin, NLOOKUPS);
        kc_lookup_close(lookup);
}

static void bench_read(struct bench *b)
{
        struct kc_error err = { 0 };
        struct clocks begin = now();
        if (kc_store_open(&b->store, b->path, &err) != KC_OK)
                die(&err);
        struct kc_lookup *lookup;
        uint32_t count;
        uint64_t kmer[KC_MAX_WORDS] = { 12345 };
        if (kc_lookup_open(&lookup, b->store, &err) != KC_OK ||
            kc_lookup_count(lookup, kmer, &count, &err) != KC_OK)
                die(&err);
        kc_lookup_close(lookup);
        report("open, one lookup", begin, 1);

        begin = now();
        if (kc_store_split(b->store, NULL, NULL, (size_t)b->nthreads, (uint64_t **)&b->bounds,
                           &b->nbounds, &err) != KC_OK ||
            kc_parallel((int)b->nbounds + 1, walk_part, NULL, b, &err) != KC_OK)
                die(&err);
        report("walk", begin, (double)b->npairs);
        bench_lookup(b);
        begin = now();
        if (kc_store_check(b->store, b->nthreads, NULL, &err) != KC_OK)
                die(&err);
        report("check", begin, (double)b->npairs);
        kc_store_close(b->store);
        free((uint64_t *)b->bounds);
}

int main(int argc, char **argv)
{
        struct bench b = { .npairs = 50000000, .k = 31, .nthreads = 1, .path = "bench_store.kc" };
        for (int c; (c = getopt(argc, argv, "n:k:t:o:")) != -1;) {
                if (c == 'n')
                        b.npairs = strtoull(optarg, NULL, 10);
                else if (c == 'k')
                        b.k = atoi(optarg);
                else if (c == 't')
                        b.nthreads = atoi(optarg);
                else if (c == 'o')
                        b.path = optarg;
                else
                        return 2;
        }
        if (b.k < 1 || b.k > KC_MAX_K || b.nthreads < 1 || b.npairs < KC_BLOCK_NKMERS)
                return 2;
        b.nwords = kc_kmer_nwords(b.k);
        b.nparts = (b.npairs + PART_NPAIRS - 1) / PART_NPAIRS;
        bench_codec(&b);
        bench_write(&b);
        bench_read(&b);
        bench_merge(&b);
        return 0;
}
