/*
 * Text that can be pasted into a shell.
 */
#ifndef APP_CLI_SHELL_H
#define APP_CLI_SHELL_H

#include <stddef.h>

/* Enough for any line that fits in a message: a longer one would be cut off there. */
enum { SHELL_LINE_NBYTES = 2048 };

/* Append a word at `to`, quoted if the shell would not take it as it stands; cut off if it does not
 * fit before `end`. Returns the end of the text. */
char *shell_append(char *to, const char *end, const char *word);

/* Likewise, with a blank before it. */
char *shell_append_next(char *to, const char *end, const char *word);

/* The words, with blanks between them, or one word; each returns line. */
const char *shell_line(const char *const *words, size_t n, char line[SHELL_LINE_NBYTES]);
const char *shell_word(const char *word, char line[SHELL_LINE_NBYTES]);

/* Likewise, whatever its length. The caller frees it; NULL when out of memory. */
char *shell_join(const char *const *words, size_t n);

#endif
