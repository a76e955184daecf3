#include "io/formats/out.h"

#include "base/file_io.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUFFER_NBYTES = 64 << 10 };

enum kc_status kc_export_out_open(struct kc_export_out *out, char *path,
                                  const struct kc_new_file_options *options, struct kc_error *err)
{
        *out = (struct kc_export_out){ .path = path, .file = { .fd = -1, .lock = -1 } };
        out->buffer = malloc(BUFFER_NBYTES);
        if (path == NULL || out->buffer == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for an output");
        return kc_new_file_create(&out->file, path, options, err);
}

static enum kc_status write_all(struct kc_export_out *out, const char *data, size_t nbytes,
                                uint64_t offset, struct kc_error *err)
{
        if (kc_file_write(out->file.fd, data, nbytes, offset) == nbytes)
                return KC_OK;
        return kc_fail(err, KC_EIO, "cannot write to %s: %s", out->path,
                       errno != 0 ? kc_strerror(errno) : "nothing was written");
}

enum kc_status kc_export_out_flush(struct kc_export_out *out, struct kc_error *err)
{
        const size_t used = out->used;
        out->used = 0;
        return write_all(out, out->buffer, used, out->nbytes - used, err);
}

enum kc_status kc_export_out_write(struct kc_export_out *out, const void *data, size_t nbytes,
                                   struct kc_error *err)
{
        enum kc_status status = KC_OK;
        if (nbytes > BUFFER_NBYTES - out->used)
                KC_TRY(kc_export_out_flush(out, err));
        if (nbytes > BUFFER_NBYTES) {
                KC_TRY(write_all(out, data, nbytes, out->nbytes, err));
        } else {
                memcpy(out->buffer + out->used, data, nbytes);
                out->used += nbytes;
        }
        out->nbytes += nbytes;
out:
        return status;
}

enum kc_status kc_export_out_patch(struct kc_export_out *out, const void *data, size_t nbytes,
                                   uint64_t offset, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(kc_export_out_flush(out, err));
        KC_TRY(write_all(out, data, nbytes, offset, err));
out:
        return status;
}

void kc_export_out_close(struct kc_export_out *out)
{
        kc_new_file_discard(&out->file);
        free(out->path);
        free(out->buffer);
}
