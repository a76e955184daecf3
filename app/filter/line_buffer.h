/*
 * Lines of text in memory, which grows. After a failure nothing is appended, and the caller looks
 * at the status once, at the end.
 */
#ifndef APP_FILTER_LINE_BUFFER_H
#define APP_FILTER_LINE_BUFFER_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/* Zero-initialise it, and free text. To begin again, set n to 0. */
struct line_buffer {
        char *text;
        size_t n, room;
        enum kc_status status; /* KC_ENOMEM */
};

void line_buffer_text(struct line_buffer *lines, const char *text, size_t nbytes);

/* A line with a name and n numbers, and tabs between them. */
void line_buffer_row(struct line_buffer *lines, const char *name, size_t nbytes,
                     const uint64_t *numbers, size_t n);

#endif
