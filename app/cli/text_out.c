#include "app/cli/text_out.h"

#include "app/cli/message.h"
#include "app/cli/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void clear(struct text_out *out, int fd, const char *name)
{
        out->fd = fd;
        out->name = name;
        out->is_new = false;
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

static enum kc_status create(struct text_out *out, const char *path, bool replace,
                             struct kc_error *err)
{
        /* flush: unlike a truncated .kc file, truncated text cannot be recognized */
        const struct kc_new_file_options options = { .replace = replace,
                                                     .flush = true,
                                                     .guard = signals_guard };
        enum kc_status status = kc_new_file_create(&out->file, path, &options, err);
        out->fd = out->file.fd;
        out->is_new = true;
        if (status != KC_OK)
                text_out_abort(out);
        return status;
}

bool text_out_makes_file(const char *path)
{
        struct stat found;
        return strcmp(path, "-") != 0 &&
               (stat(path, &found) != 0 || S_ISREG(found.st_mode) || S_ISDIR(found.st_mode));
}

enum kc_status text_out_open(struct text_out *out, const char *path, bool replace,
                             struct kc_error *err)
{
        text_out_stdout(out);
        if (strcmp(path, "-") == 0)
                return KC_OK;
        clear(out, -1, path);
        if (text_out_makes_file(path))
                return create(out, path, replace, err);
        out->fd = open(path, O_WRONLY | O_CLOEXEC);
        if (out->fd < 0)
                return kc_fail(err, KC_EIO, "cannot write to %s: %s", path, strerror(errno));
        return KC_OK;
}

static void write_through(struct text_out *out, const char *text, size_t nbytes)
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
}

void text_out_flush(struct text_out *out)
{
        write_through(out, out->buffer, out->used);
        out->used = 0;
}

void text_out_write(struct text_out *out, const void *text, size_t nbytes)
{
        if (nbytes > sizeof out->buffer - out->used)
                text_out_flush(out);
        if (nbytes >= sizeof out->buffer) {
                write_through(out, text, nbytes);
                return;
        }
        memcpy(out->buffer + out->used, text, nbytes);
        out->used += nbytes;
}

void text_out_puts(struct text_out *out, const char *text)
{
        text_out_write(out, text, strlen(text));
}

void text_out_printf(struct text_out *out, const char *format, ...)
{
        va_list args;
        va_start(args, format);
        char *text = message_format(format, args);
        va_end(args);
        if (text != NULL)
                text_out_puts(out, text);
        else if (out->failure == 0)
                out->failure = ENOMEM;
        free(text);
}

void text_out_words(struct text_out *out, const char *text, int column, int indent, int width)
{
        bool line_start = true;
        while (*text) {
                if (*text == ' ' || *text == '\n') {
                        if (*text == '\n') {
                                text_out_printf(out, "\n%*s", text[1] == '\n' ? 0 : indent, "");
                                column = indent;
                                line_start = true;
                        }
                        text++;
                        continue;
                }
                int n = (int)strcspn(text, " \n");
                if (!line_start && column + 1 + n > width) {
                        text_out_printf(out, "\n%*s", indent, "");
                        column = indent;
                        line_start = true;
                }
                text_out_printf(out, "%s%.*s", line_start ? "" : " ", n, text);
                column += n + !line_start;
                line_start = false;
                text += n;
        }
        text_out_puts(out, "\n");
}

enum kc_status text_out_status(const struct text_out *out, struct kc_error *err)
{
        if (out->failure == 0)
                return KC_OK;
        return kc_fail(err, KC_EIO, "cannot write to %s: %s", out->name, kc_strerror(out->failure));
}

/* Keep the failure: text_out_status can still report it. */
static void forget(struct text_out *out)
{
        const int failure = out->failure;
        if (out->is_new)
                kc_new_file_discard(&out->file);
        clear(out, -1, out->name);
        out->failure = failure;
}

/* Some file systems report a full disk only now. */
static void close_in_place(struct text_out *out)
{
        if (out->fd >= 0 && close(out->fd) != 0 && out->failure == 0 && errno != EINTR)
                out->failure = errno;
        out->fd = -1;
}

enum kc_status text_out_finish(struct text_out *out, struct kc_error *err)
{
        text_out_flush(out);
        if (!out->is_new)
                close_in_place(out);
        return text_out_status(out, err);
}

enum kc_status text_out_close(struct text_out *out, struct kc_error *err)
{
        enum kc_status status = text_out_finish(out, err);
        if (out->is_new && status == KC_OK)
                status = kc_new_file_commit(&out->file, err);
        forget(out);
        return status;
}

void text_out_abort(struct text_out *out)
{
        if (!out->is_new && out->fd > STDERR_FILENO)
                close(out->fd);
        forget(out);
}

bool text_out_pipe_closed(const struct text_out *out)
{
        return out->failure == EPIPE;
}
