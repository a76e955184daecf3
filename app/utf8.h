/*
 * UTF-8, as RFC 3629 defines it.
 */
#ifndef APP_UTF8_H
#define APP_UTF8_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes of the UTF-8 character at the start of s, which ends with NUL; 0 if there is none. */
int utf8_length(const unsigned char *s);

/* The number of the character of so many bytes (utf8_length) at s. */
uint32_t utf8_character(const unsigned char *s, int length);

/* Whether a terminal may act on the character, or write the ones around it in another direction. */
bool utf8_is_obeyed(uint32_t c);

#endif
