#undef _FILE_OFFSET_BITS
#include "fault.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct call {
        const char *name;
        unsigned traits;
        int fd;
        const char *path;
};

static atomic_long ncalls;

static void note(const struct call *call)
{
        const char *log = getenv("KC_FAULT_LOG");
        int fd = log == NULL ? -1
                             : (int)syscall(SYS_openat, AT_FDCWD, log,
                                            O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
        if (fd < 0)
                return;
        char line[2 * PATH_MAX], link[64], path[PATH_MAX] = "";
        snprintf(link, sizeof link, "/proc/self/fd/%d", call->fd);
        if (call->path == NULL && readlink(link, path, sizeof path - 1) < 0)
                *path = '\0';
        int n = snprintf(line, sizeof line, "%s\t%s\n", call->name,
                         call->path != NULL ? call->path : path);
        syscall(SYS_write, fd, line, (size_t)n);
        syscall(SYS_close, fd);
}

static bool is(const char *variable, const char *value)
{
        const char *set = getenv(variable);
        return set != NULL && strcmp(set, value) == 0;
}

static bool is_kind(const char *kind)
{
        return is("KC_FAULT_KIND", kind);
}

/* 0: do the call; -1: do half of it, or nothing if it is a flush; else the errno to fail with. */
static int decide(const struct call *call)
{
        const char *text = getenv("KC_FAULT_AT");
        if ((getenv("KC_FAULT_ONLY") != NULL && !is("KC_FAULT_ONLY", call->name)) ||
            call->fd == STDERR_FILENO ||
            (!is("KC_FAULT_CALLS", "all") && !(call->traits & CHANGES)))
                return 0;
        long at = text == NULL ? 0 : atol(text), number = atomic_fetch_add(&ncalls, 1) + 1;
        note(call);
        if (at == 0 || number < at)
                return 0;
        if (is_kind("full"))
                return call->traits & WANTS_SPACE ? ENOSPC : 0;
        if (number > at)
                return 0;
        if (is_kind("error"))
                return EIO;
        if (is_kind("interrupt"))
                return call->traits & WAITS ? EINTR : 0;
        if (is_kind("short"))
                return call->traits & TRANSFERS ? -1 : 0;
        if (is_kind("torn") && (call->traits & TRANSFERS))
                return -1;
        if (is_kind("lie"))
                return call->traits & FLUSHES ? -1 : 0;
        if (is_kind("signal"))
                return kill(getpid(), SIGINT);
        kill(getpid(), SIGKILL);
        return EIO;
}

bool fault_fails(const char *name, unsigned traits, int fd, const char *path)
{
        struct call call = { name, traits, fd, path };
        int saved = errno, code = decide(&call);
        errno = code > 0 ? code : saved;
        return code > 0;
}

bool fault_fails_partly(const char *name, unsigned traits, int fd, size_t *nbytes, bool *half)
{
        struct call call = { name, traits | WAITS | TRANSFERS, fd, NULL };
        int saved = errno, code = decide(&call);
        errno = code > 0 ? code : saved;
        *half = code < 0;
        if (*half)
                *nbytes = (*nbytes + 1) / 2;
        return code > 0;
}

bool fault_fails_flush(const char *name, int fd, bool *lie)
{
        struct call call = { name, CHANGES | WAITS | FLUSHES, fd, NULL };
        int saved = errno, code = decide(&call);
        errno = code > 0 ? code : saved;
        *lie = code < 0;
        return code > 0;
}

void fault_ended_half(bool half)
{
        if (half && is_kind("torn"))
                kill(getpid(), SIGKILL);
}
