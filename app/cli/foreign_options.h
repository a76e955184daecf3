/*
 * Options of kmc, Jellyfish, FastK and a few others that kcount does not have. People type them
 * out of habit; the message tells them what to write instead.
 */
#ifndef APP_CLI_FOREIGN_OPTIONS_H
#define APP_CLI_FOREIGN_OPTIONS_H

#include "app/cli/options.h"

/*
 * Fail with KC_EUSAGE, and advice, if the word is such an option; otherwise return KC_OK.
 *   word  what the user typed, and the command does not have: "-ci2", "-L" or "--size=1G"
 *   next  the word after it, which may be its argument; NULL at the end of the line
 */
enum kc_status foreign_option_refuse(const struct command *command, const char *word,
                                     const char *next, struct kc_error *err);

/* Likewise, for a word that kcount would accept, because it takes the end of the word as the
 * option's argument. */
enum kc_status foreign_word_refuse(const struct command *command, const char *word,
                                   struct kc_error *err);

#endif
