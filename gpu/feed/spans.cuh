/*
 * Cutting the segments of a batch into spans (gpu/device/reads.cuh), on the host. Each span is one
 * thread's work, so spans are cut as evenly as possible.
 */
#ifndef KC_GPU_FEED_SPANS_CUH
#define KC_GPU_FEED_SPANS_CUH

#include "gpu/device/reads.cuh"
#include "kmer/batch.h"

struct kc_spans_size {
        size_t nspans, nmarks;
        uint64_t nbases, nkmers;
};

/* Measure the segments, each of which has at least k bases; k: the smallest that is counted. */
struct kc_spans_size kc_gpu_spans_measure(const struct kc_segment *segments, size_t n, int k);

/*
 * Cut the segments into spans, in order; every k-mer of a segment is in exactly one span, including
 * k-mers that another segment has as well. first_word is added to all word numbers.
 *   spans  out [the nspans of kc_gpu_spans_measure]
 */
void kc_gpu_spans_cut(const struct kc_segment *segments, size_t n, int k, uint32_t first_word,
                      struct kc_span *spans);

/* Most spans that n segments in nwords words can have. */
static inline size_t kc_gpu_spans_most(size_t n, size_t nwords)
{
        return n + nwords * 32 / KC_SPAN_NKMERS;
}

#endif
