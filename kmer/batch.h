/*
 * The sequence batch: how sequences pass from io/ to an engine (kmer/stored.h: files that a device
 * reads itself).
 *
 * A batch holds segments: uninterrupted stretches of usable bases, each at least k long (the reader
 * drops shorter ones). Reads are cut into segments at letters outside ACGTU and at bases below the
 * minimum quality; a sequence too long for a batch is cut into pieces that share k-1 bases, so that
 * every k-mer of the input lies in exactly one segment of one batch.
 *
 * If several k are counted together, segments are at least as long as the smallest, and pieces
 * share one base less than the largest. A smaller k then finds some k-mers in two pieces; each
 * segment says which of its bases are in another one as well, and kc_segment_kmers leaves those
 * k-mers out. With a single k there are none.
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
        /* So many of its first and of its last bases (less than the largest k) are in another
         * segment as well, which has all k-mers that lie within them. */
        uint8_t nbefore, nafter;
};

/* Consecutive k-mers of a segment. */
struct kc_segment_kmers {
        uint32_t first, n;
};

struct kc_batch {
        uint64_t *words;             /* [words_cap + KC_BATCH_PADDING] */
        struct kc_segment *segments; /* [segments_cap] */
        uint32_t words_cap, segments_cap;
        uint32_t nwords, nsegments;
};

/* The k-mers of a segment that are in no other one; n may be 0. */
static inline struct kc_segment_kmers kc_segment_kmers(const struct kc_segment *segment, int k)
{
        const uint32_t length = (uint32_t)k;
        const uint32_t first = segment->nbefore < length ? 0 : segment->nbefore - length + 1;
        const uint32_t after = segment->nafter < length ? 0 : segment->nafter - length + 1;
        struct kc_segment_kmers kmers = { first, 0 };
        if (segment->nbases >= length + first + after)
                kmers.n = segment->nbases - length + 1 - first - after;
        return kmers;
}

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
