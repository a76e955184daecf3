/*
 * The k-mer of a window, from packed bases.
 */
#ifndef KC_GPU_ASK_WINDOW_CUH
#define KC_GPU_ASK_WINDOW_CUH

#include "gpu/device/key.cuh"
#include "gpu/device/reads.cuh"

KC_HD kc_key64 kc_ask_window_bases(const uint64_t *words, uint64_t from, int k, kc_key64)
{
        return kc_packed_bases(words, from, (uint32_t)k);
}

KC_HD kc_key128 kc_ask_window_bases(const uint64_t *words, uint64_t from, int k, kc_key128)
{
        const uint64_t low = kc_packed_bases(words, from, k < 32 ? (uint32_t)k : 32);
        const uint64_t high = k > 32 ? kc_packed_bases(words, from + 32, (uint32_t)k - 32) : 0;
        return (kc_key128)high << 64 | low;
}

/* The k-mer that begins at base number `from`: as it is if stranded, otherwise canonical. */
template <class Key>
KC_HD Key kc_ask_window_kmer(const uint64_t *words, uint64_t from, int k, bool stranded)
{
        return kc_key_from_packed(kc_ask_window_bases(words, from, k, Key()), k, stranded);
}

#endif
