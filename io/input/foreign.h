/*
 * Inputs that are not reads: messages that say what they are and what to do with them.
 */
#ifndef KC_IO_INPUT_FOREIGN_H
#define KC_IO_INPUT_FOREIGN_H

#include "io/input/detect.h"

/*
 * Refuse a file that begins with these bytes if they identify a known kind of file that is neither
 * reads nor lines of text.
 *   outer  the compression around the bytes; KC_CONTAINER_PLAIN: none
 * KC_EINPUT; KC_OK if they identify no such kind.
 */
enum kc_status kc_foreign_check(const char *name, enum kc_container outer, const uint8_t *bytes,
                                size_t n, struct kc_error *err);

/*
 * Refuse a file whose text begins with these bytes, the first of which is not '@', '>' or ';'.
 * n = 0: the file has only blank lines. Returns KC_EINPUT.
 */
enum kc_status kc_foreign_refuse(const char *name, enum kc_container outer, const uint8_t *bytes,
                                 size_t n, struct kc_error *err);

/* KC_EINPUT for text whose lines end with a carriage return alone, as on old Macs; KC_OK for any
 * other. */
enum kc_status kc_foreign_check_lines(const char *name, enum kc_container outer,
                                      const uint8_t *text, size_t n, struct kc_error *err);

enum { KC_SHOWN_NBYTES = 96 };

/* Put the bytes into shown in the form that messages quote: "text...", the bytes e9 07 ..., or NUL
 * bytes. Returns shown. */
const char *kc_foreign_show(char shown[KC_SHOWN_NBYTES], const uint8_t *bytes, size_t n);

#endif
