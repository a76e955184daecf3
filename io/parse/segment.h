/*
 * From a chunk's records to the segments of batches.
 */
#ifndef KC_IO_PARSE_SEGMENT_H
#define KC_IO_PARSE_SEGMENT_H

#include "io/input/chunk.h"
#include "io/parse/pack.h"
#include "kmer/batch.h"

/* Where packing stands in its chunk, and what it has counted. */
struct kc_segmenter {
        const struct kc_kernels *kernels;
        uint32_t min_k, max_k; /* of all k that are counted */
        uint8_t min_quality;   /* as a letter; 0: none */
        bool hpc;              /* see struct kc_selection; then max_k is at least 2 */
        uint32_t at;           /* next base of the current record */
        uint32_t seen;         /* bases before it, from `at` on, are in another segment as well */
        bool begun;            /* the current record has been counted */
        uint64_t nbases, nskipped, nlow_quality;
};

void kc_segmenter_init(struct kc_segmenter *s, const struct kc_kernels *kernels, int min_k,
                       int max_k, int min_quality, bool hpc);

/*
 * Pack the chunk's records from where packing stopped, after what the batch holds.
 * Returns true when all are packed, false when the batch is full.
 */
bool kc_segmenter_pack(struct kc_segmenter *s, struct kc_chunk *chunk, struct kc_batch *batch);

#endif
