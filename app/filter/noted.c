#include "app/filter/noted.h"

#include <stdlib.h>
#include <string.h>

static void grow(struct noted *noted, size_t nbytes)
{
        enum { LEAST = 1 << 16 };
        size_t room = 2 * noted->room > LEAST ? 2 * noted->room : LEAST;
        if (room < noted->n + nbytes)
                room = noted->n + nbytes;
        char *text = realloc(noted->text, room);
        if (text == NULL) {
                noted->status = KC_ENOMEM;
                return;
        }
        noted->text = text;
        noted->room = room;
}

void noted_text(struct noted *noted, const char *text, size_t nbytes)
{
        if (nbytes > noted->room - noted->n)
                grow(noted, nbytes);
        if (noted->status != KC_OK)
                return;
        memcpy(noted->text + noted->n, text, nbytes);
        noted->n += nbytes;
}

void noted_number(struct noted *noted, uint64_t number)
{
        char digits[20];
        size_t at = sizeof digits;
        do
                digits[--at] = (char)('0' + number % 10);
        while ((number /= 10) > 0);
        noted_text(noted, digits + at, sizeof digits - at);
}
