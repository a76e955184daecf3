#undef _FILE_OFFSET_BITS
#include "journal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const char *journal(void)
{
        return getenv("KC_FAULT_JOURNAL");
}

bool journal_is_on(void)
{
        return journal() != NULL;
}

void journal_lock(void)
{
        if (journal_is_on())
                pthread_mutex_lock(&lock);
}

void journal_unlock(void)
{
        if (journal_is_on())
                pthread_mutex_unlock(&lock);
}

bool journal_stat_fd(int fd, struct stat *st)
{
        return syscall(SYS_newfstatat, fd, "", st, AT_EMPTY_PATH) == 0;
}

bool journal_stat_path(const char *path, bool follow, struct stat *st)
{
        return syscall(SYS_newfstatat, AT_FDCWD, path, st, follow ? 0 : AT_SYMLINK_NOFOLLOW) == 0;
}

struct piece {
        const void *data;
        size_t nbytes;
};

/* Append a record in one write; called with the lock held. A journal that cannot be written would
 * hide what the program does, so abort the program. */
static void append(const char *call, const struct stat *st, long long a, int b, struct piece path,
                   struct piece second, struct piece data)
{
        char line[256];
        int n = snprintf(line, sizeof line, "%s %llu:%llu %lld %d %zu %zu %zu\n", call,
                         (unsigned long long)st->st_dev, (unsigned long long)st->st_ino, a, b,
                         path.nbytes, second.nbytes, data.nbytes);
        struct iovec parts[] = { { line, (size_t)n },
                                 { (void *)path.data, path.nbytes },
                                 { (void *)second.data, second.nbytes },
                                 { (void *)data.data, data.nbytes } };
        size_t total = (size_t)n + path.nbytes + second.nbytes + data.nbytes;
        int fd = (int)syscall(SYS_openat, AT_FDCWD, journal(),
                              O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
        if (fd < 0 || syscall(SYS_writev, fd, parts, 4) != (long)total)
                abort();
        syscall(SYS_close, fd);
}

static struct piece text(const char *s)
{
        return (struct piece){ s, s == NULL ? 0 : strlen(s) };
}

/* Paths are relative to the working folder at the time of the call. */
static char *absolute(char *buffer, const char *path)
{
        if (path == NULL)
                return NULL;
        if (*path == '/' || getcwd(buffer, PATH_MAX) == NULL)
                *buffer = '\0';
        size_t used = strlen(buffer);
        snprintf(buffer + used, PATH_MAX - used, "%s%s", used > 0 ? "/" : "", path);
        return buffer;
}

void journal_names(const char *call, const struct stat *st, const char *path, const char *second)
{
        char first_path[PATH_MAX], second_path[PATH_MAX];
        int saved = errno;
        if (journal_is_on())
                append(call, st, 0, 0, text(absolute(first_path, path)),
                       text(absolute(second_path, second)), text(NULL));
        errno = saved;
}

static void record_fd(const char *call, int fd, long long a, struct piece data)
{
        struct stat st;
        int saved = errno;
        if (journal_is_on() && journal_stat_fd(fd, &st) && S_ISREG(st.st_mode))
                append(call, &st, a, 0, text(NULL), text(NULL), data);
        errno = saved;
}

void journal_fd(const char *call, int fd, long long a)
{
        record_fd(call, fd, a, text(NULL));
}

void journal_write(int fd, const void *data, size_t nbytes, long long offset)
{
        record_fd("write", fd, offset, (struct piece){ data, nbytes });
}

void journal_sync(int fd)
{
        struct stat st;
        char link[64], path[PATH_MAX];
        int saved = errno;
        if (!journal_is_on() || !journal_stat_fd(fd, &st))
                return;
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t n = readlink(link, path, sizeof path - 1);
        path[n > 0 ? n : 0] = '\0';
        append("sync", &st, 0, S_ISDIR(st.st_mode), text(path), text(NULL), text(NULL));
        errno = saved;
}
