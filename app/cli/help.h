/*
 * The tables of commands and options as the user sees them: --help, the manual page, and what a
 * shell completes.
 */
#ifndef APP_CLI_HELP_H
#define APP_CLI_HELP_H

#include "app/cli/command.h"

/* `kcount`: one screen, with a line for each command. */
void help_overview(struct text_out *out);

/* `kcount COMMAND -h`: one screen, with the first sentence about each of the usual options. */
void help_usage(struct text_out *out, const struct command *command);

/* `kcount COMMAND --help`: everything. */
void help_command(struct text_out *out, const struct command *command);

/* Whether help and completion list the option: those for tests are left out, and those that need
 * CUDA or MPI in a build without it. The manual page, which is one for all builds, has these. */
bool help_shows(const struct option_spec *spec);

/* The length of the first sentence, without its full stop. */
size_t help_sentence_length(const char *text);

/* docs/kcount.1, in mdoc(7). */
void help_manual(struct text_out *out);

/* As --completion numbers its words. */
enum help_shell { HELP_BASH = 1, HELP_ZSH, HELP_FISH };

/* A script that completes command lines of kcount in this shell. */
void help_completion(struct text_out *out, enum help_shell shell);

#endif
