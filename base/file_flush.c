#include "base/file_flush.h"

#include "base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

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
