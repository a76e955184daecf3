/*
 * --version.
 */
#ifndef APP_VERSION_H
#define APP_VERSION_H

#include "app/cli/text_out.h"

/* as_json: also what this program was built with, and its limits */
void version_print(struct text_out *out, bool as_json);

#endif
