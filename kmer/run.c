#include "kmer/run.h"

/* Each pair is copied down, and the next one overwrites it unless it is kept: no branch depends on
 * a count. */
size_t kc_run_filter_pairs(const struct kc_run_filter *filter, uint64_t *kmers, uint32_t *counts,
                           size_t n, int nwords, struct kc_run_dropped *dropped)
{
        const size_t nw = (size_t)nwords;
        size_t nkept = 0;
        if (kc_run_keeps_all(filter))
                return n;
        for (size_t i = 0; i < n; i++) {
                const uint32_t count = counts[i];
                const bool keep = kc_run_keeps(filter, count);
                for (size_t w = 0; w < nw; w++)
                        kmers[nkept * nw + w] = kmers[i * nw + w];
                counts[nkept] = count;
                nkept += keep;
                dropped->nkmers += keep ? 0 : count;
                dropped->nunique += !keep && count == 1;
        }
        dropped->ndistinct += n - nkept;
        return nkept;
}
