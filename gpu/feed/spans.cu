#include "gpu/feed/spans.cuh"

static uint32_t segment_nkmers(const struct kc_segment *segment, int k)
{
        return segment->nbases - (uint32_t)k + 1;
}

static uint32_t segment_nspans(uint32_t nkmers)
{
        return (nkmers + KC_SPAN_NKMERS - 1) / KC_SPAN_NKMERS;
}

struct kc_spans_size kc_gpu_spans_measure(const struct kc_segment *segments, size_t n, int k)
{
        struct kc_spans_size size = {};
        for (size_t i = 0; i < n; i++) {
                uint32_t own = segment_nkmers(&segments[i], k);
                size.nbases += segments[i].nbases;
                size.nkmers += own;
                size.nspans += segment_nspans(own);
        }
        return size;
}

/* For example, 300 k-mers make three spans of 100. The first spans get one more each if there is a
 * remainder. */
static struct kc_span *cut(const struct kc_segment *segment, int k, uint32_t first_word,
                           struct kc_span *span)
{
        uint32_t nkmers = segment_nkmers(segment, k), nspans = segment_nspans(nkmers);
        uint32_t share = nkmers / nspans, longer = nkmers % nspans, at = 0;
        for (uint32_t i = 0; i < nspans; i++) {
                uint32_t own = share + (i < longer);
                span->word = first_word + segment->word + at / 32;
                span->base = (uint8_t)(at % 32);
                span->ends = i + 1 == nspans;
                span->nkmers = (uint16_t)own;
                span++;
                at += own;
        }
        return span;
}

void kc_gpu_spans_cut(const struct kc_segment *segments, size_t n, int k, uint32_t first_word,
                      struct kc_span *spans)
{
        for (size_t i = 0; i < n; i++)
                spans = cut(&segments[i], k, first_word, spans);
}
