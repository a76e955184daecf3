#include "base/temp_file.h"

#include "base/file_io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PAGE_NBYTES = 4096 };

static int open_and_unlink(const char *folder)
{
        char *path;
        if (asprintf(&path, "%s/kcount.XXXXXX", folder) < 0)
                return -1;
        int fd = mkostemp(path, O_CLOEXEC);
        int code = errno;
        if (fd >= 0)
                (void)unlink(path);
        free(path);
        errno = code;
        return fd;
}

/* /proc and the like refuse to create files with ENOENT. */
static const char *why_not(const char *folder, int code)
{
        return code == ENOENT && access(folder, F_OK) == 0 ? "no file can be created there"
                                                           : kc_strerror(code);
}

enum kc_status kc_temp_file_open(const char *folder, int *fd, struct kc_error *err)
{
        *fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        /* File systems and kernels without O_TMPFILE report that in different ways. If creating and
         * unlinking a file fails too, its error is the one that the user can act on. */
        if (*fd < 0)
                *fd = open_and_unlink(folder);
        if (*fd < 0)
                return kc_fail_remedy(err, KC_EIO, KC_REMEDY_OTHER_TMP,
                                      "cannot create a temporary file in %s: %s", folder,
                                      why_not(folder, errno));
        return KC_OK;
}

enum kc_status kc_temp_file_try(const char *folder, struct kc_error *err)
{
        int fd;
        const enum kc_status status = kc_temp_file_open(folder, &fd, err);
        if (status == KC_OK)
                close(fd);
        return status;
}

enum kc_status kc_temp_file_write_failed(const char *folder, int code, struct kc_error *err)
{
        return kc_fail_remedy(err, KC_EIO, KC_REMEDY_ROOMIER_TMP | KC_REMEDY_MORE_MEMORY,
                              "cannot write to a temporary file in %s: %s", folder,
                              code == 0 ? "nothing was written" : kc_strerror(code));
}

enum kc_status kc_temp_file_write(const char *folder, int fd, const void *data, size_t nbytes,
                                  uint64_t offset, struct kc_error *err)
{
        if (kc_file_write(fd, data, nbytes, offset) == nbytes)
                return KC_OK;
        return kc_temp_file_write_failed(folder, errno, err);
}

enum kc_status kc_temp_file_read(const char *folder, int fd, void *data, size_t nbytes,
                                 uint64_t offset, struct kc_error *err)
{
        if (kc_file_read(fd, data, nbytes, offset) == nbytes)
                return KC_OK;
        return kc_fail(err, KC_EIO, "cannot read a temporary file in %s: %s", folder,
                       errno != 0 ? kc_strerror(errno) : "it has become shorter");
}

void kc_temp_file_punch(int fd, uint64_t offset, uint64_t nbytes)
{
        /* Parts of pages would be read, cleared and written again. */
        const uint64_t first = (offset + PAGE_NBYTES - 1) / PAGE_NBYTES * PAGE_NBYTES;
        const uint64_t end = (offset + nbytes) / PAGE_NBYTES * PAGE_NBYTES;
        if (first < end)
                (void)fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)first,
                                (off_t)(end - first));
}
