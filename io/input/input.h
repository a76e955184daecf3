/*
 * One input as a stream of bytes: a regular file, read at any place by any thread, or a pipe, read
 * from its beginning to its end by one thread at a time.
 */
#ifndef KC_IO_INPUT_INPUT_H
#define KC_IO_INPUT_INPUT_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hFILE;

struct kc_input {
        const char *name;     /* for messages; owned by the caller */
        int fd;               /* -1: closed, or owned by stream */
        struct hFILE *stream; /* pipes: a buffer that can be looked into; NULL for regular files */
        bool regular;
        uint64_t base;   /* place of our byte 0 in a regular file (standard input need not be at its
                          beginning) */
        uint64_t size;   /* regular file: bytes from base on when it was opened */
        uint64_t offset; /* of the next byte that kc_input_read returns */
};

/* The name of this path in messages: "standard input" for "-". */
const char *kc_input_name(const char *path);

/* Report that this path could not be opened, with this errno. Returns KC_EINPUT. */
enum kc_status kc_input_open_failed(const char *path, int error, struct kc_error *err);

/* Report that this path leads to a folder. Returns status: KC_EINPUT if it should name reads,
 * KC_ECORRUPT if it should name a .kc file. */
enum kc_status kc_input_is_folder(const char *path, enum kc_status status, struct kc_error *err);

/* Open path, "-" for standard input. KC_EINPUT, KC_ENOMEM. Close it in any case. */
enum kc_status kc_input_open(struct kc_input *in, const char *path, struct kc_error *err);

/* Look at the next bytes of the input, at most n (a pipe may show only 4096), without consuming
 * them. KC_EIO. */
enum kc_status kc_input_peek(struct kc_input *in, void *buffer, size_t n, size_t *got,
                             struct kc_error *err);

/* Read the next n bytes; *got < n only at the end of the input. KC_EIO. */
enum kc_status kc_input_read(struct kc_input *in, void *buffer, size_t n, size_t *got,
                             struct kc_error *err);

/* Regular files, from any thread: read n bytes at offset; *got < n only at the end of the file.
 * KC_EIO. */
enum kc_status kc_input_read_at(const struct kc_input *in, void *buffer, size_t n, uint64_t offset,
                                size_t *got, struct kc_error *err);

/* Regular files, from any thread: whether the file has more than nbytes now. KC_EIO. */
enum kc_status kc_input_is_longer(const struct kc_input *in, uint64_t nbytes, bool *longer,
                                  struct kc_error *err);

/* Hand the open input to htslib as a new hFILE, which the caller closes. NULL, with errno set, on
 * failure. */
struct hFILE *kc_input_release(struct kc_input *in);

void kc_input_close(struct kc_input *in);

#endif
