#include "io/store_output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static enum kc_status exists(const char *path, struct kc_error *err)
{
        return kc_fail(err, KC_EEXIST,
                       "%s exists already; choose another name with -o, or replace it with --force",
                       path);
}

/* A link is followed, so that the file that it names is the one replaced. */
static char *resolve(const char *path)
{
        struct stat st;
        if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
                return realpath(path, NULL);
        return strdup(path);
}

static enum kc_status look_at_target(const struct kc_output *output, struct kc_error *err)
{
        struct stat st;
        if (stat(output->path, &st) != 0) {
                if (errno == ENOENT)
                        return KC_OK;
                return kc_fail(err, KC_EIO, "cannot create %s: %s", output->path, strerror(errno));
        }
        if (!S_ISREG(st.st_mode))
                return kc_fail(
                        err, KC_EIO, "cannot write to %s: it is %s; choose another name with -o",
                        output->path, S_ISDIR(st.st_mode) ? "a directory" : "not a regular file");
        return output->replace ? KC_OK : exists(output->path, err);
}

/* open() and not mkstemp(), so that the umask decides on the mode as for any other file. */
static enum kc_status open_temporary(struct kc_output *output, struct kc_error *err)
{
        enum { NATTEMPTS = 100 };
        size_t cap = strlen(output->path) + 48;
        output->temporary = malloc(cap);
        if (output->temporary == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for a file name");
        for (int attempt = 0; attempt < NATTEMPTS; attempt++) {
                int n = snprintf(output->temporary, cap, "%s.tmp.%ld", output->path,
                                 (long)getpid());
                if (attempt > 0)
                        snprintf(output->temporary + n, cap - (size_t)n, ".%d", attempt);
                output->fd = open(output->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
                if (output->fd >= 0)
                        return KC_OK;
                if (errno != EEXIST)
                        break;
        }
        kc_fail(err, KC_EIO, "cannot create %s: %s", output->temporary, strerror(errno));
        free(output->temporary);
        output->temporary = NULL;
        return KC_EIO;
}

static enum kc_status set_path(struct kc_output *output, const char *path, struct kc_error *err)
{
        output->path = resolve(path);
        if (output->path != NULL)
                return KC_OK;
        return kc_fail(err, errno == ENOMEM ? KC_ENOMEM : KC_EIO, "cannot follow the link %s: %s",
                       path, strerror(errno));
}

static enum kc_status take_over_mode(const struct kc_output *output, struct kc_error *err)
{
        struct stat st;
        if (stat(output->path, &st) != 0)
                return KC_OK; /* nothing is replaced */
        if (fchmod(output->fd, st.st_mode & 0777) == 0)
                return KC_OK;
        return kc_fail(err, KC_EIO, "cannot set the mode of %s: %s", output->temporary,
                       strerror(errno));
}

enum kc_status kc_output_create(struct kc_output *output, const char *path, bool replace,
                                bool careful, struct kc_error *err)
{
        enum kc_status status;
        *output = (struct kc_output){ .fd = -1, .replace = replace, .careful = careful };
        KC_TRY(set_path(output, path, err));
        KC_TRY(look_at_target(output, err));
        KC_TRY(open_temporary(output, err));
        if (careful)
                KC_TRY(take_over_mode(output, err));
        kc_reserve_init(&output->reserve, output->fd);
out:
        return status;
}

/* ---- files that are appended to ---- */

/* A file system without locks is no reason to refuse. */
static bool is_held(int fd)
{
        return flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

/* Whether another file has taken the name since fd was opened. */
static bool is_replaced(int fd, const char *path)
{
        struct stat here, there;
        return fstat(fd, &here) != 0 || stat(path, &there) != 0 || here.st_dev != there.st_dev ||
               here.st_ino != there.st_ino;
}

static enum kc_status check_locked(int fd, const char *path, struct kc_error *err)
{
        struct stat st;
        if (fstat(fd, &st) != 0)
                return kc_fail(err, KC_EIO, "cannot open %s: %s", path, strerror(errno));
        if (!S_ISREG(st.st_mode))
                return kc_fail(err, KC_ECORRUPT, "%s is not a .kc file: it is no regular file",
                               path);
        if (is_held(fd) || is_replaced(fd, path))
                return kc_fail(err, KC_EIO,
                               "%s is being changed by another process; try again when it is done",
                               path);
        return KC_OK;
}

enum kc_status kc_output_lock(int *fd, const char *path, struct kc_error *err)
{
        /* O_NONBLOCK: a pipe must not make us wait before we can see what it is */
        int opened = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
        if (opened < 0)
                return kc_fail(err, KC_EIO, "cannot open %s for writing: %s", path,
                               strerror(errno));
        enum kc_status status = check_locked(opened, path, err);
        if (status == KC_OK)
                *fd = opened;
        else
                close(opened);
        return status;
}

enum kc_status kc_output_append(struct kc_output *output, const char *path, struct kc_error *err)
{
        enum kc_status status;
        struct stat st;
        *output = (struct kc_output){ .fd = -1 };
        KC_TRY(set_path(output, path, err));
        KC_TRY(kc_output_lock(&output->fd, output->path, err));
        if (fstat(output->fd, &st) != 0)
                return kc_fail(err, KC_EIO, "cannot open %s: %s", path, strerror(errno));
        output->kept_nbytes = (uint64_t)st.st_size;
        kc_reserve_init(&output->reserve, output->fd);
out:
        return status;
}

static int cut(int fd, uint64_t nbytes)
{
        struct stat st;
        if (fstat(fd, &st) == 0 && (uint64_t)st.st_size <= nbytes)
                return 0;
        return ftruncate(fd, (off_t)nbytes);
}

enum kc_status kc_output_keep(struct kc_output *output, uint64_t nbytes, struct kc_error *err)
{
        if (cut(output->fd, nbytes) != 0)
                return kc_fail(err, KC_EIO, "cannot shorten %s to %llu bytes: %s", output->path,
                               (unsigned long long)nbytes, strerror(errno));
        /* Nothing old may reappear behind what is written now when the machine crashes. */
        if (nbytes < output->kept_nbytes && fsync(output->fd) != 0)
                return kc_fail(err, KC_EIO, "cannot write %s: %s", output->path, strerror(errno));
        output->kept_nbytes = nbytes;
        kc_reserve_destroy(&output->reserve);
        kc_reserve_init(&output->reserve, output->fd);
        return KC_OK;
}

/* ---- writing ---- */

static enum kc_status write_all(const struct kc_output *output, const char *from, size_t nbytes,
                                uint64_t offset, struct kc_error *err)
{
        while (nbytes > 0) {
                ssize_t n = pwrite(output->fd, from, nbytes, (off_t)offset);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return kc_fail(err, KC_EIO, "cannot write %s at offset %llu: %s",
                                       output->path, (unsigned long long)offset,
                                       n < 0 ? strerror(errno) : "nothing was written");
                from += n;
                offset += (uint64_t)n;
                nbytes -= (size_t)n;
        }
        return KC_OK;
}

enum kc_status kc_output_pwrite(struct kc_output *output, const void *data, size_t nbytes,
                                uint64_t offset, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        if (!kc_reserve_begin(&output->reserve, data, nbytes, offset))
                status = write_all(output, data, nbytes, offset, err);
        kc_reserve_end(&output->reserve);
        return status;
}

enum kc_status kc_output_sync(struct kc_output *output, struct kc_error *err)
{
        if (kc_reserve_trim(&output->reserve) && fsync(output->fd) == 0)
                return KC_OK;
        return kc_fail(err, KC_EIO, "cannot write %s: %s", output->path, strerror(errno));
}

static int rename_anew(const char *from, const char *to)
{
        if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
                return 0;
        if (errno != EINVAL && errno != ENOSYS)
                return -1;
        /* a file system without that flag: a hard link never replaces either */
        if (link(from, to) != 0)
                return -1;
        return unlink(from);
}

static enum kc_status close_checked(struct kc_output *output, struct kc_error *err)
{
        int fd = output->fd;
        output->fd = -1;
        int failure = kc_reserve_trim(&output->reserve) ? 0 : errno;
        kc_reserve_destroy(&output->reserve); /* before the descriptor's number is another file's */
        if (close(fd) != 0 && failure == 0)
                failure = errno;
        if (failure == 0)
                return KC_OK;
        return kc_fail(err, KC_EIO, "cannot write %s: %s", output->path, strerror(failure));
}

static enum kc_status give_name(struct kc_output *output, struct kc_error *err)
{
        int code = output->replace ? rename(output->temporary, output->path)
                                   : rename_anew(output->temporary, output->path);
        if (code != 0 && errno == EEXIST)
                return exists(output->path, err);
        if (code != 0)
                return kc_fail(err, KC_EIO, "cannot rename %s to %s: %s", output->temporary,
                               output->path, strerror(errno));
        free(output->temporary);
        output->temporary = NULL;
        return KC_OK;
}

enum kc_status kc_output_commit(struct kc_output *output, struct kc_error *err)
{
        enum kc_status status;
        if (output->careful)
                KC_TRY(kc_output_sync(output, err));
        KC_TRY(close_checked(output, err));
        if (output->temporary != NULL)
                KC_TRY(give_name(output, err));
out:
        return status;
}

void kc_output_discard(struct kc_output *output)
{
        kc_reserve_destroy(&output->reserve); /* before the descriptor's number is another file's */
        if (output->fd >= 0) {
                /* an appended tail that cannot be cut off is harmless: the footer lies before it */
                if (output->temporary == NULL && !output->is_final)
                        cut(output->fd, output->kept_nbytes);
                close(output->fd); /* the file goes away: what it lost does not matter */
        }
        if (output->temporary != NULL)
                unlink(output->temporary);
        free(output->temporary);
        free(output->path);
        *output = (struct kc_output){ .fd = -1 };
}
