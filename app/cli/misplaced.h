/*
 * Operands in the wrong place: the messages say where they belong.
 */
#ifndef APP_CLI_MISPLACED_H
#define APP_CLI_MISPLACED_H

#include "app/cli/options.h"

/* KC_EUSAGE if the first operand does not look like a .kc file, but a later one is one. */
enum kc_status misplaced_check_first(const struct invocation *call, struct kc_error *err);

/* typed_kmer_check for an operand; the message says what to do if it is the name of a file. */
enum kc_status misplaced_check_sequence(const struct invocation *call, const char *text, int k,
                                        struct kc_error *err);

#endif
