/*
 * Checks of the names of files that a command is to read and write, before any work.
 */
#ifndef APP_CLI_FILE_CHECK_H
#define APP_CLI_FILE_CHECK_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* KC_EUSAGE if path is empty, or can only be the name of a folder. what: whose name it is, for the
 * message. */
enum kc_status output_check_name(const char *path, const char *what, struct kc_error *err);

/* KC_EUSAGE if path is "-", because a .kc file cannot be written to standard output. option: the
 * one that names the output. */
enum kc_status output_check_stdout(const char *path, const char *option, struct kc_error *err);

/* KC_EEXIST or KC_EIO if path cannot become a .kc file or, if is_text, one of text: it exists and
 * !force, or it is not a regular file. */
enum kc_status output_check(const char *path, bool is_text, bool force, struct kc_error *err);

/* Warn on standard error about each regular file that several of these names lead to, also through
 * links, and which is therefore counted several times. "-" is standard input. */
void input_warn_of_same(const char *const *names, size_t n);

#endif
