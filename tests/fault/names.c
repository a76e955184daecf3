/*
 * The calls that open, inspect and name files.
 */
#undef _FILE_OFFSET_BITS /* so that functions have the names that the program calls */
#include "fault.h"
#include "journal.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

/* ---- changing names ---- */

static void journal_opened(int fd, const char *path, int flags, bool existed)
{
        struct stat st;
        if ((flags & O_TMPFILE) == O_TMPFILE)
                journal_fd("tmpfile", fd, 0);
        else if ((flags & O_CREAT) && !existed && journal_stat_fd(fd, &st))
                journal_names("create", &st, path, NULL);
        else if (flags & O_TRUNC)
                journal_fd("truncate", fd, 0);
}

static int open_at(int folder, const char *path, int flags, mode_t mode)
{
        const bool nameless = (flags & O_TMPFILE) == O_TMPFILE;
        const bool changes = (flags & (O_CREAT | O_TRUNC)) || nameless;
        struct stat st;
        if (nameless && getenv("KC_FAULT_NAMED") != NULL) {
                errno = atoi(getenv("KC_FAULT_NAMED"));
                return -1;
        }
        if (fault_fails(changes ? "create" : "open", changes ? CHANGES | WANTS_SPACE : 0, -1, path))
                return -1;
        if (!changes)
                return (int)syscall(SYS_openat, folder, path, flags, mode);
        journal_lock();
        bool existed = journal_stat_path(path, true, &st);
        int fd = (int)syscall(SYS_openat, folder, path, flags, mode);
        if (fd >= 0 && folder == AT_FDCWD)
                journal_opened(fd, path, flags, existed);
        else if (fd >= 0)
                journal_names("unknown", &st, path, NULL);
        journal_unlock();
        return fd;
}

#define OPEN(declaration, folder) \
        declaration \
        { \
                va_list arguments; \
                va_start(arguments, flags); \
                mode_t mode = (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE \
                                      ? va_arg(arguments, mode_t) \
                                      : 0; \
                va_end(arguments); \
                return open_at(folder, path, flags, mode); \
        }

OPEN(int open(const char *path, int flags, ...), AT_FDCWD)
OPEN(int open64(const char *path, int flags, ...), AT_FDCWD)
OPEN(int openat(int folder, const char *path, int flags, ...), folder)
OPEN(int openat64(int folder, const char *path, int flags, ...), folder)

/* Even if close() reports an error, the descriptor is closed. */
int close(int fd)
{
        bool failing = fault_fails("close", 0, fd, NULL);
        int code = (int)syscall(SYS_close, fd);
        if (!failing)
                return code;
        errno = EIO;
        return -1;
}

static int rename_to(const char *name, const char *from, const char *to, unsigned flags)
{
        struct stat st;
        if (fault_fails(name, CHANGES, -1, from))
                return -1;
        journal_lock();
        bool found = journal_stat_path(from, false, &st);
        int code = (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, flags);
        if (code == 0 && found)
                journal_names("rename", &st, from, to);
        journal_unlock();
        return code;
}

int rename(const char *from, const char *to)
{
        return rename_to("rename", from, to, 0);
}

int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
        if (from_fd == AT_FDCWD && to_fd == AT_FDCWD && !(flags & RENAME_EXCHANGE))
                return rename_to("renameat2", from, to, flags);
        errno = ENOSYS;
        return -1;
}

int linkat(int from_fd, const char *from, int to_fd, const char *to, int flags)
{
        struct stat st;
        if (fault_fails("link", CHANGES | WANTS_SPACE, -1, to))
                return -1;
        journal_lock();
        int code = (int)syscall(SYS_linkat, from_fd, from, to_fd, to, flags);
        if (code == 0)
                journal_names(journal_stat_path(to, false, &st) ? "link" : "unknown", &st, to,
                              NULL);
        journal_unlock();
        return code;
}

int link(const char *from, const char *to)
{
        return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int unlink(const char *path)
{
        struct stat st;
        if (fault_fails("unlink", CHANGES, -1, path))
                return -1;
        journal_lock();
        bool found = journal_stat_path(path, false, &st);
        int code = (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
        if (code == 0 && found)
                journal_names("unlink", &st, path, NULL);
        journal_unlock();
        return code;
}

/* The function of libc, which does the work; its internal calls do not pass through here. */
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int mkostemp64(char *path, int flags)
{
        struct stat st;
        if (fault_fails("create", CHANGES | WANTS_SPACE, -1, path))
                return -1;
        journal_lock();
        int fd = NEXT(mkostemp64)(path, flags);
        if (fd >= 0 && journal_stat_fd(fd, &st))
                journal_names("create", &st, path, NULL);
        journal_unlock();
        return fd;
}

/* ---- inspecting files ---- */

/* glibc reads a FILE with internal calls; a cookie makes it call read() of this library. */
static ssize_t read_cookie(void *cookie, char *data, size_t nbytes)
{
        return read((int)(intptr_t)cookie, data, nbytes);
}

static int close_cookie(void *cookie)
{
        return close((int)(intptr_t)cookie);
}

FILE *fopen64(const char *path, const char *mode)
{
        const cookie_io_functions_t functions = { .read = read_cookie, .close = close_cookie };
        if (*mode != 'r' || strchr(mode, '+') != NULL)
                return NEXT(fopen64)(path, mode);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        return fd < 0 ? NULL : fopencookie((void *)(intptr_t)fd, mode, functions);
}

char *realpath(const char *path, char *resolved)
{
        if (fault_fails("realpath", 0, -1, path))
                return NULL;
        return NEXT(realpath)(path, resolved);
}

#define LOOK(name, declaration, fd, path, ...) \
        int declaration \
        { \
                if (fault_fails(#name, 0, fd, path)) \
                        return -1; \
                return (int)syscall(__VA_ARGS__); \
        }

/* clang-format off: one call a line */
LOOK(stat, stat64(const char *path, struct stat64 *st), -1, path, SYS_newfstatat, AT_FDCWD, path,
     st, 0)
LOOK(stat, stat(const char *path, struct stat *st), -1, path, SYS_newfstatat, AT_FDCWD, path, st, 0)
LOOK(lstat, lstat64(const char *path, struct stat64 *st), -1, path, SYS_newfstatat, AT_FDCWD, path,
     st, AT_SYMLINK_NOFOLLOW)
LOOK(lstat, lstat(const char *path, struct stat *st), -1, path, SYS_newfstatat, AT_FDCWD, path, st,
     AT_SYMLINK_NOFOLLOW)
LOOK(fstat, fstat64(int fd, struct stat64 *st), fd, NULL, SYS_newfstatat, fd, "", st, AT_EMPTY_PATH)
LOOK(fstat, fstat(int fd, struct stat *st), fd, NULL, SYS_newfstatat, fd, "", st, AT_EMPTY_PATH)
LOOK(fstatfs, fstatfs64(int fd, struct statfs64 *fs), fd, NULL, SYS_fstatfs, fd, fs)
LOOK(access, access(const char *path, int mode), -1, path, SYS_faccessat, AT_FDCWD, path, mode)
/* clang-format on */
