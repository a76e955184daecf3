#include "io/parse/sequence.h"

/* Whether text[at], which is not a letter, may be within a line of a sequence, or before its line
 * feed. */
static bool breaks_kmers(const uint8_t *text, size_t at, size_t n)
{
        const uint8_t c = text[at];
        if (c == '\r')
                return at + 1 < n && text[at + 1] == '\n';
        return c == '\t' || (c >= ' ' && c <= '~' && c != '>');
}

size_t kc_sequence_line_from(const struct kc_kernels *kernels, const uint8_t *text, size_t at,
                             size_t n)
{
        while (at < n && breaks_kmers(text, at, n)) {
                at++;
                if (at < n && text[at] >= '@') /* not between blanks, or after a return */
                        at += kernels->skip_letters(text + at, n - at);
        }
        return at;
}

size_t kc_sequence_find_odd(const struct kc_kernels *kernels, const uint8_t *text, size_t n)
{
        for (size_t at = 0; at < n; at++) {
                at += kc_sequence_line(kernels, text + at, n - at);
                if (at < n && text[at] != '\n')
                        return at;
        }
        return n;
}
