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
        const char *name;     /* for messages; the caller's */
        int fd;               /* -1: closed, or owned by stream */
        struct hFILE *stream; /* pipes: a buffer that can be looked into; NULL for regular files */
        bool regular;
        uint64_t base; /* where in a regular file our byte 0 is (standard input may stand later) */
        uint64_t size; /* regular: bytes from base on, when it was opened */
        uint64_t offset; /* of the next byte that kc_input_read gives */
};

/* What messages call the input of this path: "standard input" for "-". */
const char *kc_input_name(const char *path);

/* The failure to open this path with this errno. Returns KC_EINPUT. */
enum kc_status kc_input_open_failed(const char *path, int error, struct kc_error *err);

/* Open path, "-" for standard input. KC_EINPUT, KC_ENOMEM. Close it in any case. */
enum kc_status kc_input_open(struct kc_input *in, const char *path, struct kc_error *err);

/* The next bytes of the input, at most n (a pipe may show no more than 4096), not taken away. */
enum kc_status kc_input_peek(struct kc_input *in, void *buffer, size_t n, size_t *got,
                             struct kc_error *err);

/* Take the next n bytes; *got < n only at the end of the input. */
enum kc_status kc_input_read(struct kc_input *in, void *buffer, size_t n, size_t *got,
                             struct kc_error *err);

/* Regular files, from any thread: up to n bytes at offset; *got < n only at the end of the file. */
enum kc_status kc_input_read_at(const struct kc_input *in, void *buffer, size_t n, uint64_t offset,
                                size_t *got, struct kc_error *err);

/* Give the open input to htslib: a new hFILE, to be closed by the caller. NULL with errno set. */
struct hFILE *kc_input_release(struct kc_input *in);

void kc_input_close(struct kc_input *in);

#endif
