#include "kmer/ask.h"

#include "base/simd.h"

void kc_ask_summary_append(struct kc_ask_summary *s, const struct kc_ask_summary *next)
{
        if (s->nlead == s->nwindows)
                s->nlead += next->nlead;
        s->nwindows += next->nwindows;
        s->nvalid += next->nvalid;
        s->nfound += next->nfound;
        s->sum += next->sum;
        s->min = next->min < s->min ? next->min : s->min;
        s->max = next->max > s->max ? next->max : s->max;
}

/* How many of the counts, from the first one on, are in range. */
static size_t lead_of(const struct kc_ask_setup *setup, const uint32_t *counts, size_t n)
{
        size_t i = 0;
        while (i < n && counts[i] >= setup->min_count && counts[i] <= setup->max_count)
                i++;
        return i;
}

/* The windows of one stretch. The loop has no branch, so that it is vectorized. */
KC_SIMD_CLONES
static void add_stretch(struct kc_ask_summary *s, const struct kc_ask_setup *setup,
                        const uint32_t *counts, size_t n)
{
        const uint32_t low = setup->min_count, width = setup->max_count - setup->min_count;
        uint64_t sum = 0;
        uint32_t nfound = 0, min = s->min, max = s->max;
        for (size_t i = 0; i < n; i++) {
                const uint32_t count = counts[i];
                sum += count;
                nfound += count - low <= width;
                min = count < min ? count : min;
                max = count > max ? count : max;
        }
        s->sum += sum;
        s->nfound += nfound;
        s->min = min;
        s->max = max;
        s->nvalid += n;
}

void kc_ask_summarize(struct kc_ask_summary *s, int k, const struct kc_ask_setup *setup,
                      uint32_t nbases, const uint32_t *counts,
                      const struct kc_ask_stretch *stretches, size_t nstretches)
{
        *s = KC_ASK_NOTHING;
        s->nwindows = nbases >= (uint32_t)k ? nbases - (uint32_t)k + 1 : 0;
        for (size_t i = 0; i < nstretches; i++) {
                const size_t n = stretches[i].n;
                add_stretch(s, setup, counts, n);
                if (i == 0 && stretches[0].begin == 0)
                        s->nlead = s->nfound == n ? n : lead_of(setup, counts, n);
                counts += n;
        }
}
