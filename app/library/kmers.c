/* k-mers as numbers. */
#include "app/library/library.h"
#include "base/simd.h"
#include "kmer/letters.h"

#include <string.h>

/* nwords: a constant, so that the compiler unrolls the inner loop. */
static inline void turn(const uint64_t *from, int nwords, size_t n, uint64_t *to)
{
        for (size_t i = 0; i < n; i++, from += nwords, to += nwords)
                for (int low = 0, high = nwords - 1; low <= high; low++, high--) {
                        const uint64_t first = from[low], last = from[high];
                        to[low] = last;
                        to[high] = first;
                }
}

void kc_library_turn_words(const uint64_t *from, int nwords, size_t n, uint64_t *to)
{
        switch (nwords) {
        case 1:
                if (from != to)
                        memcpy(to, from, n * sizeof *to);
                break;
        case 2:
                turn(from, 2, n, to);
                break;
        case 3:
                turn(from, 3, n, to);
                break;
        case 4:
                turn(from, 4, n, to);
                break;
        default:
                turn(from, nwords, n, to);
        }
}

/* Many k-mers get their codes together, because vectors hold the letters of several. */
size_t kcount_encode(int k, const char *letters, size_t n, uint64_t *kmers)
{
        enum { MOST = 4096 };
        uint8_t codes[MOST + KC_LETTERS_SPARE];
        const size_t nletters = (size_t)k, step = MOST / nletters,
                     nwords = (size_t)kcount_nwords(k);
        for (size_t i = 0; i < n; i += step) {
                size_t m = n - i < step ? n - i : step;
                if (!kc_letters_encode(letters + i * nletters, m * nletters, codes)) {
                        const uint8_t *other = memchr(codes, KC_NO_BASE, m * nletters);
                        n = i + (size_t)(other - codes) / nletters;
                        m = n - i;
                }
                kc_letters_kmers(k, codes, m, kmers + i * nwords);
        }
        return n;
}

void kcount_decode(int k, const uint64_t *kmers, size_t n, char *letters)
{
        const int nwords = kc_kmer_nwords(k);
        uint64_t kmer[KC_MAX_WORDS];
        for (size_t i = 0; i < n; i++, letters += k, kmers += nwords) {
                kc_library_turn_words(kmers, nwords, 1, kmer);
                kc_kmer_format(kmer, k, letters);
        }
}

/* For k-mers of one word. Without branches, so that the compiler vectorizes the loop. */
KC_SIMD_CLONES
static void make_canonical(uint64_t *kmers, size_t n, int unused)
{
        for (size_t i = 0; i < n; i++) {
                const uint64_t kmer = kmers[i], other = kc_reverse_bases(~kmer) >> unused;
                kmers[i] = kmer < other ? kmer : other;
        }
}

void kc_library_canonical(int k, uint64_t *kmers, size_t n)
{
        const int nwords = kc_kmer_nwords(k);
        if (nwords == 1) {
                make_canonical(kmers, n, 64 - 2 * k);
                return;
        }
        for (size_t i = 0; i < n; i++, kmers += nwords)
                kc_kmer_canonical(kmers, k);
}

void kcount_canonical(int k, uint64_t *kmers, size_t n)
{
        const int nwords = kc_kmer_nwords(k);
        kc_library_turn_words(kmers, nwords, n, kmers);
        kc_library_canonical(k, kmers, n);
        kc_library_turn_words(kmers, nwords, n, kmers);
}

void kcount_reverse_complement(int k, uint64_t *kmers, size_t n)
{
        const int nwords = kc_kmer_nwords(k);
        uint64_t kmer[KC_MAX_WORDS];
        for (size_t i = 0; i < n; i++, kmers += nwords) {
                kc_library_turn_words(kmers, nwords, 1, kmer);
                kc_kmer_reverse_complement(kmer, k, kmers);
                kc_library_turn_words(kmers, nwords, 1, kmers);
        }
}
