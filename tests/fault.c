/*
 * A library to be preloaded: the program's N-th call that changes a file fails, or is its last.
 *
 *      KC_FAULT_AT    which call, from 1 on; 0: none
 *      KC_FAULT_KIND  kill   SIGKILL in place of the call
 *                     torn   half of a write, then SIGKILL
 *                     full   ENOSPC, for this call and all later ones that want space
 *                     error  EIO, for this call only
 *      KC_FAULT_LOG   a file to which each call's name is appended
 */
#undef _FILE_OFFSET_BITS /* functions by the names that the program calls */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_long ncalls;

static void note(const char *name)
{
        const char *path = getenv("KC_FAULT_LOG");
        int fd = path == NULL ? -1 : open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
        if (fd < 0)
                return;
        char line[64];
        int n = snprintf(line, sizeof line, "%s\n", name);
        syscall(SYS_write, fd, line, (size_t)n);
        syscall(SYS_close, fd);
}

static int is_kind(const char *kind)
{
        const char *wanted = getenv("KC_FAULT_KIND");
        return wanted != NULL && strcmp(wanted, kind) == 0;
}

/* 0: go on; 1: this call is torn; else the errno to fail with. */
static int fault(const char *name, int wants_space)
{
        const char *text = getenv("KC_FAULT_AT");
        long at = text == NULL ? 0 : atol(text), call = atomic_fetch_add(&ncalls, 1) + 1;
        note(name);
        if (at == 0 || call < at)
                return 0;
        if (is_kind("full"))
                return wants_space ? ENOSPC : 0;
        if (call > at)
                return 0;
        if (is_kind("error"))
                return EIO;
        if (is_kind("torn") && wants_space)
                return -1;
        kill(getpid(), SIGKILL);
        return EIO;
}

ssize_t pwrite64(int fd, const void *data, size_t nbytes, off64_t offset)
{
        int code = fault("pwrite", 1);
        if (code > 0) {
                errno = code;
                return -1;
        }
        if (code < 0)
                nbytes /= 2;
        ssize_t n = syscall(SYS_pwrite64, fd, data, nbytes, offset);
        if (code < 0)
                kill(getpid(), SIGKILL);
        return n;
}

#define FAULTY(name, wants_space, declaration, number, ...) \
        int declaration; \
        int declaration \
        { \
                int code = fault(name, wants_space); \
                if (code > 0) { \
                        errno = code; \
                        return -1; \
                } \
                return (int)syscall(number, __VA_ARGS__); \
        }

FAULTY("ftruncate", 0, ftruncate64(int fd, off64_t nbytes), SYS_ftruncate, fd, nbytes)
FAULTY("fsync", 0, fsync(int fd), SYS_fsync, fd)
FAULTY("rename", 0, rename(const char *from, const char *to), SYS_rename, from, to)
FAULTY("renameat2", 0,
       renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags),
       SYS_renameat2, from_fd, from, to_fd, to, flags)
FAULTY("fallocate", 1, fallocate64(int fd, int mode, off64_t offset, off64_t nbytes), SYS_fallocate,
       fd, mode, offset, nbytes)
