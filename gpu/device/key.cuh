/*
 * Keys on the device: a k-mer as one unsigned integer of 64, 128, 192 or 256 bits, which hold up to
 * 32, 64, 96 and 128 bases, with the value of kmer/kmer.h. The layout in memory is that of the
 * host, least significant word first.
 *
 * Everything marked KC_HD also compiles for the host, so that it can be tested without a device.
 */
#ifndef KC_GPU_DEVICE_KEY_CUH
#define KC_GPU_DEVICE_KEY_CUH

#include "gpu/device/limits.h"

#include <cstddef>
#include <cstdint>
#include <type_traits>

#define KC_HD __host__ __device__ __forceinline__

/* ---- integers of several words, least significant first ---- */

/* The loops below have constant bounds: once they are unrolled, indices are constant, so that the
 * words stay in registers. */

/* The largest power of two below N, or 1. */
template <int N> KC_HD constexpr int kc_words_half(void)
{
        int half = 1;
        while (2 * half < N)
                half *= 2;
        return half;
}

/* words >> nbits, 0 <= nbits < 64 * N. */
template <int N> KC_HD void kc_words_shift_right(uint64_t (&words)[N], uint32_t nbits)
{
        for (int half = kc_words_half<N>(); half > 0; half /= 2)
                if (nbits & 64u * (uint32_t)half)
                        for (int i = 0; i < N; i++)
                                words[i] = i + half < N ? words[i + half] : 0;
        uint32_t shift = nbits % 64;
        for (int i = 0; i < N; i++) {
                uint64_t above = i + 1 < N ? words[i + 1] : 0;
                words[i] = words[i] >> shift | above << 1 << (63 - shift);
        }
}

/* words << nbits, 0 <= nbits < 64 * N. */
template <int N> KC_HD void kc_words_shift_left(uint64_t (&words)[N], uint32_t nbits)
{
        for (int half = kc_words_half<N>(); half > 0; half /= 2)
                if (nbits & 64u * (uint32_t)half)
                        for (int i = N - 1; i >= 0; i--)
                                words[i] = i >= half ? words[i - half] : 0;
        uint32_t shift = nbits % 64;
        for (int i = N - 1; i >= 0; i--) {
                uint64_t below = i > 0 ? words[i - 1] : 0;
                words[i] = words[i] << shift | below >> 1 >> (63 - shift);
        }
}

/* Keep the low nbits bits, at least 1. */
template <int N> KC_HD void kc_words_mask(uint64_t (&words)[N], uint32_t nbits)
{
        for (int i = 0; i < N; i++) {
                uint32_t from = 64u * (uint32_t)i;
                uint64_t mask = nbits >= from + 64 ? UINT64_MAX
                                : nbits > from     ? (UINT64_C(1) << (nbits - from)) - 1
                                                   : 0;
                words[i] &= mask;
        }
}

/* ---- the types of keys ---- */

/* An unsigned integer of N words, for widths without a built-in type, with only the operators that
 * keys use. Its default constructor does nothing, which makes it a trivial type: shared memory and
 * memcpy require that. */
template <int N> struct alignas(N % 2 == 0 ? 16 : 8) kc_key_wide {
        uint64_t words[N];

        kc_key_wide() = default;

        KC_HD kc_key_wide(uint64_t low) : words{ low }
        {
        }

        /* The low bits, of a word or half a word. */
        template <class T,
                  class = typename std::enable_if<std::is_unsigned<T>::value &&
                                                  (sizeof(T) == 4 || sizeof(T) == 8)>::type>
        KC_HD explicit operator T() const
        {
                return (T)words[0];
        }

        friend KC_HD bool operator==(const kc_key_wide &a, const kc_key_wide &b)
        {
                uint64_t difference = 0;
                for (int i = 0; i < N; i++)
                        difference |= a.words[i] ^ b.words[i];
                return difference == 0;
        }

        friend KC_HD bool operator<(const kc_key_wide &a, const kc_key_wide &b)
        {
                bool less = false;
                for (int i = 0; i < N; i++)
                        less = a.words[i] == b.words[i] ? less : a.words[i] < b.words[i];
                return less;
        }

        friend KC_HD bool operator!=(const kc_key_wide &a, const kc_key_wide &b)
        {
                return !(a == b);
        }

        friend KC_HD bool operator>(const kc_key_wide &a, const kc_key_wide &b)
        {
                return b < a;
        }

        friend KC_HD bool operator<=(const kc_key_wide &a, const kc_key_wide &b)
        {
                return !(b < a);
        }

        friend KC_HD bool operator>=(const kc_key_wide &a, const kc_key_wide &b)
        {
                return !(a < b);
        }

        friend KC_HD kc_key_wide operator+(kc_key_wide a, const kc_key_wide &b)
        {
                uint64_t carry = 0;
                for (int i = 0; i < N; i++) {
                        uint64_t sum = a.words[i] + b.words[i], all = sum + carry;
                        carry = (sum < b.words[i]) | (all < sum);
                        a.words[i] = all;
                }
                return a;
        }

        friend KC_HD kc_key_wide operator-(kc_key_wide a, const kc_key_wide &b)
        {
                uint64_t borrow = 0;
                for (int i = 0; i < N; i++) {
                        uint64_t difference = a.words[i] - b.words[i];
                        uint64_t next = (a.words[i] < b.words[i]) | (difference < borrow);
                        a.words[i] = difference - borrow;
                        borrow = next;
                }
                return a;
        }

        friend KC_HD kc_key_wide operator&(kc_key_wide a, const kc_key_wide &b)
        {
                for (int i = 0; i < N; i++)
                        a.words[i] &= b.words[i];
                return a;
        }

        friend KC_HD kc_key_wide operator|(kc_key_wide a, const kc_key_wide &b)
        {
                for (int i = 0; i < N; i++)
                        a.words[i] |= b.words[i];
                return a;
        }

        friend KC_HD kc_key_wide operator^(kc_key_wide a, const kc_key_wide &b)
        {
                for (int i = 0; i < N; i++)
                        a.words[i] ^= b.words[i];
                return a;
        }

        /* Shifts by 0 to 64 * N - 1 bits. */
        friend KC_HD kc_key_wide operator<<(kc_key_wide a, int nbits)
        {
                kc_words_shift_left(a.words, (uint32_t)nbits);
                return a;
        }

        friend KC_HD kc_key_wide operator>>(kc_key_wide a, int nbits)
        {
                kc_words_shift_right(a.words, (uint32_t)nbits);
                return a;
        }

        KC_HD kc_key_wide operator~() const
        {
                kc_key_wide result;
                for (int i = 0; i < N; i++)
                        result.words[i] = ~words[i];
                return result;
        }

        KC_HD kc_key_wide &operator&=(const kc_key_wide &b)
        {
                return *this = *this & b;
        }

        KC_HD kc_key_wide &operator|=(const kc_key_wide &b)
        {
                return *this = *this | b;
        }
};

using kc_key64 = uint64_t;
using kc_key128 = unsigned __int128;
using kc_key192 = kc_key_wide<3>;
using kc_key256 = kc_key_wide<4>;

/* The only list of key widths, ascending: KC_GPU_KEYS(MACRO) instantiates templates. The maps of
 * the papers (gpu/maps) support only built-in integers as keys. */
#define KC_GPU_INTEGER_KEYS(instantiate) instantiate(kc_key64) instantiate(kc_key128)
#define KC_GPU_KEYS(instantiate) \
        KC_GPU_INTEGER_KEYS(instantiate) instantiate(kc_key192) instantiate(kc_key256)

static_assert(KC_GPU_ENGINE_MAX_K == 4 * sizeof(kc_key256), "the widest key holds any k");

/* Returns work(Key()), where Key is the narrowest key that holds k bases, at most
 * KC_GPU_ENGINE_MAX_K. */
template <class Work> static inline auto kc_key_choose(int k, const Work &work)
{
#define KC_KEY_CASE(Key) \
        if (k <= 4 * (int)sizeof(Key)) \
                return work(Key());
        KC_GPU_KEYS(KC_KEY_CASE)
#undef KC_KEY_CASE
        __builtin_unreachable();
}

/* Word i of a key. */
KC_HD uint64_t kc_key_word(kc_key64 key, int)
{
        return key;
}

KC_HD uint64_t kc_key_word(kc_key128 key, int i)
{
        return (uint64_t)(key >> 64 * i);
}

template <int N> KC_HD uint64_t kc_key_word(const kc_key_wide<N> &key, int i)
{
        return key.words[i];
}

/* The key with these words. */
KC_HD void kc_key_set(kc_key64 *key, const uint64_t *words)
{
        *key = words[0];
}

KC_HD void kc_key_set(kc_key128 *key, const uint64_t *words)
{
        *key = (kc_key128)words[1] << 64 | words[0];
}

template <int N> KC_HD void kc_key_set(kc_key_wide<N> *key, const uint64_t *words)
{
        for (int i = 0; i < N; i++)
                key->words[i] = words[i];
}

/* ---- k-mers ---- */

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

template <int N> KC_HD kc_key_wide<N> kc_key_reverse_bases(const kc_key_wide<N> &x)
{
        kc_key_wide<N> reverse;
        for (int i = 0; i < N; i++)
                reverse.words[i] = kc_key_reverse_bases(x.words[N - 1 - i]);
        return reverse;
}

/*
 * Shifts and masks for k bases. Key must be the narrowest type that holds k bases (kc_key_choose):
 * then shifts are shorter than a word, and masks change only the highest word. kc_key_from_top
 * moves the top 2k bits of x to the bottom. kc_key_trim keeps only the low 2k bits.
 */
KC_HD kc_key64 kc_key_from_top(kc_key64 x, int k)
{
        return x >> (64 - 2 * k);
}

KC_HD kc_key128 kc_key_from_top(kc_key128 x, int k)
{
        const uint64_t low = (uint64_t)x, high = (uint64_t)(x >> 64);
        const int shift = 128 - 2 * k;
        return (kc_key128)(high >> shift) << 64 | low >> shift | high << 1 << (63 - shift);
}

template <int N> KC_HD kc_key_wide<N> kc_key_from_top(kc_key_wide<N> x, int k)
{
        const int shift = 64 * N - 2 * k;
        for (int i = 0; i < N; i++) {
                const uint64_t above = i + 1 < N ? x.words[i + 1] : 0;
                x.words[i] = x.words[i] >> shift | above << 1 << (63 - shift);
        }
        return x;
}

KC_HD kc_key64 kc_key_trim(kc_key64 x, int k)
{
        return x & UINT64_MAX >> (64 - 2 * k);
}

KC_HD kc_key128 kc_key_trim(kc_key128 x, int k)
{
        return (kc_key128)kc_key_trim((uint64_t)(x >> 64), k - 32) << 64 | (uint64_t)x;
}

template <int N> KC_HD kc_key_wide<N> kc_key_trim(kc_key_wide<N> x, int k)
{
        x.words[N - 1] = kc_key_trim(x.words[N - 1], k - 32 * (N - 1));
        return x;
}

/* The low 2k bits. */
template <class Key> KC_HD Key kc_key_mask(int k)
{
        return (Key) ~(Key)0 >> (8 * (int)sizeof(Key) - 2 * k);
}

/*
 * The k-mer that k bases spell, given as they are packed in a batch (kmer/batch.h: first base
 * lowest; bits above 2k are ignored): as is if stranded, otherwise the smaller of it and its
 * reverse complement. Key must be the narrowest type that holds k bases.
 */
template <class Key> KC_HD Key kc_key_from_packed(Key packed, int k, bool stranded)
{
        Key forward = kc_key_from_top(kc_key_reverse_bases(packed), k);
        Key reverse = kc_key_trim(~packed, k);
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

template <int N> KC_HD uint64_t kc_key_hash(const kc_key_wide<N> &key)
{
        uint64_t above = 0;
        for (int i = N - 1; i > 0; i--)
                above = (above ^ key.words[i]) * UINT64_C(0xd6e8feb86659fd93);
        return kc_key_hash(key.words[0] ^ above);
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
