/*
 * The messages of all decompressors about damaged data.
 */
#ifndef KC_IO_INPUT_DAMAGE_H
#define KC_IO_INPUT_DAMAGE_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

#define KC_DAMAGE_REMEDY "; copy or download the file again"

/* The file ends within its data of this format. Returns KC_EINPUT. */
enum kc_status kc_damage_truncated(const char *name, const char *format, uint64_t offset,
                                   struct kc_error *err);

/* "NAME is corrupt: WHAT byte OFFSET". Returns KC_EINPUT. */
enum kc_status kc_damage_corrupt(const char *name, const char *what, uint64_t offset,
                                 struct kc_error *err);

/*
 * BGZF ends before byte offset without its end-of-file block.
 *   goes_on  the file does not end there
 *   filter   a command that reads FILE if it is known to be whole
 * Returns KC_EINPUT.
 */
enum kc_status kc_damage_no_end_block(const char *name, uint64_t offset, bool goes_on,
                                      const char *filter, struct kc_error *err);

/* Bytes after compressed data that are not part of it. */
struct kc_trailing {
        const char *name;   /* of the file */
        const char *format; /* of the data before them */
        uint64_t offset;    /* of the first of them */
        uint64_t size;      /* of the file; 0: unknown */
        bool padded;        /* zeros come before them */
};

/*
 * Refuse a file because of such bytes. gzip(1) ignores them with a warning, but a damaged file
 * looks the same. Returns KC_EINPUT.
 */
enum kc_status kc_damage_trailing(const struct kc_trailing *trailing, struct kc_error *err);

#endif
