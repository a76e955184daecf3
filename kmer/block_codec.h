/*
 * The block codec: encodes up to KC_BLOCK_NKMERS ascending k-mers and their counts as 64-bit words,
 * and decodes them. Pure: no allocation, no I/O, no checksum, so that a GPU can share it.
 *
 * Elias-Fano (P. Elias 1974, R. Fano 1971) over value_i = kmer_i - kmer_0; the caller keeps kmer_0
 * itself (in the index). A value is split at bit l: the low l bits are stored as they are, the
 * rest, high_i, as a set bit at position high_i + i of a bit vector. l is the largest number with
 * (value_{n-1} >> l) >= n, or 0 if there is none; so the bit vector has at most 3n - 1 bits, and a
 * k-mer costs l + 2 to l + 3 of them.
 *
 * Counts: a bitmap marks those above 1. For these, count - 2 is stored in a fixed width, chosen per
 * block; those that do not fit are stored whole in an exception list.
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
        /* the most k-mers in a block; all blocks of a run but its last have that many */
        KC_BLOCK_NKMERS = 1024,
        KC_BLOCK_HIGH_WORDS = 48, /* most words of the high bits: (3 * 1024 - 1) / 64, rounded up */
        KC_BLOCK_MIN_WORDS = 3,   /* head, high bits, bitmap */
        KC_BLOCK_PADDING = 2,     /* words after a block that the decoder may read (any value) */
};

/* Most words that a block can take if its k-mers have key_nwords words each. */
static inline size_t kc_block_max_words(int key_nwords)
{
        size_t key_words = (size_t)key_nwords * KC_BLOCK_NKMERS;
        return 1 + KC_BLOCK_HIGH_WORDS + key_words + KC_BLOCK_NKMERS / 64 + KC_BLOCK_NKMERS / 2;
}

/* The layout of a block: computed by kc_block_plan, or read from the block's head by the
 * decoder. */
struct kc_block_plan {
        uint32_t n;          /* k-mers, at least 1 */
        uint32_t low_nbits;  /* l */
        uint32_t high_words; /* words of the high bits */
        uint32_t nbig;       /* counts above 1 */
        uint32_t width;      /* bits of the fields that hold count - 2 */
        uint32_t nexceptions;
        uint32_t nwords; /* of the whole block */
};

/*
 * Compute the layout of a block.
 *   kmers   [n * key_nwords] ascending (not checked), n in 1 .. KC_BLOCK_NKMERS
 *   counts  [n], each at least 1
 */
void kc_block_plan(struct kc_block_plan *plan, const uint64_t *kmers, const uint32_t *counts,
                   size_t n, int key_nwords);

/* Encode the planned block into words [plan->nwords]; every bit of them is written. */
void kc_block_encode(const struct kc_block_plan *plan, const uint64_t *kmers,
                     const uint32_t *counts, int key_nwords, uint64_t *words);

/*
 * Decode a block of n k-mers.
 *   words   [nwords + KC_BLOCK_PADDING], any content: damaged words cause no access outside the
 *           arrays
 *   first   [key_nwords] the first k-mer
 *   kmers   out [n * key_nwords]; ascending only if the block is undamaged
 *   counts  out [n]
 * Returns false if the words are not a block of n k-mers and nwords words.
 */
bool kc_block_decode(const uint64_t *words, size_t nwords, const uint64_t *first, int key_nwords,
                     size_t n, uint64_t *kmers, uint32_t *counts);

/*
 * Look up one k-mer, kmer >= first, without decoding the block. *count is 0 if it is absent.
 * Otherwise like kc_block_decode.
 */
bool kc_block_find(const uint64_t *words, size_t nwords, const uint64_t *first, int key_nwords,
                   size_t n, const uint64_t *kmer, uint32_t *count);

#ifdef __cplusplus
}
#endif
#endif
