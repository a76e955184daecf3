/*
 * A piece of the table, to be looked up in the cache: pairs in a hash table of buckets of eight.
 * A full bucket continues in the next one.
 */
#ifndef KC_CPU_ASK_INDEX_H
#define KC_CPU_ASK_INDEX_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { KC_ASK_BUCKET_NKMERS = 8 };

/* Zero-initialise; free with kc_ask_index_free. */
struct kc_ask_index {
        int nwords;
        uint32_t nbuckets;
        size_t cap;       /* buckets allocated */
        uint64_t *kmers;  /* [nbuckets][nwords][8] */
        uint32_t *counts; /* [nbuckets][8] 0: no k-mer here, nor after it in the bucket */
};

/* Make the index of n < 2^31 pairs, with other counts than 0. KC_ENOMEM. */
enum kc_status kc_ask_index_build(struct kc_ask_index *index, const uint64_t *kmers,
                                  const uint32_t *counts, size_t n, int nwords,
                                  struct kc_error *err);
void kc_ask_index_free(struct kc_ask_index *index);

/* The counts of n k-mers, 0 of those that are not there. */
void kc_ask_index_find(const struct kc_ask_index *index, const uint64_t *kmers, size_t n,
                       uint32_t *counts);

#endif
