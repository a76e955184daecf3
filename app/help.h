/*
 * The tables of commands and options as the user sees them: --help, the manual page, and what a
 * shell completes.
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

/* A script that completes command lines of kcount in this shell: "bash", "zsh" or "fish". KC_EUSAGE
 * for another. */
enum kc_status help_completion(struct text_out *out, const char *shell, struct kc_error *err);

void help_version(struct text_out *out);

#endif
