/* Resolving symbols whose window was unknown, once it is known. */
#include "io/inflate/deflate.h"

#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

void kc_deflate_put_marks(uint16_t window[KC_WINDOW])
{
        for (unsigned i = 0; i < KC_WINDOW; i++)
                window[i] = (uint16_t)(KC_MARK | i);
}

enum { GROUP = 64 }; /* symbols examined at a time */

static bool has_mark(const uint16_t *symbols)
{
        unsigned any = 0;
        for (unsigned i = 0; i < GROUP; i++)
                any |= symbols[i];
        return (any & KC_MARK) != 0;
}

size_t kc_deflate_nplain(const uint16_t *symbols, size_t n)
{
        size_t at = n;
        while (at >= GROUP && !has_mark(symbols + at - GROUP))
                at -= GROUP;
        while (at > 0 && (symbols[at - 1] & KC_MARK) == 0)
                at--;
        return n - at;
}

/* For symbols that are not marks. */
static inline void narrow(uint8_t *bytes, const uint16_t *symbols)
{
#ifdef __SSE2__
        for (unsigned i = 0; i < GROUP; i += 16) {
                __m128i low = _mm_loadu_si128((const __m128i *)(symbols + i));
                __m128i high = _mm_loadu_si128((const __m128i *)(symbols + i + 8));
                _mm_storeu_si128((__m128i *)(bytes + i), _mm_packus_epi16(low, high));
        }
#else
        for (unsigned i = 0; i < GROUP; i++)
                bytes[i] = (uint8_t)symbols[i];
#endif
}

void kc_deflate_give_meaning(struct kc_meanings *meanings, const uint8_t window[KC_WINDOW])
{
        for (unsigned byte = 0; byte < 256; byte++)
                meanings->of[byte] = (uint8_t)byte;
        memcpy(meanings->of + KC_MARK, window, KC_WINDOW);
}

/*
 * In reads, nearly all symbols are marks, as nearly all bases are copies of copies. So if a group
 * has a mark, all its symbols are looked up, without testing each.
 */
void kc_deflate_resolve(uint8_t *bytes, const uint16_t *symbols, size_t n,
                        const struct kc_meanings *meanings)
{
        const uint8_t *meaning = meanings->of;
        size_t i = 0;
        for (; i + GROUP <= n; i += GROUP) {
                if (!has_mark(symbols + i)) {
                        narrow(bytes + i, symbols + i);
                        continue;
                }
                for (unsigned j = 0; j < GROUP; j += 4) {
                        uint64_t four;
                        memcpy(&four, symbols + i + j, sizeof four);
                        bytes[i + j] = meaning[four & 0xffff];
                        bytes[i + j + 1] = meaning[four >> 16 & 0xffff];
                        bytes[i + j + 2] = meaning[four >> 32 & 0xffff];
                        bytes[i + j + 3] = meaning[four >> 48];
                }
        }
        for (; i < n; i++)
                bytes[i] = meaning[symbols[i]];
}
