#include "app/text_out.h"

#include "app/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void clear(struct text_out *out, int fd, const char *name)
{
        out->fd = fd;
        out->name = name;
        out->target = NULL;
        out->temporary = NULL;
        out->failure = 0;
        out->used = 0;
}

void text_out_stdout(struct text_out *out)
{
        clear(out, STDOUT_FILENO, "standard output");
}

void text_out_stderr(struct text_out *out)
{
        clear(out, STDERR_FILENO, "standard error");
}

static enum kc_status refuse(const char *path, struct kc_error *err)
{
        return kc_fail(err, KC_EIO, "%s: %s", path, strerror(errno));
}

static enum kc_status open_temporary(struct text_out *out, const char *path, struct kc_error *err)
{
        /* Through a symbolic link the file it points to is replaced, not the link. */
        char *target = realpath(path, NULL);
        if (target == NULL)
                target = strdup(path);
        if (target == NULL || asprintf(&out->temporary, "%s.tmp-%ld", target, (long)getpid()) < 0) {
                out->temporary = NULL;
                free(target);
                return kc_fail(err, KC_ENOMEM, "out of memory");
        }
        out->target = target;
        out->fd = signals_create_temporary(out->temporary);
        if (out->fd < 0) {
                enum kc_status status = refuse(path, err);
                text_out_abort(out);
                return status;
        }
        return KC_OK;
}

enum kc_status text_out_open(struct text_out *out, const char *path, struct kc_error *err)
{
        text_out_stdout(out);
        if (strcmp(path, "-") == 0)
                return KC_OK;
        clear(out, -1, path);
        struct stat found;
        if (stat(path, &found) != 0 || S_ISREG(found.st_mode))
                return open_temporary(out, path, err);
        out->fd = open(path, O_WRONLY | O_CLOEXEC);
        return out->fd < 0 ? refuse(path, err) : KC_OK;
}

static bool write_through(struct text_out *out, const char *text, size_t nbytes)
{
        while (nbytes > 0 && out->failure == 0) {
                ssize_t n = write(out->fd, text, nbytes);
                if (n >= 0) {
                        text += n;
                        nbytes -= (size_t)n;
                } else if (errno != EINTR) {
                        out->failure = errno;
                }
        }
        return out->failure == 0;
}

bool text_out_flush(struct text_out *out)
{
        size_t used = out->used;
        out->used = 0;
        return write_through(out, out->buffer, used);
}

bool text_out_write(struct text_out *out, const void *text, size_t nbytes)
{
        if (nbytes > sizeof out->buffer - out->used) {
                text_out_flush(out);
                if (nbytes >= sizeof out->buffer)
                        return write_through(out, text, nbytes);
        }
        memcpy(out->buffer + out->used, text, nbytes);
        out->used += nbytes;
        return out->failure == 0;
}

bool text_out_puts(struct text_out *out, const char *text)
{
        return text_out_write(out, text, strlen(text));
}

bool text_out_printf(struct text_out *out, const char *format, ...)
{
        char *text = NULL;
        va_list args;
        va_start(args, format);
        int n = vasprintf(&text, format, args);
        va_end(args);
        if (n < 0) {
                out->failure = out->failure ? out->failure : ENOMEM;
                return false;
        }
        text_out_write(out, text, (size_t)n);
        free(text);
        return out->failure == 0;
}

enum kc_status text_out_status(const struct text_out *out, struct kc_error *err)
{
        if (out->failure == 0)
                return KC_OK;
        return kc_fail(err, KC_EIO, "%s: %s", out->name, strerror(out->failure));
}

static void forget(struct text_out *out)
{
        if (out->temporary)
                signals_set_temporary(NULL);
        free(out->temporary);
        free(out->target);
        clear(out, -1, out->name);
}

enum kc_status text_out_close(struct text_out *out, struct kc_error *err)
{
        text_out_flush(out);
        /* Some file systems tell of a full disk only now. */
        if (out->fd >= 0 && close(out->fd) != 0 && out->failure == 0 && errno != EINTR)
                out->failure = errno;
        out->fd = -1;
        if (out->failure == 0 && out->temporary && rename(out->temporary, out->target) != 0)
                out->failure = errno;

        int failure = out->failure;
        enum kc_status status = KC_OK;
        if (failure) {
                status = text_out_status(out, err);
                text_out_abort(out);
                out->failure = failure;
        } else {
                forget(out);
        }
        return status;
}

void text_out_abort(struct text_out *out)
{
        if (out->fd > STDERR_FILENO)
                close(out->fd);
        if (out->temporary)
                unlink(out->temporary);
        forget(out);
}

bool text_out_pipe_closed(const struct text_out *out)
{
        return out->failure == EPIPE;
}
