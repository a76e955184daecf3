#include "base/new_file.h"

#include "base/file_io.h"
#include "base/file_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
        NATTEMPTS = 100,    /* to find a free name */
        MAX_LINKS = 40,     /* followed, as by the kernel */
        MAX_TEMPORARY = 143 /* bytes of a temporary name: every file system allows that many */
};

/* ---- paths ---- */

/* Bytes of path before its last component. */
static size_t folder_nbytes(const char *path)
{
        const char *slash = strrchr(path, '/');
        return slash == NULL ? 0 : (size_t)(slash - path) + 1;
}

char *kc_path_folder(const char *path)
{
        size_t nbytes = folder_nbytes(path);
        if (nbytes == 0)
                return strdup(".");
        return strndup(path, nbytes > 1 ? nbytes - 1 : 1);
}

bool kc_path_is_folder(const char *path)
{
        struct stat found;
        return stat(path, &found) == 0 && S_ISDIR(found.st_mode);
}

char *kc_path_follow(const char *path)
{
        char target[PATH_MAX], *at = strdup(path);
        for (int i = 0; at != NULL && i < MAX_LINKS; i++) {
                ssize_t n = readlink(at, target, sizeof target);
                if (n < 0)
                        return at;
                const int nfolder = target[0] == '/' ? 0 : (int)folder_nbytes(at);
                char *next;
                if (asprintf(&next, "%.*s%.*s", nfolder, at, (int)n, target) < 0)
                        next = NULL;
                free(at);
                at = next;
        }
        errno = at == NULL ? ENOMEM : ELOOP;
        free(at);
        return NULL;
}

/* A name beside path. A long one is truncated, but not within a UTF-8 character. */
static char *name_beside(const char *path, int attempt)
{
        char suffix[48], *name;
        const char *base = path + folder_nbytes(path);
        const int nsuffix = snprintf(suffix, sizeof suffix, ".tmp.%ld.%d", (long)getpid(), attempt);
        size_t n = strlen(base);
        if (n > MAX_TEMPORARY - (size_t)nsuffix) {
                n = MAX_TEMPORARY - (size_t)nsuffix;
                while (n > 0 && ((unsigned char)base[n] & 0xc0) == 0x80)
                        n--;
        }
        if (asprintf(&name, "%.*s%s", (int)(base - path) + (int)n, path, suffix) < 0)
                return NULL;
        return name;
}

/* ---- names ---- */

/* The names of these files are about to change. */
static void hold_signals(struct kc_new_file *const *files, size_t n)
{
        kc_name_guard *guard = files[0]->options.guard;
        if (guard == NULL)
                return;
        guard(KC_NAMES_HOLD, NULL);
        for (size_t i = 0; i < n; i++)
                if (files[i]->temporary != NULL)
                        guard(KC_NAMES_DROP, files[i]->temporary);
}

static void release_signals(struct kc_new_file *const *files, size_t n)
{
        kc_name_guard *guard = files[0]->options.guard;
        if (guard == NULL)
                return;
        for (size_t i = 0; i < n; i++)
                if (files[i]->temporary != NULL)
                        guard(KC_NAMES_ADD, files[i]->temporary);
        guard(KC_NAMES_RELEASE, NULL);
}

/* Give a nameless file a name. AT_EMPTY_PATH would not need /proc, but requires a privilege. */
static int link_nameless(int fd, const char *name)
{
        char source[32];
        snprintf(source, sizeof source, "/proc/self/fd/%d", fd);
        return linkat(AT_FDCWD, source, AT_FDCWD, name, AT_SYMLINK_FOLLOW);
}

/*
 * Take a temporary name beside path: for the nameless file fd or, if fd is -1, for a new file,
 * which open() creates so that the umask decides its mode.
 *   name  out: the caller frees it
 * Returns 0 or the new file's descriptor; -1 with errno set.
 */
static int take_temporary_name(const char *path, int fd, char **name)
{
        for (int attempt = 0; attempt < NATTEMPTS; attempt++) {
                *name = name_beside(path, attempt);
                if (*name == NULL)
                        return -1;
                int result = fd >= 0 ? link_nameless(fd, *name)
                                     : open(*name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
                if (result >= 0)
                        return result;
                int code = errno;
                free(*name);
                *name = NULL;
                errno = code;
                if (code != EEXIST)
                        break;
        }
        return -1;
}

/* ---- creating ---- */

static int open_nameless(const char *path)
{
        char *folder = kc_path_folder(path);
        if (folder == NULL)
                return -1;
        int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
        free(folder);
        return fd;
}

/* Some sandboxes allow no links, or have no /proc. We must know before the work is done, so this
 * tries it with another file. */
static bool links_work(const char *path)
{
        char *name;
        int fd = open_nameless(path);
        bool works = fd >= 0 && take_temporary_name(path, fd, &name) == 0;
        if (works) {
                (void)unlink(name);
                free(name);
        }
        if (fd >= 0)
                close(fd);
        return works;
}

static void drop_temporary_name(struct kc_new_file *file)
{
        (void)unlink(file->temporary);
        free(file->temporary);
        file->temporary = NULL;
}

/* If a nameless file fails for whatever reason, use a temporary name; if that fails too, report its
 * error. */
static void open_new(struct kc_new_file *file)
{
        hold_signals(&file, 1);
        file->fd = open_nameless(file->path);
        if (file->fd >= 0 && !file->options.nameless && !links_work(file->path)) {
                close(file->fd);
                file->fd = -1;
        }
        if (file->fd < 0)
                file->fd = take_temporary_name(file->path, -1, &file->temporary);
        if (file->options.nameless && file->temporary != NULL)
                drop_temporary_name(file);
        int code = errno;
        release_signals(&file, 1);
        errno = code;
}

static enum kc_status create_failed(const struct kc_new_file *file, const char *path,
                                    struct kc_error *err)
{
        const char *why = strerror(errno);
        char *folder = errno == ENOENT ? kc_path_folder(path) : NULL;
        if (folder != NULL && access(folder, F_OK) != 0) {
                (void)kc_fail(err, KC_EIO, "cannot create %s: there is no folder %s", path, folder);
                free(folder);
                return KC_EIO;
        }
        free(folder);
        if (file->path == NULL || strcmp(file->path, path) == 0)
                return kc_fail(err, KC_EIO, "cannot create %s: %s", path, why);
        return kc_fail(err, KC_EIO, "cannot create %s, where the link %s leads: %s", file->path,
                       path, why);
}

static enum kc_status fail_exists(const char *path, struct kc_error *err)
{
        return kc_fail_remedy(err, KC_EEXIST, KC_REMEDY_OTHER_OUTPUT | KC_REMEDY_REPLACE,
                              "%s already exists", path);
}

/* Ask the kernel first: it refuses to follow links that other users may have planted. */
static enum kc_status look_at_path(const struct kc_new_file *file, const char *path,
                                   struct stat *there, bool *exists, struct kc_error *err)
{
        *exists = stat(path, there) == 0;
        if (!*exists && errno != ENOENT)
                return create_failed(file, path, err);
        if (*exists && !S_ISREG(there->st_mode))
                return kc_fail_remedy(err, KC_EIO, KC_REMEDY_OTHER_OUTPUT,
                                      "cannot write to %s: it is %s", path,
                                      S_ISDIR(there->st_mode) ? "a folder" : "not a regular file");
        return KC_OK;
}

static bool is_named(const struct stat *there, const char *path)
{
        struct stat named;
        return stat(path, &named) == 0 && named.st_dev == there->st_dev &&
               named.st_ino == there->st_ino;
}

/* Find out where the file is to be, and whether there is one. The two looks also differ if
 * another process replaces the file in between, so look again. */
static enum kc_status look_at_target(struct kc_new_file *file, const char *path, bool *exists,
                                     struct kc_error *err)
{
        enum kc_status status;
        struct stat there;
        for (int attempt = 0; attempt < NATTEMPTS; attempt++) {
                KC_TRY(look_at_path(file, path, &there, exists, err));
                file->path = kc_path_follow(path);
                if (file->path == NULL)
                        return create_failed(file, path, err);
                if (!*exists || is_named(&there, file->path))
                        return KC_OK;
                free(file->path);
                file->path = NULL;
        }
        status = kc_fail(err, KC_EIO, "cannot follow the link %s: its target has no name", path);
out:
        return status;
}

/* Lock the file that has the name now, if there is one. */
static enum kc_status lock_again(struct kc_new_file *file, bool *exists, struct kc_error *err)
{
        *exists = file->lock >= 0 && kc_file_has_name(file->lock, file->path);
        if (*exists)
                return KC_OK;
        if (file->options.lock != NULL)
                return kc_fail(
                        err, KC_EIO,
                        "%s was removed or replaced by another process in the meantime; nothing "
                        "was written",
                        file->path);
        if (file->lock >= 0)
                close(file->lock);
        return kc_file_lock_replaced(&file->lock, exists, file->path, err);
}

static enum kc_status lock_target(struct kc_new_file *file, struct kc_error *err)
{
        bool exists;
        if (file->options.lock == NULL)
                return kc_file_lock_replaced(&file->lock, &exists, file->path, err);
        file->lock = fcntl(*file->options.lock, F_DUPFD_CLOEXEC, 0);
        if (file->lock < 0)
                return kc_fail(err, KC_EIO, "cannot replace %s: %s", file->path, strerror(errno));
        return lock_again(file, &exists, err);
}

static enum kc_status take_over_mode(const struct kc_new_file *file, struct kc_error *err)
{
        struct stat st;
        if (!file->options.replace || stat(file->path, &st) != 0)
                return KC_OK; /* nothing is replaced */
        if (fchmod(file->fd, st.st_mode & 0777) == 0)
                return KC_OK;
        return kc_fail(err, KC_EIO, "cannot set the mode of the file that replaces %s: %s",
                       file->path, strerror(errno));
}

enum kc_status kc_new_file_create(struct kc_new_file *file, const char *path,
                                  const struct kc_new_file_options *options, struct kc_error *err)
{
        enum kc_status status;
        bool exists;
        *file = (struct kc_new_file){ .options = *options, .fd = -1, .lock = -1 };
        KC_TRY(look_at_target(file, path, &exists, err));
        if (exists && !options->replace)
                return fail_exists(file->path, err);
        if (options->replace)
                KC_TRY(lock_target(file, err));
        open_new(file);
        if (file->fd < 0)
                return create_failed(file, path, err);
        file->must_last = options->flush || exists;
        KC_TRY(take_over_mode(file, err));
out:
        return status;
}

/* ---- the end ---- */

/* Fails with EEXIST if the name is taken. */
static int name_new_file(struct kc_new_file *file)
{
        const char *from = file->temporary, *to = file->path;
        if (from == NULL)
                return link_nameless(file->fd, to);
        if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
                return 0;
        if (errno != EINVAL && errno != ENOSYS)
                return -1;
        /* a file system without that flag: link() does not replace a file either */
        if (link(from, to) != 0)
                return -1;
        return unlink(from);
}

static enum kc_status write_failed(const struct kc_new_file *file, struct kc_error *err)
{
        return kc_fail(err, KC_EIO, "cannot write %s: %s", file->path, kc_strerror(errno));
}

static enum kc_status flush(const struct kc_new_file *file, struct kc_error *err)
{
        return kc_file_flush(file->fd) ? KC_OK : write_failed(file, err);
}

/* Whether this error of link() means that the file system, or a sandbox, has no hard links. */
static bool means_no_links(int code)
{
        return code == EPERM || code == EACCES || code == EOPNOTSUPP || code == ENOSYS;
}

/* Exchange the two names; or, where the file system cannot do that, link the old file as well. */
static int replace_and_keep(struct kc_new_file *file)
{
        if (renameat2(AT_FDCWD, file->temporary, AT_FDCWD, file->path, RENAME_EXCHANGE) == 0) {
                file->replaced = file->temporary;
                file->temporary = NULL;
                return 0;
        }
        if (file->replaced == NULL && file->lock >= 0 &&
            take_temporary_name(file->path, file->lock, &file->replaced) != 0 &&
            !means_no_links(errno))
                return -1;
        return rename(file->temporary, file->path);
}

/* link() cannot replace a name: the file needs a temporary one first. */
static int replace_named_file(struct kc_new_file *file, bool keeps_old)
{
        if (file->temporary == NULL &&
            take_temporary_name(file->path, file->fd, &file->temporary) != 0)
                return -1;
        return keeps_old ? replace_and_keep(file) : rename(file->temporary, file->path);
}

static enum kc_status naming_failed(const struct kc_new_file *file, struct kc_error *err)
{
        return kc_fail(err, KC_EIO, "cannot give %s its name: %s", file->path, strerror(errno));
}

/* Since creation the file to replace may have appeared (it could not be locked then) or
 * disappeared. */
static enum kc_status replace(struct kc_new_file *file, bool keeps_old, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        bool exists;
        for (int attempt = 0; attempt < NATTEMPTS; attempt++) {
                KC_TRY(lock_again(file, &exists, err));
                KC_TRY(take_over_mode(file, err)); /* it may have changed */
                if (exists && !file->must_last) {  /* it has appeared meanwhile */
                        file->must_last = true;
                        KC_TRY(flush(file, err));
                }
                if ((exists ? replace_named_file(file, keeps_old) : name_new_file(file)) == 0) {
                        file->has_replaced = exists;
                        goto out;
                }
                if (exists || errno != EEXIST)
                        break;
        }
        status = naming_failed(file, err);
out:
        return status;
}

static enum kc_status give_name(struct kc_new_file *file, bool keeps_old, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        if (file->options.replace)
                status = replace(file, keeps_old, err);
        else if (name_new_file(file) != 0)
                status = errno == EEXIST ? fail_exists(file->path, err) : naming_failed(file, err);
        if (status == KC_OK) {
                free(file->temporary);
                file->temporary = NULL;
        }
        return status;
}

/* Take the file's name away, and give the file that it replaced its name back. If the replaced file
 * could not be kept, the new one stays. */
static void take_name_back(struct kc_new_file *file)
{
        if (!kc_file_has_name(file->fd, file->path))
                return;
        if (file->replaced == NULL) {
                if (!file->has_replaced)
                        (void)unlink(file->path);
                return;
        }
        (void)rename(file->replaced, file->path);
        free(file->replaced);
        file->replaced = NULL;
}

static void forget_replaced(struct kc_new_file *file)
{
        if (file->replaced != NULL)
                (void)unlink(file->replaced);
        free(file->replaced);
        file->replaced = NULL;
}

static enum kc_status give_names(struct kc_new_file *const *files, size_t n, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        size_t nnamed = 0;
        hold_signals(files, n);
        while (status == KC_OK && nnamed < n) {
                status = give_name(files[nnamed], n > 1, err);
                nnamed += status == KC_OK;
        }
        if (status != KC_OK)
                while (nnamed > 0)
                        take_name_back(files[--nnamed]);
        for (size_t i = 0; i < n; i++)
                forget_replaced(files[i]);
        release_signals(files, n);
        return status;
}

/* Some file systems report a failed write only on close, but the file must stay open until it has
 * its name: so close a duplicate of the descriptor. */
static enum kc_status check_writes(const struct kc_new_file *file, struct kc_error *err)
{
        int copy = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
        if (copy >= 0 && close(copy) == 0)
                return KC_OK;
        return write_failed(file, err);
}

/* Flush the name to disk. */
static enum kc_status flush_name(const struct kc_new_file *file, struct kc_error *err)
{
        if (kc_folder_flush(file->path, file->fd))
                return KC_OK;
        return kc_fail(err, KC_EIO,
                       "%s is complete, but its folder cannot be flushed to the disk: %s; after a "
                       "power failure the file may be missing, or be the one that it replaced",
                       file->path, strerror(errno));
}

enum kc_status kc_new_files_commit(struct kc_new_file *const *files, size_t n, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (size_t i = 0; i < n; i++) {
                KC_TRY(check_writes(files[i], err));
                if (files[i]->must_last)
                        KC_TRY(flush(files[i], err));
        }
        KC_TRY(give_names(files, n, err));
        for (size_t i = 0; i < n; i++)
                if (files[i]->must_last)
                        KC_TRY(flush_name(files[i], err));
out:
        return status;
}

enum kc_status kc_new_file_commit(struct kc_new_file *file, struct kc_error *err)
{
        return kc_new_files_commit(&file, 1, err);
}

enum kc_status kc_new_file_take(const struct kc_new_file *file, int *fd, struct kc_error *err)
{
        const enum kc_status status = check_writes(file, err);
        if (status != KC_OK)
                return status;
        *fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
        return *fd >= 0 ? KC_OK : write_failed(file, err);
}

void kc_new_file_discard(struct kc_new_file *file)
{
        if (file->temporary != NULL) {
                hold_signals(&file, 1);
                drop_temporary_name(file);
                release_signals(&file, 1);
        }
        if (file->fd >= 0)
                close(file->fd);
        if (file->lock >= 0)
                close(file->lock);
        free(file->path);
        *file = (struct kc_new_file){ .fd = -1, .lock = -1 };
}
