#include "base/file_io.h"

#include "base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* n: what a call returned. Whether to go on with what is left. */
static bool goes_on(ssize_t n, size_t *done)
{
        if (n > 0)
                *done += (size_t)n;
        else if (n == 0)
                errno = 0;
        return n > 0 || (n < 0 && errno == EINTR);
}

size_t kc_file_read(int fd, void *to, size_t nbytes, uint64_t offset)
{
        size_t n = 0;
        while (n < nbytes &&
               goes_on(pread(fd, (char *)to + n, nbytes - n, (off_t)(offset + n)), &n))
                ;
        return n;
}

size_t kc_file_write(int fd, const void *from, size_t nbytes, uint64_t offset)
{
        size_t n = 0;
        while (n < nbytes &&
               goes_on(pwrite(fd, (const char *)from + n, nbytes - n, (off_t)(offset + n)), &n))
                ;
        return n;
}

bool kc_file_flush(int fd)
{
        int code;
        do
                code = fsync(fd);
        while (code != 0 && errno == EINTR);
        return code == 0;
}

bool kc_file_resize(int fd, uint64_t nbytes)
{
        int code;
        do
                code = ftruncate(fd, (off_t)nbytes);
        while (code != 0 && errno == EINTR);
        return code == 0;
}

bool kc_folder_flush(const char *path, int fd)
{
        char *folder = kc_path_folder(path);
        if (folder == NULL) {
                errno = ENOMEM;
                return false;
        }
        int opened = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        free(folder);
        if (opened < 0) /* a folder that may be written to but not read */
                return errno == EACCES && syncfs(fd) == 0;
        bool flushed = kc_file_flush(opened) || errno == EINVAL;
        int code = errno;
        close(opened);
        errno = code;
        return flushed;
}
