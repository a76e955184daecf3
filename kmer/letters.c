#include "kmer/letters.h"

#include "base/simd.h"

#include <string.h>

/* The hot loops are written once for any number of words and compiled for 1, 2 and n of them. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

enum { STEP = KC_LETTERS_SPARE }; /* letters encoded together */

/* ---- codes ---- */

/* From letters to codes, in place. Bits 1 and 2 of a letter tell the bases apart: A 0, C 1, T and U
 * 2, G 3. All comparisons are with one value, because compilers do not vectorize a list of them. */
KC_SIMD_CLONES
static bool encode(uint8_t *letters, size_t nsteps)
{
        uint8_t all = 0;
        for (size_t i = 0; i < nsteps * STEP; i++) {
                const uint8_t letter = letters[i] & 0xdf, bits = letter >> 1 & 3;
                const uint8_t read = bits == 2 ? letter | 1 : letter;
                const uint8_t expected = (uint8_t)(bits == 2 ? 'U' : 'A' + 2 * bits);
                letters[i] = read == expected ? bits ^ bits >> 1 : KC_NO_BASE;
                all |= letters[i];
        }
        return all < KC_NO_BASE;
}

/* In whole steps, so that no letters are left over after the vector loop: reads are short, and such
 * letters would be many. */
bool kc_letters_encode(const char *letters, size_t n, uint8_t *codes)
{
        const size_t nsteps = (n + STEP - 1) / STEP;
        memcpy(codes, letters, n);
        memset(codes + n, 'A', nsteps * STEP - n);
        return encode(codes, nsteps);
}

size_t kc_letters_stretch(const uint8_t *codes, size_t n, size_t *begin)
{
        size_t i = *begin;
        while (i < n && codes[i] == KC_NO_BASE)
                i++;
        *begin = i;
        const uint8_t *end = memchr(codes + i, KC_NO_BASE, n - i);
        return (end != NULL ? (size_t)(end - codes) : n) - i;
}

/* ---- k-mers ---- */

/* Append a base to a k-mer; its first base drops out at the top. */
ALWAYS_INLINE void append(uint64_t *kmer, int nw, uint64_t top_mask, uint64_t code)
{
        for (int i = nw - 1; i > 0; i--)
                kmer[i] = kmer[i] << 2 | kmer[i - 1] >> 62;
        kmer[0] = kmer[0] << 2 | code;
        kmer[nw - 1] &= top_mask;
}

/* Prepend a base; the last one drops out at the bottom. top_shift: where the first one is in its
 * word. */
ALWAYS_INLINE void prepend(uint64_t *kmer, int nw, int top_shift, uint64_t code)
{
        for (int i = 0; i < nw - 1; i++)
                kmer[i] = kmer[i] >> 2 | kmer[i + 1] << 62;
        kmer[nw - 1] = kmer[nw - 1] >> 2 | code << top_shift;
}

/* Whether a < b, without a branch, which would be mispredicted every other time. */
ALWAYS_INLINE uint64_t is_less(const uint64_t *a, const uint64_t *b, int nw)
{
        uint64_t borrow = 0;
        for (int i = 0; i < nw; i++)
                borrow = (a[i] < b[i]) | ((a[i] == b[i]) & borrow);
        return borrow;
}

ALWAYS_INLINE void roll(struct kc_roller *roller, int nw, size_t n, uint64_t *kmers)
{
        const uint64_t top_mask = kc_kmer_top_mask(roller->k);
        const int top_shift = 2 * (roller->k - 1) % 64;
        const uint64_t wanted = roller->stranded ? 0 : UINT64_MAX;
        uint64_t forward[KC_MAX_WORDS], reverse[KC_MAX_WORDS];
        for (int w = 0; w < nw; w++) {
                forward[w] = roller->forward[w];
                reverse[w] = roller->reverse[w];
        }
        for (size_t i = 0; i < n; i++) {
                append(forward, nw, top_mask, roller->codes[i]);
                prepend(reverse, nw, top_shift, roller->codes[i] ^ 3);
                const uint64_t turned = -is_less(reverse, forward, nw) & wanted;
                for (int w = 0; w < nw; w++)
                        kmers[i * (size_t)nw + (size_t)w] =
                                (forward[w] & ~turned) | (reverse[w] & turned);
        }
        for (int w = 0; w < nw; w++) {
                roller->forward[w] = forward[w];
                roller->reverse[w] = reverse[w];
        }
}

/* ---- k-mers of one word, by vectors ---- */

enum { LANES = 32 }; /* bases of a word */

/* The bases of a word as kmer/batch.h packs them: the first in the lowest bits. Each step joins
 * neighbours: codes of two bases, of four, of eight. */
ALWAYS_INLINE uint64_t pack(const uint8_t *codes)
{
        uint64_t packed = 0;
        for (int i = 0; i < LANES; i += 8) {
                uint64_t x;
                memcpy(&x, codes + i, sizeof x);
                x = (x | x >> 6) & UINT64_C(0x000f000f000f000f);
                x = (x | x >> 12) & UINT64_C(0x000000ff000000ff);
                x = (x | x >> 24) & UINT64_C(0x000000000000ffff);
                packed |= x << 2 * i;
        }
        return packed;
}

/* The first word has the bases that are not enough for a whole one. What is packed after the bases
 * of a word is shifted out. */
KC_SIMD_CLONES
void kc_letters_kmers(int k, const uint8_t *codes, size_t n, uint64_t *kmers)
{
        const int nfirst = (k - 1) % LANES + 1;
        for (size_t i = 0; i < n; i++)
                for (int from = 0, m = nfirst; from < k; from += m, codes += m, m = LANES)
                        *kmers++ = kc_reverse_bases(pack(codes)) >> (64 - 2 * m);
}

/*
 * The packed bits of k bases, complemented, are the reverse complement of the k-mer; reversing the
 * bases of each word gives the k-mer itself, in the high bits. A stretch may end within the last
 * word; what is packed after it changes no k-mer before its end.
 */
KC_SIMD_CLONES
static void roll_word(int k, bool stranded, const uint8_t *codes, size_t n, uint64_t *kmers)
{
        const uint64_t mask = kc_kmer_top_mask(k), least = stranded ? UINT64_MAX : 0;
        const int unused = 64 - 2 * k;
        uint64_t next = pack(codes);
        for (size_t i = 0; i < n; i += LANES) {
                const uint64_t low = next;
                next = pack(codes + i + LANES);
                const uint64_t high = next << 1, first = kc_reverse_bases(low),
                               second = kc_reverse_bases(next) >> 1;
#pragma GCC unroll 1 /* unrolled, the loop would not be vectorized */
                for (uint32_t lane = 0; lane < LANES; lane++) {
                        const uint64_t forward =
                                (first << 2 * lane | second >> (63 - 2 * lane)) >> unused;
                        const uint64_t reverse =
                                (~(low >> 2 * lane | high << (63 - 2 * lane)) & mask) | least;
                        kmers[i + lane] = forward < reverse ? forward : reverse;
                }
        }
}

/* ---- stretches ---- */

void kc_roll(struct kc_roller *roller, size_t n, uint64_t *kmers)
{
        if (roller->nwords == 1)
                roll_word(roller->k, roller->stranded, roller->codes, n, kmers);
        else if (roller->nwords == 2)
                roll(roller, 2, n, kmers);
        else
                roll(roller, roller->nwords, n, kmers);
        roller->codes += n;
}

void kc_roll_begin(struct kc_roller *roller, const uint8_t *codes)
{
        const int nw = roller->nwords, nbefore = roller->k - 1;
        const uint64_t top_mask = kc_kmer_top_mask(roller->k);
        roller->codes = codes;
        if (nw == 1)
                return;
        for (int i = 0; i < nbefore; i++) {
                append(roller->forward, nw, top_mask, codes[i]);
                prepend(roller->reverse, nw, 2 * nbefore % 64, codes[i] ^ 3);
        }
        roller->codes += nbefore;
}
