#include "app/profile/text.h"

#include "app/cli/message.h"

#include <stdlib.h>
#include <string.h>

bool profile_text_has_room(const struct profile_text *text, uint64_t nbytes)
{
        return nbytes <= text->size - text->used;
}

void profile_text_flush(struct profile_text *text)
{
        text_out_write(text->out, text->bytes, text->used);
        text->used = 0;
}

void profile_put_bytes(struct profile_text *text, const char *bytes, size_t n)
{
        while (n > text->size - text->used) {
                const size_t fits = text->size - text->used;
                memcpy(text->bytes + text->used, bytes, fits);
                text->used += fits;
                bytes += fits;
                n -= fits;
                profile_text_flush(text);
        }
        memcpy(text->bytes + text->used, bytes, n);
        text->used += n;
}

void profile_put(struct profile_text *text, const char *string)
{
        profile_put_bytes(text, string, strlen(string));
}

enum { NUMBER_NBYTES = 20 };

void profile_put_digits(struct profile_text *text, uint64_t number, int ndigits)
{
        char digits[NUMBER_NBYTES], *to = digits + sizeof digits;
        do {
                *--to = (char)('0' + number % 10);
                number /= 10;
                ndigits--;
        } while (number > 0 || ndigits > 0);
        profile_put_bytes(text, to, (size_t)(digits + sizeof digits - to));
}

void profile_put_number(struct profile_text *text, const char *before, uint64_t number)
{
        profile_put(text, before);
        profile_put_digits(text, number, 1);
}

/* ---- names ---- */

static size_t name_length(const char *header, size_t nbytes, bool *plain)
{
        size_t n = 0;
        *plain = true;
        for (; n < nbytes && header[n] != ' ' && header[n] != '\t'; n++)
                *plain &= header[n] > ' ' && header[n] <= '~';
        return n;
}

enum kc_status profile_name_init(struct profile_name *name, const char *header, size_t nbytes,
                                 struct kc_error *err)
{
        bool plain;
        const size_t n = name_length(header, nbytes, &plain);
        *name = (struct profile_name){ .bytes = header, .nbytes = n };
        if (n == 0)
                *name = (struct profile_name){ .bytes = "*", .nbytes = 1 };
        if (n == 0 || plain)
                return KC_OK;
        name->own = malloc(message_shown_nbytes(n));
        if (name->own == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for the name of a sequence");
        name->bytes = name->own;
        name->nbytes = (size_t)(message_show(header, n, name->own) - name->own);
        return KC_OK;
}

void profile_name_free(struct profile_name *name)
{
        free(name->own);
        name->own = NULL;
}
