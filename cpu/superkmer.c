#include "cpu/superkmer.h"

#include "base/simd.h"
#include "kmer/kmer.h"

#include <stdlib.h>
#include <string.h>

enum {
        LANES = 16,  /* m-mers hashed together: the bases of a 32-bit word */
        TILE = 2048, /* k-mers handled together, so that all arrays stay in L1 */
        TILE_HASHES = TILE + KC_MAX_K + 2 * LANES,
};

struct kc_superkmer_scanner {
        int k, m, window; /* m-mers in a k-mer */
        int bin_shift;
        uint32_t hash[2][TILE_HASHES];
        uint32_t start[TILE + 1]; /* first k-mers of the tile's super-k-mers */
};

enum kc_status kc_superkmer_scanner_new(struct kc_superkmer_scanner **scanner, int k,
                                        uint32_t nbins, struct kc_error *err)
{
        struct kc_superkmer_scanner *s = calloc(1, sizeof *s);
        if (s == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        s->k = k;
        s->m = kc_minimizer_length(k);
        s->window = k - s->m + 1;
        s->bin_shift = 32 - __builtin_ctz(nbins);
        *scanner = s;
        return KC_OK;
}

void kc_superkmer_scanner_free(struct kc_superkmer_scanner *scanner)
{
        free(scanner);
}

/* The order of minimizers. In alphabetical order poly-A would attract far too many k-mers. */
static inline uint32_t hash_mmer(uint32_t canonical)
{
        return (canonical ^ UINT32_C(0x5a3c1e97)) * UINT32_C(0x9e3779b1);
}

/*
 * Hashes of the canonical m-mers at n places from the first base of `words` on (rounded up to
 * LANES). The packed bits of m bases, complemented, are the m-mer's reverse complement; reversing
 * the bases of each word gives the m-mer itself, in the high bits (kmer/batch.h).
 */
KC_SIMD_CLONES
static void hash_mmers(const uint64_t *restrict words, size_t n, int m, uint32_t *restrict hash)
{
        uint32_t mask = (UINT32_C(1) << 2 * m) - 1;
        int unused = 32 - 2 * m;
        for (size_t i = 0; i < n; i += LANES) {
                uint64_t packed;
                memcpy(&packed, (const uint8_t *)words + i / 4, sizeof packed);
                uint64_t spelled = kc_reverse_bases(packed);
                uint32_t low = (uint32_t)packed, high = (uint32_t)(packed >> 32) << 1;
                uint32_t first = (uint32_t)(spelled >> 32), second = (uint32_t)spelled >> 1;
#pragma GCC unroll 1 /* unrolled, the loop would not be vectorized */
                for (uint32_t lane = 0; lane < LANES; lane++) {
                        uint32_t rc = ~(low >> 2 * lane | high << (31 - 2 * lane)) & mask;
                        uint32_t fw = (first << 2 * lane | second >> (31 - 2 * lane)) >> unused;
                        hash[i + lane] = hash_mmer(fw < rc ? fw : rc);
                }
        }
}

/* out[i] = min(in[i], in[i + distance]) for n places (rounded up to LANES, so no remainder
 * loop). */
KC_SIMD_CLONES
static void pairwise_min(const uint32_t *restrict in, size_t n, size_t distance,
                         uint32_t *restrict out)
{
        const uint32_t *restrict ahead = in + distance;
        n = (n + LANES - 1) / LANES * LANES;
        for (size_t i = 0; i < n; i++)
                out[i] = in[i] < ahead[i] ? in[i] : ahead[i];
}

/* Minimum over each window of hash[0], by doubling the width. Returns the array of minima. */
static const uint32_t *window_minima(struct kc_superkmer_scanner *s, uint32_t nkmers)
{
        uint32_t window = (uint32_t)s->window, width = 1;
        int in = 0;
        for (; 2 * width <= window; width *= 2, in = !in)
                pairwise_min(s->hash[in], nkmers + window - 2 * width, width, s->hash[!in]);
        if (width < window) {
                pairwise_min(s->hash[in], nkmers, window - width, s->hash[!in]);
                in = !in;
        }
        return s->hash[in];
}

/* Find where the minimizer changes after k-mer `first`, without branches. Returns the number of
 * super-k-mers. */
static uint32_t find_starts(struct kc_superkmer_scanner *s, const uint32_t *minimum, uint32_t first,
                            uint32_t nkmers)
{
        uint32_t n = 1;
        s->start[0] = first;
        for (uint32_t i = first + 1; i < nkmers; i++) {
                s->start[n] = i;
                n += minimum[i] != minimum[i - 1];
        }
        s->start[n] = nkmers;
        return n;
}

/* Copy nbases bases of a packed segment, from base `first` on. May write up to 7 bytes more. */
static inline void copy_bases(const uint64_t *words, uint32_t first, uint32_t nbases, uint8_t *out)
{
        const uint8_t *in = (const uint8_t *)words + first / 4;
        int shift = 2 * (first % 4);
        for (uint32_t i = 0; i < (nbases + 3) / 4; i += 8) {
                uint64_t low, high;
                memcpy(&low, in + i, 8);
                memcpy(&high, in + i + 8, 8);
                low = low >> shift | high << 1 << (63 - shift);
                memcpy(out + i, &low, 8);
        }
}

static enum kc_status emit(const struct kc_superkmer_scanner *s, const uint64_t *words,
                           uint32_t first, uint32_t nkmers, uint32_t minimum, struct kc_lists *bins,
                           int worker, struct kc_error *err)
{
        uint32_t bin = minimum * UINT32_C(0x85ebca6b) >> s->bin_shift;
        while (nkmers > 0) {
                uint32_t n = nkmers < KC_SUPERKMER_MAX_KMERS ? nkmers : KC_SUPERKMER_MAX_KMERS;
                size_t nbytes = kc_superkmer_nbytes(s->k, n);
                uint8_t *record;
                enum kc_status status = kc_lists_reserve(bins, worker, bin, nbytes, &record, err);
                if (status != KC_OK)
                        return status;
                record[0] = (uint8_t)(n - 1);
                copy_bases(words, first, n + (uint32_t)s->k - 1, record + 1);
                kc_lists_append(bins, worker, bin, nbytes);
                first += n;
                nkmers -= n;
        }
        return KC_OK;
}

/* The k-mers from first_kmer on of the nkmers that begin at words. */
static enum kc_status scan_tile(struct kc_superkmer_scanner *s, const uint64_t *words,
                                uint32_t first_kmer, uint32_t nkmers, struct kc_lists *bins,
                                int worker, struct kc_error *err)
{
        hash_mmers(words, nkmers + (uint32_t)s->window - 1, s->m, s->hash[0]);
        const uint32_t *minimum = window_minima(s, nkmers);
        uint32_t n = find_starts(s, minimum, first_kmer, nkmers);
        for (uint32_t i = 0; i < n; i++) {
                uint32_t first = s->start[i];
                enum kc_status status = emit(s, words, first, s->start[i + 1] - first,
                                             minimum[first], bins, worker, err);
                if (status != KC_OK)
                        return status;
        }
        return KC_OK;
}

enum kc_status kc_superkmer_scan(struct kc_superkmer_scanner *s, const struct kc_batch *batch,
                                 struct kc_lists *bins, int worker, uint64_t *nkmers,
                                 struct kc_error *err)
{
        for (uint32_t i = 0; i < batch->nsegments; i++) {
                const struct kc_segment_kmers kmers = kc_segment_kmers(&batch->segments[i], s->k);
                const uint64_t *words = batch->words + batch->segments[i].word + kmers.first / 32;
                uint32_t first = kmers.first % 32, left = kmers.n > 0 ? first + kmers.n : 0;
                *nkmers += kmers.n;
                while (left > 0) {
                        uint32_t n = left < TILE ? left : TILE;
                        enum kc_status status = scan_tile(s, words, first, n, bins, worker, err);
                        if (status != KC_OK)
                                return status;
                        words += TILE / 32;
                        left -= n;
                        first = 0;
                }
        }
        return KC_OK;
}
