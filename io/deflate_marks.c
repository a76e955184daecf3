/* What is done with symbols whose window was unknown, once it is known. */
#include "io/deflate.h"

#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

void kc_deflate_put_marks(uint16_t window[KC_WINDOW])
{
        for (unsigned i = 0; i < KC_WINDOW; i++)
                window[i] = (uint16_t)(KC_MARK | i);
}

enum { GROUP = 16 }; /* symbols looked at at a time */

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

/* Narrow a group. Returns a bit for each mark; the bytes of marks are left open. */
static inline unsigned narrow(uint8_t *bytes, const uint16_t *symbols)
{
#ifdef __SSE2__
        __m128i low = _mm_loadu_si128((const __m128i *)symbols);
        __m128i high = _mm_loadu_si128((const __m128i *)(symbols + 8));
        _mm_storeu_si128((__m128i *)bytes, _mm_packus_epi16(low, high));
        return (unsigned)_mm_movemask_epi8(_mm_packs_epi16(low, high));
#else
        unsigned marks = 0;
        for (unsigned i = 0; i < GROUP; i++) {
                bytes[i] = (uint8_t)symbols[i];
                marks |= (unsigned)(symbols[i] >> 15) << i;
        }
        return marks;
#endif
}

bool kc_deflate_resolve(uint8_t *bytes, const uint16_t *symbols, size_t n,
                        const uint8_t window[KC_WINDOW], size_t nwindow)
{
        unsigned least = KC_WINDOW; /* number of a byte of the window that is asked for */
        size_t i = 0;
        for (; i + GROUP <= n; i += GROUP)
                for (unsigned marks = narrow(bytes + i, symbols + i); marks; marks &= marks - 1) {
                        size_t at = i + (unsigned)__builtin_ctz(marks);
                        unsigned number = symbols[at] & (KC_MARK - 1);
                        least = number < least ? number : least;
                        bytes[at] = window[number];
                }
        for (; i < n; i++) {
                unsigned number = symbols[i] & (KC_MARK - 1);
                bool mark = (symbols[i] & KC_MARK) != 0;
                if (mark && number < least)
                        least = number;
                bytes[i] = mark ? window[number] : (uint8_t)symbols[i];
        }
        return least >= KC_WINDOW - nwindow;
}
