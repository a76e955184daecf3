/*
 * The k-mers of batches, reduced to their number and the sum of their hashes: the same however the
 * reads were cut into batches.
 */
#ifndef KC_FUZZ_KMER_SUMS_H
#define KC_FUZZ_KMER_SUMS_H

#include "kmer/batch.h"
#include "tests/fuzz/require.h"

#include <stdint.h>
#include <xxhash.h>

struct kmer_sums {
        uint64_t n, sum;
};

/* k: min_k, or a larger one that the segments are cut for as well */
static inline void add_batch(struct kmer_sums *sums, const struct kc_batch *batch, int min_k, int k)
{
        for (uint32_t s = 0; s < batch->nsegments; s++) {
                struct kc_segment segment = batch->segments[s];
                const uint64_t *words = batch->words + segment.word;
                uint8_t *codes = malloc(segment.nbases);
                const struct kc_segment_kmers kmers = kc_segment_kmers(&segment, k);
                REQUIRE(segment.nbases >= (uint32_t)min_k);
                REQUIRE(segment.word + (segment.nbases + 31) / 32 <= batch->nwords);
                for (uint32_t i = 0; i < segment.nbases; i++)
                        codes[i] = words[i / 32] >> 2 * (i % 32) & 3;
                for (uint32_t i = 0; i < kmers.n; i++) {
                        sums->n++;
                        sums->sum += XXH3_64bits(codes + kmers.first + i, (size_t)k);
                }
                free(codes);
        }
}

#endif
