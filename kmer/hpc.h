/*
 * Homopolymer compression: of each run of equal bases, only the first is taken. Letters that are
 * not bases stay, so they separate runs.
 */
#ifndef KC_KMER_HPC_H
#define KC_KMER_HPC_H

#include "kmer/kmer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Compress the letters in place. Returns how many are left. */
size_t kc_hpc_compress(uint8_t *letters, size_t n);

/* Whether no base of the k-mer equals the one before it, as in k-mers of compressed sequences. */
bool kc_hpc_is_compressed(const uint64_t *kmer, int k);

/* The last bases before a place, found by walking backwards: the last `have` bytes of letters. With
 * hpc, they are compressed. */
struct kc_backward {
        uint8_t letters[KC_MAX_K];
        int have, want;
        bool hpc;
};

/* Take the base before those that were taken. There must be fewer than wanted. */
static inline void kc_backward_take(struct kc_backward *b, uint8_t base)
{
        if (b->hpc && b->have > 0 &&
            kc_base_code(b->letters[KC_MAX_K - b->have]) == kc_base_code(base))
                return;
        b->letters[KC_MAX_K - ++b->have] = base;
}

#endif
