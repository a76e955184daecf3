/*
 * The sequence batch: the only thing that passes from io/ to an engine.
 *
 * A batch holds segments: uninterrupted stretches of usable bases, each at least k long (the reader
 * drops shorter ones). Reads are cut into segments at letters outside ACGTU and at bases below the
 * minimum quality; a sequence too long for a batch is cut into pieces that share k-1 bases, so that
 * every k-mer of the input lies in exactly one segment of one batch.
 *
 * Packing: base i of a segment lies in bits 2(i mod 32) .. +1 of word i/32 counted from the
 * segment's first word, least significant bits first. Read as a little-endian byte stream, base i
 * lies in byte i/4. So the k bases from base i on, once complemented, spell the reverse complement
 * of the k-mer at i (see kmer.h). Bits after the last base of a segment are zero.
 *
 *      words:  | segment 0 ............... 0 | segment 1 ... 0 | ... | KC_BATCH_PADDING words |
 *
 * The engine owns the memory (a GPU engine provides pinned memory) and states its size; the reader
 * fills it.
 */
#ifndef KC_BATCH_H
#define KC_BATCH_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
        KC_BATCH_PADDING = 8,    /* readable words (any value) after the last segment */
        KC_BATCH_MIN_WORDS = 64, /* smallest words_cap that a reader must handle */
};

struct kc_segment {
        uint32_t word;   /* index of its first word in kc_batch.words */
        uint32_t nbases; /* at least k */
};

struct kc_batch {
        uint64_t *words;             /* [words_cap + KC_BATCH_PADDING] */
        struct kc_segment *segments; /* [segments_cap] */
        uint32_t words_cap, segments_cap;
        uint32_t nwords, nsegments;
};

/*
 * Where an engine's threads get their batches.
 *
 * next(ctx, worker, batch, err): discard the batch's contents and fill it (sets nwords and
 * nsegments).
 *   worker  0 .. nworkers-1, as agreed when the source was created; one thread at a time per
 *           worker, different workers concurrently
 * A batch without segments means that no input is left for this worker. The contract fixes the
 * multiset of segments, not their order.
 */
struct kc_batch_source {
        void *ctx;
        enum kc_status (*next)(void *ctx, int worker, struct kc_batch *batch, struct kc_error *err);
};

#ifdef __cplusplus
}
#endif
#endif
