#include "app/cli/json.h"

#include "app/cli/utf8.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void put_string(struct json *json, const char *text)
{
        struct text_out *out = json->out;
        const unsigned char *s = (const unsigned char *)text;
        text_out_puts(out, "\"");
        while (*s) {
                int n = utf8_length(s);
                if (n == 0) /* file names need not be UTF-8, JSON must */
                        text_out_puts(out, "\\ufffd");
                else if (*s == '"' || *s == '\\')
                        text_out_printf(out, "\\%c", *s);
                else if (utf8_is_obeyed(utf8_character(s, n)) || (json->is_in_page && *s == '<'))
                        text_out_printf(out, "\\u%04x", utf8_character(s, n));
                else
                        text_out_write(out, s, (size_t)n);
                s += n ? n : 1;
        }
        text_out_puts(out, "\"");
}

static void begin_line(struct json *json)
{
        if (!json->is_in_page)
                text_out_printf(json->out, "\n%*s", 2 * json->depth, "");
}

static void begin_member(struct json *json, const char *key)
{
        if (json->depth && json->has_member)
                text_out_puts(json->out, ",");
        if (json->depth)
                begin_line(json);
        json->has_member = true;
        if (key) {
                put_string(json, key);
                text_out_puts(json->out, json->is_in_page ? ":" : ": ");
        }
}

void json_begin(struct json *json, const char *key, char bracket)
{
        begin_member(json, key);
        text_out_write(json->out, &bracket, 1);
        json->depth++;
        json->has_member = false;
}

void json_end(struct json *json, char bracket)
{
        json->depth--;
        if (json->has_member)
                begin_line(json);
        text_out_write(json->out, &bracket, 1);
        json->has_member = true;
        if (json->depth == 0 && !json->is_in_page)
                text_out_puts(json->out, "\n");
}

void json_string(struct json *json, const char *key, const char *value)
{
        begin_member(json, key);
        put_string(json, value);
}

void json_number(struct json *json, const char *key, uint64_t value)
{
        begin_member(json, key);
        text_out_printf(json->out, "%llu", (unsigned long long)value);
}

void json_real(struct json *json, const char *key, double value)
{
        begin_member(json, key);
        text_out_printf(json->out, "%.3f", value);
}

void json_decimal(struct json *json, const char *key, double value, int ndigits)
{
        begin_member(json, key);
        if (isfinite(value))
                text_out_printf(json->out, "%.*f", ndigits, value);
        else
                text_out_puts(json->out, "null");
}

void json_figures(struct json *json, const char *key, double value, int ndigits)
{
        begin_member(json, key);
        if (isfinite(value))
                text_out_printf(json->out, "%.*g", ndigits, value == 0 ? 0 : value); /* not -0 */
        else
                text_out_puts(json->out, "null");
}

void json_null(struct json *json, const char *key)
{
        begin_member(json, key);
        text_out_puts(json->out, "null");
}

void json_share(struct json *json, const char *key, uint64_t part, uint64_t whole)
{
        begin_member(json, key);
        text_out_printf(json->out, "%.6f", (double)part / (double)whole);
}

void json_bool(struct json *json, const char *key, bool value)
{
        begin_member(json, key);
        text_out_puts(json->out, value ? "true" : "false");
}

void json_strings(struct json *json, const char *key, const char *const *values, size_t n)
{
        json_begin(json, key, '[');
        for (size_t i = 0; i < n; i++)
                json_string(json, NULL, values[i]);
        json_end(json, ']');
}

/* between the values of an array on one line */
static void put_comma(struct json *json, size_t i)
{
        if (i > 0)
                text_out_puts(json->out, json->is_in_page ? "," : ", ");
}

void json_numbers(struct json *json, const char *key, const uint64_t *values, size_t n)
{
        begin_member(json, key);
        text_out_puts(json->out, "[");
        for (size_t i = 0; i < n; i++) {
                put_comma(json, i);
                text_out_printf(json->out, "%llu", (unsigned long long)values[i]);
        }
        text_out_puts(json->out, "]");
}

static void put_decimal(struct json *json, double value, int ndigits)
{
        char text[400];
        size_t n;
        if (!isfinite(value)) {
                text_out_puts(json->out, "null");
                return;
        }
        n = (size_t)snprintf(text, sizeof text, "%.*f", ndigits, value);
        while (ndigits > 0 && text[n - 1] == '0')
                n--;
        if (text[n - 1] == '.')
                n--;
        text[n] = '\0';
        text_out_puts(json->out, strcmp(text, "-0") == 0 ? "0" : text);
}

void json_decimals(struct json *json, const char *key, const double *values, size_t n, int ndigits)
{
        begin_member(json, key);
        text_out_puts(json->out, "[");
        for (size_t i = 0; i < n; i++) {
                put_comma(json, i);
                put_decimal(json, values[i], ndigits);
        }
        text_out_puts(json->out, "]");
}
