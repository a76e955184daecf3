/*
 * An export's file while it is being written: bytes are appended through a buffer, and earlier
 * bytes can be replaced. Every write is checked.
 */
#ifndef KC_FORMATS_OUT_H
#define KC_FORMATS_OUT_H

#include "base/new_file.h"
#include "base/status.h"

#include <stdint.h>

struct kc_export_out {
        struct kc_new_file file;
        char *path;      /* for messages */
        char *buffer;    /* what is not written yet */
        size_t used;     /* of it */
        uint64_t nbytes; /* of the file, with the buffer */
};

/* path: from malloc; owned by out now, even on failure. Fails like kc_new_file_create; KC_ENOMEM,
 * also if path is NULL. Pass out to kc_export_out_close in any case. */
enum kc_status kc_export_out_open(struct kc_export_out *out, char *path,
                                  const struct kc_new_file_options *options, struct kc_error *err);

/* Append. KC_EIO. */
enum kc_status kc_export_out_write(struct kc_export_out *out, const void *data, size_t nbytes,
                                   struct kc_error *err);

/* Replace bytes that were appended before. KC_EIO. */
enum kc_status kc_export_out_patch(struct kc_export_out *out, const void *data, size_t nbytes,
                                   uint64_t offset, struct kc_error *err);

/* Write what is in the buffer. KC_EIO. */
enum kc_status kc_export_out_flush(struct kc_export_out *out, struct kc_error *err);

void kc_export_out_close(struct kc_export_out *out);

#endif
