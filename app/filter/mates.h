/*
 * Names of reads.
 */
#ifndef APP_FILTER_MATES_H
#define APP_FILTER_MATES_H

#include <stdbool.h>
#include <stddef.h>

/* The length of a name up to its first blank. */
size_t mates_word(const char *name, size_t n);

/* Likewise, without a final /1 or /2: mates have this in common. */
size_t mates_stem(const char *name, size_t n);

/* Whether the names are those of mates. */
bool mates_match(const char *a, size_t na, const char *b, size_t nb);

#endif
