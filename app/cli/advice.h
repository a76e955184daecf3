/*
 * What the user can do about a failure: libraries report what would help, and the table of advice
 * names the options and commands that do it.
 */
#ifndef APP_CLI_ADVICE_H
#define APP_CLI_ADVICE_H

#include "app/cli/options.h"

enum { ADVICE_NBYTES = 8192 };

/*
 * What the user of a command can do about a failure, to be printed after its message: "; this, or
 * that", or "". It names the file, and its commands can be pasted. A remedy is left out if it takes
 * an option that the command does not have. call NULL: there is no command.
 * Returns text.
 */
const char *advice_text(const struct invocation *call, const struct kc_error *failure,
                        char text[ADVICE_NBYTES]);

/* Print a warning with its advice on standard error; NULL: there is none. */
void advice_warn(const struct kc_error *warning);

#endif
