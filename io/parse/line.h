/*
 * The end of a line of text: spaces and tabs, then a carriage return, then the line feed. All but
 * the last may be missing. None of them belongs to the line's sequence or qualities.
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

/* A blank, or a part of a line's end. */
static inline bool kc_line_is_space(uint8_t c)
{
        return kc_line_is_blank(c) || c == '\n' || c == '\r';
}

/* The number of letters in a complete line [n], where n excludes the line feed. */
static inline size_t kc_line_nletters(const uint8_t *line, size_t n)
{
        if (n > 0 && line[n - 1] > ' ')
                return n; /* the usual case */
        if (n > 0 && line[n - 1] == '\r')
                n--;
        while (n > 0 && kc_line_is_blank(line[n - 1]))
                n--;
        return n;
}

/*
 * Blanks at the end of a chunk, and perhaps a carriage return after them. Only the next chunk shows
 * whether they end a line.
 */
struct kc_line_rest {
        uint64_t nblanks;
        bool cr;
};

#endif
