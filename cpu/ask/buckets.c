#include "cpu/ask/buckets.h"

#include "base/simd.h"

#include <stdlib.h>
#include <string.h>

/* The hot loops are written once for any number of words and compiled for 1, 2 and n of them. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

enum { NLANES = KC_ASK_BUCKET_NKMERS, BUCKET_LOAD = 4 }; /* one bucket in 20 is then full */

ALWAYS_INLINE uint32_t bucket_of(const struct kc_ask_buckets *buckets, const uint64_t *kmer, int nw)
{
        uint64_t hash = kmer[0];
        for (int w = 1; w < nw; w++)
                hash = (hash ^ hash >> 32) * UINT64_C(0x9e3779b97f4a7c15) + kmer[w];
        hash = (hash ^ hash >> 32) * UINT64_C(0xd6e8feb86659fd93);
        return (uint32_t)((hash >> 32) * buckets->n >> 32);
}

ALWAYS_INLINE uint32_t bucket_after(const struct kc_ask_buckets *buckets, uint32_t bucket)
{
        return bucket + 1 < buckets->n ? bucket + 1 : 0;
}

static enum kc_status reserve(struct kc_ask_buckets *buckets, struct kc_error *err)
{
        if (buckets->n <= buckets->cap)
                return KC_OK;
        const size_t cap = (buckets->n + buckets->n / 4) | 1, nlanes = (cap + 1) * NLANES;
        kc_ask_buckets_free(buckets);
        buckets->cap = 0;
        buckets->kmers =
                aligned_alloc(64, nlanes * (size_t)buckets->nwords * sizeof *buckets->kmers);
        buckets->counts = aligned_alloc(64, nlanes * sizeof *buckets->counts);
        if (buckets->kmers == NULL || buckets->counts == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for %zu buckets of k-mers", cap);
        buckets->cap = cap;
        return KC_OK;
}

void kc_ask_buckets_free(struct kc_ask_buckets *buckets)
{
        free(buckets->kmers);
        free(buckets->counts);
        buckets->kmers = NULL;
        buckets->counts = NULL;
}

/* ---- filling ---- */

ALWAYS_INLINE void insert(struct kc_ask_buckets *buckets, const uint64_t *kmer, uint32_t count,
                          int nw)
{
        uint32_t bucket = bucket_of(buckets, kmer, nw);
        uint32_t *counts = buckets->counts + (size_t)bucket * NLANES;
        while (counts[NLANES - 1] != 0) {
                bucket = bucket_after(buckets, bucket);
                counts = buckets->counts + (size_t)bucket * NLANES;
        }
        size_t lane = 0;
        for (int i = 0; i < NLANES; i++)
                lane += counts[i] != 0;
        counts[lane] = count;
        uint64_t *to = buckets->kmers + (size_t)bucket * NLANES * (size_t)nw + lane;
        for (int w = 0; w < nw; w++)
                to[w * NLANES] = kmer[w];
}

ALWAYS_INLINE void insert_all(struct kc_ask_buckets *buckets, const uint64_t *kmers,
                              const uint32_t *counts, size_t n, int nw)
{
        for (size_t i = 0; i < n; i++)
                insert(buckets, kmers + i * (size_t)nw, counts[i], nw);
}

KC_SIMD_CLONES
static void fill(struct kc_ask_buckets *buckets, const uint64_t *kmers, const uint32_t *counts,
                 size_t n)
{
        if (buckets->nwords == 1)
                insert_all(buckets, kmers, counts, n, 1);
        else if (buckets->nwords == 2)
                insert_all(buckets, kmers, counts, n, 2);
        else
                insert_all(buckets, kmers, counts, n, buckets->nwords);
}

enum kc_status kc_ask_buckets_fill(struct kc_ask_buckets *buckets, const uint64_t *kmers,
                                   const uint32_t *counts, size_t n, int nwords,
                                   struct kc_error *err)
{
        buckets->nwords = nwords;
        buckets->n = (uint32_t)(n / BUCKET_LOAD) + 1;
        enum kc_status status = reserve(buckets, err);
        if (status != KC_OK)
                return status;
        memset(buckets->counts, 0, (size_t)buckets->n * NLANES * sizeof *counts);
        fill(buckets, kmers, counts, n);
        return KC_OK;
}

/* ---- finding ---- */

void kc_ask_buckets_prefetch(const struct kc_ask_buckets *buckets, const uint64_t *kmer)
{
        const int nw = buckets->nwords;
        const size_t lane = (size_t)bucket_of(buckets, kmer, nw) * NLANES;
        __builtin_prefetch(buckets->counts + lane);
        for (int w = 0; w < nw; w++)
                __builtin_prefetch(buckets->kmers + lane * (size_t)nw + w * NLANES);
}

/* The count in one bucket. All eight are compared: there is no branch to mispredict. */
ALWAYS_INLINE uint32_t find_in(const uint64_t *kmers, const uint32_t *counts, const uint64_t *kmer,
                               int nw)
{
        uint64_t found = 0;
        for (int i = 0; i < NLANES; i++) {
                uint64_t differ = 0;
                for (int w = 0; w < nw; w++)
                        differ |= kmers[w * NLANES + i] ^ kmer[w];
                found |= differ == 0 ? counts[i] : 0;
        }
        return (uint32_t)found;
}

ALWAYS_INLINE uint32_t find(const struct kc_ask_buckets *buckets, const uint64_t *kmer, int nw)
{
        uint32_t bucket = bucket_of(buckets, kmer, nw);
        for (;; bucket = bucket_after(buckets, bucket)) {
                const size_t lane = (size_t)bucket * NLANES;
                const uint32_t *counts = buckets->counts + lane;
                const uint32_t found =
                        find_in(buckets->kmers + lane * (size_t)nw, counts, kmer, nw);
                if (found != 0 || counts[NLANES - 1] == 0)
                        return found;
        }
}

ALWAYS_INLINE void find_all(const struct kc_ask_buckets *buckets, const uint64_t *kmers, size_t n,
                            int nw, uint32_t *counts)
{
        for (size_t i = 0; i < n; i++)
                counts[i] = find(buckets, kmers + i * (size_t)nw, nw);
}

KC_SIMD_CLONES
void kc_ask_buckets_find(const struct kc_ask_buckets *buckets, const uint64_t *kmers, size_t n,
                         uint32_t *counts)
{
        if (buckets->nwords == 1)
                find_all(buckets, kmers, n, 1, counts);
        else if (buckets->nwords == 2)
                find_all(buckets, kmers, n, 2, counts);
        else
                find_all(buckets, kmers, n, buckets->nwords, counts);
}
