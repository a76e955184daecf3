#include "io/store/output.h"

#include "base/file_io.h"
#include "base/file_lock.h"
#include "base/temp_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum kc_status kc_output_create(struct kc_output *output, const char *path,
                                const struct kc_new_file_options *options, struct kc_error *err)
{
        *output = (struct kc_output){ 0 };
        enum kc_status status = kc_new_file_create(&output->file, path, options, err);
        output->path = output->file.path;
        if (status == KC_OK)
                kc_reserve_init(&output->reserve, output->file.fd);
        return status;
}

/* ---- files that are appended to ---- */

enum kc_status kc_output_append(struct kc_output *output, const char *path, struct kc_error *err)
{
        enum kc_status status;
        struct stat st;
        *output = (struct kc_output){ .file = { .fd = -1, .lock = -1 } };
        output->path = output->file.path = kc_path_follow(path);
        if (output->path == NULL)
                return kc_fail(err, errno == ENOMEM ? KC_ENOMEM : KC_EIO, "cannot open %s: %s",
                               path, strerror(errno));
        KC_TRY(kc_file_lock(&output->file.fd, output->path, err));
        if (fstat(output->file.fd, &st) != 0)
                return kc_fail(err, KC_EIO, "cannot open %s: %s", path, strerror(errno));
        /* the command that made the file may not have flushed its name */
        if (!kc_folder_flush(output->path, output->file.fd))
                return kc_fail(err, KC_EIO, "cannot flush the folder of %s to the disk: %s", path,
                               strerror(errno));
        output->kept_nbytes = (uint64_t)st.st_size;
        output->appends = true; /* from now on a failure may cut off what is appended, and only
                                   that */
        kc_reserve_init(&output->reserve, output->file.fd);
out:
        return status;
}

static int cut(int fd, uint64_t nbytes)
{
        struct stat st;
        if (fstat(fd, &st) == 0 && (uint64_t)st.st_size <= nbytes)
                return 0;
        return kc_file_resize(fd, nbytes) ? 0 : -1;
}

enum kc_status kc_output_keep(struct kc_output *output, uint64_t nbytes, struct kc_error *err)
{
        if (cut(output->file.fd, nbytes) != 0)
                return kc_fail(err, KC_EIO, "cannot shorten %s to %llu bytes: %s", output->path,
                               (unsigned long long)nbytes, kc_strerror(errno));
        /* After a crash of the machine, nothing old may reappear after what is written now. */
        if (nbytes < output->kept_nbytes && !kc_file_flush(output->file.fd))
                return kc_fail(err, KC_EIO, "cannot write %s: %s", output->path,
                               kc_strerror(errno));
        output->kept_nbytes = nbytes;
        kc_reserve_destroy(&output->reserve);
        kc_reserve_init(&output->reserve, output->file.fd);
        return KC_OK;
}

/* ---- writing ---- */

enum kc_status kc_pwrite_all(int fd, const char *path, const void *data, size_t nbytes,
                             uint64_t offset, struct kc_error *err)
{
        const size_t n = kc_file_write(fd, data, nbytes, offset);
        if (n == nbytes)
                return KC_OK;
        return kc_fail(err, KC_EIO, "cannot write %s at offset %llu: %s", path,
                       (unsigned long long)(offset + n),
                       errno != 0 ? kc_strerror(errno) : "nothing was written");
}

enum kc_status kc_output_pwrite(struct kc_output *output, const void *data, size_t nbytes,
                                uint64_t offset, struct kc_error *err)
{
        const int fd = output->file.fd;
        enum kc_status status = KC_OK;
        if (!kc_reserve_begin(&output->reserve, data, nbytes, offset))
                status = output->tmp_folder != NULL
                                 ? kc_temp_file_write(output->tmp_folder, fd, data, nbytes, offset,
                                                      err)
                                 : kc_pwrite_all(fd, output->path, data, nbytes, offset, err);
        kc_reserve_end(&output->reserve);
        return status;
}

enum kc_status kc_output_sync(struct kc_output *output, struct kc_error *err)
{
        if (kc_reserve_trim(&output->reserve) && kc_file_flush(output->file.fd))
                return KC_OK;
        return kc_fail(err, KC_EIO, "cannot write %s: %s", output->path, kc_strerror(errno));
}

/* ---- the end ---- */

static enum kc_status trim(struct kc_output *output, struct kc_error *err)
{
        bool trimmed = kc_reserve_trim(&output->reserve);
        int code = errno;
        kc_reserve_destroy(&output->reserve); /* before the descriptor's number is reused */
        if (trimmed)
                return KC_OK;
        return kc_fail(err, KC_EIO, "cannot write %s: %s", output->path, strerror(code));
}

/* kcount locks a file that it changes, but other programs ignore that, and some file systems have
 * no locks: then what was appended may be in a file that no longer has a name. */
static enum kc_status end_append(struct kc_output *output, struct kc_error *err)
{
        if (!kc_file_has_name(output->file.fd, output->path))
                return kc_fail(
                        err, KC_EIO,
                        "%s was removed or replaced by another process in the meantime: what this "
                        "command added to it is lost; run the command again",
                        output->path);
        int fd = output->file.fd;
        output->file.fd = -1;
        if (close(fd) == 0)
                return KC_OK;
        return kc_fail(err, KC_EIO, "cannot write %s: %s", output->path, strerror(errno));
}

enum kc_status kc_output_commit(struct kc_output *output, struct kc_error *err)
{
        enum kc_status status;
        if (!output->appends)
                return kc_outputs_commit(&output, 1, err);
        KC_TRY(trim(output, err));
        KC_TRY(end_append(output, err));
out:
        return status;
}

enum kc_status kc_outputs_commit(struct kc_output *const *outputs, size_t n, struct kc_error *err)
{
        enum kc_status status;
        struct kc_new_file **files = malloc(n * sizeof(struct kc_new_file *));
        if (files == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for writing %s", outputs[0]->path);
        for (size_t i = 0; i < n; i++) {
                KC_TRY(trim(outputs[i], err));
                files[i] = &outputs[i]->file;
        }
        KC_TRY(kc_new_files_commit(files, n, err));
out:
        free(files);
        return status;
}

enum kc_status kc_output_take(struct kc_output *output, int *fd, struct kc_error *err)
{
        const enum kc_status status = trim(output, err);
        return status == KC_OK ? kc_new_file_take(&output->file, fd, err) : status;
}

void kc_output_discard(struct kc_output *output)
{
        kc_reserve_destroy(&output->reserve); /* before the descriptor's number is reused */
        /* an appended tail that cannot be cut off is harmless: the footer lies before it */
        if (output->file.fd >= 0 && output->appends && !output->is_final)
                cut(output->file.fd, output->kept_nbytes);
        kc_new_file_discard(&output->file);
        *output = (struct kc_output){ .file = { .fd = -1, .lock = -1 } };
}
