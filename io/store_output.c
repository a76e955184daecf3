#include "io/store_output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

enum kc_status kc_output_create(struct kc_output *output, const char *path, bool replace,
                                struct kc_error *err)
{
        *output = (struct kc_output){ .fd = -1, .replace = replace };
        output->path = resolve(path);
        if (output->path == NULL)
                return kc_fail(err, errno == ENOMEM ? KC_ENOMEM : KC_EIO,
                               "cannot follow the link %s: %s", path, strerror(errno));
        enum kc_status status;
        KC_TRY(look_at_target(output, err));
        KC_TRY(open_temporary(output, err));
        kc_reserve_init(&output->reserve, output->fd);
out:
        return status;
}

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

enum kc_status kc_output_commit(struct kc_output *output, struct kc_error *err)
{
        int fd = output->fd;
        output->fd = -1;
        int failure = kc_reserve_trim(&output->reserve) ? 0 : errno;
        if (close(fd) != 0 && failure == 0)
                failure = errno;
        if (failure != 0)
                return kc_fail(err, KC_EIO, "cannot write %s: %s", output->path, strerror(failure));
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

void kc_output_discard(struct kc_output *output)
{
        kc_reserve_destroy(&output->reserve); /* before the descriptor's number is another file's */
        if (output->fd >= 0)
                close(output->fd); /* the file goes away: what it lost does not matter */
        if (output->temporary != NULL)
                unlink(output->temporary);
        free(output->temporary);
        free(output->path);
        *output = (struct kc_output){ .fd = -1 };
}
