/*
 * The files that a report writes: all of them get their names, or none does.
 */
#ifndef APP_REPORT_FILES_H
#define APP_REPORT_FILES_H

#include "app/cli/text_out.h"

enum { FILES_MOST = 40 };

/* Zero-initialise it. */
struct files {
        struct file {
                char *path;
                const char *wish;
                struct text_out *out;
        } all[FILES_MOST]; /* [n] */
        size_t n;
        const char *wish; /* the argument of the option that asks for the files to be added */
};

/*
 * Add a file; its name is put together as by printf. KC_EUSAGE, KC_ENOMEM.
 *   out  out: what to write to, once files_open has opened it
 */
enum kc_status files_add(struct files *files, struct text_out **out, struct kc_error *err,
                         const char *format, ...) __attribute__((format(printf, 4, 5)));

/* KC_EUSAGE if a file is one of the inputs, or another file; KC_EEXIST, KC_EIO. The remedies are
 * for the wish, by which advice finds the option. */
enum kc_status files_check(const struct files *files, const char *const *inputs, size_t ninputs,
                           bool force, struct kc_error *err);

/* Open all. KC_EEXIST, KC_EIO. */
enum kc_status files_open(struct files *files, bool force, struct kc_error *err);

/* Write what is left, and give the files their names. KC_EEXIST, KC_EIO. */
enum kc_status files_commit(struct files *files, struct kc_error *err);

/* Whether one of them is a pipe that nobody reads any more. */
bool files_pipe_closed(const struct files *files);

/* Free everything. What was not committed leaves nothing behind. */
void files_close(struct files *files);

#endif
