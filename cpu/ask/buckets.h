/*
 * A hash table of k-mers in buckets of eight, which are compared together. A full bucket continues
 * in the next one.
 */
#ifndef KC_CPU_ASK_BUCKETS_H
#define KC_CPU_ASK_BUCKETS_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { KC_ASK_BUCKET_NKMERS = 8 };

/* Zero-initialise; free with kc_ask_buckets_free. */
struct kc_ask_buckets {
        int nwords;
        uint32_t n;
        size_t cap;       /* buckets allocated */
        uint64_t *kmers;  /* [n][nwords][8] */
        uint32_t *counts; /* [n][8] 0: no k-mer here, nor after it in the bucket */
};

/* Fill the table with n < 2^31 pairs, with other counts than 0. KC_ENOMEM. */
enum kc_status kc_ask_buckets_fill(struct kc_ask_buckets *buckets, const uint64_t *kmers,
                                   const uint32_t *counts, size_t n, int nwords,
                                   struct kc_error *err);
void kc_ask_buckets_free(struct kc_ask_buckets *buckets);

/* Prefetch the bucket of a k-mer. */
void kc_ask_buckets_prefetch(const struct kc_ask_buckets *buckets, const uint64_t *kmer);

/* The counts of n k-mers, 0 of those that are not there. */
void kc_ask_buckets_find(const struct kc_ask_buckets *buckets, const uint64_t *kmers, size_t n,
                         uint32_t *counts);

#endif
