#include "cpu/ask/letters.h"

#include "base/simd.h"

#include <string.h>

/* The hot loops are written once for any number of words and compiled for 1, 2 and n of them. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* ---- codes ---- */

/* From letters to codes, in place. Bits 1 and 2 of a letter tell the bases apart: A 0, C 1, T and U
 * 2, G 3. All comparisons are with one value, because compilers do not vectorize a list of them. */
KC_SIMD_CLONES
static bool encode(uint8_t *letters, size_t nsteps)
{
        uint8_t all = 0;
        for (size_t i = 0; i < nsteps * KC_ASK_ENCODE_STEP; i++) {
                const uint8_t letter = letters[i] & 0xdf, bits = letter >> 1 & 3;
                const uint8_t read = bits == 2 ? letter | 1 : letter;
                const uint8_t expected = (uint8_t)(bits == 2 ? 'U' : 'A' + 2 * bits);
                letters[i] = read == expected ? bits ^ bits >> 1 : KC_ASK_NO_BASE;
                all |= letters[i];
        }
        return all < KC_ASK_NO_BASE;
}

/* In whole steps, so that no letters are left after the vectors: reads are short. */
bool kc_ask_encode(const char *letters, size_t n, uint8_t *codes)
{
        const size_t nsteps = (n + KC_ASK_ENCODE_STEP - 1) / KC_ASK_ENCODE_STEP;
        memcpy(codes, letters, n);
        memset(codes + n, 'A', nsteps * KC_ASK_ENCODE_STEP - n);
        return encode(codes, nsteps);
}

size_t kc_ask_stretch(const uint8_t *codes, size_t n, size_t *begin)
{
        size_t i = *begin;
        while (i < n && codes[i] == KC_ASK_NO_BASE)
                i++;
        *begin = i;
        const uint8_t *end = memchr(codes + i, KC_ASK_NO_BASE, n - i);
        return (end != NULL ? (size_t)(end - codes) : n) - i;
}

/* ---- k-mers ---- */

/* Append a base to a k-mer; the first one leaves at the top. */
ALWAYS_INLINE void append(uint64_t *kmer, int nw, uint64_t top_mask, uint64_t code)
{
        for (int i = nw - 1; i > 0; i--)
                kmer[i] = kmer[i] << 2 | kmer[i - 1] >> 62;
        kmer[0] = kmer[0] << 2 | code;
        kmer[nw - 1] &= top_mask;
}

/* Prepend a base; the last one leaves at the bottom. top_shift: of the first base in its word. */
ALWAYS_INLINE void prepend(uint64_t *kmer, int nw, int top_shift, uint64_t code)
{
        for (int i = 0; i < nw - 1; i++)
                kmer[i] = kmer[i] >> 2 | kmer[i + 1] << 62;
        kmer[nw - 1] = kmer[nw - 1] >> 2 | code << top_shift;
}

/* Without a branch, which would be mispredicted every other time. */
ALWAYS_INLINE uint64_t is_less(const uint64_t *a, const uint64_t *b, int nw)
{
        uint64_t borrow = 0;
        for (int i = 0; i < nw; i++)
                borrow = (a[i] < b[i]) | ((a[i] == b[i]) & borrow);
        return borrow;
}

ALWAYS_INLINE void roll(struct kc_ask_roller *roller, int nw, bool stranded, const uint8_t *codes,
                        size_t n, uint64_t *kmers)
{
        const uint64_t top_mask = kc_kmer_top_mask(roller->k);
        const int top_shift = 2 * (roller->k - 1) % 64;
        uint64_t forward[KC_MAX_WORDS], reverse[KC_MAX_WORDS];
        for (int w = 0; w < nw; w++) {
                forward[w] = roller->forward[w];
                reverse[w] = roller->reverse[w];
        }
        for (size_t i = 0; i < n; i++) {
                append(forward, nw, top_mask, codes[i]);
                prepend(reverse, nw, top_shift, codes[i] ^ 3);
                const uint64_t turned = stranded ? 0 : -is_less(reverse, forward, nw);
                for (int w = 0; w < nw; w++)
                        kmers[i * (size_t)nw + (size_t)w] =
                                (forward[w] & ~turned) | (reverse[w] & turned);
        }
        for (int w = 0; w < nw; w++) {
                roller->forward[w] = forward[w];
                roller->reverse[w] = reverse[w];
        }
}

void kc_ask_roll(struct kc_ask_roller *roller, const uint8_t *codes, size_t n, uint64_t *kmers)
{
        if (roller->nwords == 1 && !roller->stranded)
                roll(roller, 1, false, codes, n, kmers);
        else if (roller->nwords == 2 && !roller->stranded)
                roll(roller, 2, false, codes, n, kmers);
        else
                roll(roller, roller->nwords, roller->stranded, codes, n, kmers);
}

ALWAYS_INLINE void begin(struct kc_ask_roller *roller, int nw, const uint8_t *codes)
{
        const uint64_t top_mask = kc_kmer_top_mask(roller->k);
        const int top_shift = 2 * (roller->k - 1) % 64;
        for (int i = 0; i < roller->k - 1; i++) {
                append(roller->forward, nw, top_mask, codes[i]);
                prepend(roller->reverse, nw, top_shift, codes[i] ^ 3);
        }
}

void kc_ask_roll_begin(struct kc_ask_roller *roller, const uint8_t *codes)
{
        if (roller->nwords == 1)
                begin(roller, 1, codes);
        else if (roller->nwords == 2)
                begin(roller, 2, codes);
        else
                begin(roller, roller->nwords, codes);
}
