/*
 * Inputs that are not reads: what they are, and what to do with them.
 */
#ifndef KC_FOREIGN_H
#define KC_FOREIGN_H

#include "io/detect.h"

/*
 * Refuse a file that begins with these bytes, if they belong to a kind of file that is known and
 * that is neither reads nor lines of text.
 *   outer  the compression that the bytes were taken from; KC_CONTAINER_PLAIN: none
 * Returns KC_OK if they do not, else KC_EINPUT.
 */
enum kc_status kc_foreign_check(const char *name, enum kc_container outer, const uint8_t *bytes,
                                size_t n, struct kc_error *err);

/*
 * Refuse a file whose text begins with these bytes, neither '@', '>' nor ';' first. n = 0: there
 * are only blank lines. Returns KC_EINPUT.
 */
enum kc_status kc_foreign_refuse(const char *name, enum kc_container outer, const uint8_t *bytes,
                                 size_t n, struct kc_error *err);

/* Refuse text whose lines end with a carriage return alone, as on old Macs; KC_OK for others. */
enum kc_status kc_foreign_check_lines(const char *name, enum kc_container outer,
                                      const uint8_t *text, size_t n, struct kc_error *err);

enum { KC_SHOWN_NBYTES = 96 };

/* Bytes as a message quotes them: "text...", the bytes e9 07 ..., or NUL bytes. Returns shown. */
const char *kc_foreign_show(char shown[KC_SHOWN_NBYTES], const uint8_t *bytes, size_t n);

#endif
