/*
 * Stretches: the bases of a super-k-mer, taken from the chunk that its record points into.
 */
#ifndef KC_GPU_SUPERKMERS_STRETCH_CUH
#define KC_GPU_SUPERKMERS_STRETCH_CUH

#include "gpu/superkmers/superkmer.cuh"

/* The bases of a record, first one lowest, zero bits after the last one; the highest byte is the
 * number of k-mers. Canonical unless stranded: the smaller of the stretch and its reverse
 * complement. */
template <class Key> struct kc_stretch {
        enum {
                NWORDS = 2 * sizeof(Key) / 8, /* of 64 bits */
                MAX_NBASES = 32 * NWORDS - 4,
        };
        uint64_t words[NWORDS];
};

template <class Key> KC_HD uint32_t kc_stretch_nkmers(const kc_stretch<Key> *s)
{
        return (uint32_t)(s->words[s->NWORDS - 1] >> 56);
}

/* Replace the stretch with its reverse complement if that is smaller. */
template <class Key> KC_HD void kc_stretch_canonical(kc_stretch<Key> *s, uint32_t nbases)
{
        const int n = s->NWORDS;
        kc_stretch<Key> other;
        for (int i = 0; i < n; i++)
                other.words[i] = ~kc_key_reverse_bases(s->words[n - 1 - i]);
        kc_words_shift_right(other.words, 64u * (uint32_t)n - 2 * nbases);
        kc_words_mask(other.words, 2 * nbases);
        bool smaller = false;
        for (int i = 0; i < n; i++)
                if (other.words[i] != s->words[i])
                        smaller = other.words[i] < s->words[i];
        for (int i = 0; i < n; i++)
                s->words[i] = smaller ? other.words[i] : s->words[i];
}

/* A word of a chunk, which no running kernel changes. */
KC_HD uint64_t kc_chunk_word(const uint64_t *word)
{
#ifdef __CUDA_ARCH__
        return __ldg(word);
#else
        return *word;
#endif
}

/* The stretch that a record refers to. words: of the chunk that its position is in. */
template <class Key>
KC_HD kc_stretch<Key> kc_stretch_read(const uint64_t *words, uint64_t record, int position_bits,
                                      int k, bool stranded)
{
        const kc_record_form form = { kc_record_length_bits<Key>(), position_bits };
        const uint64_t position = kc_record_position(record, form);
        const uint32_t nkmers = kc_record_nkmers(record, form);
        const uint32_t nbases = nkmers + (uint32_t)k - 1, shift = 2 * (uint32_t)(position % 32);
        const uint64_t *from = words + (uint32_t)position % KC_CHUNK_NBASES / 32;
        kc_stretch<Key> s;
        const uint32_t end = shift + 2 * nbases; /* bits to read */
        uint64_t low = kc_chunk_word(from);
        for (uint32_t i = 0; i < s.NWORDS; i++) {
                uint64_t high = end > 64 * (i + 1) ? kc_chunk_word(from + i + 1) : 0;
                s.words[i] = low >> shift | high << 1 << (63 - shift);
                low = high;
        }
        kc_words_mask(s.words, 2 * nbases);
        if (!stranded)
                kc_stretch_canonical(&s, nbases);
        s.words[s.NWORDS - 1] |= (uint64_t)nkmers << 56;
        return s;
}

template <class Key> KC_HD uint32_t kc_stretch_hash(const kc_stretch<Key> *s)
{
        uint64_t hash = 0;
        for (int i = 0; i < s->NWORDS; i++)
                hash = (hash ^ s->words[i]) * UINT64_C(0x9e3779b97f4a7c15);
        return (uint32_t)(hash >> 32);
}

#endif
