/*
 * Text that many threads prepare, each in a buffer of its own, and that then goes to a file or to
 * standard output.
 */
#ifndef APP_PROFILE_TEXT_H
#define APP_PROFILE_TEXT_H

#include "app/cli/text_out.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile_text {
        char *bytes; /* [size], the caller's */
        size_t size, used;
        struct text_out *out; /* takes what is in bytes when they are full; NULL: they never are,
                                 because the caller has asked profile_text_has_room */
};

bool profile_text_has_room(const struct profile_text *text, uint64_t nbytes);
void profile_text_flush(struct profile_text *text);

void profile_put_bytes(struct profile_text *text, const char *bytes, size_t n);
void profile_put(struct profile_text *text, const char *string);
/* A number after a separator; a number with at least so many digits, up to 20. */
void profile_put_number(struct profile_text *text, const char *before, uint64_t number);
void profile_put_digits(struct profile_text *text, uint64_t number, int ndigits);

/* ---- names ---- */

/* The name of a sequence as it is shown (app/cli/message.h). */
struct profile_name {
        const char *bytes; /* [nbytes] */
        size_t nbytes;
        char *own; /* bytes, if they are not the header's */
};

/* The name is the header up to its first blank; "*" if that is empty. The header must outlive it.
 * KC_ENOMEM. Free with profile_name_free, even on failure. */
enum kc_status profile_name_init(struct profile_name *name, const char *header, size_t nbytes,
                                 struct kc_error *err);
void profile_name_free(struct profile_name *name);

#endif
