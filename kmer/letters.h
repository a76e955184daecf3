/*
 * From letters to k-mers: codes of bases, the stretches without other letters, and the k-mers of a
 * stretch.
 */
#ifndef KC_KMER_LETTERS_H
#define KC_KMER_LETTERS_H

#include "kmer/kmer.h"

#include <stdbool.h>

enum {
        KC_NO_BASE = 4,       /* the code of any other letter */
        KC_LETTERS_SPARE = 64 /* places after codes and k-mers that may be overwritten, or read */
};

/* Codes [n + KC_LETTERS_SPARE] of n letters: 0..3, or KC_NO_BASE. Returns whether all are bases. */
bool kc_letters_encode(const char *letters, size_t n, uint8_t *codes);

/* The next stretch of bases in codes [n], from *begin on: *begin moves to its first one. Returns
 * how many there are, 0 at the end. */
size_t kc_letters_stretch(const uint8_t *codes, size_t n, size_t *begin);

/*
 * n k-mers of k codes each, one after another in an array that kc_letters_encode has filled.
 *   kmers  out [n * nwords], in which the most significant word of a k-mer comes first. Those with
 *          codes of other letters are arbitrary
 */
void kc_letters_kmers(int k, const uint8_t *codes, size_t n, uint64_t *kmers);

/* The k-mers of a stretch, from the first to the last. */
struct kc_roller {
        int k, nwords;
        bool stranded;
        const uint8_t *codes; /* of the next k-mer; of several words: of its last base */
        uint64_t forward[KC_MAX_WORDS], reverse[KC_MAX_WORDS]; /* the last k-mer of several words */
};

static inline struct kc_roller kc_roller(int k, bool stranded)
{
        return (struct kc_roller){ .k = k, .nwords = kc_kmer_nwords(k), .stranded = stranded };
}

/* Begin a stretch of at least k codes, in an array that kc_letters_encode has filled. */
void kc_roll_begin(struct kc_roller *roller, const uint8_t *codes);

/*
 * The next n k-mers, canonical unless stranded.
 *   kmers  out [(n + KC_LETTERS_SPARE) * nwords]
 */
void kc_roll(struct kc_roller *roller, size_t n, uint64_t *kmers);

#endif
