/*
 * A piece of the table, to be looked up in the cache: a directory of its k-mers where that suits
 * them, otherwise buckets.
 */
#ifndef KC_CPU_ASK_INDEX_H
#define KC_CPU_ASK_INDEX_H

#include "cpu/ask/buckets.h"
#include "cpu/ask/directory.h"

/* Zero-initialise and set nwords; free with kc_ask_index_free. */
struct kc_ask_index {
        int nwords;
        uint64_t *kmers; /* [cap * nwords] */
        uint32_t *counts;
        size_t n, cap;
        bool has_directory;
        struct kc_ask_directory directory;
        struct kc_ask_buckets buckets;
};

void kc_ask_index_free(struct kc_ask_index *index);

/* Begin another piece. */
static inline void kc_ask_index_clear(struct kc_ask_index *index)
{
        index->n = 0;
}

/* Add n pairs, ascending and above those before them. KC_ENOMEM. */
enum kc_status kc_ask_index_add(struct kc_ask_index *index, const uint64_t *kmers,
                                const uint32_t *counts, size_t n, struct kc_error *err);

/* All have been added: k-mers in [from, to] can be looked up. KC_ENOMEM. */
enum kc_status kc_ask_index_end(struct kc_ask_index *index, const uint64_t *from,
                                const uint64_t *to, struct kc_error *err);

/* To be called after kc_ask_index_end for a piece that is kept: free the memory that finding does
 * not need. Nothing can be added afterwards. */
void kc_ask_index_trim(struct kc_ask_index *index);

/* Prefetch what finding the k-mer will read, in two steps: where to look, then the k-mers there.
 * The caller takes the first step for several k-mers before the second, so that reads overlap. */
void kc_ask_index_prefetch(const struct kc_ask_index *index, const uint64_t *kmer);
void kc_ask_index_prefetch_kmers(const struct kc_ask_index *index, const uint64_t *kmer);

/* The counts of n k-mers, 0 of those that are not there. */
void kc_ask_index_find(const struct kc_ask_index *index, const uint64_t *kmers, size_t n,
                       uint32_t *counts);

#endif
