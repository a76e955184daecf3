#include "app/cli/utf8.h"

#include <stddef.h>

int utf8_length(const unsigned char *s)
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

uint32_t utf8_character(const unsigned char *s, int length)
{
        uint32_t c = length == 1 ? s[0] : s[0] & (0x7f >> length);
        for (int i = 1; i < length; i++)
                c = c << 6 | (s[i] & 0x3f);
        return c;
}

bool utf8_is_obeyed(uint32_t c)
{
        return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f ||
               (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}
