/*
 * The block codec: up to KC_BLOCK_NKMERS ascending k-mers and their counts, to 64-bit words and
 * back. Pure: no allocation, no I/O, no checksum, so that a GPU can share it.
 *
 * Elias-Fano (P. Elias 1974, R. Fano 1971) over value_i = kmer_i - kmer_0; kmer_0 itself is kept
 * by the caller (in the index). A value is cut at bit l: the low l bits are stored as they are, the
 * rest, high_i, as a set bit at position high_i + i of a bit vector. l is the largest number with
 * (value_{n-1} >> l) >= n, or 0 where there is none; so the bit vector has at most 3n - 1 bits, and
 * a k-mer costs l + 2 to l + 3 of them.
 *
 * Counts: a bitmap says which are above 1; for those, count - 2 in a fixed width, chosen for the
 * block, and whole counts in an exception list for those that do not fit.
 *
 *   | head | high bits | planes: l/64 whole | field: l%64   | bitmap | width bits  | exceptions |
 *   |      |           | words of each value | bits of each  | n bits | per count>1 |            |
 *   | 1    |           |                     | value         |        |             |            |
 *
 *   head, from the low byte up:  n 16 | l 16 | exceptions 16 | words of high bits 8 | width 8
 *
 * Each section begins at a word; bit b of a section is bit b%64 of its word b/64.
 */
#ifndef KC_BLOCK_CODEC_H
#define KC_BLOCK_CODEC_H

#include "kmer/kmer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
        KC_BLOCK_NKMERS =
                1024, /* most k-mers in a block; all but a run's last block have so many */
        KC_BLOCK_HIGH_WORDS = 48, /* most words of the high bits: (3 * 1024 - 1) / 64, rounded up */
        KC_BLOCK_MIN_WORDS = 3,   /* head, high bits, bitmap */
        KC_BLOCK_PADDING = 2,     /* words behind a block that the decoder may read, of any value */
};

/* Most words that a block of k-mers of key_nwords words can take. */
static inline size_t kc_block_max_words(int key_nwords)
{
        size_t key_words = (size_t)key_nwords * KC_BLOCK_NKMERS;
        return 1 + KC_BLOCK_HIGH_WORDS + key_words + KC_BLOCK_NKMERS / 64 + KC_BLOCK_NKMERS / 2;
}

/* How a block will be laid out. Given by kc_block_plan, or read from a head by the decoder. */
struct kc_block_plan {
        uint32_t n;          /* k-mers, 1 at least */
        uint32_t low_nbits;  /* l */
        uint32_t high_words; /* words of the high bits */
        uint32_t nbig;       /* counts above 1 */
        uint32_t width;      /* bits kept of count - 2 */
        uint32_t nexceptions;
        uint32_t nwords; /* of the whole block */
};

/*
 * Lay out a block.
 *   kmers   [n * key_nwords] ascending (the caller has made sure), n in 1 .. KC_BLOCK_NKMERS
 *   counts  [n], 1 at least
 */
void kc_block_plan(struct kc_block_plan *plan, const uint64_t *kmers, const uint32_t *counts,
                   size_t n, int key_nwords);

/* Encode the block that was planned into words [plan->nwords]; every bit of them is set. */
void kc_block_encode(const struct kc_block_plan *plan, const uint64_t *kmers,
                     const uint32_t *counts, int key_nwords, uint64_t *words);

/*
 * Decode a block of n k-mers.
 *   words   [nwords + KC_BLOCK_PADDING], any content: nothing outside is read or written
 *   first   [key_nwords] the first k-mer
 *   kmers   out [n * key_nwords]; ascending only if the block is sound
 *   counts  out [n]
 * Returns false if the words are no block of n k-mers and nwords words.
 */
bool kc_block_decode(const uint64_t *words, size_t nwords, const uint64_t *first, int key_nwords,
                     size_t n, uint64_t *kmers, uint32_t *counts);

/*
 * Find one k-mer, kmer >= first, without decoding the block: *count, 0 where absent. Else like
 * kc_block_decode.
 */
bool kc_block_find(const uint64_t *words, size_t nwords, const uint64_t *first, int key_nwords,
                   size_t n, const uint64_t *kmer, uint32_t *count);

#ifdef __cplusplus
}
#endif
#endif
