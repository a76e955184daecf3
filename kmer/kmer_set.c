#include "kmer/kmer_set.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { MAX_BITS = 26, KMERS_A_SLOT = 4 };

static size_t kmer_nbytes(const struct kc_kmer_set *set)
{
        return (size_t)kc_kmer_nwords(set->k) * sizeof *set->kmers;
}

enum kc_status kc_kmer_set_append(struct kc_kmer_set *set, const uint64_t *kmers, size_t n,
                                  struct kc_error *err)
{
        const size_t nbytes = kmer_nbytes(set);
        if (n == 0)
                return KC_OK;
        if (set->n + n > set->cap) {
                const uint64_t cap = set->n + n + set->n / 2;
                uint64_t *grown = realloc(set->kmers, cap * nbytes);
                if (grown == NULL)
                        return kc_fail(err, KC_ENOMEM, "out of memory for a set of k-mers");
                set->kmers = grown;
                set->cap = cap;
        }
        memcpy((char *)set->kmers + set->n * nbytes, kmers, n * nbytes);
        set->n += n;
        return KC_OK;
}

static uint64_t leading_bits(const struct kc_kmer_set *set, const uint64_t *kmer)
{
        const int low = 2 * set->k - set->nbits, i = low / 64, shift = low % 64;
        if (set->nbits == 0)
                return 0;
        uint64_t bits = kmer[i] >> shift;
        if (shift > 0 && i + 1 < kc_kmer_nwords(set->k))
                bits |= kmer[i + 1] << (64 - shift);
        return bits;
}

enum kc_status kc_kmer_set_finish(struct kc_kmer_set *set, struct kc_error *err)
{
        const size_t nwords = (size_t)kc_kmer_nwords(set->k);
        while (set->nbits < MAX_BITS && set->nbits < 2 * set->k &&
               set->n >> set->nbits > KMERS_A_SLOT)
                set->nbits++;
        const size_t nslots = (size_t)1 << set->nbits;
        set->first = malloc((nslots + 1) * sizeof *set->first);
        if (set->first == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for a set of k-mers");
        size_t slot = 0;
        for (uint64_t i = 0; i < set->n; i++)
                for (const uint64_t bits = leading_bits(set, set->kmers + i * nwords);
                     slot <= bits;)
                        set->first[slot++] = i;
        while (slot <= nslots)
                set->first[slot++] = set->n;
        return KC_OK;
}

void kc_kmer_set_free(struct kc_kmer_set *set)
{
        free(set->kmers);
        free(set->first);
        *set = (struct kc_kmer_set){ .k = set->k };
}

bool kc_kmer_set_has(const struct kc_kmer_set *set, const uint64_t *kmer)
{
        const int nwords = kc_kmer_nwords(set->k);
        const uint64_t bits = leading_bits(set, kmer);
        uint64_t low = set->first[bits], high = set->first[bits + 1];
        while (low < high) {
                const uint64_t middle = low + (high - low) / 2;
                const int order =
                        kc_kmer_compare(set->kmers + middle * (size_t)nwords, kmer, nwords);
                if (order == 0)
                        return true;
                if (order < 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        return false;
}

uint64_t kc_kmer_set_nbytes(const struct kc_kmer_set *set)
{
        const uint64_t nslots = set->first != NULL ? (UINT64_C(1) << set->nbits) + 1 : 0;
        return set->cap * kmer_nbytes(set) + nslots * sizeof *set->first;
}

uint64_t kc_kmer_set_checksum(const struct kc_kmer_set *set)
{
        const uint64_t checksum = XXH3_64bits(set->kmers, set->n * kmer_nbytes(set));
        return checksum != 0 ? checksum : 1;
}
