/*
 * UTF-8, as RFC 3629 defines it.
 */
#ifndef APP_CLI_UTF8_H
#define APP_CLI_UTF8_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes of the UTF-8 character at the start of s, which ends with NUL; 0 if there is none. */
int utf8_length(const unsigned char *s);

/* The code point of the character at s; length: its bytes, from utf8_length. */
uint32_t utf8_character(const unsigned char *s, int length);

/* Whether a terminal may act on the character, or reverse the direction of those around it. */
bool utf8_is_obeyed(uint32_t c);

#endif
