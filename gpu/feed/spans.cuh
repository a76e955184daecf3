/*
 * Cutting the segments of a batch into spans (gpu/device/reads.cuh), on the host: each span is one
 * thread's work, so they are as even as can be.
 */
#ifndef KC_GPU_FEED_SPANS_CUH
#define KC_GPU_FEED_SPANS_CUH

#include "gpu/device/reads.cuh"
#include "kmer/batch.h"

/* Spans and k-mers that the segments give; each is k bases long at least. */
void kc_gpu_spans_measure(const struct kc_segment *segments, size_t n, int k, size_t *nspans,
                          uint64_t *nkmers);

/*
 * Cut them: segment by segment, every k-mer in one span. first_word is added to all words.
 *   spans  out [what kc_gpu_spans_measure says]
 */
void kc_gpu_spans_cut(const struct kc_segment *segments, size_t n, int k, uint32_t first_word,
                      struct kc_span *spans);

/* Most spans that n segments in nwords words can give. */
static inline size_t kc_gpu_spans_most(size_t n, size_t nwords)
{
        return n + nwords * 32 / KC_SPAN_NKMERS;
}

#endif
