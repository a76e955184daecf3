/*
 * The tables of commands and options as the user sees them: --help and the manual page.
 */
#ifndef APP_HELP_H
#define APP_HELP_H

#include "app/command.h"

/* `kcount --help`: one line for each command. */
void help_overview(struct text_out *out);

/* `kcount COMMAND --help`. */
void help_command(struct text_out *out, const struct command *command);

/* docs/kcount.1, in mdoc(7). */
void help_manual(struct text_out *out);

void help_version(struct text_out *out);

#endif
