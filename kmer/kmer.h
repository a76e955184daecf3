/*
 * What a k-mer is, for all parts of kcount.
 *
 * A base is 2 bits: A=0 C=1 G=2 T=3 (U reads as T). A k-mer is the integer that its bases spell
 * with the first base most significant, so integer order is alphabetical order. It takes
 * kc_kmer_nwords(k) 64-bit words, the least significant word first; unused high bits are zero:
 *
 *      value = word[0] + word[1] * 2^64 + ...          last base = word[0] & 3
 *
 * The canonical form is the smaller of a k-mer and its reverse complement.
 */
#ifndef KC_KMER_H
#define KC_KMER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
        KC_MAX_K = 255,
        KC_MAX_WORDS = 8, /* kc_kmer_nwords(KC_MAX_K) */
};

/* Number of 64-bit words of a k-mer. k in [1, KC_MAX_K]. */
static inline int kc_kmer_nwords(int k)
{
        return (2 * k + 63) / 64;
}

/* Mask of the used bits of the most significant word. */
static inline uint64_t kc_kmer_top_mask(int k)
{
        int used = 2 * k - 64 * (kc_kmer_nwords(k) - 1);
        return used == 64 ? UINT64_MAX : (UINT64_C(1) << used) - 1;
}

/* 0..3 for acgtuACGTU, -1 for any other byte. */
static inline int kc_base_code(unsigned char letter)
{
        switch (letter & 0xdf) {
        case 'A':
                return 0;
        case 'C':
                return 1;
        case 'G':
                return 2;
        case 'T':
        case 'U':
                return 3;
        default:
                return -1;
        }
}

/* The 2-bit fields of a word in reverse order. */
static inline uint64_t kc_reverse_bases(uint64_t x)
{
        x = (x & UINT64_C(0x3333333333333333)) << 2 | (x >> 2 & UINT64_C(0x3333333333333333));
        x = (x & UINT64_C(0x0f0f0f0f0f0f0f0f)) << 4 | (x >> 4 & UINT64_C(0x0f0f0f0f0f0f0f0f));
        return __builtin_bswap64(x);
}

/* -1, 0 or 1 if a < b, a == b or a > b; both [nwords]. */
static inline int kc_kmer_compare(const uint64_t *a, const uint64_t *b, int nwords)
{
        for (int i = nwords - 1; i >= 0; i--)
                if (a[i] != b[i])
                        return a[i] < b[i] ? -1 : 1;
        return 0;
}

/* out = kmer - 1, for kmer above 0; both [nwords], and may be the same array. */
static inline void kc_kmer_decrement(const uint64_t *kmer, int nwords, uint64_t *out)
{
        uint64_t borrow = 1;
        for (int i = 0; i < nwords; i++) {
                uint64_t next = borrow & (kmer[i] == 0);
                out[i] = kmer[i] - borrow;
                borrow = next;
        }
}

/* Replace a k-mer by its last k - 1 bases and one more base, 0..3. */
static inline void kc_kmer_append(uint64_t *kmer, int k, int code)
{
        const int nwords = kc_kmer_nwords(k);
        for (int i = nwords - 1; i > 0; i--)
                kmer[i] = kmer[i] << 2 | kmer[i - 1] >> 62;
        kmer[0] = kmer[0] << 2 | (uint64_t)code;
        kmer[nwords - 1] &= kc_kmer_top_mask(k);
}

/*
 * Reverse complement of one k-mer. kmer and out are [kc_kmer_nwords(k)] and may not overlap.
 */
void kc_kmer_reverse_complement(const uint64_t *kmer, int k, uint64_t *out);

/* Replace a k-mer by its canonical form, in place. */
void kc_kmer_canonical(uint64_t *kmer, int k);

/*
 * Text to k-mer: the first k letters of text, either case.
 * Returns the number of bases before the first letter that is not one. It is k if all are bases;
 * only then is kmer [kc_kmer_nwords(k)] complete.
 */
int kc_kmer_parse(const char *text, int k, uint64_t *kmer);

/* k-mer to k upper-case letters; no terminating NUL. */
void kc_kmer_format(const uint64_t *kmer, int k, char *text);

#ifdef __cplusplus
}
#endif
#endif
