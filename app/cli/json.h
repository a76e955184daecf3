/*
 * Just enough JSON writing: indented objects and arrays, strings escaped. Within a page of HTML, it
 * is one line, and no string can end the element around it.
 */
#ifndef APP_CLI_JSON_H
#define APP_CLI_JSON_H

#include "app/cli/text_out.h"

struct json {
        struct text_out *out;
        int depth;
        bool has_member; /* the innermost object or array is not empty */
        bool is_in_page; /* set by the caller */
};

/* key is NULL for the outermost value and within arrays. */
void json_begin(struct json *json, const char *key, char bracket);
void json_end(struct json *json, char bracket);
void json_string(struct json *json, const char *key, const char *value);
void json_number(struct json *json, const char *key, uint64_t value);
void json_real(struct json *json, const char *key, double value);
/* with so many digits after the point; null if the value is infinite or not a number */
void json_decimal(struct json *json, const char *key, double value, int ndigits);
/* with so many significant digits, without zeros at the end; null likewise */
void json_figures(struct json *json, const char *key, double value, int ndigits);
void json_null(struct json *json, const char *key);
/* part / whole, which is not 0, with more digits than json_real */
void json_share(struct json *json, const char *key, uint64_t part, uint64_t whole);
/* an array on one line */
void json_numbers(struct json *json, const char *key, const uint64_t *values, size_t n);
/* each with so many digits after the point, without zeros at the end */
void json_decimals(struct json *json, const char *key, const double *values, size_t n, int ndigits);
void json_strings(struct json *json, const char *key, const char *const *values, size_t n);
void json_bool(struct json *json, const char *key, bool value);

#endif
