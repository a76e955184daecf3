/*
 * The text of a record that comes in pieces, held until the record is complete: in memory, or if it
 * is long, in a temporary file.
 */
#ifndef APP_FILTER_HELD_H
#define APP_FILTER_HELD_H

#include "app/filter/take.h"

#include <stdint.h>

struct held {
        const char *folder; /* for the file */
        size_t room;        /* bytes of memory */
        char *memory;       /* [room], or NULL: the last `used` bytes of the text */
        size_t used;
        int fd;                  /* -1: no file */
        uint64_t nbytes;         /* in the file: all before those in memory */
        uint64_t spilled_nbytes; /* by all records so far */
};

/* folder must outlive it. Free it with held_free. */
struct held held_begin(const char *folder, size_t room);
void held_free(struct held *held);

/* Append to the text. KC_ENOMEM, KC_EIO. */
enum kc_status held_append(struct held *held, const char *text, size_t nbytes,
                           struct kc_error *err);

/* Forget the text. */
void held_forget(struct held *held);

/* Pass all of the text to take, in parts, and forget it. KC_ENOMEM, KC_EIO, or take's failure. */
enum kc_status held_release(struct held *held, filter_take *take, void *ctx, struct kc_error *err);

#endif
