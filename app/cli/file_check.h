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

/*
 * KC_EUSAGE if an output is the same file as an input or as another output, even under another
 * name. Files that are not there yet are the same if they have the same name in the same folder.
 *   outputs  all files that will be written
 *   inputs   files that will be read; "-" is standard input
 */
enum kc_status output_check_files(const char *const *outputs, size_t noutputs,
                                  const char *const *inputs, size_t ninputs, struct kc_error *err);

/* The same, where the inputs are operands, of which @LIST stands for the file LIST. */
enum kc_status output_check_operands(const char *const *outputs, size_t noutputs,
                                     const char *const *operands, size_t noperands,
                                     struct kc_error *err);

/* KC_EEXIST or KC_EIO if path cannot become a .kc file or, if is_text, one of text: it exists and
 * !force, or it is not a regular file. */
enum kc_status output_check(const char *path, bool is_text, bool force, struct kc_error *err);

/* Warn on standard error about each regular file that several of these names lead to, also through
 * links, and which is therefore counted several times. "-" is standard input. */
void input_warn_of_same(const char *const *names, size_t n);

#endif
