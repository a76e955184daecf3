/*
 * A library to be preloaded: a file system without O_TMPFILE.
 */
#undef _FILE_OFFSET_BITS /* functions by the names that the program calls */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

int open64(const char *path, int flags, ...)
{
        va_list args;
        va_start(args, flags);
        const int nameless = (flags & O_TMPFILE) == O_TMPFILE; /* O_DIRECTORY is a part of it */
        unsigned mode = (flags & O_CREAT) || nameless ? va_arg(args, unsigned) : 0;
        va_end(args);
        if (nameless) {
                errno = EOPNOTSUPP;
                return -1;
        }
        return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
