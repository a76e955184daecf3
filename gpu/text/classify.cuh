/*
 * Classes of bytes, found for four at a time in a register: SIMD within a word. A test gives flags,
 * the top bit of each byte; eight words of flags are then gathered into 32 bits, one for each byte.
 */
#ifndef KC_GPU_TEXT_CLASSIFY_CUH
#define KC_GPU_TEXT_CLASSIFY_CUH

#include "gpu/device/key.cuh"

#include <cstdint>
#include <cuda_runtime.h>

/* Bit i is that of byte i of 32. */
struct kc_text_classes {
        uint64_t codes; /* 2 bits each, as in kmer/batch.h; arbitrary if a byte is not a base */
        uint32_t bases; /* ACGTUacgtu */
        uint32_t lines; /* line feeds */
        uint32_t extra; /* see kc_text_extra */
        bool binary;    /* perhaps there is a byte under 9 */
};

/* What the extra plane, which not all texts need, is for. */
enum kc_text_extra {
        KC_TEXT_NO_EXTRA,
        KC_TEXT_QUALITY, /* bytes of at least the lowest accepted quality */
        KC_TEXT_RARE,    /* bytes that end lines or are odd: up to ' ', '>', and from 0x7f on */
};

enum : uint32_t { KC_TEXT_TOPS = 0x80808080, KC_TEXT_ONES = 0x01010101 };

/* Flags of the bytes that are not 0, with arbitrary bits below. */
static __device__ __forceinline__ uint32_t kc_text_nonzero(uint32_t x)
{
        return ((x & ~KC_TEXT_TOPS) + ~KC_TEXT_TOPS) | x;
}

/* The low three bits of the base letters differ, so they index tables of eight bytes: the only base
 * with these bits, and its code. Entries 0, 2 and 6 equal no letter with that index. */
static __device__ __forceinline__ uint32_t kc_text_bases(uint32_t x, uint32_t *codes)
{
        const uint32_t low = x & 7 * KC_TEXT_ONES, pairs = low | low >> 4;
        const uint32_t index = __byte_perm(pairs, 0, 0x4420);
        const uint32_t letters = __byte_perm(0x43014101, 0x47015554, index);
        *codes = __byte_perm(0x01000000, 0x02000303, index);
        return ~kc_text_nonzero(letters ^ (x & 0xdf * KC_TEXT_ONES)) & KC_TEXT_TOPS;
}

static __device__ __forceinline__ uint32_t kc_text_equal(uint32_t x, uint8_t letter)
{
        return ~kc_text_nonzero(x ^ letter * KC_TEXT_ONES) & KC_TEXT_TOPS;
}

/* Flags of the bytes up to ' ', of '>', and of those from 0x7f on (adding 1 to 0x7f sets the top
 * bit). */
static __device__ __forceinline__ uint32_t kc_text_rare(uint32_t x)
{
        const uint32_t small = ~((x | KC_TEXT_TOPS) - (' ' + 1) * KC_TEXT_ONES);
        const uint32_t large = x | ((x & ~KC_TEXT_TOPS) + KC_TEXT_ONES);
        return ((small | large) & KC_TEXT_TOPS) | kc_text_equal(x, '>');
}

enum { TEXT_PHRED_OFFSET = 33 }; /* the letter of quality 0 */

/* The letter for the lowest accepted Phred quality: see kc_quality_letter (io/parse/pack.h). */
static inline uint8_t kc_text_quality_letter(int min_quality)
{
        const int highest = 200;
        return (uint8_t)(TEXT_PHRED_OFFSET + (min_quality < highest ? min_quality : highest));
}

/* Flags of the bytes that are at least min. */
static __device__ __forceinline__ uint32_t kc_text_at_least(uint32_t x, uint8_t min)
{
        const uint32_t low = (x | KC_TEXT_TOPS) - (min & 0x7f) * KC_TEXT_ONES;
        return (min < 0x80 ? low | x : low & x) & KC_TEXT_TOPS;
}

/* Add the flags of word j of eight to bytes[j / 2], which is 128 times byte j / 2 of the result. */
static __device__ __forceinline__ void kc_text_gather(uint32_t (&bytes)[4], int j, uint32_t flags)
{
        bytes[j / 2] = __dp4a(flags, j % 2 ? 0x80402010u : 0x08040201u, bytes[j / 2]);
}

static __device__ __forceinline__ uint32_t kc_text_gathered(const uint32_t (&bytes)[4])
{
        return bytes[0] >> 7 | bytes[1] << 1 | bytes[2] << 9 | bytes[3] << 17;
}

/* The classes of 32 bytes in x, the first one lowest. */
template <enum kc_text_extra EXTRA>
static __device__ __forceinline__ struct kc_text_classes kc_text_classify(const uint32_t (&x)[8],
                                                                          uint8_t min_quality)
{
        struct kc_text_classes classes = {};
        uint32_t bases[4] = {}, lines[4] = {}, extra[4] = {}, small = 0, half[2] = {};
#pragma unroll
        for (int j = 0; j < 8; j++) {
                uint32_t codes;
                kc_text_gather(bases, j, kc_text_bases(x[j], &codes));
                kc_text_gather(lines, j, kc_text_equal(x[j], '\n'));
                if (EXTRA == KC_TEXT_QUALITY)
                        kc_text_gather(extra, j, kc_text_at_least(x[j], min_quality));
                if (EXTRA == KC_TEXT_RARE)
                        kc_text_gather(extra, j, kc_text_rare(x[j]));
                half[j / 4] |= __dp4a(codes, 0x40100401u, 0u) << 8 * (j % 4);
                small |= ~((x[j] | KC_TEXT_TOPS) - 9 * KC_TEXT_ONES);
        }
        classes.codes = (uint64_t)half[1] << 32 | half[0];
        classes.bases = kc_text_gathered(bases);
        classes.lines = kc_text_gathered(lines);
        classes.extra = EXTRA == KC_TEXT_NO_EXTRA ? 0 : kc_text_gathered(extra);
        classes.binary = (small & KC_TEXT_TOPS) != 0;
        return classes;
}

#endif
