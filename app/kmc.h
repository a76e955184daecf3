/*
 * kcount-kmc: counts as KMC's program kmc would, with kmc's command line, output files, report and
 * defaults. The program is kcount called by another name.
 */
#ifndef APP_KMC_H
#define APP_KMC_H

#include "app/options.h"

/* Whether a program of that path is kcount-kmc: its name is kcount-kmc or kmc. */
bool kmc_is_name(const char *program);

/*
 * Count by the command line argv[1..], and print kmc's report on call->out; call->line and
 * call->start_seconds are set, too. The output appears when it is complete, and replaces an existing
 * one. On failure nothing remains. KC_EUSAGE, also for an option that kcount cannot honour; or as
 * counting_create, exporting_write or text_out_open.
 */
enum kc_status kmc_run(const struct invocation *call, int argc, char **argv, struct kc_error *err);

#endif
