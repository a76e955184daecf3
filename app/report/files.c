#include "app/report/files.h"

#include "app/cli/file_check.h"
#include "app/library/same_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum kc_status files_add(struct files *files, struct text_out **out, struct kc_error *err,
                         const char *format, ...)
{
        char path[PATH_MAX];
        va_list arguments;
        struct file *file = &files->all[files->n++];
        assert(files->n <= FILES_MOST);
        va_start(arguments, format);
        const int n = vsnprintf(path, sizeof path, format, arguments);
        va_end(arguments);
        if (n < 0 || n >= (int)sizeof path)
                return kc_fail(err, KC_EUSAGE, "the name of an output is too long: %s", path);
        file->wish = files->wish;
        file->path = strdup(path);
        file->out = calloc(1, sizeof *file->out);
        if (file->path == NULL || file->out == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        file->out->fd = -1;
        *out = file->out;
        return KC_OK;
}

static enum kc_status check(const struct file *file, bool force, struct kc_error *err)
{
        const enum kc_status status = output_check(file->path, true, force, err);
        if (status != KC_OK && err != NULL)
                snprintf(err->file, sizeof err->file, "%s", file->wish);
        return status;
}

enum kc_status files_check(const struct files *files, const char *const *inputs, size_t ninputs,
                           bool force, struct kc_error *err)
{
        const char *paths[FILES_MOST];
        enum kc_status status;
        for (size_t i = 0; i < files->n; i++)
                paths[i] = files->all[i].path;
        KC_TRY(kc_output_check_files(paths, files->n, inputs, ninputs, err));
        for (size_t i = 0; i < files->n; i++)
                if (text_out_makes_file(paths[i]))
                        KC_TRY(check(&files->all[i], force, err));
out:
        return status;
}

/* A file on standard output gets a copy of the descriptor: the program closes STDOUT_FILENO. */
static enum kc_status open_file(const struct file *file, bool force, struct kc_error *err)
{
        const enum kc_status status = text_out_open(file->out, file->path, force, err);
        if (status != KC_OK || file->out->fd != STDOUT_FILENO)
                return status;
        file->out->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        return file->out->fd >= 0 ? KC_OK
                                  : kc_fail(err, KC_EIO, "cannot write to %s: %s", file->out->name,
                                            strerror(errno));
}

enum kc_status files_open(struct files *files, bool force, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (size_t i = 0; i < files->n; i++)
                KC_TRY(open_file(&files->all[i], force, err));
out:
        return status;
}

enum kc_status files_commit(struct files *files, struct kc_error *err)
{
        struct kc_new_file *made[FILES_MOST];
        size_t n = 0;
        enum kc_status status = KC_OK;
        for (size_t i = 0; i < files->n; i++) {
                KC_TRY(text_out_finish(files->all[i].out, err));
                if (files->all[i].out->is_new)
                        made[n++] = &files->all[i].out->file;
        }
        if (n > 0)
                status = kc_new_files_commit(made, n, err);
out:
        return status;
}

bool files_pipe_closed(const struct files *files)
{
        for (size_t i = 0; i < files->n; i++)
                if (files->all[i].out != NULL && text_out_pipe_closed(files->all[i].out))
                        return true;
        return false;
}

void files_close(struct files *files)
{
        for (size_t i = 0; i < files->n; i++) {
                struct file *file = &files->all[i];
                if (file->out != NULL && file->out->fd >= 0)
                        text_out_abort(file->out);
                free(file->out);
                free(file->path);
        }
}
