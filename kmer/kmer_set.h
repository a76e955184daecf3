/*
 * A set of k-mers: sorted, with a directory of their leading bits.
 */
#ifndef KC_KMER_SET_H
#define KC_KMER_SET_H

#include "base/status.h"
#include "kmer/kmer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-initialise it, set k, append, finish, and free it with kc_kmer_set_free. */
struct kc_kmer_set {
        int k;
        uint64_t n, cap;
        uint64_t *kmers; /* [n * kc_kmer_nwords(k)] ascending, distinct */
        int nbits;       /* how many leading bits of a k-mer the directory uses */
        uint64_t *first; /* [2^nbits + 1] for each value of them, the first k-mer not below it */
};

/* Append k-mers, ascending, above those that the set has. KC_ENOMEM. */
enum kc_status kc_kmer_set_append(struct kc_kmer_set *set, const uint64_t *kmers, size_t n,
                                  struct kc_error *err);

/* Make the directory. Nothing can be appended any more. KC_ENOMEM. */
enum kc_status kc_kmer_set_finish(struct kc_kmer_set *set, struct kc_error *err);
void kc_kmer_set_free(struct kc_kmer_set *set);

/* Whether a finished set has the k-mer. From any thread. */
bool kc_kmer_set_has(const struct kc_kmer_set *set, const uint64_t *kmer);

/* The memory that it takes. */
uint64_t kc_kmer_set_nbytes(const struct kc_kmer_set *set);

/* A checksum of the k-mers, never 0. */
uint64_t kc_kmer_set_checksum(const struct kc_kmer_set *set);

#endif
