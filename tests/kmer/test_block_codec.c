/*
 * The block codec alone: round trips of k-mers and counts of every shape, exact sizes where they
 * can be predicted, and damaged words.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kmer/block_codec.h"

#include "tests/random.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_N = KC_BLOCK_NKMERS };

struct block {
        int k, nw;
        size_t n;
        uint64_t kmers[MAX_N * KC_MAX_WORDS];
        uint32_t counts[MAX_N];
};

static const int ks[] = { 1, 2, 5, 16, 31, 32, 33, 63, 64, 65, 96, 127, 128, 129, 200, 255 };
#define NKS (sizeof ks / sizeof *ks)

static int compare(const void *a, const void *b, void *nw)
{
        return kc_kmer_compare(a, b, *(int *)nw);
}

static void sort_and_dedup(struct block *b)
{
        size_t n = 0, nw = (size_t)b->nw;
        qsort_r(b->kmers, b->n, nw * 8, compare, &b->nw);
        for (size_t i = 0; i < b->n; i++)
                if (i == 0 || kc_kmer_compare(b->kmers + (n - 1) * nw, b->kmers + i * nw, b->nw))
                        memmove(b->kmers + n++ * nw, b->kmers + i * nw, nw * 8);
        b->n = n;
}

/* shape 0: random; 1: dense from 0; 2: dense up to the top; 3: clusters; 4: both ends only */
static void make_kmers(struct block *b, int k, size_t n, int shape, uint64_t *rng)
{
        b->k = k;
        b->nw = kc_kmer_nwords(k);
        b->n = n;
        const size_t nw = (size_t)b->nw;
        const uint64_t mask = kc_kmer_top_mask(k);
        for (size_t i = 0; i < n; i++) {
                uint64_t *kmer = b->kmers + i * nw;
                for (size_t w = 0; w < nw; w++) {
                        switch (shape) {
                        case 0:
                                kmer[w] = next_random(rng);
                                break;
                        case 1:
                                kmer[w] = w == 0 ? i : 0;
                                break;
                        case 2:
                                kmer[w] = w == 0 ? UINT64_MAX - i : UINT64_MAX;
                                break;
                        case 3:
                                kmer[w] = w == 0 ? next_random(rng) % 64
                                                 : (i % 3) * UINT64_C(0x123456789abcdef);
                                break;
                        default:
                                kmer[w] = i % 2 ? UINT64_MAX - (w == 0 ? i : 0) : (w == 0 ? i : 0);
                        }
                }
                kmer[nw - 1] &= mask;
        }
        sort_and_dedup(b);
}

/* shape 0: all 1; 1: all largest; 2: mostly 1; 3: any; 4: mostly small, a few large; 5: all 2 */
static void make_counts(struct block *b, int shape, uint64_t *rng)
{
        for (size_t i = 0; i < b->n; i++) {
                uint64_t r = next_random(rng);
                switch (shape) {
                case 0:
                        b->counts[i] = 1;
                        break;
                case 1:
                        b->counts[i] = UINT32_MAX;
                        break;
                case 2:
                        b->counts[i] = r % 5 ? 1 : 2 + r / 8 % 60;
                        break;
                case 3:
                        b->counts[i] = (uint32_t)r ? (uint32_t)r >> (r >> 59) : 1;
                        b->counts[i] += b->counts[i] == 0;
                        break;
                case 4:
                        b->counts[i] = r % 100 ? 1 + r / 128 % 30 : 1 + (uint32_t)(r >> 33);
                        break;
                default:
                        b->counts[i] = 2;
                }
        }
}

/* Encode into exactly as much memory as the contract requires. */
static uint64_t *encode(const struct block *b, struct kc_block_plan *plan)
{
        kc_block_plan(plan, b->kmers, b->counts, b->n, b->nw);
        assert_true(plan->nwords <= kc_block_max_words(b->nw));
        uint64_t *words = malloc((plan->nwords + KC_BLOCK_PADDING) * sizeof *words);
        assert_non_null(words);
        memset(words, 0xa5, (plan->nwords + KC_BLOCK_PADDING) * sizeof *words);
        kc_block_encode(plan, b->kmers, b->counts, b->nw, words);
        for (size_t i = 0; i < KC_BLOCK_PADDING; i++)
                assert_true(words[plan->nwords + i] == UINT64_C(0xa5a5a5a5a5a5a5a5));
        return words;
}

static void check_decode(const struct block *b, const uint64_t *words, size_t nwords)
{
        uint64_t *kmers = malloc(b->n * (size_t)b->nw * sizeof *kmers);
        uint32_t *counts = malloc(b->n * sizeof *counts);
        assert_true(kc_block_decode(words, nwords, b->kmers, b->nw, b->n, kmers, counts));
        assert_memory_equal(kmers, b->kmers, b->n * (size_t)b->nw * sizeof *kmers);
        assert_memory_equal(counts, b->counts, b->n * sizeof *counts);
        free(kmers);
        free(counts);
}

static bool contains(const struct block *b, const uint64_t *kmer)
{
        for (size_t i = 0; i < b->n; i++)
                if (kc_kmer_compare(b->kmers + i * (size_t)b->nw, kmer, b->nw) == 0)
                        return true;
        return false;
}

/* Look up all k-mers of the block and, for some, the next higher and a distant one, which may be
 * absent. */
static void check_find(const struct block *b, const uint64_t *words, size_t nwords, uint64_t *rng)
{
        uint32_t count;
        const size_t nw = (size_t)b->nw;
        for (size_t i = 0; i < b->n; i++) {
                uint64_t kmer[KC_MAX_WORDS];
                memcpy(kmer, b->kmers + i * nw, nw * sizeof *kmer);
                assert_true(kc_block_find(words, nwords, b->kmers, b->nw, b->n, kmer, &count));
                assert_int_equal(count, b->counts[i]);
                if (i % 16 != 0)
                        continue;
                if (++kmer[0] != 0 && !contains(b, kmer)) {
                        assert_true(
                                kc_block_find(words, nwords, b->kmers, b->nw, b->n, kmer, &count));
                        assert_int_equal(count, 0);
                }
                kmer[nw - 1] |= next_random(rng);
                if (!contains(b, kmer)) {
                        assert_true(
                                kc_block_find(words, nwords, b->kmers, b->nw, b->n, kmer, &count));
                        assert_int_equal(count, 0);
                }
        }
}

static void test_round_trip(void **state)
{
        (void)state;
        static const size_t sizes[] = { 1, 2, 3, 63, 64, 65, 1000, 1023, 1024 };
        static struct block b;
        uint64_t rng = 1;
        for (size_t ik = 0; ik < NKS; ik++)
                for (size_t in = 0; in < sizeof sizes / sizeof *sizes; in++)
                        for (int shape = 0; shape < 5; shape++) {
                                make_kmers(&b, ks[ik], sizes[in], shape, &rng);
                                make_counts(&b, (int)(next_random(&rng) % 6), &rng);
                                struct kc_block_plan plan;
                                uint64_t *words = encode(&b, &plan);
                                check_decode(&b, words, plan.nwords);
                                check_find(&b, words, plan.nwords, &rng);
                                free(words);
                        }
}

static void test_counts(void **state)
{
        (void)state;
        static struct block b;
        uint64_t rng = 2;
        for (int shape = 0; shape < 6; shape++)
                for (size_t n = 1; n <= MAX_N; n += n < 130 ? 1 : 447) {
                        make_kmers(&b, 31, n, 0, &rng);
                        make_counts(&b, shape, &rng);
                        struct kc_block_plan plan;
                        uint64_t *words = encode(&b, &plan);
                        check_decode(&b, words, plan.nwords);
                        check_find(&b, words, plan.nwords, &rng);
                        free(words);
                }
}

/* Layouts worked out by hand from the rules of docs/dev/kc-file.md. */
static void test_layout(void **state)
{
        (void)state;
        static struct block b;
        struct kc_block_plan plan;

        /* values 0, 5, 9; n = 3: 9 >> 1 = 4 >= 3 and 9 >> 2 < 3, so l = 1; high parts 0, 2, 4 set
         * bits 0, 3, 6; low bits 0, 1, 1 */
        b = (struct block){ .k = 4, .nw = 1, .n = 3, .kmers = { 100, 105, 109 } };
        memcpy(b.counts, (uint32_t[]){ 1, 5, 2 }, 3 * sizeof *b.counts);
        uint64_t *words = encode(&b, &plan);
        /* counts above 1: 5 and 2; count - 2 is 3 and 0: 2 bits each cost 4, an exception 64 */
        assert_int_equal(plan.nwords, 5);
        assert_int_equal(words[0], UINT64_C(0x0201000000010003));
        assert_int_equal(words[1], 1 << 0 | 1 << 3 | 1 << 6);
        assert_int_equal(words[2], 0 << 0 | 1 << 1 | 1 << 2);
        assert_int_equal(words[3], 1 << 1 | 1 << 2);
        assert_int_equal(words[4], 3 << 0 | 0 << 2);
        free(words);

        /* one value that does not fit: 4 counts of 2 in no bits and a whole count */
        b = (struct block){ .k = 4, .nw = 1, .n = 5, .kmers = { 0, 1, 2, 3, 4 } };
        memcpy(b.counts, (uint32_t[]){ 2, 2, 2, 1000000, 2 }, 5 * sizeof *b.counts);
        words = encode(&b, &plan);
        assert_int_equal(plan.nwords, 4);
        assert_int_equal(words[0], UINT64_C(0x0001000100000005));
        assert_int_equal(words[1], 0x155); /* l = 0: bits i + i */
        assert_int_equal(words[2], 0x1f);
        assert_int_equal(words[3], UINT64_C(3) << 32 | 1000000);
        free(words);

        /* two words: the low word whole in a plane, 2 bits in a field, the rest high */
        b = (struct block){ .k = 40, .nw = 2, .n = 2, .kmers = { 7, 0, 6, 9 }, .counts = { 1, 1 } };
        words = encode(&b, &plan);
        /* value 1 is 0x8_ffffffffffffffff, 68 bits; l = 66: >> 66 gives 2 >= 2 */
        assert_int_equal(plan.nwords, 1 + 1 + 2 + 1 + 1);
        assert_int_equal(words[0], UINT64_C(0x0001000000420002));
        assert_int_equal(words[1], 1 << 0 | 1 << 3);
        assert_int_equal(words[2], 0);
        assert_true(words[3] == UINT64_MAX);
        assert_int_equal(words[4], 0);
        assert_int_equal(words[5], 0);
        free(words);
}

/* A k-mer takes l + 2 to l + 3 bits, besides the fixed parts; never more. */
static void test_size(void **state)
{
        (void)state;
        static struct block b;
        uint64_t rng = 3;
        for (size_t ik = 0; ik < NKS; ik++) {
                make_kmers(&b, ks[ik], MAX_N, 0, &rng);
                make_counts(&b, 0, &rng);
                struct kc_block_plan plan;
                free(encode(&b, &plan));
                assert_true(plan.nwords * 64 <= 64 + b.n * (plan.low_nbits + 3 + 1) + 3 * 64);
                assert_int_equal(plan.nexceptions, 0);
                assert_int_equal(plan.width, 0);
        }
}

/* Decoding may fail or return anything, but must stay in bounds; the sanitizers check that. */
static void test_damage(void **state)
{
        (void)state;
        static struct block b;
        static uint64_t kmers[MAX_N * KC_MAX_WORDS];
        static uint32_t counts[MAX_N];
        uint64_t rng = 4;
        uint32_t count;
        for (int round = 0; round < 4000; round++) {
                make_kmers(&b, ks[next_random(&rng) % NKS], 1 + next_random(&rng) % 100,
                           (int)(next_random(&rng) % 5), &rng);
                make_counts(&b, (int)(next_random(&rng) % 6), &rng);
                struct kc_block_plan plan;
                uint64_t *words = encode(&b, &plan);
                size_t nflips = 1 + next_random(&rng) % 3;
                for (size_t i = 0; i < nflips; i++) {
                        uint64_t at = next_random(&rng) % (i == 0 ? 64 : 64 * plan.nwords);
                        words[at / 64] ^= UINT64_C(1) << at % 64;
                }
                kc_block_decode(words, plan.nwords, b.kmers, b.nw, b.n, kmers, counts);
                kc_block_find(words, plan.nwords, b.kmers, b.nw, b.n,
                              b.kmers + next_random(&rng) % b.n * (size_t)b.nw, &count);
                free(words);
        }
}

static void test_wrong_sizes(void **state)
{
        (void)state;
        static struct block b;
        static uint64_t kmers[MAX_N * KC_MAX_WORDS];
        static uint32_t counts[MAX_N];
        uint64_t rng = 5;
        make_kmers(&b, 31, 200, 0, &rng);
        make_counts(&b, 4, &rng);
        struct kc_block_plan plan;
        uint64_t *words = encode(&b, &plan);
        for (size_t nwords = 0; nwords < plan.nwords; nwords++) {
                uint64_t *cut = malloc((nwords + KC_BLOCK_PADDING) * sizeof *cut);
                memcpy(cut, words, (nwords + KC_BLOCK_PADDING) * sizeof *cut);
                assert_false(kc_block_decode(cut, nwords, b.kmers, 1, b.n, kmers, counts));
                free(cut);
        }
        assert_false(kc_block_decode(words, plan.nwords, b.kmers, 1, 199, kmers, counts));
        assert_false(kc_block_decode(words, plan.nwords, b.kmers, 1, 0, kmers, counts));
        free(words);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_round_trip), cmocka_unit_test(test_counts),
                cmocka_unit_test(test_layout),     cmocka_unit_test(test_size),
                cmocka_unit_test(test_damage),     cmocka_unit_test(test_wrong_sizes),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
