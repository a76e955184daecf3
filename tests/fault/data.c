/*
 * The calls that read and change the content of files.
 */
#undef _FILE_OFFSET_BITS /* so that functions have the names that the program calls */
#include "fault.h"
#include "journal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

ssize_t read(int fd, void *data, size_t nbytes)
{
        bool half;
        if (fault_fails_partly("read", 0, fd, &nbytes, &half))
                return -1;
        return syscall(SYS_read, fd, data, nbytes);
}

ssize_t pread64(int fd, void *data, size_t nbytes, off64_t offset)
{
        bool half;
        if (fault_fails_partly("pread", 0, fd, &nbytes, &half))
                return -1;
        return syscall(SYS_pread64, fd, data, nbytes, offset);
}

ssize_t write(int fd, const void *data, size_t nbytes)
{
        bool half;
        if (fault_fails_partly("write", CHANGES | WANTS_SPACE, fd, &nbytes, &half))
                return -1;
        journal_lock();
        ssize_t n = syscall(SYS_write, fd, data, nbytes);
        if (n > 0)
                journal_write(fd, data, (size_t)n, syscall(SYS_lseek, fd, 0, SEEK_CUR) - n);
        journal_unlock();
        fault_ended_half(half);
        return n;
}

ssize_t pwrite64(int fd, const void *data, size_t nbytes, off64_t offset)
{
        bool half;
        if (fault_fails_partly("pwrite", CHANGES | WANTS_SPACE, fd, &nbytes, &half))
                return -1;
        journal_lock();
        ssize_t n = syscall(SYS_pwrite64, fd, data, nbytes, offset);
        if (n > 0)
                journal_write(fd, data, (size_t)n, offset);
        journal_unlock();
        fault_ended_half(half);
        return n;
}

/* Half of the call is half of its first piece. */
ssize_t pwritev64(int fd, const struct iovec *pieces, int npieces, off64_t offset)
{
        size_t nbytes = pieces[0].iov_len;
        bool half;
        if (fault_fails_partly("pwritev", CHANGES | WANTS_SPACE, fd, &nbytes, &half))
                return -1;
        struct iovec first = { pieces[0].iov_base, nbytes };
        if (half) {
                pieces = &first;
                npieces = 1;
        }
        journal_lock();
        ssize_t n = syscall(SYS_pwritev, fd, pieces, npieces, offset, 0), left = n;
        for (int i = 0; i < npieces && left > 0; i++) {
                size_t m = pieces[i].iov_len < (size_t)left ? pieces[i].iov_len : (size_t)left;
                journal_write(fd, pieces[i].iov_base, m, offset + n - left);
                left -= (ssize_t)m;
        }
        journal_unlock();
        fault_ended_half(half);
        return n;
}

int ftruncate64(int fd, off64_t nbytes)
{
        if (fault_fails("ftruncate", CHANGES | WAITS, fd, NULL))
                return -1;
        journal_lock();
        int code = (int)syscall(SYS_ftruncate, fd, nbytes);
        if (code == 0)
                journal_fd("truncate", fd, nbytes);
        journal_unlock();
        return code;
}

int fallocate64(int fd, int mode, off64_t offset, off64_t nbytes)
{
        const bool frees = (mode & FALLOC_FL_PUNCH_HOLE) != 0;
        if (frees ? fault_fails("punch", CHANGES | WAITS, fd, NULL)
                  : fault_fails("fallocate", CHANGES | WANTS_SPACE | WAITS, fd, NULL))
                return -1;
        if (journal_is_on()) {
                errno = EOPNOTSUPP;
                return -1;
        }
        return (int)syscall(SYS_fallocate, fd, mode, offset, nbytes);
}

static int sync_file(const char *name, long number, int fd)
{
        bool lie;
        if (fault_fails_flush(name, fd, &lie))
                return -1;
        if (lie)
                return 0;
        journal_lock();
        int code = (int)syscall(number, fd);
        if (code == 0)
                journal_sync(fd);
        journal_unlock();
        return code;
}

int fsync(int fd)
{
        return sync_file("fsync", SYS_fsync, fd);
}

int fdatasync(int fd)
{
        return sync_file("fdatasync", SYS_fdatasync, fd);
}

int fchmod(int fd, mode_t mode)
{
        if (fault_fails("fchmod", CHANGES, fd, NULL))
                return -1;
        journal_lock();
        int code = (int)syscall(SYS_fchmod, fd, mode);
        if (code == 0)
                journal_fd("mode", fd, mode);
        journal_unlock();
        return code;
}

int flock(int fd, int operation)
{
        if (fault_fails("flock", WAITS, fd, NULL))
                return -1;
        return (int)syscall(SYS_flock, fd, operation);
}

/* Writes to a shared mapping cannot be recorded, so with a journal there are no such mappings. */
void *mmap64(void *at, size_t nbytes, int protection, int flags, int fd, off64_t offset)
{
        if (fd >= 0 && fault_fails("mmap", 0, fd, NULL))
                return MAP_FAILED;
        if (fd >= 0 && journal_is_on() && (flags & MAP_SHARED) && (protection & PROT_WRITE)) {
                errno = ENODEV;
                return MAP_FAILED;
        }
        return (void *)syscall(SYS_mmap, at, nbytes, protection, flags, fd, offset);
}
