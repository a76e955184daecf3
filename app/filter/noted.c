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

/* Where the next nbytes go; NULL after a failure. */
static char *room_for(struct noted *noted, size_t nbytes)
{
        if (nbytes > noted->room - noted->n)
                grow(noted, nbytes);
        return noted->status == KC_OK ? noted->text + noted->n : NULL;
}

void noted_text(struct noted *noted, const char *text, size_t nbytes)
{
        char *to = room_for(noted, nbytes);
        if (to == NULL)
                return;
        memcpy(to, text, nbytes);
        noted->n += nbytes;
}

/* Returns the end of the digits. */
static char *put_number(char *to, uint64_t number)
{
        size_t n = 1;
        for (uint64_t rest = number; rest > 9; rest /= 10)
                n++;
        for (size_t i = n; i-- > 0; number /= 10)
                to[i] = (char)('0' + number % 10);
        return to + n;
}

void noted_row(struct noted *noted, const char *name, size_t nbytes, const uint64_t *numbers,
               size_t n)
{
        enum { NUMBER_NBYTES = 21 }; /* with a tab */
        char *to = room_for(noted, nbytes + n * NUMBER_NBYTES + 1);
        if (to == NULL)
                return;
        memcpy(to, name, nbytes);
        to += nbytes;
        for (size_t i = 0; i < n; i++) {
                *to++ = '\t';
                to = put_number(to, numbers[i]);
        }
        *to++ = '\n';
        noted->n = (size_t)(to - noted->text);
}
