/*
 * Numbers as users write and read them.
 */
#ifndef APP_CLI_SIZE_H
#define APP_CLI_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A whole number, digits only. False if text is not one, or does not fit in 64 bits. */
bool parse_number(const char *text, uint64_t *number);

/*
 * A size in bytes: 8G, 500M, 1.5G, 64k, 1048576. K, M, G and T are powers of 1024, in either
 * case; "B" or "iB" may follow. False if text is not a size, or the size does not fit in 63 bits.
 */
bool parse_size(const char *text, uint64_t *nbytes);

enum { FORMATTED_NBYTES = 32, RANGE_NBYTES = 80 };

/* 1234567 as "1,234,567"; returns text. */
const char *format_number(uint64_t number, char text[FORMATTED_NBYTES]);

/* Bytes as "1.25 GiB", "14 MiB" or "979 KiB", three digits or a few more; returns text. */
const char *format_size(uint64_t nbytes, char text[FORMATTED_NBYTES]);

/* "67.7%", at most 5 letters; "" if the whole is 0. Returns text. */
const char *format_share(uint64_t part, uint64_t whole, char text[FORMATTED_NBYTES]);

/* "0.02 s", "24.5 s", "754 s"; returns text. */
const char *format_seconds(double seconds, char text[FORMATTED_NBYTES]);

/* The counts that a filter keeps: "2 or more", "100 or fewer", "2 to 100"; max UINT32_MAX is no
 * bound. Returns text. */
const char *format_range(uint64_t min, uint64_t max, char text[RANGE_NBYTES]);

#endif
