/*
 * Inputs that are one file under several names.
 */
#ifndef APP_CLI_SAME_FILES_H
#define APP_CLI_SAME_FILES_H

#include <stddef.h>

/*
 * Warn on standard error about each regular file that several of these names lead to, also through
 * links. "-" is standard input.
 *   fate  what happens to the file as often as it is named, such as "counted"
 */
void same_files_warn(const char *const *names, size_t n, const char *fate);

#endif
