/*
 * kcount-kmc: counts as KMC's program kmc does, with kmc's command line, defaults, output files and
 * report. It is the program kcount under another name.
 */
#ifndef APP_KMC_KMC_H
#define APP_KMC_KMC_H

#include "app/cli/options.h"

/* Whether the program at this path acts as kcount-kmc: its file name is kcount-kmc or kmc. */
bool kmc_is_name(const char *program);

/*
 * Count as the command line argv[1..] says, and print kmc's report to call->out. The caller must
 * also have set call->line and call->start_seconds. The output and the file of -j appear only when
 * both are complete, and replace existing ones. On failure nothing remains, except what has been
 * written to a pipe or device that -j names. Fails with KC_EUSAGE, also for an option that kcount
 * cannot honour, or like count_create, exporting_write, text_out_open or text_out_finish.
 */
enum kc_status kmc_run(const struct invocation *call, int argc, char **argv, struct kc_error *err);

#endif
