#include "app/cli/size.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool parse_number(const char *text, uint64_t *number)
{
        if (!isdigit((unsigned char)text[0]))
                return false; /* strtoull would accept blanks and signs */
        char *end;
        errno = 0;
        *number = strtoull(text, &end, 10);
        return errno == 0 && *end == '\0';
}

/* log2 of a unit's value, -1 if it is not a unit. */
static int unit_shift(const char *unit)
{
        static const char letters[] = "KMGT";
        const char *found = *unit ? strchr(letters, toupper((unsigned char)*unit)) : NULL;
        int shift = 0;
        if (found) {
                shift = 10 * (int)(found - letters + 1);
                unit++;
        }
        bool known = *unit == '\0' || strcasecmp(unit, "B") == 0 ||
                     (found && strcasecmp(unit, "iB") == 0);
        return known ? shift : -1;
}

bool parse_size(const char *text, uint64_t *nbytes)
{
        size_t digits = strspn(text, "0123456789.");
        char *end;
        double value = strtod(text, &end);
        if (digits == 0 || end != text + digits)
                return false;
        int shift = unit_shift(end);
        if (shift < 0)
                return false;
        value = ldexp(value, shift);
        if (!(value < 0x1p63))
                return false;
        *nbytes = (uint64_t)value;
        return true;
}

const char *format_number(uint64_t number, char text[FORMATTED_NBYTES])
{
        char digits[FORMATTED_NBYTES];
        int n = snprintf(digits, sizeof digits, "%llu", (unsigned long long)number);
        char *p = text;
        for (int i = 0; i < n; i++) {
                *p++ = digits[i];
                if (i + 1 < n && (n - 1 - i) % 3 == 0)
                        *p++ = ',';
        }
        *p = '\0';
        return text;
}

const char *format_size(uint64_t nbytes, char text[FORMATTED_NBYTES])
{
        static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
        double value = (double)nbytes;
        size_t unit = 0;
        while (value >= 1023.5 && unit + 1 < sizeof units / sizeof *units) {
                value /= 1024;
                unit++;
        }
        snprintf(text, FORMATTED_NBYTES, value < 999.5 ? "%.3g %s" : "%.0f %s", value, units[unit]);
        return text;
}

const char *format_share(uint64_t part, uint64_t whole, char text[FORMATTED_NBYTES])
{
        const double percent = whole > 0 ? 100.0 * (double)part / (double)whole : 0;
        text[0] = '\0';
        if (whole > 0)
                snprintf(text, FORMATTED_NBYTES, percent < 99.95 ? "%.1f%%" : "%.0f%%", percent);
        return text;
}

const char *format_seconds(double seconds, char text[FORMATTED_NBYTES])
{
        const int decimals = seconds < 9.995 ? 2 : seconds < 99.95 ? 1 : 0;
        snprintf(text, FORMATTED_NBYTES, "%.*f s", decimals, seconds);
        return text;
}

const char *format_range(uint64_t min, uint64_t max, char text[RANGE_NBYTES])
{
        char from[FORMATTED_NBYTES], to[FORMATTED_NBYTES];
        format_number(min, from);
        format_number(max, to);
        if (max == UINT32_MAX)
                snprintf(text, RANGE_NBYTES, "%s or more", from);
        else if (min <= 1)
                snprintf(text, RANGE_NBYTES, "%s or fewer", to);
        else if (min == max)
                snprintf(text, RANGE_NBYTES, "exactly %s", from);
        else
                snprintf(text, RANGE_NBYTES, "%s to %s", from, to);
        return text;
}
