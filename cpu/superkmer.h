/*
 * Super-k-mers: maximal stretches of consecutive k-mers that share their minimizer. They are the
 * unit of partitioning.
 *
 * The minimizer of a k-mer is the smallest hash of the canonical m-mers in it; it is the same on
 * both strands, so all copies of a k-mer go to the same bin. Another hash of the minimizer chooses
 * the bin, because minimizers, being minima, crowd at the low end.
 *
 * A record in a bin, of 1 + ceil((nkmers + k - 1) / 4) bytes:
 *
 *      u8 nkmers - 1 | bases, packed as in kmer/batch.h; bits after the last base are undefined
 *
 * Source: Li et al., MSPKmerCounter (2013), and Deorowicz et al., KMC 2 (2015), section 2; the
 * order by hash as in Marcais et al. (2017).
 */
#ifndef KC_SUPERKMER_H
#define KC_SUPERKMER_H

#include "cpu/lists.h"
#include "kmer/batch.h"

enum {
        KC_SUPERKMER_MAX_KMERS = 256,
        KC_MAX_MINIMIZER = 11,
};

/* Length of the minimizer for k: long enough for even bins, short enough for long super-k-mers. */
static inline int kc_minimizer_length(int k)
{
        int m = k / 2 + 1;
        return m < KC_MAX_MINIMIZER ? m : KC_MAX_MINIMIZER;
}

/* Bytes of a record. */
static inline size_t kc_superkmer_nbytes(int k, uint32_t nkmers)
{
        return 1 + (nkmers + (uint32_t)k - 1 + 3) / 4;
}

struct kc_superkmer_scanner; /* one per thread */

/* nbins: a power of two, at least 2. KC_ENOMEM. Free with kc_superkmer_scanner_free; NULL is fine
 * there. */
enum kc_status kc_superkmer_scanner_new(struct kc_superkmer_scanner **scanner, int k,
                                        uint32_t nbins, struct kc_error *err);
void kc_superkmer_scanner_free(struct kc_superkmer_scanner *scanner);

/* Cut all segments of a batch into super-k-mers and append them to the bins. Adds the number of
 * their k-mers to *nkmers. Fails as kc_lists_reserve does. */
enum kc_status kc_superkmer_scan(struct kc_superkmer_scanner *scanner, const struct kc_batch *batch,
                                 struct kc_lists *bins, int worker, uint64_t *nkmers,
                                 struct kc_error *err);

#endif
