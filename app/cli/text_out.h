/*
 * Buffered text output to standard output or a file; every write is checked.
 *
 * The first failure is kept, and later writes do nothing, so callers may go on writing and check
 * once, at text_out_close; long loops check text_out_status.
 *
 * A regular file appears under its name only when it is complete (base/new_file.h).
 */
#ifndef APP_CLI_TEXT_OUT_H
#define APP_CLI_TEXT_OUT_H

#include "base/new_file.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TEXT_OUT_BUFFER_NBYTES = 1 << 16 };

struct text_out {
        int fd;
        const char *name; /* for messages; the caller's */
        bool is_new;      /* fd is file.fd; otherwise fd is written in place */
        struct kc_new_file file;
        int failure; /* errno of the first write that failed, or 0 */
        size_t used;
        char buffer[TEXT_OUT_BUFFER_NBYTES];
};

void text_out_stdout(struct text_out *out);
void text_out_stderr(struct text_out *out);

/* Whether text_out_open makes a new file instead of writing to a device or pipe in place. Also true
 * of a folder, for which text_out_open fails. */
bool text_out_makes_file(const char *path);

/* path "-" is standard output; a device or pipe is written in place. replace: an existing file may
 * be replaced. Fails like kc_new_file_create. path must outlive out. */
enum kc_status text_out_open(struct text_out *out, const char *path, bool replace,
                             struct kc_error *err);

void text_out_write(struct text_out *out, const void *text, size_t nbytes);
void text_out_puts(struct text_out *out, const char *text);
/* What the arguments hold is shown, not obeyed: see message_format. */
void text_out_printf(struct text_out *out, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

/* Print the words of text, which is ASCII, from this column on. Lines break at "\n" in text and
 * before they are longer than width, and later lines are indented. Ends with a newline. */
void text_out_words(struct text_out *out, const char *text, int column, int indent, int width);

void text_out_flush(struct text_out *out);

/* KC_EIO for the first write that failed. */
enum kc_status text_out_status(const struct text_out *out, struct kc_error *err);

/* Write what is buffered, close, give the file its name. KC_EIO for the first failure of any write;
 * otherwise fails like kc_new_file_commit. */
enum kc_status text_out_close(struct text_out *out, struct kc_error *err);

/* Write what is buffered, and close all but a new file: that one (is_new) is then complete but for
 * its name, which it gets from text_out_close or together with others (kc_new_files_commit; then
 * text_out_abort frees it). KC_EIO for the first failure of any write. */
enum kc_status text_out_finish(struct text_out *out, struct kc_error *err);

/* Close and leave no file behind, unless it has its name already. */
void text_out_abort(struct text_out *out);

/* Whether the reader of a pipe has closed it, which need not be reported to the user. */
bool text_out_pipe_closed(const struct text_out *out);

#endif
