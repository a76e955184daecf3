/* A set has the k-mers that it was given, and no others. */
#include "kmer/kmer_set.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h> /* must come after those above */

#include "tests/random.h"

enum { MAX_NKMERS = 3000 };

struct kmers {
        int k;
        size_t n, nwords;
        uint64_t *words;
};

/* Few distinct leading words, so that many k-mers share their leading bits. */
static void draw(uint64_t *kmer, int k, uint64_t *seed)
{
        const int nwords = kc_kmer_nwords(k);
        for (int i = 0; i < nwords; i++)
                kmer[i] = next_random(seed) % 3 == 0 ? next_random(seed) % 4 : next_random(seed);
        kmer[nwords - 1] &= kc_kmer_top_mask(k);
}

static int by_value(const void *a, const void *b, void *nwords)
{
        return kc_kmer_compare(a, b, *(int *)nwords);
}

static struct kmers make_kmers(int k, size_t n, uint64_t seed)
{
        int nwords = kc_kmer_nwords(k);
        struct kmers made = { .k = k, .nwords = (size_t)nwords };
        const size_t nbytes = made.nwords * sizeof *made.words;
        made.words = malloc((n + 1) * nbytes);
        for (size_t i = 0; i < n; i++)
                draw(made.words + i * made.nwords, k, &seed);
        qsort_r(made.words, n, nbytes, by_value, &nwords);
        for (size_t i = 0; i < n; i++) {
                uint64_t *to = made.words + made.n * made.nwords;
                const uint64_t *from = made.words + i * made.nwords;
                if (made.n > 0 && memcmp(to - made.nwords, from, nbytes) == 0)
                        continue;
                memmove(to, from, nbytes);
                made.n++;
        }
        return made;
}

static bool has(const struct kmers *kmers, const uint64_t *kmer)
{
        for (size_t i = 0; i < kmers->n; i++)
                if (memcmp(kmers->words + i * kmers->nwords, kmer, kmers->nwords * 8) == 0)
                        return true;
        return false;
}

static void check_set(int k, size_t n, uint64_t seed)
{
        struct kmers kmers = make_kmers(k, n, seed);
        struct kc_kmer_set set = { .k = k };
        struct kc_error err = { 0 };
        for (size_t at = 0; at < kmers.n;) {
                const size_t left = kmers.n - at, part = 1 + next_random(&seed) % left;
                assert_int_equal(
                        kc_kmer_set_append(&set, kmers.words + at * kmers.nwords, part, &err),
                        KC_OK);
                at += part;
        }
        assert_int_equal(kc_kmer_set_finish(&set, &err), KC_OK);
        assert_int_equal(set.n, kmers.n);
        for (size_t i = 0; i < kmers.n; i++)
                assert_true(kc_kmer_set_has(&set, kmers.words + i * kmers.nwords));
        for (int i = 0; i < 300; i++) {
                uint64_t kmer[KC_MAX_WORDS];
                draw(kmer, k, &seed);
                assert_int_equal(kc_kmer_set_has(&set, kmer), has(&kmers, kmer));
        }
        kc_kmer_set_free(&set);
        free(kmers.words);
}

static void test_has(void **state)
{
        (void)state;
        static const int ks[] = { 1, 2, 5, 13, 31, 32, 33, 63, 64, 65, 96, 128, 255 };
        for (size_t i = 0; i < sizeof ks / sizeof *ks; i++)
                for (size_t n = 0; n < MAX_NKMERS; n = 3 * n + 1)
                        check_set(ks[i], n, 100 * i + n);
}

static void test_checksum(void **state)
{
        (void)state;
        struct kc_error err = { 0 };
        const uint64_t kmers[] = { 3, 7, 9 };
        uint64_t sums[3];
        for (size_t n = 1; n <= 3; n++) {
                struct kc_kmer_set set = { .k = 5 };
                assert_int_equal(kc_kmer_set_append(&set, kmers, n, &err), KC_OK);
                sums[n - 1] = kc_kmer_set_checksum(&set);
                assert_int_not_equal(sums[n - 1], 0);
                kc_kmer_set_free(&set);
        }
        assert_int_not_equal(sums[0], sums[1]);
        assert_int_not_equal(sums[1], sums[2]);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_has),
                                            cmocka_unit_test(test_checksum) };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
