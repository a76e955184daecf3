#include "app/filter/line_buffer.h"

#include <stdlib.h>
#include <string.h>

static void grow(struct line_buffer *lines, size_t nbytes)
{
        enum { LEAST = 1 << 16 };
        size_t room = 2 * lines->room > LEAST ? 2 * lines->room : LEAST;
        if (room < lines->n + nbytes)
                room = lines->n + nbytes;
        char *text = realloc(lines->text, room);
        if (text == NULL) {
                lines->status = KC_ENOMEM;
                return;
        }
        lines->text = text;
        lines->room = room;
}

/* Where the next nbytes go; NULL after a failure. */
static char *room_for(struct line_buffer *lines, size_t nbytes)
{
        if (nbytes > lines->room - lines->n)
                grow(lines, nbytes);
        return lines->status == KC_OK ? lines->text + lines->n : NULL;
}

void line_buffer_text(struct line_buffer *lines, const char *text, size_t nbytes)
{
        char *to = room_for(lines, nbytes);
        if (to == NULL)
                return;
        memcpy(to, text, nbytes);
        lines->n += nbytes;
}

/* Without a branch on the number of digits, which cannot be predicted. `to` has room for four
 * digits. */
static char *put_short_number(char *to, uint32_t number)
{
        const uint32_t high = number / 100, low = number % 100;
        const int nzeros = (number < 1000) + (number < 100) + (number < 10);
        const uint32_t digits = high / 10 | (high % 10) << 8 | (low / 10) << 16 | (low % 10) << 24;
        const uint32_t word = (digits + '0' * 0x01010101u) >> 8 * nzeros; /* little-endian */
        memcpy(to, &word, sizeof word);
        return to + (sizeof word - (size_t)nzeros);
}

/* Returns the end of the digits. */
static char *put_number(char *to, uint64_t number)
{
        size_t n = 1;
        if (number < 10000)
                return put_short_number(to, (uint32_t)number);
        for (uint64_t rest = number; rest > 9; rest /= 10)
                n++;
        for (size_t i = n; i-- > 0; number /= 10)
                to[i] = (char)('0' + number % 10);
        return to + n;
}

void line_buffer_row(struct line_buffer *lines, const char *name, size_t nbytes,
                     const uint64_t *numbers, size_t n)
{
        enum { NUMBER_NBYTES = 21 }; /* with a tab */
        char *to = room_for(lines, nbytes + n * NUMBER_NBYTES + 1);
        if (to == NULL)
                return;
        memcpy(to, name, nbytes);
        to += nbytes;
        for (size_t i = 0; i < n; i++) {
                *to++ = '\t';
                to = put_number(to, numbers[i]);
        }
        *to++ = '\n';
        lines->n = (size_t)(to - lines->text);
}
