/*
 * From letters to k-mers: codes of bases, the stretches without other letters, and the k-mers of a
 * stretch.
 */
#ifndef KC_CPU_ASK_LETTERS_H
#define KC_CPU_ASK_LETTERS_H

#include "kmer/kmer.h"

#include <stdbool.h>

enum {
        KC_ASK_NO_BASE = 4,      /* the code of any other letter */
        KC_ASK_ENCODE_STEP = 64, /* letters encoded together */
};

/* Codes [n + KC_ASK_ENCODE_STEP] of n letters: 0..3, or KC_ASK_NO_BASE; what follows may be
 * overwritten. Returns whether all are bases. */
bool kc_ask_encode(const char *letters, size_t n, uint8_t *codes);

/* The next stretch of bases in codes [n], from *begin on: *begin moves to its first one. Returns
 * how many there are, 0 at the end. */
size_t kc_ask_stretch(const uint8_t *codes, size_t n, size_t *begin);

/* The k-mers of a stretch, from the first to the last, each made from the one before. */
struct kc_ask_roller {
        int k, nwords;
        bool stranded;
        uint64_t forward[KC_MAX_WORDS], reverse[KC_MAX_WORDS];
};

static inline struct kc_ask_roller kc_ask_roller(int k, bool stranded)
{
        return (struct kc_ask_roller){ .k = k, .nwords = kc_kmer_nwords(k), .stranded = stranded };
}

/* Begin a stretch: its first k - 1 codes. */
void kc_ask_roll_begin(struct kc_ask_roller *roller, const uint8_t *codes);

/*
 * The next n k-mers, canonical unless stranded.
 *   codes  [n] of their last bases
 *   kmers  out [n * nwords]
 */
void kc_ask_roll(struct kc_ask_roller *roller, const uint8_t *codes, size_t n, uint64_t *kmers);

#endif
