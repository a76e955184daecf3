#include "base/file_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

bool kc_file_has_name(int fd, const char *path)
{
        struct stat here, there;
        return fstat(fd, &here) == 0 && stat(path, &there) == 0 && here.st_dev == there.st_dev &&
               here.st_ino == there.st_ino;
}

static bool is_held_elsewhere(int fd, int operation)
{
        return flock(fd, operation | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

/* Lock, unless another process holds a lock for longer than readers do. */
static bool lock_soon(int fd)
{
        enum { NATTEMPTS = 10 };
        const struct timespec millisecond = { .tv_nsec = 1000000 };
        for (int attempt = 1; is_held_elsewhere(fd, LOCK_EX); attempt++) {
                if (attempt == NATTEMPTS)
                        return false;
                nanosleep(&millisecond, NULL);
        }
        return true;
}

bool kc_file_lock_shared(int fd)
{
        return !is_held_elsewhere(fd, LOCK_SH);
}

void kc_file_unlock(int fd)
{
        (void)flock(fd, LOCK_UN);
}

/* Another process may have replaced the file between our open and our lock. */
static enum kc_status take_lock(int fd, const char *path, struct kc_error *err)
{
        if (lock_soon(fd) && kc_file_has_name(fd, path))
                return KC_OK;
        return kc_fail(err, KC_EIO,
                       "%s is being changed by another process; try again when it is done", path);
}

static bool is_regular(int fd)
{
        struct stat st;
        return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

/* Lock the file open as `opened` and store the descriptor in *fd; if that fails, close it. */
static enum kc_status lock_opened(int *fd, int opened, const char *path, struct kc_error *err)
{
        enum kc_status status = take_lock(opened, path, err);
        if (status == KC_OK)
                *fd = opened;
        else
                close(opened);
        return status;
}

enum kc_status kc_file_lock(int *fd, const char *path, struct kc_error *err)
{
        /* O_NONBLOCK: opening a pipe must not block before we can see that it is one */
        int opened = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
        if (opened < 0)
                return kc_fail(err, KC_EIO, "cannot open %s for writing: %s", path,
                               strerror(errno));
        if (is_regular(opened))
                return lock_opened(fd, opened, path, err);
        close(opened);
        return kc_fail(err, KC_ECORRUPT, "%s is not a .kc file: it is not a regular file", path);
}

/* With too many open files, open() fails even if there is no file. */
static bool is_missing(const char *path)
{
        struct stat st;
        return stat(path, &st) != 0 && errno == ENOENT;
}

/* Open for writing if possible, because NFS can lock only such descriptors. */
static int open_replaced(const char *path)
{
        int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0 && (errno == EACCES || errno == EPERM || errno == EROFS || errno == ETXTBSY))
                fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        return fd;
}

enum kc_status kc_file_lock_replaced(int *fd, bool *exists, const char *path, struct kc_error *err)
{
        const int opened = open_replaced(path), code = errno;
        *fd = -1;
        *exists = opened >= 0 || !is_missing(path);
        if (opened < 0) {
                if (!*exists || code == EACCES || code == EPERM)
                        return KC_OK;
                return kc_fail(err, KC_EIO, "cannot replace %s: %s", path, strerror(code));
        }
        if (is_regular(opened))
                return lock_opened(fd, opened, path, err);
        close(opened);
        return kc_fail(err, KC_EIO, "cannot replace %s: it is not a regular file", path);
}
