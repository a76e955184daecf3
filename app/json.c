#include "app/json.h"

#include <string.h>

/* Length of the UTF-8 character at the start of s, 0 if there is none (RFC 3629). */
static int utf8_length(const unsigned char *s)
{
        static const struct {
                unsigned char lead_min, lead_max, second_min, second_max;
                int length;
        } forms[] = {
                { 0x00, 0x7f, 0x00, 0xff, 1 }, { 0xc2, 0xdf, 0x80, 0xbf, 2 },
                { 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 },
                { 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
                { 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 },
                { 0xf4, 0xf4, 0x80, 0x8f, 4 },
        };
        for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
                if (s[0] < forms[i].lead_min || s[0] > forms[i].lead_max)
                        continue;
                if (forms[i].length == 1)
                        return 1;
                if (s[1] < forms[i].second_min || s[1] > forms[i].second_max)
                        return 0;
                for (int j = 2; j < forms[i].length; j++)
                        if (s[j] < 0x80 || s[j] > 0xbf)
                                return 0;
                return forms[i].length;
        }
        return 0;
}

static void put_string(struct text_out *out, const char *text)
{
        const unsigned char *s = (const unsigned char *)text;
        text_out_puts(out, "\"");
        while (*s) {
                int n = utf8_length(s);
                if (n == 0) /* file names need not be UTF-8, JSON must */
                        text_out_puts(out, "\\ufffd");
                else if (*s == '"' || *s == '\\')
                        text_out_printf(out, "\\%c", *s);
                else if (*s < 0x20)
                        text_out_printf(out, "\\u%04x", *s);
                else
                        text_out_write(out, s, (size_t)n);
                s += n ? n : 1;
        }
        text_out_puts(out, "\"");
}

static void begin_member(struct json *json, const char *key)
{
        if (json->depth)
                text_out_printf(json->out, "%s\n%*s", json->has_member ? "," : "", 2 * json->depth,
                                "");
        json->has_member = true;
        if (key) {
                put_string(json->out, key);
                text_out_puts(json->out, ": ");
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
                text_out_printf(json->out, "\n%*s", 2 * json->depth, "");
        text_out_write(json->out, &bracket, 1);
        json->has_member = true;
        if (json->depth == 0)
                text_out_puts(json->out, "\n");
}

void json_string(struct json *json, const char *key, const char *value)
{
        begin_member(json, key);
        put_string(json->out, value);
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

void json_bool(struct json *json, const char *key, bool value)
{
        begin_member(json, key);
        text_out_puts(json->out, value ? "true" : "false");
}

void json_number_pair(struct json *json, uint64_t first, uint64_t second)
{
        begin_member(json, NULL);
        text_out_printf(json->out, "[%llu, %llu]", (unsigned long long)first,
                        (unsigned long long)second);
}
