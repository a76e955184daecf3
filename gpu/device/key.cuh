/*
 * Keys on the device: a k-mer as one unsigned integer of 64 bits (k <= 32) or 128 bits (k <= 64),
 * with the value of kmer/kmer.h. The layout in memory is that of the host, least significant word
 * first.
 *
 * Everything marked KC_HD also compiles for the host, so that it can be tested without a device.
 */
#ifndef KC_GPU_DEVICE_KEY_CUH
#define KC_GPU_DEVICE_KEY_CUH

#include <cstddef>
#include <cstdint>

#define KC_HD __host__ __device__ __forceinline__

using kc_key64 = uint64_t;
using kc_key128 = unsigned __int128;

/* The only list of key widths: KC_GPU_KEYS(MACRO) instantiates templates. */
#define KC_GPU_KEYS(instantiate) instantiate(kc_key64) instantiate(kc_key128)

/* The 2-bit fields of x in reverse order. */
KC_HD uint64_t kc_key_reverse_bases(uint64_t x)
{
#ifdef __CUDA_ARCH__
        x = __brevll(x);
        return (x & UINT64_C(0x5555555555555555)) << 1 | (x >> 1 & UINT64_C(0x5555555555555555));
#else
        x = (x & UINT64_C(0x3333333333333333)) << 2 | (x >> 2 & UINT64_C(0x3333333333333333));
        x = (x & UINT64_C(0x0f0f0f0f0f0f0f0f)) << 4 | (x >> 4 & UINT64_C(0x0f0f0f0f0f0f0f0f));
        return __builtin_bswap64(x);
#endif
}

KC_HD kc_key128 kc_key_reverse_bases(kc_key128 x)
{
        return (kc_key128)kc_key_reverse_bases((uint64_t)x) << 64 |
               kc_key_reverse_bases((uint64_t)(x >> 64));
}

/* The low 2k bits. */
template <class Key> KC_HD Key kc_key_mask(int k)
{
        return (Key) ~(Key)0 >> (8 * (int)sizeof(Key) - 2 * k);
}

/*
 * The k-mer that k bases spell, given as they are packed in a batch (kmer/batch.h: first base
 * lowest; bits above 2k are ignored): as is if stranded, otherwise the smaller of it and its
 * reverse complement.
 */
template <class Key> KC_HD Key kc_key_from_packed(Key packed, int k, bool stranded)
{
        Key mask = kc_key_mask<Key>(k);
        Key forward = kc_key_reverse_bases(packed) >> (8 * (int)sizeof(Key) - 2 * k);
        Key reverse = ~packed & mask;
        return stranded || forward < reverse ? forward : reverse;
}

/* Mix all bits of a key into 64: tables derive their slots from this. */
KC_HD uint64_t kc_key_hash(kc_key64 key)
{
        key ^= key >> 32;
        key *= UINT64_C(0x9e3779b97f4a7c15);
        return key ^ key >> 29;
}

KC_HD uint64_t kc_key_hash(kc_key128 key)
{
        return kc_key_hash((uint64_t)key ^ (uint64_t)(key >> 64) * UINT64_C(0xd6e8feb86659fd93));
}

/* Returns how many of the n ascending k-mers are below `kmer`. */
template <class Key, class Index> KC_HD Index kc_count_below(const Key *kmers, Index n, Key kmer)
{
        Index low = 0, high = n;
        while (low < high) {
                Index middle = low + (high - low) / 2;
                if (kmers[middle] < kmer)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

/* Counts saturate. */
KC_HD uint32_t kc_count_add(uint32_t a, uint32_t b)
{
        return a + b < a ? UINT32_MAX : a + b;
}

#endif
