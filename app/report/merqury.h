/*
 * The files that Merqury writes, under its names and byte for byte, so that programs that read
 * them need no change. docs/other-programs.md lists them, and what differs.
 */
#ifndef APP_REPORT_MERQURY_H
#define APP_REPORT_MERQURY_H

#include "app/report/report.h"

/* The length of the name that Merqury takes for an assembly: without .fa, .fasta, .fa.gz, .fasta.gz
 * at its end; here also without .kc. */
size_t merqury_name_length(const char *file);

/* Add the files to those of the report, whose assemblies have names. KC_ENOMEM. */
enum kc_status merqury_add_files(struct report *report, struct kc_error *err);

/* Write all but the tracks, which report_work has written. */
void merqury_write(const struct report *report);

#endif
