/*
 * Text that can be pasted into a shell.
 */
#ifndef APP_SHELL_H
#define APP_SHELL_H

#include <stddef.h>

/* Append a word, quoted if the shell would not take it as it stands. Returns the end of the text,
 * which grows by less than shell_most_nbytes. */
char *shell_append(char *to, const char *word);
size_t shell_most_nbytes(const char *word);

#endif
