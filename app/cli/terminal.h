/*
 * What may be written to a terminal, and how much of it fits. Nothing is coloured.
 */
#ifndef APP_CLI_TERMINAL_H
#define APP_CLI_TERMINAL_H

#include <stdbool.h>

struct terminal_size {
        int ncolumns, nrows;
};

/* The present size of the terminal at this descriptor; a pipe, a file, or a terminal that does not
 * know its size has that of `otherwise`. */
struct terminal_size terminal_size(int fd, struct terminal_size otherwise);

/* Whether the descriptor is a terminal on which a line can be drawn over: not with TERM=dumb or
 * without TERM. */
bool terminal_can_redraw(int fd);

/* Whether text may hold characters other than ASCII, by the locale of the environment. */
bool terminal_takes_utf8(void);

#endif
