/*
 * The commands of kcount: each has a file and a row in main.c's table.
 */
#ifndef APP_CLI_COMMAND_H
#define APP_CLI_COMMAND_H

#include "app/cli/options.h"

extern const struct command command_count;
extern const struct command command_add;
extern const struct command command_remove;
extern const struct command command_compact;
extern const struct command command_merge;
extern const struct command command_union;
extern const struct command command_intersect;
extern const struct command command_subtract;
extern const struct command command_dump;
extern const struct command command_hist;
extern const struct command command_model;
extern const struct command command_query;
extern const struct command command_profile;
extern const struct command command_compare;
extern const struct command command_report;
extern const struct command command_filter;
extern const struct command command_range;
extern const struct command command_export;
extern const struct command command_info;
extern const struct command command_check;
extern const struct command command_import;
extern const struct command command_help;

/* All commands, in the order of the manual; ends with NULL. */
extern const struct command *const command_table[];

/* NULL if there is no command of that name. */
const struct command *command_find(const char *name);

#endif
