/*
 * Random tables, and texts to ask them: reads of a genome on both strands, with errors and letters
 * that are not bases, and tables of most of its k-mers with counts that are hard for some map.
 */
#ifndef TESTS_GPU_ASK_TEXTS_H
#define TESTS_GPU_ASK_TEXTS_H

#include "tests/io/store/store_sets.h"

/* ---- what is asked ---- */

struct texts {
        char **items;
        size_t n;
};

static void add_text(struct texts *t, const char *letters, size_t n)
{
        t->items = realloc(t->items, (t->n + 1) * sizeof *t->items);
        assert_non_null(t->items);
        t->items[t->n] = strndup(letters, n);
        assert_non_null(t->items[t->n++]);
}

static void free_texts(struct texts *t)
{
        for (size_t i = 0; i < t->n; i++)
                free(t->items[i]);
        free(t->items);
}

static char *random_letters(size_t n, uint64_t *rng)
{
        char *letters = malloc(n + 1);
        assert_non_null(letters);
        for (size_t i = 0; i < n; i++)
                letters[i] = "ACGT"[next_random(rng) % 4];
        letters[n] = '\0';
        return letters;
}

static void reverse_complement(char *letters, size_t n)
{
        for (size_t i = 0; i < n / 2; i++) {
                const char c = letters[i];
                letters[i] = letters[n - 1 - i];
                letters[n - 1 - i] = c;
        }
        for (size_t i = 0; i < n; i++)
                letters[i] = "TGCA"[strchr("ACGT", letters[i]) - "ACGT"];
}

/* Put letters that are not bases into some reads; write bases with other letters; change bases. */
static void spoil(char *letters, size_t n, uint64_t *rng)
{
        const size_t kind = next_random(rng) % 8;
        for (size_t i = 0; i < n; i++) {
                const uint64_t r = next_random(rng);
                if (kind == 0 && r % 16 == 0)
                        letters[i] = "N-*.nRy\xff"[r >> 8 & 7];
                if (kind == 1 && r % 40 == 0)
                        letters[i] = "ACGT"[r >> 8 & 3];
                if (kind == 2)
                        letters[i] = (char)(letters[i] | 0x20);
                if (kind == 3 && letters[i] == 'T')
                        letters[i] = r % 2 == 0 ? 'U' : 'u';
        }
        if (kind == 4 && n > 0)
                letters[0] = 'N';
        if (kind == 5 && n > 0)
                letters[n - 1] = 'N';
}

/* Reads of all lengths from both strands of the genome, and some special cases. */
static struct texts make_reads(const char *genome, int k, size_t n, uint64_t *rng)
{
        const size_t length = strlen(genome);
        struct texts t = { 0 };
        char poly[300];
        memset(poly, 'A', sizeof poly);
        for (size_t i = 0; i < n; i++) {
                const size_t nbases = next_random(rng) % 4 == 0
                                              ? next_random(rng) % (2 * (size_t)k + 2)
                                              : (size_t)k + next_random(rng) % 150;
                const size_t from = next_random(rng) % (length - nbases);
                add_text(&t, genome + from, nbases);
                char *letters = t.items[t.n - 1];
                if (next_random(rng) % 2 == 0)
                        reverse_complement(letters, nbases);
                spoil(letters, nbases, rng);
        }
        add_text(&t, "", 0);
        add_text(&t, "NNN", 3);
        add_text(&t, genome, length);
        add_text(&t, poly, sizeof poly);
        for (size_t i = 0; i < 40; i++)
                add_text(&t, genome + 17, 150);
        add_text(&t, "", 0);
        return t;
}

/* ---- the table ---- */

/* Counts around those that fields of maps hold, and around marks. */
static uint32_t some_count(uint64_t *rng)
{
        static const uint32_t peculiar[] = { 1,       2,        3,          254,           255,
                                             256,     65534,    65535,      65536,         65537,
                                             1 << 24, 1u << 31, UINT32_MAX, UINT32_MAX - 1 };
        const uint64_t r = next_random(rng);
        return r % 4 != 0 ? 1 + (uint32_t)(r >> 8) % 50
                          : peculiar[(r >> 8) % (sizeof peculiar / sizeof *peculiar)];
}

/* About two thirds of the k-mers of the text, and the one of A alone. */
static struct pair_set set_of(const char *text, int k, bool stranded, uint64_t *rng)
{
        struct pair_set s = { .k = k, .stranded = stranded, .nw = (size_t)kc_kmer_nwords(k) };
        const size_t n = strlen(text) - (size_t)k + 1;
        struct pair_set all = empty_set(&s, n + 1);
        struct pair_set one = empty_set(&s, n + 1);
        for (size_t i = 0; i < n; i++) {
                uint64_t *kmer = all.kmers + all.n * s.nw;
                if (i > 0 && next_random(rng) % 3 == 0)
                        continue;
                assert_int_equal(kc_kmer_parse(text + i, k, kmer), k);
                if (!stranded)
                        kc_kmer_canonical(kmer, k);
                all.n++;
        }
        memset(all.kmers + all.n++ * s.nw, 0, s.nw * sizeof *s.kmers);
        qsort_r(all.kmers, all.n, s.nw * sizeof *s.kmers, compare_kmers, &s.nw);
        for (size_t i = 0; i < all.n; i++)
                if (i == 0 || kc_kmer_compare(all.kmers + (i - 1) * s.nw, all.kmers + i * s.nw,
                                              (int)s.nw) != 0)
                        add_pair(&one, all.kmers + i * s.nw, some_count(rng));
        free_set(&all);
        return one;
}

#endif
