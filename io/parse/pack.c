/*
 * Letters to 2-bit codes, 64 at a time.
 *
 * One shuffle, indexed by the low four bits of a letter, gives the only upper-case base with those
 * bits, so comparing that with the letter shows whether it is a base; a second shuffle gives its
 * code. Two multiply-adds then join four codes in a byte:
 *
 *      bytes    c0 c1 c2 c3 ...          maddubs by 1, 4
 *      16 bits  c0+4c1  c2+4c3 ...       madd by 1, 16
 *      32 bits  c0+4c1+16c2+64c3 ...     low byte of each kept
 */
#include "io/parse/pack.h"

#include "io/input/chunk.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* Clear everything after the first n <= 64 bases of two words. */
static inline void keep_bases(uint64_t *words, size_t n)
{
        if (n < 32) {
                words[0] &= (UINT64_C(1) << 2 * n) - 1;
                words[1] = 0;
        } else if (n < 64) {
                words[1] &= (UINT64_C(1) << 2 * (n - 32)) - 1;
        }
}

#if defined(__x86_64__)
/* Indexed by a letter's low four bits: A=1 C=3 T=4 U=5 G=7. Nothing else matches: the low bits of 0
 * and 0x7f differ from their index, except for 15, where 0x7f & 0xdf is not a letter either. */
#define LETTERS 0x7f, 'A', 0, 'C', 'T', 'U', 0, 'G', 0, 0, 0, 0, 0, 0, 0, 0
#define CODES   0, 0, 0, 1, 3, 3, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0

__attribute__((target("avx512bw,popcnt"))) static inline uint64_t pack64_avx512(const uint8_t *seq,
                                                                                uint64_t *words)
{
        const __m512i letters = _mm512_broadcast_i32x4(_mm_setr_epi8(LETTERS));
        const __m512i codes = _mm512_broadcast_i32x4(_mm_setr_epi8(CODES));
        __m512i text = _mm512_loadu_si512(seq);
        __m512i upper = _mm512_and_si512(text, _mm512_set1_epi8((char)0xdf));
        __mmask64 valid = _mm512_cmpeq_epi8_mask(_mm512_shuffle_epi8(letters, text), upper);
        __m512i code = _mm512_shuffle_epi8(codes, text);
        __m512i pairs = _mm512_maddubs_epi16(code, _mm512_set1_epi16(0x0401));
        __m512i fours = _mm512_madd_epi16(pairs, _mm512_set1_epi32(0x00100001));
        _mm_storeu_si128((__m128i *)words, _mm512_cvtepi32_epi8(fours));
        return valid;
}

__attribute__((target("avx512bw,popcnt"))) static inline size_t lines64_avx512(const uint8_t *text,
                                                                               bool *binary)
{
        __m512i v = _mm512_loadu_si512(text);
        *binary |= _mm512_cmplt_epu8_mask(v, _mm512_set1_epi8(9)) != 0;
        return (size_t)__builtin_popcountll(_mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('\n')));
}

/* Adding 1 makes 0x7f negative, as bytes over 127 are. */
__attribute__((target("avx512bw,popcnt"))) static inline uint64_t others64_avx512(
        const uint8_t *text)
{
        __m512i next = _mm512_add_epi8(_mm512_loadu_si512(text), _mm512_set1_epi8(1));
        return _mm512_cmplt_epi8_mask(next, _mm512_set1_epi8('@' + 1));
}

#define TARGET   __attribute__((target("avx512bw,popcnt")))
#define NAME(x)  avx512_##x
#define VARIANT  "avx512"
#define PACK64   pack64_avx512
#define LINES64  lines64_avx512
#define OTHERS64 others64_avx512
#include "io/parse/pack_template.h"

__attribute__((target("avx2,popcnt"))) static inline uint32_t pack32_avx2(const uint8_t *seq,
                                                                          uint64_t *word)
{
        const __m256i letters = _mm256_broadcastsi128_si256(_mm_setr_epi8(LETTERS));
        const __m256i codes = _mm256_broadcastsi128_si256(_mm_setr_epi8(CODES));
        const __m256i gather = _mm256_broadcastsi128_si256(
                _mm_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1));
        __m256i text = _mm256_loadu_si256((const __m256i *)seq);
        __m256i upper = _mm256_and_si256(text, _mm256_set1_epi8((char)0xdf));
        __m256i valid = _mm256_cmpeq_epi8(_mm256_shuffle_epi8(letters, text), upper);
        __m256i code = _mm256_shuffle_epi8(codes, text);
        __m256i pairs = _mm256_maddubs_epi16(code, _mm256_set1_epi16(0x0401));
        __m256i fours = _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x00100001));
        __m256i bytes = _mm256_shuffle_epi8(fours, gather);
        uint32_t low = (uint32_t)_mm256_extract_epi32(bytes, 0);
        uint32_t high = (uint32_t)_mm256_extract_epi32(bytes, 4);
        *word = low | (uint64_t)high << 32;
        return (uint32_t)_mm256_movemask_epi8(valid);
}

__attribute__((target("avx2,popcnt"))) static inline uint64_t pack64_avx2(const uint8_t *seq,
                                                                          uint64_t *words)
{
        uint64_t low = pack32_avx2(seq, words);
        uint64_t high = pack32_avx2(seq + 32, words + 1);
        return low | high << 32;
}

__attribute__((target("avx2,popcnt"))) static inline size_t lines64_avx2(const uint8_t *text,
                                                                         bool *binary)
{
        const __m256i newline = _mm256_set1_epi8('\n'), limit = _mm256_set1_epi8(8);
        __m256i a = _mm256_loadu_si256((const __m256i *)text);
        __m256i b = _mm256_loadu_si256((const __m256i *)(text + 32));
        __m256i least = _mm256_min_epu8(a, b);
        __m256i under = _mm256_cmpeq_epi8(_mm256_min_epu8(least, limit), least);
        *binary |= _mm256_movemask_epi8(under) != 0;
        uint32_t low = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(a, newline));
        uint32_t high = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(b, newline));
        return (size_t)(__builtin_popcount(low) + __builtin_popcount(high));
}

__attribute__((target("avx2,popcnt"))) static inline uint32_t others32_avx2(const uint8_t *text)
{
        __m256i next =
                _mm256_add_epi8(_mm256_loadu_si256((const __m256i *)text), _mm256_set1_epi8(1));
        return (uint32_t)_mm256_movemask_epi8(_mm256_cmpgt_epi8(_mm256_set1_epi8('@' + 1), next));
}

__attribute__((target("avx2,popcnt"))) static inline uint64_t others64_avx2(const uint8_t *text)
{
        return others32_avx2(text) | (uint64_t)others32_avx2(text + 32) << 32;
}

#define TARGET   __attribute__((target("avx2,popcnt")))
#define NAME(x)  avx2_##x
#define VARIANT  "avx2"
#define PACK64   pack64_avx2
#define LINES64  lines64_avx2
#define OTHERS64 others64_avx2
#include "io/parse/pack_template.h"
#endif

static inline uint64_t pack64_portable(const uint8_t *seq, uint64_t *words)
{
        uint64_t valid = 0;
        for (int w = 0; w < 2; w++) {
                uint64_t word = 0;
                for (int i = 0; i < 32; i++) {
                        uint64_t letter = seq[32 * w + i] & 0xdf, code = letter >> 1 & 3;
                        bool is_base = (letter == 'A') | (letter == 'C') | (letter == 'G') |
                                       (letter == 'T') | (letter == 'U');
                        word |= (code ^ code >> 1) << 2 * i;
                        valid |= (uint64_t)is_base << (32 * w + i);
                }
                words[w] = word;
        }
        return valid;
}

static inline size_t lines64_portable(const uint8_t *text, bool *binary)
{
        uint8_t nlines = 0, under = 0;
        for (int i = 0; i < 64; i++) {
                nlines = (uint8_t)(nlines + (text[i] == '\n'));
                under |= text[i] < 9;
        }
        *binary |= under;
        return nlines;
}

static inline uint64_t others64_portable(const uint8_t *text)
{
        uint64_t others = 0;
        for (int i = 0; i < 64; i++)
                others |= (uint64_t)(text[i] < '@' || text[i] > '~') << i;
        return others;
}

#define TARGET
#define NAME(x)  portable_##x
#define VARIANT  "portable"
#define PACK64   pack64_portable
#define LINES64  lines64_portable
#define OTHERS64 others64_portable
#include "io/parse/pack_template.h"

const struct kc_kernels *kc_kernels_get(size_t index)
{
        const struct kc_kernels *found[4] = { NULL };
        size_t n = 0;
#if defined(__x86_64__)
        if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("popcnt"))
                found[n++] = &avx512_kernels;
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt"))
                found[n++] = &avx2_kernels;
#endif
        found[n] = &portable_kernels;
        return index <= n ? found[index] : NULL;
}

const struct kc_kernels *kc_kernels_best(void)
{
        return kc_kernels_get(0);
}
