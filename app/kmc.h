/*
 * kcount-kmc: counts as KMC's program kmc does, with kmc's command line, defaults, output files and
 * report. It is the program kcount under another name.
 */
#ifndef APP_KMC_H
#define APP_KMC_H

#include "app/options.h"

/* Whether the program at this path acts as kcount-kmc: its file name is kcount-kmc or kmc. */
bool kmc_is_name(const char *program);

/*
 * Count as the command line argv[1..] says, and print kmc's report to call->out. The caller must
 * also have set call->line and call->start_seconds. The output appears only when it is complete,
 * and replaces an existing one. On failure nothing remains, unless only the file of -j, which is
 * written last, could not be written: then the output stays. Fails with KC_EUSAGE, also for an
 * option that kcount cannot honour, or like counting_create, exporting_write or text_out_open.
 */
enum kc_status kmc_run(const struct invocation *call, int argc, char **argv, struct kc_error *err);

#endif
