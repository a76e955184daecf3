/*
 * Going on without a device, where the user leaves the choice.
 */
#ifndef APP_CLI_FALL_BACK_H
#define APP_CLI_FALL_BACK_H

#include "base/status.h"

#include <stdbool.h>

/*
 * Whether the CPU may do the work that a device has failed to start with: the device is missing, in
 * use by others, or out of order. If so, prints a line on stderr, unless quiet or if the machine
 * has no device: then nothing is wrong.
 *   doing  for the line: "counting", ...
 */
bool fall_back_to_cpu(const struct kc_error *reason, const char *doing, bool quiet);

#endif
