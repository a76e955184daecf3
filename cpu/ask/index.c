#include "cpu/ask/index.h"

#include "base/simd.h"

#include <stdlib.h>
#include <string.h>

/* The hot loops are written once for any number of words and compiled for 1, 2 and n of them. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

enum { BUCKET_LOAD = 4 }; /* k-mers for each bucket: one in 20 is full */

ALWAYS_INLINE uint32_t bucket_of(const struct kc_ask_index *index, const uint64_t *kmer, int nw)
{
        uint64_t hash = kmer[0];
        for (int w = 1; w < nw; w++)
                hash = (hash ^ hash >> 32) * UINT64_C(0x9e3779b97f4a7c15) + kmer[w];
        hash = (hash ^ hash >> 32) * UINT64_C(0xd6e8feb86659fd93);
        return (uint32_t)((hash >> 32) * index->nbuckets >> 32);
}

static enum kc_status reserve(struct kc_ask_index *index, struct kc_error *err)
{
        if (index->nbuckets <= index->cap)
                return KC_OK;
        const size_t cap = index->nbuckets + index->nbuckets / 4;
        kc_ask_index_free(index);
        index->cap = 0;
        index->kmers = aligned_alloc(64, cap * KC_ASK_BUCKET_NKMERS * (size_t)index->nwords *
                                                 sizeof *index->kmers);
        index->counts =
                aligned_alloc(64, (cap + cap % 2) * KC_ASK_BUCKET_NKMERS * sizeof *index->counts);
        if (index->kmers == NULL || index->counts == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for %zu buckets of k-mers", cap);
        index->cap = cap;
        return KC_OK;
}

void kc_ask_index_free(struct kc_ask_index *index)
{
        free(index->kmers);
        free(index->counts);
        index->kmers = NULL;
        index->counts = NULL;
}

ALWAYS_INLINE void insert(struct kc_ask_index *index, const uint64_t *kmer, uint32_t count, int nw)
{
        uint32_t b = bucket_of(index, kmer, nw);
        uint32_t *counts = index->counts + (size_t)b * KC_ASK_BUCKET_NKMERS;
        while (counts[KC_ASK_BUCKET_NKMERS - 1] != 0) {
                b = b + 1 < index->nbuckets ? b + 1 : 0;
                counts = index->counts + (size_t)b * KC_ASK_BUCKET_NKMERS;
        }
        size_t slot = 0;
        for (int i = 0; i < KC_ASK_BUCKET_NKMERS; i++)
                slot += counts[i] != 0;
        counts[slot] = count;
        uint64_t *to = index->kmers + (size_t)b * KC_ASK_BUCKET_NKMERS * (size_t)nw + slot;
        for (int w = 0; w < nw; w++)
                to[w * KC_ASK_BUCKET_NKMERS] = kmer[w];
}

ALWAYS_INLINE void insert_all(struct kc_ask_index *index, const uint64_t *kmers,
                              const uint32_t *counts, size_t n, int nw)
{
        for (size_t i = 0; i < n; i++)
                insert(index, kmers + i * (size_t)nw, counts[i], nw);
}

KC_SIMD_CLONES
static void fill(struct kc_ask_index *index, const uint64_t *kmers, const uint32_t *counts,
                 size_t n)
{
        if (index->nwords == 1)
                insert_all(index, kmers, counts, n, 1);
        else if (index->nwords == 2)
                insert_all(index, kmers, counts, n, 2);
        else
                insert_all(index, kmers, counts, n, index->nwords);
}

enum kc_status kc_ask_index_build(struct kc_ask_index *index, const uint64_t *kmers,
                                  const uint32_t *counts, size_t n, int nwords,
                                  struct kc_error *err)
{
        index->nwords = nwords;
        index->nbuckets = (uint32_t)(n / BUCKET_LOAD) + 1;
        enum kc_status status = reserve(index, err);
        if (status != KC_OK)
                return status;
        memset(index->counts, 0,
               (size_t)index->nbuckets * KC_ASK_BUCKET_NKMERS * sizeof *index->counts);
        fill(index, kmers, counts, n);
        return KC_OK;
}

/* The count in one bucket. All eight are compared: there is no branch to mispredict. */
ALWAYS_INLINE uint32_t find_in(const uint64_t *lanes, const uint32_t *counts, const uint64_t *kmer,
                               int nw)
{
        uint64_t found = 0;
        for (int i = 0; i < KC_ASK_BUCKET_NKMERS; i++) {
                uint64_t differ = 0;
                for (int w = 0; w < nw; w++)
                        differ |= lanes[w * KC_ASK_BUCKET_NKMERS + i] ^ kmer[w];
                found |= differ == 0 ? counts[i] : 0;
        }
        return (uint32_t)found;
}

ALWAYS_INLINE uint32_t find(const struct kc_ask_index *index, const uint64_t *kmer, int nw)
{
        uint32_t b = bucket_of(index, kmer, nw);
        for (;;) {
                const size_t at = (size_t)b * KC_ASK_BUCKET_NKMERS;
                const uint32_t *counts = index->counts + at;
                const uint32_t found = find_in(index->kmers + at * (size_t)nw, counts, kmer, nw);
                if (found != 0 || counts[KC_ASK_BUCKET_NKMERS - 1] == 0)
                        return found;
                b = b + 1 < index->nbuckets ? b + 1 : 0;
        }
}

ALWAYS_INLINE void find_all(const struct kc_ask_index *index, const uint64_t *kmers, size_t n,
                            int nw, uint32_t *counts)
{
        for (size_t i = 0; i < n; i++)
                counts[i] = find(index, kmers + i * (size_t)nw, nw);
}

KC_SIMD_CLONES
void kc_ask_index_find(const struct kc_ask_index *index, const uint64_t *kmers, size_t n,
                       uint32_t *counts)
{
        if (index->nwords == 1)
                find_all(index, kmers, n, 1, counts);
        else if (index->nwords == 2)
                find_all(index, kmers, n, 2, counts);
        else
                find_all(index, kmers, n, index->nwords, counts);
}
