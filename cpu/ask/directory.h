/*
 * A directory of sorted k-mers of one word: where those with the same next bits begin. Nothing is
 * moved, so it takes half the time of buckets to make, but it is slow if many k-mers share the same
 * bits: the errors in a repeat, or in reads of great depth.
 */
#ifndef KC_CPU_ASK_DIRECTORY_H
#define KC_CPU_ASK_DIRECTORY_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KC_ASK_DIRECTORY_SPARE = 4 }; /* places after the last pair, which it fills */

/* Zero-initialise; free begins. */
struct kc_ask_directory {
        const uint64_t *kmers;
        const uint32_t *counts;
        uint64_t from;
        int shift;
        uint32_t *begins; /* of each slot: its first k-mer, or after the last one if it has none */
        size_t cap;
};

/*
 * Make the directory of n < 2^31 pairs, ascending, in [from, to], the range that is asked for. They
 * must stay where they are. KC_ENOMEM.
 *   kmers, counts  [n + KC_ASK_DIRECTORY_SPARE]
 *   suits          out: few k-mers share a slot
 */
enum kc_status kc_ask_directory_make(struct kc_ask_directory *directory, uint64_t *kmers,
                                     uint32_t *counts, size_t n, uint64_t from, uint64_t to,
                                     bool *suits, struct kc_error *err);

/* Prefetch what finding the k-mer will read: its slot, then the k-mers of the slot. */
void kc_ask_directory_prefetch(const struct kc_ask_directory *directory, uint64_t kmer);
void kc_ask_directory_prefetch_kmers(const struct kc_ask_directory *directory, uint64_t kmer);

/* The counts of n k-mers of the range, 0 of those that are not there. */
void kc_ask_directory_find(const struct kc_ask_directory *directory, const uint64_t *kmers,
                           size_t n, uint32_t *counts);

#endif
