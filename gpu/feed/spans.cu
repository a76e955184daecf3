#include "gpu/feed/spans.cuh"

static uint32_t segment_nkmers(const struct kc_segment *segment, int k)
{
        return segment->nbases - (uint32_t)k + 1;
}

/* How many of nbases bases to mark: none if no k-mer lies within them, which is always the case if
 * a single k is counted. */
static uint8_t marked(uint8_t nbases, int k)
{
        return nbases < k ? 0 : nbases;
}

struct kc_spans_size kc_gpu_spans_measure(const struct kc_segment *segments, size_t n, int k)
{
        struct kc_spans_size size = {};
        for (size_t i = 0; i < n; i++) {
                uint32_t own = segment_nkmers(&segments[i], k);
                size.nbases += segments[i].nbases;
                size.nkmers += own;
                size.nspans += kc_span_count(own);
                size.nmarks +=
                        (marked(segments[i].nbefore, k) > 0) + (marked(segments[i].nafter, k) > 0);
        }
        return size;
}

void kc_gpu_spans_cut(const struct kc_segment *segments, size_t n, int k, uint32_t first_word,
                      struct kc_span *spans)
{
        for (const struct kc_segment *s = segments; s < segments + n; s++) {
                const uint32_t nkmers = segment_nkmers(s, k), nspans = kc_span_count(nkmers);
                for (uint32_t i = 0; i < nspans; i++)
                        spans[i] = kc_span_cut(nkmers, i, 0, first_word + s->word);
                spans[0].nbefore = marked(s->nbefore, k);
                spans[nspans - 1].nafter = marked(s->nafter, k);
                spans += nspans;
        }
}
