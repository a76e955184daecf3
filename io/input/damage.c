#include "io/input/damage.h"

#include <stdio.h>

enum kc_status kc_damage_truncated(const char *name, const char *format, uint64_t offset,
                                   struct kc_error *err)
{
        return kc_fail_at(err, KC_EINPUT, 0, kc_byte_of(name, offset),
                          "%s is truncated: its %s data breaks off at byte %llu" KC_DAMAGE_REMEDY,
                          name, format, (unsigned long long)offset);
}

enum kc_status kc_damage_corrupt(const char *name, const char *what, uint64_t offset,
                                 struct kc_error *err)
{
        return kc_fail_at(err, KC_EINPUT, 0, kc_byte_of(name, offset),
                          "%s is corrupt: %s byte %llu" KC_DAMAGE_REMEDY, name, what,
                          (unsigned long long)offset);
}

enum kc_status kc_damage_no_end_block(const char *name, uint64_t offset, bool goes_on,
                                      const char *filter, struct kc_error *err)
{
        struct kc_error own = { .unit = KC_UNIT_BYTE, .number = offset };
        kc_fail_filter(&own, KC_REMEDY_FILTER_WHOLE, name, filter,
                       "%s is truncated: %s at byte %llu without BGZF's end-of-file "
                       "block" KC_DAMAGE_REMEDY,
                       name, goes_on ? "its BGZF data ends" : "it ends",
                       (unsigned long long)offset);
        return kc_fail_as(err, &own);
}

enum kc_status kc_damage_trailing(const struct kc_trailing *trailing, struct kc_error *err)
{
        unsigned long long offset = trailing->offset, n = 0;
        struct kc_error own = { .unit = KC_UNIT_BYTE, .number = offset };
        char what[64], head[48];
        if (trailing->size > offset)
                n = trailing->size - offset;
        size_t at = n > 0 ? (size_t)snprintf(what, sizeof what, "%llu ", n) : 0;
        snprintf(what + at, sizeof what - at,
                 n == 1 ? "byte that is not %s" : "bytes that are not %s", trailing->format);
        if (trailing->padded)
                snprintf(what + at, sizeof what - at, n == 1 ? "byte" : "bytes");
        snprintf(head, sizeof head, "head -c %llu FILE", offset);
        kc_fail_filter(&own, KC_REMEDY_FILTER_HEAD, trailing->name, head,
                       "%s has %s %s %s data (offset %llu): the file is damaged there, or "
                       "something was added to it",
                       trailing->name, what,
                       trailing->padded ? "after zeros that end the" : "after the end of its",
                       trailing->format, offset);
        return kc_fail_as(err, &own);
}
