/*
 * Text that can be pasted into a shell.
 */
#ifndef APP_CLI_SHELL_H
#define APP_CLI_SHELL_H

#include <stddef.h>

/* Append a word, quoted if the shell would not take it as it stands. Returns the end of the text,
 * which grows by less than shell_most_nbytes, or SHELL_MOST_NBYTES for a word of this length. */
char *shell_append(char *to, const char *word);
size_t shell_most_nbytes(const char *word);
#define SHELL_MOST_NBYTES(length) (4 * (length) + 3) /* all of them single quotes */

/* The words, with blanks between them. The caller frees it; NULL when out of memory. */
char *shell_join(const char *const *words, size_t n);

#endif
