/*
 * What ends a line of text: spaces and tabs, then a carriage return, then the line feed. All but
 * the last may be missing. None of it belongs to the sequence or to the qualities in the line.
 */
#ifndef KC_IO_PARSE_LINE_H
#define KC_IO_PARSE_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool kc_line_is_blank(uint8_t c)
{
        return c == ' ' || c == '\t';
}

/* The number of letters in a line [n] that is complete; the line feed is not among the n. */
static inline size_t kc_line_nletters(const uint8_t *line, size_t n)
{
        if (n > 0 && line[n - 1] > ' ')
                return n; /* as a rule */
        if (n > 0 && line[n - 1] == '\r')
                n--;
        while (n > 0 && kc_line_is_blank(line[n - 1]))
                n--;
        return n;
}

/* Whether there is a byte over 127: names may have them, sequences have not. */
static inline bool kc_line_is_high(const uint8_t *letters, size_t n)
{
        uint8_t all = 0;
        for (size_t i = 0; i < n; i++)
                all |= letters[i];
        return all > 127;
}

/*
 * Blanks at the end of a chunk, and maybe a carriage return after them. Only the next chunk shows
 * whether they end a line.
 */
struct kc_line_rest {
        uint64_t nblanks;
        bool cr;
};

#endif
