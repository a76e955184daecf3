#include "kmer/kmer.h"

#include <string.h>

void kc_kmer_reverse_complement(const uint64_t *kmer, int k, uint64_t *out)
{
        int nwords = kc_kmer_nwords(k);
        int unused = 64 * nwords - 2 * k;

        if (nwords == 1) {
                out[0] = kc_reverse_bases(~kmer[0]) >> unused;
                return;
        }
        /* complement and reverse all 32 * nwords places, then shift the unused ones out */
        uint64_t reversed[KC_MAX_WORDS + 1] = { 0 };
        for (int i = 0; i < nwords; i++)
                reversed[i] = kc_reverse_bases(~kmer[nwords - 1 - i]);
        for (int i = 0; i < nwords; i++)
                out[i] = unused ? reversed[i] >> unused | reversed[i + 1] << (64 - unused)
                                : reversed[i];
}

void kc_kmer_canonical(uint64_t *kmer, int k)
{
        uint64_t other[KC_MAX_WORDS];
        int nwords = kc_kmer_nwords(k);
        kc_kmer_reverse_complement(kmer, k, other);
        if (kc_kmer_compare(other, kmer, nwords) < 0)
                memcpy(kmer, other, (size_t)nwords * sizeof *kmer);
}

int kc_kmer_parse(const char *text, int k, uint64_t *kmer)
{
        memset(kmer, 0, (size_t)kc_kmer_nwords(k) * sizeof *kmer);
        for (int i = 0; i < k; i++) {
                int code = kc_base_code((unsigned char)text[i]);
                if (code < 0)
                        return i;
                int place = 2 * (k - 1 - i);
                kmer[place / 64] |= (uint64_t)code << place % 64;
        }
        return k;
}

void kc_kmer_format(const uint64_t *kmer, int k, char *text)
{
        for (int i = 0; i < k; i++) {
                int place = 2 * (k - 1 - i);
                text[i] = "ACGT"[kmer[place / 64] >> place % 64 & 3];
        }
}
