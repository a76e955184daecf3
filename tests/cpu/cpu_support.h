/*
 * What the tests of cpu/ share: sequences as text, counted by the engine and by sorting strings.
 */
#ifndef KC_TESTS_CPU_SUPPORT_H
#define KC_TESTS_CPU_SUPPORT_H

#include "cpu/cpu_engine.h"
#include "kmer/kmer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/run_support.h"
#include "tests/sampling.h"

enum { MAX_SEQUENCES = 4000 };

/* Sequences as text, and each worker's next one. */
struct reads {
        char *text[MAX_SEQUENCES];
        int n, k, nworkers;
        atomic_int next;
        int fail_at;    /* the sequence whose reading fails; -1: none */
        uint32_t piece; /* longer ones are cut into pieces for k up to max_k; 0: none are */
        int max_k;
};

static inline void add_read(struct reads *reads, const char *text)
{
        assert_true(reads->n < MAX_SEQUENCES);
        reads->text[reads->n++] = strdup(text);
}

static inline void free_reads(struct reads *reads)
{
        for (int i = 0; i < reads->n; i++)
                free(reads->text[i]);
}

static inline void pack_letters(struct kc_batch *batch, const char *text, uint32_t n)
{
        uint32_t first = batch->nwords;
        batch->nwords += (n + 31) / 32;
        assert_true(batch->nwords <= batch->words_cap);
        memset(batch->words + first, 0, (batch->nwords - first) * 8);
        for (uint32_t i = 0; i < n; i++)
                batch->words[first + i / 32] |= (uint64_t)kc_base_code((unsigned char)text[i])
                                                << 2 * (i % 32);
        batch->segments[batch->nsegments++] = (struct kc_segment){ .word = first, .nbases = n };
}

static inline void pack(struct kc_batch *batch, const char *text)
{
        pack_letters(batch, text, (uint32_t)strlen(text));
}

/* Cut a sequence as the reader does for several k. Some sequences are cut from their end, as those
 * of turned reads are. */
static inline void pack_pieces(struct kc_batch *batch, const char *text, uint32_t piece,
                               uint32_t shared)
{
        const bool turned = text[0] == 'A' || text[0] == 'C';
        uint32_t left = (uint32_t)strlen(text), before = 0;
        while (piece > 0 && left > piece) {
                pack_letters(batch, text, piece);
                batch->segments[batch->nsegments - 1].nbefore = (uint8_t)before;
                batch->segments[batch->nsegments - 1].nafter = turned ? (uint8_t)shared : 0;
                before = turned ? 0 : shared;
                text += piece - shared;
                left -= piece - shared;
        }
        pack_letters(batch, text, left);
        batch->segments[batch->nsegments - 1].nbefore = (uint8_t)before;
}

static inline enum kc_status next_batch(void *ctx, int worker, struct kc_batch *batch,
                                        struct kc_error *err)
{
        struct reads *reads = ctx;
        assert_true(worker < reads->nworkers);
        batch->nwords = batch->nsegments = 0;
        while (batch->nsegments < 40) {
                int i = atomic_fetch_add(&reads->next, 1);
                if (i >= reads->n)
                        break;
                if (i == reads->fail_at)
                        return kc_fail(err, KC_EINPUT, "no read %d", i);
                if (strlen(reads->text[i]) >= (size_t)reads->k)
                        pack_pieces(batch, reads->text[i], reads->piece,
                                    (uint32_t)reads->max_k - 1);
        }
        return KC_OK;
}

/* ---- the oracle: all k-mers as strings, sorted ---- */

/* ThreadSanitizer also checks strcmp. */
ONE_THREAD static inline int compare_texts(const char *a, const char *b)
{
        if (!FEW_CASES)
                return strcmp(a, b);
        while (*a != '\0' && *a == *b) {
                a++;
                b++;
        }
        return *a - *b;
}

ONE_THREAD static inline int by_text(const void *a, const void *b)
{
        return compare_texts(*(char *const *)a, *(char *const *)b);
}

ONE_THREAD static inline char complement(char base)
{
        return base == 'A' ? 'T' : base == 'C' ? 'G' : base == 'G' ? 'C' : 'A';
}

ONE_THREAD static inline char *kmer_text(const char *text, int k, bool stranded)
{
        char *forward = strndup(text, (size_t)k), *reverse = strndup(text, (size_t)k);
        for (int i = 0; i < k; i++)
                reverse[i] = complement(text[k - 1 - i]);
        bool use_forward = stranded || compare_texts(forward, reverse) < 0;
        free(use_forward ? reverse : forward);
        return use_forward ? forward : reverse;
}

ONE_THREAD static inline size_t all_kmers(const struct reads *reads, bool stranded, char ***sorted)
{
        size_t n = 0;
        for (int i = 0; i < reads->n; i++)
                n += strlen(reads->text[i]);
        char **kmers = malloc((n + 1) * sizeof *kmers);
        n = 0;
        for (int i = 0; i < reads->n; i++) {
                const size_t length = strlen(reads->text[i]);
                for (size_t at = 0; at + (size_t)reads->k <= length; at++)
                        kmers[n++] = kmer_text(reads->text[i] + at, reads->k, stranded);
        }
        qsort(kmers, n, sizeof *kmers, by_text);
        *sorted = kmers;
        return n;
}

static inline void compare(const struct run *run, char **kmers, size_t n, int k)
{
        struct pairs all = run_join(run);
        size_t at = 0;
        for (size_t i = 0; i < all.n; i++) {
                char text[256] = { 0 };
                kc_kmer_format(all.kmers + i * (size_t)run->nwords, k, text);
                size_t first = at;
                assert_true(at < n);
                assert_string_equal(text, kmers[first]);
                while (at < n && compare_texts(kmers[at], kmers[first]) == 0)
                        at++;
                assert_int_equal(all.counts[i], at - first);
        }
        assert_int_equal(at, n);
        pairs_free(&all);
}

static inline enum kc_status count_into(struct reads *reads, const struct kc_count_params *params,
                                        const struct kc_run_sink *sink,
                                        struct kc_count_totals *totals, struct kc_error *err)
{
        struct kc_job job = { 0 };
        struct kc_batch_source source = { reads, next_batch };
        reads->k = params->k;
        reads->nworkers = params->nthreads;
        atomic_store(&reads->next, 0);
        return kc_cpu_count(params, &source, sink, &job, totals, err);
}

static inline enum kc_status count(struct reads *reads, const struct kc_count_params *params,
                                   struct run *run, struct kc_count_totals *totals,
                                   struct kc_error *err)
{
        struct kc_run_sink sink = run_sink(run);
        run->nwords = kc_kmer_nwords(params->k);
        return count_into(reads, params, &sink, totals, err);
}

static inline void check(struct reads *reads, int k, bool stranded, int nthreads, uint64_t memory)
{
        struct kc_count_params params = { .k = k,
                                          .stranded = stranded,
                                          .nthreads = nthreads,
                                          .memory_nbytes = memory,
                                          .tmp_dir = "/tmp" };
        struct kc_count_totals totals;
        struct kc_error err = { 0 };
        struct run run = { .fail_at = -1 };
        char **kmers;
        reads->fail_at = -1;
        enum kc_status status = count(reads, &params, &run, &totals, &err);
        assert_string_equal(err.message, "");
        assert_int_equal(status, KC_OK);
        size_t n = all_kmers(reads, stranded, &kmers);
        compare(&run, kmers, n, k);
        assert_int_equal(totals.nkmers, n);
        assert_int_equal(totals.nsaturated, 0);
        for (size_t i = 0; i < n; i++)
                free(kmers[i]);
        free(kmers);
        run_free(&run);
}

/* ---- inputs ---- */

static inline char *random_genome(size_t n)
{
        char *genome = malloc(n + 1);
        for (size_t i = 0; i < n; i++)
                genome[i] = "ACGT"[rand() % 4];
        genome[n] = '\0';
        return genome;
}

static inline void sequenced(struct reads *reads, size_t genome_length, int n, size_t length)
{
        char *genome = random_genome(genome_length), read[1000];
        for (int i = 0; i < n; i++) {
                size_t first = (size_t)rand() % (genome_length - length);
                memcpy(read, genome + first, length);
                read[length] = '\0';
                if (i % 3 == 0)
                        read[(size_t)rand() % length] = "ACGT"[rand() % 4];
                if (i % 2 == 0) { /* the other strand */
                        char *rc = strdup(read);
                        for (size_t j = 0; j < length; j++)
                                read[j] = complement(rc[length - 1 - j]);
                        free(rc);
                }
                add_read(reads, read);
        }
        free(genome);
}

/* One letter, two letters, one read many times, short and empty reads, one sequence over many
 * tiles. */
static inline void awkward(struct reads *reads)
{
        char text[9001];
        memset(text, 'A', 9000);
        text[9000] = '\0';
        add_read(reads, text);
        for (int i = 0; i < 9000; i++)
                text[i] = "TC"[i % 2];
        add_read(reads, text);
        for (int i = 0; i < 300; i++)
                add_read(reads, "GATTACAGATTACAGGCCTTAAGGCCATATATATGCGCGCTTTTTTTTTTTTTTTTT"
                                "TTTTTTTTTTTTTTTTAG");
        add_read(reads, "");
        add_read(reads, "G");
        add_read(reads, "TTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTT");
        char *genome = random_genome(7000);
        add_read(reads, genome);
        free(genome);
}

#endif
