/*
 * Files without a name: O_TMPFILE, or a name that is taken away at once. Reads and writes go on
 * where a signal or the system cuts them short.
 */
#include "gpu/nameless_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Also where the file system cannot open a file without a name. */
static int open_and_unlink(const char *folder)
{
        size_t cap = strlen(folder) + sizeof "/kcount.XXXXXX";
        char *path = (char *)malloc(cap);
        if (path == NULL)
                return -1;
        snprintf(path, cap, "%s/kcount.XXXXXX", folder);
        int fd = mkostemp(path, O_CLOEXEC);
        if (fd >= 0)
                (void)unlink(path);
        free(path);
        return fd;
}

enum kc_status kc_nameless_file(const char *folder, int *fd, struct kc_error *err)
{
        *fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        if (*fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL))
                *fd = open_and_unlink(folder);
        if (*fd < 0)
                return kc_fail(err, KC_EIO,
                               "cannot create a temporary file in %s: %s; choose another folder "
                               "with --tmp",
                               folder, strerror(errno));
        return KC_OK;
}

enum kc_status kc_nameless_write(const char *folder, int fd, const void *data, size_t nbytes,
                                 uint64_t offset, struct kc_error *err)
{
        const char *from = (const char *)data;
        while (nbytes > 0) {
                ssize_t n = pwrite(fd, from, nbytes, (off_t)offset);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return kc_fail(err, KC_EIO,
                                       "cannot write to a temporary file in %s: %s; choose another "
                                       "folder with --tmp",
                                       folder, n < 0 ? strerror(errno) : "nothing was written");
                from += n;
                offset += (uint64_t)n;
                nbytes -= (size_t)n;
        }
        return KC_OK;
}

enum kc_status kc_nameless_read(const char *folder, int fd, void *data, size_t nbytes,
                                uint64_t offset, struct kc_error *err)
{
        char *to = (char *)data;
        while (nbytes > 0) {
                ssize_t n = pread(fd, to, nbytes, (off_t)offset);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return kc_fail(err, KC_EIO, "cannot read a temporary file in %s: %s",
                                       folder, n < 0 ? strerror(errno) : "it has become shorter");
                to += n;
                offset += (uint64_t)n;
                nbytes -= (size_t)n;
        }
        return KC_OK;
}
