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

enum { GROUP = 64 }; /* symbols looked at at a time */

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

/* Of symbols that are no marks. */
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

/* Does a mark stand for a byte before the last nwindow? */
static bool reaches_too_far(const uint16_t *symbols, size_t n, size_t nwindow)
{
        bool far = false;
        for (size_t i = 0; i < n; i++)
                far |= (symbols[i] & KC_MARK) != 0 &&
                       (symbols[i] & (KC_MARK - 1u)) < KC_WINDOW - nwindow;
        return far;
}

/*
 * Marks come in crowds (names of reads are copied from name to name), so where there is one, all
 * of the group are looked up, without asking for each whether it is a mark.
 */
bool kc_deflate_resolve(uint8_t *bytes, const uint16_t *symbols, size_t n,
                        const uint8_t window[KC_WINDOW], size_t nwindow)
{
        uint8_t meaning[1 << 16]; /* of a symbol; what lies between bytes and marks is not used */
        size_t i = 0;
        for (unsigned byte = 0; byte < 256; byte++)
                meaning[byte] = (uint8_t)byte;
        memcpy(meaning + KC_MARK, window, KC_WINDOW);
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
        return nwindow >= KC_WINDOW || !reaches_too_far(symbols, n, nwindow);
}
